"""The log of one stream: how trains come into it, from its source or from who shares it, and how they go."""

import bisect
import logging
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.engine.log.arrivals import Arrivals, begun_at, empty, marks, stamped, unmoved
from headgate.engine.log.dead_letters import DeadLetters
from headgate.engine.log.files import write
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.mark import Mark
from headgate.engine.log.shared import Shared, SharedTrains
from headgate.engine.log.stored import Appended, StoredTrain
from headgate.engine.log.trains import Trains, ended_by
from headgate.engine.source.protocol import Rejected, State
from headgate.engine.windows import ENDED, NEVER
from headgate.errors import InputError

_MICROS = 1_000_000
_AT_ONCE = 256
"""Trains of others that are entered in one transaction."""
_Train = TypeVar("_Train", StoredTrain, StoredTrain | None)
_log = logging.getLogger(__name__)


class StreamLog(Trains):
    """The trains of one stream, to which a source appends.

    Of a `shared` log the files are those of all engines: what is there counts, and the manifest only remembers it.
    Whoever appends to it may learn that somebody else has, by a SupersededError; `follow` enters what others append.
    """

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        folder: Path,
        dead: Path,
        manifest: Manifest,
        *,
        event_time: str | None = None,
        delay: float = 0.0,
        on_append: Callable[[StoredTrain], None] = lambda _: None,
        sync: bool = False,
        shared: SharedTrains | None = None,
    ) -> None:
        place, micros = shared.folder if shared else folder, round(delay * _MICROS)
        super().__init__(name, schema, place, event_time=event_time, delay=micros, sync=sync)
        self.shared, self.floor = shared, None if shared is None else 0
        self._committed, self._notify, self._lock = manifest.streams, on_append, threading.Lock()
        self._writer = uuid.uuid4().hex[:12]
        self._arrivals = Arrivals(name, schema, event_time, self.delay)
        self._letters = DeadLetters(name, dead, sync=sync)
        definition = {"schema": str(schema), "event_time": event_time, "delay": self.delay}
        entered, self.state, self.ended = self._committed.enter(name, definition)
        for begun in [entered, *([shared.agree(definition)] if shared else [])]:
            if begun != definition:
                changed = ", ".join(key for key in definition if begun.get(key) != definition[key])
                raise InputError(
                    f"stream '{name}' has the columns and times with which its state folder was begun",
                    f"another {changed}",
                    "Use the old ones, another name, or a fresh state folder.",
                )
        self._trains = self._committed.trains(name)
        if shared:
            self._bring_up_to_date(shared)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            self._clear_strangers()

    # What a source does

    def append(
        self,
        rows: pa.Table,
        state: State | None,
        *,
        arrived: NDArray[np.float64] | None = None,
        rejected: Sequence[Rejected] = (),
    ) -> None:
        """Add a train: its file first, then its row, the state of the source and the count of rejected rows."""
        with self._lock:
            last = self.last
            rows, stamps, untimed = self._arrivals.timed(rows, stamped(last, rows.num_rows, arrived))
            rejected = [*rejected, *untimed]
            if rows.num_rows:
                train, late, stored = self._arrivals.train(last, rows, stamps)
            elif self.shared and (rejected or state not in (None, self.state)):
                # Whatever is known has to be with a train.
                train, late, stored = unmoved(last), 0, None
            else:
                train, late, stored = None, 0, None
            train = self._commit(train, stored, state, late, rejected)
        if train:
            self._notify(train)

    def pass_time(self, arrival: float, event: int | None = None) -> None:
        """Note that nothing came until a time, so that windows over it can close."""
        with self._lock:
            last = self.last
            before = marks(last)
            after = max(before[0], event if event is not None else NEVER), max(before[1], round(arrival * _MICROS))
            if after == before or ENDED in before:
                return
            train = self._commit(empty(last, after))
        self._notify(train)

    def end(self) -> None:
        """Note that no tuple will come any more: every window closes."""
        with self._lock:
            if self.ended:
                return
            train = self._commit(empty(self.last, (ENDED, ENDED)), ended=True)
        self._notify(train)

    @property
    def counted(self) -> tuple[int, Mapping[str, int]]:
        """Tuples that came behind the watermark, and rows that were rejected by reason."""
        return self._committed.counted(self.name)

    # What engines do that read the same source apart

    def mark(self) -> Mark | None:
        """Where somebody else can go on; None before there is anything, and at the end."""
        with self._lock:
            if self.state is None or self.ended:
                return None
            return Mark(self.head, self.state, *marks(self.last))

    def begin_at(self, mark: Mark) -> None:
        """Begin at a mark and let go of nothing from there on, until `floor` is raised.

        What is there goes on if it has come that far.
        """
        with self._lock:
            self.floor = self.floor or 0
            if self.state is not None and self.head >= mark.position:
                return
            self._committed.forget(self.name)
            self._trains, self._panes, self.ended = [], {}, False
            self._clear_strangers()
            self._commit(begun_at(mark) if mark.position else None, state=mark.state)

    # What who shares the log does

    def follow(self) -> Sequence[StoredTrain]:
        """Enter the trains that others have appended since; gives them."""
        if self.shared is None:
            return []
        entered: list[StoredTrain] = []
        while found := self._follow(self.shared):
            for train in found:
                self._notify(train)
            entered += found
        return entered

    def _follow(self, shared: SharedTrains) -> list[StoredTrain]:
        with self._lock:
            behind = self._next
            found: list[Shared] = []
            while len(found) < _AT_ONCE and shared.has(behind + len(found)):
                if (each := shared.read(behind + len(found))) is None:
                    break
                found.append(each)
            floor = shared.floor()
            if floor > behind:
                return self._jump(shared, floor)
            if found:
                self._committed.append_many(self.name, [_appended(each) for each in found])
                for each in found:
                    self._enter(each.train, each.state, ended=each.ended)
            return [each.train for each in found]

    def _jump(self, shared: SharedTrains, floor: int) -> list[StoredTrain]:
        """Go on at the floor: all engines that count have passed what was before it."""
        first = shared.read(floor)
        if first is None:
            return []
        if self._trains:
            _log.warning("stream %s: what was before train %d is gone; it goes on there", self.name, floor)
        self._committed.append_many(self.name, [_appended(first)], before=floor)
        self._trains, self._panes = [], {}
        self._enter(first.train, first.state, ended=first.ended)
        return [first.train]

    def _bring_up_to_date(self, shared: SharedTrains) -> None:
        """Have what the folder has: after a crash of the machine, the manifest may remember something else."""
        last = self.last
        if last and last.seq >= shared.floor():
            there = shared.read(last.seq)
            if there is None or there.train != last:
                _log.warning("stream %s: its shared log is not as it was; it is read anew", self.name)
                self._committed.forget(self.name)
                self._trains, self.state, self.ended = [], None, False
        if lost := self._lost():
            self._trains = self._trains[lost:]
            self._committed.drop(self.name, shared.floor())
        self.follow()
        self._letters.disown(shared, self._next)

    def _lost(self) -> int:
        """How many of the trains are gone for all who share the log."""
        if self.shared is None:
            return 0
        return bisect.bisect_left(self._trains, self.shared.floor(), key=lambda train: train.seq)

    # What is let go of

    def drop(self, position: int, last_look: Callable[[Sequence[StoredTrain]], None] = lambda _: None) -> int:
        """Forget the trains that end at or before a position, but for the newest; how many went.

        Whoever wants something of them has a last look.
        """
        with self._lock:
            position = position if self.floor is None else min(position, self.floor)
            lost = self._lost()
            count = min(max(lost, ended_by(self._trains, position)), len(self._trains) - 1)
            if count <= 0:
                return 0
            gone = self._trains[:count]
            if gone[lost:]:
                last_look(gone[lost:])
            self._committed.drop(self.name, self._trains[count].seq)
            # Queries that look at the list meanwhile go on with the old one.
            self._trains = self._trains[count:]
            self._panes = {key: panes for key, panes in list(self._panes.items()) if key[0] > gone[-1].seq}
        for train in gone if self.shared is None else ():
            self.path(train).unlink(missing_ok=True)
        return count

    # Inside

    @property
    def _next(self) -> int:
        """The number of the next train."""
        last = self.last
        return last.seq + 1 if last else 0

    def _commit(
        self,
        train: _Train,
        rows: pa.Table | None = None,
        state: State | None = None,
        late: int = 0,
        rejected: Sequence[Rejected] = (),
        *,
        ended: bool = False,
    ) -> _Train:
        """Write a train and what comes with it, and enter it."""
        if train is None:
            self._committed.append(self.name, None, state, rejected=self._bury(rejected))
        elif self.shared is None:
            if rows is not None:
                file = self.path(train)
                write(rows, file, sync=self.sync)
                train = replace(train, bytes=file.stat().st_size)
            reasons = self._bury(rejected)
            self._committed.append(self.name, train, state, late=late, rejected=reasons, ended=ended)
        else:
            train = self._share(self.shared, train, rows, state, late, rejected, ended=ended)
        self._enter(train, state, ended=ended)
        return train

    def _share(
        self,
        shared: SharedTrains,
        train: StoredTrain,
        rows: pa.Table | None,
        state: State | None,
        late: int,
        rejected: Sequence[Rejected],
        *,
        ended: bool,
    ) -> StoredTrain:
        letters = self._letters.of(train.seq, self._writer)
        reasons = self._letters.bury(rejected, letters)
        state = self.state if state is None else state
        told = Shared(train, state, late, reasons, ended, self._writer)
        try:
            train = shared.create(told, self._arrivals.stored.empty_table() if rows is None else rows)
        except BaseException:
            letters.unlink(missing_ok=True)
            raise
        self._committed.append(self.name, train, state, late=late, rejected=reasons, ended=ended)
        return train

    def _enter(self, train: StoredTrain | None, state: State | None, *, ended: bool = False) -> None:
        self.state = state if state is not None else self.state
        self.ended = self.ended or ended
        if train:
            self._trains.append(train)

    def _bury(self, rejected: Sequence[Rejected]) -> dict[str, int]:
        # By what was rejected before: after a crash ahead of the commit the same rows write the same file.
        return self._letters.bury(rejected, self._letters.behind(sum(self.counted[1].values()))) if rejected else {}

    def _clear_strangers(self) -> None:
        """Remove files that a crash left without a row."""
        known = {self.path(train).name for train in self._trains}
        for file in self._folder.iterdir():
            if file.name not in known and file.is_file():
                file.unlink()


def _appended(shared: Shared) -> Appended:
    return Appended(shared.train, shared.state, shared.late, shared.rejected, shared.ended)
