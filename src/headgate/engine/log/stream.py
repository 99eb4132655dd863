"""The log of one stream: trains in files, their rows in the manifest, and what queries ask about them."""

import bisect
import json
import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headgate.engine.log import synced
from headgate.engine.log.manifest import Appended, Manifest, StoredTrain
from headgate.engine.log.shared import Shared, SharedTrains
from headgate.engine.source.protocol import Rejected, State
from headgate.engine.windows import ENDED, NEVER, Time, Window
from headgate.errors import HeadgateError, InputError

ARRIVAL = "_arrival"
STAMP = pa.timestamp("us", tz="UTC")
_MICROS = 1_000_000
_LATELY = 5 * _MICROS
"""Over how much time a stream's pace is taken."""
_AT_ONCE = 256
"""Trains of others that are entered in one transaction."""
_Train = TypeVar("_Train", StoredTrain, StoredTrain | None)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a train: the rows from `offset` on, and what a reader has to know of the train."""

    file: str
    offset: int
    count: int
    first: int
    event_before: int
    arrival_before: int


class Extent(NamedTuple):
    """How many tuples a window has, and the positions from the first of them to behind the last."""

    tuples: int = 0
    low: int = 0
    high: int = 0


class StreamLog:
    """The trains of one stream. A source appends, queries read; positions number the tuples from 0 on.

    Of a `shared` log the files are those of all engines: what is there counts, and the manifest only remembers it.
    Whoever appends to it may learn that somebody else has, by a SupersededError; `follow` enters what others append.
    Nothing from the position `floor` on is forgotten, if there is one.
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
        self.name, self.schema, self.event_time = name, schema, event_time
        self.shared, self.floor = shared, None if shared is None else 0
        self._writer = uuid.uuid4().hex[:12]
        self.delay = round(delay * _MICROS)
        self._folder, self._dead, self._manifest, self._notify = folder, dead, manifest, on_append
        self.sync = sync
        self._lock = threading.Lock()
        self._stored = pa.schema([*schema, pa.field(ARRIVAL, STAMP)])
        definition = {"schema": str(schema), "event_time": event_time, "delay": self.delay}
        entered, self.state, self.ended = manifest.stream(name, definition)
        for begun in [entered, *([shared.agree(definition)] if shared else [])]:
            if begun != definition:
                changed = ", ".join(key for key in definition if begun.get(key) != definition[key])
                raise InputError(
                    f"stream '{name}' has the columns and times with which its state folder was begun",
                    f"another {changed}",
                    "Use the old ones, another name, or a fresh state folder.",
                )
        # The one list of all that is known of the trains: queries look at it while it grows, or is replaced.
        self._trains = manifest.trains(name)
        self._panes: dict[tuple[int, Window], tuple[int, ...]] = {}
        if shared:
            self._folder = shared.folder
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
            stamps = self._stamps(rows.num_rows, arrived)
            rows, stamps, untimed = self._timed(rows, stamps)
            rejected = [*rejected, *untimed]
            if rows.num_rows:
                train, late, stored = self._told(rows, stamps)
            elif self.shared and (rejected or state not in (None, self.state)):
                # Whatever is known has to be with a train.
                train, late, stored = self._unmoved(), 0, self._stored.empty_table()
            else:
                train, late, stored = None, 0, None
            train = self._commit(train, stored, state, late, rejected)
        if train:
            self._notify(train)

    def pass_time(self, arrival: float, event: int | None = None) -> None:
        """Note that nothing came until a time, so that windows over it can close."""
        with self._lock:
            last = self._last()
            before = (last.event_after, last.arrival_after) if last else (NEVER, NEVER)
            after = max(before[0], event if event is not None else NEVER), max(before[1], round(arrival * _MICROS))
            if after == before or ENDED in before:
                return
            train = self._commit(self._empty(before, after))
        self._notify(train)

    def end(self) -> None:
        """Note that no tuple will come any more: every window closes."""
        with self._lock:
            if self.ended:
                return
            last = self._last()
            before = (last.event_after, last.arrival_after) if last else (NEVER, NEVER)
            train = self._commit(self._empty(before, (ENDED, ENDED)), ended=True)
        self._notify(train)

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
            last = self._last()
            behind = last.seq + 1 if last else 0
            found: list[Shared] = []
            while len(found) < _AT_ONCE and shared.has(behind + len(found)):
                if (each := shared.read(behind + len(found))) is None:
                    break
                found.append(each)
            floor = shared.floor()
            if floor > behind:
                return self._jump(shared, floor)
            if found:
                self._manifest.append_many(self.name, [_appended(each) for each in found])
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
        self._manifest.append_many(self.name, [_appended(first)], before=floor)
        self._trains, self._panes = [], {}
        self._enter(first.train, first.state, ended=first.ended)
        return [first.train]

    def _bring_up_to_date(self, shared: SharedTrains) -> None:
        """Have what the folder has: after a crash of the machine, the manifest may remember something else."""
        last = self._last()
        if last and last.seq >= shared.floor():
            there = shared.read(last.seq)
            if there is None or there.train != last:
                _log.warning("stream %s: its shared log is not as it was; it is read anew", self.name)
                self._manifest.forget_stream(self.name)
                self._trains, self.state, self.ended = [], None, False
        if lost := self._lost():
            self._trains = self._trains[lost:]
            self._manifest.drop_trains(self.name, shared.floor())
        self.follow()
        self._disown()

    def _lost(self) -> int:
        """How many of the trains are gone for all who share the log."""
        if self.shared is None:
            return 0
        return bisect.bisect_left(self._trains, self.shared.floor(), key=lambda train: train.seq)

    def _disown(self) -> None:
        """Remove dead letters of a train that this log has not come to append."""
        for file in sorted(self._dead.glob("*-*.jsonl"))[-1:]:
            seq, _, writer = file.stem.partition("-")
            train = self.shared.read(int(seq)) if self.shared else None
            newest = self._last()
            if (train and train.writer != writer) or (train is None and (newest is None or int(seq) > newest.seq)):
                file.unlink()

    # What queries ask

    @property
    def head(self) -> int:
        """The position behind the newest tuple."""
        last = self._last()
        return last.end if last else 0

    @property
    def trains(self) -> Sequence[StoredTrain]:
        """The trains that are there, oldest first. Grows while one looks at it."""
        return self._trains

    def watermark(self, time: Time, position: int | None = None) -> int:
        """The time up to which all tuples are there, given the trains that end at or before a position."""
        trains = self._trains
        count = len(trains) if position is None else _ended(trains, position)
        at_first = _before(trains[0], time) if trains else NEVER
        mark = _after(trains[count - 1], time) if count else at_first
        # Rows count one by one, also within a train.
        return mark if position is None or time != "rows" else max(mark, position)

    def reached(self, end: int, time: Time) -> StoredTrain:
        """The first train whose watermark reaches the end of a window."""
        trains = self._trains
        return trains[bisect.bisect_left(trains, end, key=lambda train: _after(train, time))]

    def slices(self, low: int, high: int) -> list[Slice]:
        """The tuples from one position to before another, by train."""
        found = []
        for train in self._behind(low):
            if train.first >= high:
                break
            start, stop = max(low, train.first), min(high, train.end)
            if stop > start:
                found.append(self._slice(train, start - train.first, stop - start))
        return found

    def within(self, start: int, end: int, time: Time) -> list[Slice]:
        """The trains that may have tuples of a window."""
        if time == "rows":
            return self.slices(start, end)
        found = []
        for train in self._trains:
            first, last = _span(train, time)
            if train.count and first < end and last >= start and _before(train, time) < end:
                found.append(self._slice(train, 0, train.count))
        return found

    def extent(self, start: int, end: int, time: Time) -> Extent:
        """Where the tuples of a window are."""
        found, low, high = 0, self.head, 0
        for train in self._trains:
            first, last = _span(train, time)
            if not train.count or first >= end or last < start or _before(train, time) >= end:
                continue
            at, until, count = 0, train.count, train.count
            if first < start or last >= end:
                times = self.times(train, time)
                (inside,) = np.nonzero((times >= start) & (times < end))
                count = len(inside)
                at, until = (int(inside[0]), int(inside[-1]) + 1) if count else (0, 0)
            if count:
                found, low, high = found + count, min(low, train.first + at), max(high, train.first + until)
        return Extent(found, low, high) if found else Extent()

    def since(self, low: int, high: int) -> list[Slice]:
        """The trains up to a position that may have event times from `low` on."""
        trains = [t for t in self._trains if t.count and t.end <= high and (t.event_last or 0) >= low]
        return [self._slice(train, 0, train.count) for train in trains]

    def since_seq(self, seq: int) -> list[StoredTrain]:
        """The trains from a sequence number on."""
        trains = self._trains
        return trains[bisect.bisect_left(trains, seq, key=lambda train: train.seq) :]

    def first_since(self, time: int, kind: Time) -> int:
        """The position of the first train that has, or may yet be followed by, a tuple from a time on."""
        return next((t.first for t in self._trains if t.count and _span(t, kind)[1] >= time), self.head)

    def complete_since(self, kind: Time) -> int:
        """The time from which on every tuple that came, or will come, is there."""
        trains, floor = self._trains, self.floor or 0
        first = next((train.first for train in trains if train.end > floor), floor)
        return self.newest(kind, first) + 1 if first else NEVER

    def newest(self, kind: Time, position: int) -> int:
        """The latest time of a tuple before a position; NEVER if there is none, and over rows the one before."""
        if kind == "rows":
            return position - 1
        mark = self.watermark(kind, position)
        return mark + self.delay if kind == "event" and NEVER < mark < ENDED else mark

    def pace(self, kind: Time) -> float:
        """How fast the watermark has gone of late, by second: in microseconds, or over rows in tuples."""
        trains = self._trains
        if not trains or _after(trains[-1], kind) == ENDED:
            return 0.0
        last = trains[-1]
        since = bisect.bisect_left(trains, last.arrived_last - _LATELY, key=lambda train: train.arrived_last)
        first = trains[min(since, len(trains) - 1)]
        passed = (last.arrived_last - first.arrived_last) / _MICROS
        marks = _after(first, kind), _after(last, kind)
        return (marks[1] - marks[0]) / passed if passed > 0 and NEVER not in marks else 0.0

    def before(self, train: StoredTrain, time: Time) -> int:
        """The watermark before a train."""
        return _before(train, time)

    def behind(self, low: int, high: int) -> int:
        """Tuples between two positions whose event time was before the watermark when they came."""
        return self._count(low, high, "event", lambda times, before: times < before)

    def panes(self, train: StoredTrain, window: Window) -> tuple[int, ...]:
        """The panes in which a train has tuples that are not late for all of their windows."""
        key = (train.seq, window)
        if key not in self._panes:
            before = _before(train, window.time)
            try:
                times = self.times(train, window.time)
            except OSError:
                # The run that reads the file will tell of it; here it only has to come to that run.
                first, last = _span(train, window.time)
                times = np.arange(first // window.pane * window.pane, last + 1, window.pane)
            starts = np.unique(times // window.pane * window.pane)
            self._panes[key] = tuple(int(p) for p in starts if window.last_end(int(p)) > before)
        return self._panes[key]

    def times(self, train: StoredTrain, time: Time) -> NDArray[np.int64]:
        """The times of a train's tuples, in microseconds."""
        if not train.count or time == "rows":
            return np.arange(train.first, train.end)
        column = ARRIVAL if time == "arrival" else self.event_time
        table = _read(self.path(train), [column])
        return np.asarray(pc.cast(table.column(0), pa.int64()).to_numpy())

    def late(self, low: int, high: int, window: Window) -> int:
        """Tuples between two positions that came too late for a window of theirs."""
        size, slide = window.size, window.slide

        def late(times: NDArray[np.int64], before: int) -> NDArray[np.bool_]:
            starts = ((times - size) // slide + 1) * slide
            # Where windows leave gaps, the first to end after a tuple may not have begun: the tuple has none.
            return np.asarray((starts + size <= before) & (starts <= times))

        return self._count(low, high, window.time, late)

    def _count(
        self, low: int, high: int, kind: Time, late: Callable[[NDArray[np.int64], int], NDArray[np.bool_]]
    ) -> int:
        found = 0
        for train in self._behind(low):
            if train.first >= high:
                break
            before = _before(train, kind)
            # Most trains have no tuple behind the watermark, and their files need not be opened.
            if train.count and _span(train, kind)[0] < before:
                times = self.times(train, kind)[max(0, low - train.first) : high - train.first]
                found += int(late(times, before).sum())
        return found

    def oldest(self, position: int) -> float:
        """When the tuple at a position arrived. Within a train arrivals are taken as evenly spread."""
        train = next(self._behind(position), None)
        if train is None:
            return float("inf")
        share = (position - train.first) / max(1, train.count - 1)
        return (train.arrived_first + share * (train.arrived_last - train.arrived_first)) / _MICROS

    def arrived(self, position: int, n: int) -> float:
        """Sum of the arrival times of n tuples from a position on, in seconds."""
        total = 0.0
        for train in self._behind(position):
            if n <= 0:
                break
            take = min(n, train.end - position)
            if take == train.count:
                total += train.arrived_sum
            elif take:
                middle = self.oldest(position) + self.oldest(position + take - 1)
                total += take * middle / 2
            n, position = n - take, position + take
        return total

    def path(self, train: StoredTrain) -> Path:
        """The file of a train."""
        return self._folder / f"{train.seq:012d}.arrow"

    def rows(self, train: StoredTrain) -> pa.Table:
        """The tuples of a train."""
        return _read(self.path(train), [*self.schema.names, ARRIVAL])

    def column(self, name: str, low: int, high: int) -> pa.ChunkedArray:
        """A column of the tuples from one position to before another."""
        parts = [_read(Path(s.file), [name]).slice(s.offset, s.count) for s in self.slices(low, high)]
        return pa.concat_tables(parts).column(0)

    def drop(self, position: int, last_look: Callable[[Sequence[StoredTrain]], None] = lambda _: None) -> int:
        """Forget the trains that end at or before a position, but for the newest; how many went.

        Whoever wants something of them has a last look.
        """
        with self._lock:
            position = position if self.floor is None else min(position, self.floor)
            lost = self._lost()
            count = min(max(lost, _ended(self._trains, position)), len(self._trains) - 1)
            if count <= 0:
                return 0
            gone = self._trains[:count]
            if gone[lost:]:
                last_look(gone[lost:])
            self._manifest.drop_trains(self.name, self._trains[count].seq)
            # Queries that look at the list meanwhile go on with the old one.
            self._trains = self._trains[count:]
            self._panes = {key: panes for key, panes in list(self._panes.items()) if key[0] > gone[-1].seq}
        for train in gone if self.shared is None else ():
            self.path(train).unlink(missing_ok=True)
        return count

    @property
    def counted(self) -> tuple[int, Mapping[str, int]]:
        """Tuples that came behind the watermark, and rows that were rejected by reason."""
        return self._manifest.counted(self.name)

    # Inside

    def _last(self) -> StoredTrain | None:
        trains = self._trains
        return trains[-1] if trains else None

    def _behind(self, position: int) -> Iterator[StoredTrain]:
        """The trains that end behind a position."""
        trains = self._trains
        for i in range(_ended(trains, position), len(trains)):
            yield trains[i]

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
            self._manifest.append(self.name, None, state, rejected=self._bury(rejected, self._dead_letters()))
        elif self.shared is None:
            if rows is not None:
                file = self.path(train)
                write(rows, file, sync=self.sync)
                train = replace(train, bytes=file.stat().st_size)
            reasons = self._bury(rejected, self._dead_letters())
            self._manifest.append(self.name, train, state, late=late, rejected=reasons, ended=ended)
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
        letters = self._dead / f"{train.seq:012d}-{self._writer}.jsonl"
        reasons = self._bury(rejected, letters)
        state = self.state if state is None else state
        told = Shared(train, state, late, reasons, ended, self._writer)
        try:
            train = shared.create(told, self._stored.empty_table() if rows is None else rows)
        except BaseException:
            letters.unlink(missing_ok=True)
            raise
        self._manifest.append(self.name, train, state, late=late, rejected=reasons, ended=ended)
        return train

    def _enter(self, train: StoredTrain | None, state: State | None, *, ended: bool = False) -> None:
        self.state = state if state is not None else self.state
        self.ended = self.ended or ended
        if train:
            self._trains.append(train)

    def _stamps(self, n: int, arrived: NDArray[np.float64] | None) -> NDArray[np.int64]:
        last = self._last()
        earliest = max(0, last.arrival_after) if last else 0
        given = np.full(n, time.time()) if arrived is None else arrived
        # Time may step back; arrival is an order, so it does not.
        stamps: NDArray[np.int64] = np.maximum.accumulate(
            np.maximum(np.rint(given * _MICROS).astype(np.int64), earliest)
        )
        return stamps

    def _timed(self, rows: pa.Table, stamps: NDArray[np.int64]) -> tuple[pa.Table, NDArray[np.int64], list[Rejected]]:
        """The rows without those that have no event time though the stream has."""
        if self.event_time is None or not rows.column(self.event_time).null_count:
            return rows, stamps, []
        missing = np.asarray(pc.is_null(rows.column(self.event_time)))
        bad = rows.filter(pa.array(missing)).to_pylist()
        reason = f"no event time: column {self.event_time} is empty"
        found = [Rejected(json.dumps(row, default=str), reason, f"stream {self.name}") for row in bad]
        return rows.filter(pa.array(~missing)), stamps[~missing], found

    def _told(self, rows: pa.Table, stamps: NDArray[np.int64]) -> tuple[StoredTrain, int, pa.Table]:
        """The train of some rows, how many of them are late, and what is stored of them."""
        last = self._last()
        seq, first = (last.seq + 1, last.end) if last else (0, 0)
        before, arrival_before = (last.event_after, last.arrival_after) if last else (NEVER, NEVER)
        event_first = event_last = None
        after, late = before, 0
        if self.event_time is not None:
            times = pc.cast(rows.column(self.event_time), pa.int64())
            event_first, event_last = (value.as_py() for value in pc.min_max(times).values())
            after = max(before, event_last - self.delay)
            late = pc.sum(pc.less(times, before)).as_py() if event_first < before else 0
        stored = rows.append_column(self._stored.field(ARRIVAL), pa.array(stamps).cast(STAMP)).cast(self._stored)
        arrived = int(stamps[0]), int(stamps[-1]), float(stamps.sum(dtype=np.float64)) / _MICROS
        train = StoredTrain(
            *(seq, first, rows.num_rows, 0, *arrived),
            *(event_first, event_last, before, after, arrival_before, arrived[1]),
        )
        return train, late, stored

    def _empty(self, before: tuple[int, int], after: tuple[int, int]) -> StoredTrain:
        last = self._last()
        now = round(time.time() * _MICROS)
        seq, first = (last.seq + 1, last.end) if last else (0, 0)
        newest = last.newest if last else now
        return StoredTrain(seq, first, 0, 0, newest, now, 0.0, None, None, before[0], after[0], before[1], after[1])

    def _unmoved(self) -> StoredTrain:
        """A train that only says what its source has found, which is no tuple: the stream is as silent as before."""
        last = self._last()
        if last is None:
            return self._empty((NEVER, NEVER), (NEVER, NEVER))
        marks = last.event_after, last.arrival_after
        return replace(self._empty(marks, marks), arrived_last=last.arrived_last)

    def _dead_letters(self) -> Path:
        # Named by what was rejected before: after a crash ahead of the commit the same rows write the same file.
        return self._dead / f"{sum(self.counted[1].values()):012d}.jsonl"

    def _bury(self, rejected: Sequence[Rejected], file: Path) -> dict[str, int]:
        """Write rejected rows to the dead letters, a file per train, and count them by reason."""
        if not rejected:
            return {}
        self._dead.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps({"reason": r.reason, "place": r.place, "row": r.row}) for r in rejected]
        file.write_text("\n".join(lines) + "\n")
        if self.sync:
            synced.sync(file)
            synced.sync(self._dead)
        _log.warning(
            "stream %s: %d rows rejected, in %s; first: %s", self.name, len(rejected), file, rejected[0].reason
        )
        return dict(Counter(r.reason for r in rejected))

    def _slice(self, train: StoredTrain, offset: int, count: int) -> Slice:
        first = train.first + offset
        return Slice(str(self.path(train)), offset, count, first, train.event_before, train.arrival_before)

    def _clear_strangers(self) -> None:
        """Remove files that a crash left without a row."""
        known = {self.path(train).name for train in self._trains}
        for file in self._folder.iterdir():
            if file.name not in known and file.is_file():
                file.unlink()


def write(table: pa.Table, file: Path, *, sync: bool = False) -> None:
    """Write an Arrow file under a temporary name, then give it its own; with `sync`, it outlives the machine."""
    temporary = file.with_suffix(".tmp")
    try:
        with pa.OSFile(str(temporary), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
        if sync:
            synced.sync(temporary)
        temporary.rename(file)
        if sync:
            synced.sync(file.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        message = f"cannot write {file}: {error.strerror or error}. Make room or mend the folder, then resume."
        raise HeadgateError(message) from error


def _read(file: Path, columns: list[str | None]) -> pa.Table:
    with pa.memory_map(str(file)) as source:
        return pa.ipc.open_file(source).read_all().select(columns).replace_schema_metadata()


def _appended(shared: Shared) -> Appended:
    return Appended(shared.train, shared.state, shared.late, shared.rejected, shared.ended)


def _ended(trains: Sequence[StoredTrain], position: int) -> int:
    """How many trains end at or before a position."""
    return bisect.bisect_right(trains, position, key=lambda train: train.end)


def _before(train: StoredTrain, time: Time) -> int:
    if time == "rows":
        return train.first
    return train.event_before if time == "event" else train.arrival_before


def _after(train: StoredTrain, time: Time) -> int:
    if time == "rows":
        return ENDED if train.arrival_after == ENDED else train.end
    return train.event_after if time == "event" else train.arrival_after


def _span(train: StoredTrain, time: Time) -> tuple[int, int]:
    if time == "arrival":
        return train.arrived_first, train.arrived_last
    if time == "rows":
        return train.first, train.end - 1
    return train.event_first or 0, train.event_last or 0
