"""The trains of a stream as queries see them: where tuples are, when they came, up to which time all are there."""

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headgate.engine.log.files import ARRIVAL, read
from headgate.engine.log.stored import StoredTrain
from headgate.engine.windows import ENDED, NEVER, Time, Window

_MICROS = 1_000_000
_LATELY = 5 * _MICROS
"""Over how much time a stream's pace is taken."""
_SUMS = 10_000
"""So many sums of arrivals are kept at most."""


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


class Trains:
    """All that is known of a stream's trains; positions number the tuples from 0 on.

    Nothing from the position `floor` on is forgotten, if there is one. `delay` is in microseconds. With `sync`, all
    that is committed is on the disk.
    """

    def __init__(
        self, name: str, schema: pa.Schema, folder: Path, *, event_time: str | None, delay: int, sync: bool
    ) -> None:
        self.name, self.schema, self.event_time, self.delay = name, schema, event_time, delay
        self.floor: int | None = None
        self.sync = sync
        self._folder = folder
        # The one list of all that is known of the trains: queries look at it while it grows, or is replaced.
        self._trains: list[StoredTrain] = []
        self._panes: dict[tuple[int, Window], tuple[int, ...]] = {}
        # Of arrivals, up to which train: many queries ask for the same.
        self._sums: dict[tuple[int, int], float] = {}
        self._summed: StoredTrain | None = None
        self.behind_each: tuple[StoredTrain | None, dict[int, Any]] = None, {}
        """As of the newest train, what waits behind positions: many queries stand at the same one."""

    @property
    def head(self) -> int:
        """The position behind the newest tuple."""
        last = self.last
        return last.end if last else 0

    @property
    def last(self) -> StoredTrain | None:
        """The newest train."""
        trains = self._trains
        return trains[-1] if trains else None

    @property
    def trains(self) -> Sequence[StoredTrain]:
        """The trains that are there, oldest first. Grows while one looks at it."""
        return self._trains

    def watermark(self, time: Time, position: int | None = None) -> int:
        """The time up to which all tuples are there, given the trains that end at or before a position."""
        trains = self._trains
        count = len(trains) if position is None else ended_by(trains, position)
        at_first = trains[0].before(time) if trains else NEVER
        mark = trains[count - 1].after(time) if count else at_first
        # Rows count one by one, also within a train.
        return mark if position is None or time != "rows" else max(mark, position)

    def reached(self, end: int, time: Time) -> StoredTrain:
        """The first train whose watermark reaches the end of a window."""
        trains = self._trains
        return trains[bisect.bisect_left(trains, end, key=lambda train: train.after(time))]

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
            first, last = train.span(time)
            if train.count and first < end and last >= start and train.before(time) < end:
                found.append(self._slice(train, 0, train.count))
        return found

    def extent(self, start: int, end: int, time: Time) -> Extent:
        """Where the tuples of a window are."""
        found, low, high = 0, self.head, 0
        for train in self._trains:
            first, last = train.span(time)
            if not train.count or first >= end or last < start or train.before(time) >= end:
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
        return next((t.first for t in self._trains if t.count and t.span(kind)[1] >= time), self.head)

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
        if not trains or trains[-1].after(kind) == ENDED:
            return 0.0
        last = trains[-1]
        since = bisect.bisect_left(trains, last.arrived_last - _LATELY, key=lambda train: train.arrived_last)
        first = trains[min(since, len(trains) - 1)]
        passed = (last.arrived_last - first.arrived_last) / _MICROS
        marks = first.after(kind), last.after(kind)
        return (marks[1] - marks[0]) / passed if passed > 0 and NEVER not in marks else 0.0

    def behind(self, low: int, high: int) -> int:
        """Tuples between two positions whose event time was before the watermark when they came."""
        return self._count(low, high, "event", lambda times, before: times < before)

    def panes(self, train: StoredTrain, window: Window) -> tuple[int, ...]:
        """The panes in which a train has tuples that are not late for all of their windows."""
        key = (train.seq, window)
        if key not in self._panes:
            before = train.before(window.time)
            try:
                times = self.times(train, window.time)
            except OSError:
                # The run that reads the file will tell of it; here it only has to come to that run.
                first, last = train.span(window.time)
                times = np.arange(first // window.pane * window.pane, last + 1, window.pane)
            starts = np.unique(times // window.pane * window.pane)
            self._panes[key] = tuple(int(p) for p in starts if window.last_end(int(p)) > before)
        return self._panes[key]

    def times(self, train: StoredTrain, time: Time) -> NDArray[np.int64]:
        """The times of a train's tuples, in microseconds."""
        if not train.count or time == "rows":
            return np.arange(train.first, train.end)
        column = ARRIVAL if time == "arrival" else self.event_time
        table = read(self.path(train), [column])
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
            before = train.before(kind)
            # Most trains have no tuple behind the watermark, and their files need not be opened.
            if train.count and train.span(kind)[0] < before:
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
        if self._summed is not self.last or len(self._sums) >= _SUMS:
            self._summed, self._sums = self.last, {}
        known = self._sums
        if (position, n) not in known:
            known[position, n] = self._sum(position, n)
        return known[position, n]

    def _sum(self, position: int, n: int) -> float:
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
        return read(self.path(train), [*self.schema.names, ARRIVAL])

    def column(self, name: str, low: int, high: int) -> pa.ChunkedArray:
        """A column of the tuples from one position to before another."""
        parts = [read(Path(s.file), [name]).slice(s.offset, s.count) for s in self.slices(low, high)]
        return pa.concat_tables(parts).column(0)

    def _behind(self, position: int) -> Iterator[StoredTrain]:
        """The trains that end behind a position."""
        trains = self._trains
        for i in range(ended_by(trains, position), len(trains)):
            yield trains[i]

    def _slice(self, train: StoredTrain, offset: int, count: int) -> Slice:
        first = train.first + offset
        return Slice(str(self.path(train)), offset, count, first, train.event_before, train.arrival_before)


def ended_by(trains: Sequence[StoredTrain], position: int) -> int:
    """How many trains end at or before a position."""
    return bisect.bisect_right(trains, position, key=lambda train: train.end)
