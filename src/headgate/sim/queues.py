"""What waits for the units of a workload: each has a place in the log of its streams, however many tuples that is.

Windows that a unit evaluates whole are taken one by one, once they have closed; everything else is read as it comes.
The results of windows come with the run that reads the last tuple before they were due, and count from then on.
"""

import math
import sys
from collections import deque
from collections.abc import Mapping
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from headgate.shed.droppers import Random
from headgate.sim.workload import Floats, UnitSpec, Workload

_EXACT = 1e-3
"""Seconds by which a due time that was computed from a response time may be off."""

Windows: TypeAlias = tuple[Floats, Floats]
"""Since when the results of windows are due, ascending, and how many there are."""
NO_WINDOWS: Windows = (np.empty(0), np.empty(0))


class Feed:
    """The log that units read: arrivals, when they can be read, numbers, and sums of arrivals up to each place."""

    def __init__(self, at: Floats, seen: Floats, numbers: NDArray[np.int64]) -> None:
        self.at = at
        self.seen = seen
        self.numbers = numbers
        self.sums: Floats = np.concatenate(([0.0], np.cumsum(at)))
        self.readable = 0
        self.now = 0.0

    def look(self, now: float) -> None:
        """See what can be read now."""
        self.now = now
        self.readable = int(np.searchsorted(self.seen, now, side="right"))

    def next(self) -> float:
        """When more can be read than now."""
        return self.seen.item(self.readable) if self.readable < len(self.seen) else math.inf


class TupleQueue:
    """The place of a unit in its feed, as a policy sees it: with nothing to read while the unit runs or is away."""

    __slots__ = ("away", "decided", "due", "end", "feed", "place", "places", "rates", "results", "running")

    whole = False
    """Whether a run takes all that waits."""

    def __init__(self, feed: Feed, place: int, end: int, windows: Windows = NO_WINDOWS) -> None:
        self.feed = feed
        self.due, self.results = windows
        self.places = np.maximum(place + 1, np.searchsorted(feed.seen, self.due + _EXACT, side="right"))
        self.place = self.decided = place
        self.end = end
        self.running = False
        self.away = False
        self.rates: deque[tuple[int, int]] = deque()

    @property
    def behind(self) -> int:
        """Tuples that wait, whether the unit runs or not."""
        return max(0, min(self.feed.readable, self.end) - self.place)

    @property
    def pending(self) -> int:
        """Tuples that wait."""
        return 0 if self.running or self.away else self.behind

    @property
    def oldest(self) -> float:
        """Arrival of the first in line."""
        return self.feed.at.item(self.place) if self.behind else math.inf

    @property
    def position(self) -> int:
        """Number of the first in line."""
        return self.feed.numbers.item(self.place)

    def arrived(self, n: int) -> float:
        """Sum of the arrival times of the first n."""
        if n == 1:  # exactly, so that one which comes this instant has waited for nothing
            return self.feed.at.item(self.place)
        return self.feed.sums.item(self.place + n) - self.feed.sums.item(self.place)

    def decide(self, end: int, percent: int) -> None:
        """Give all places before `end` that have none yet a drop rate."""
        if end > self.decided:
            self.rates.append((end, percent))
            self.decided = end

    def read(self, n: int) -> Floats:
        """The arrivals of the next n tuples that are not dropped."""
        low, high, found = self.place, self.place + n, []
        while low < high:
            end, percent = self.rates[0]
            part = slice(low, min(end, high))
            at = self.feed.at[part]
            found.append(at[Random().keep(self.feed.numbers[part], percent / 100)] if percent else at)
            low = part.stop
            if end <= high:
                self.rates.popleft()
        return np.concatenate(found)

    def closed(self, n: int) -> tuple[Floats, Floats]:
        """The windows whose results come with a run over the next n tuples: since when they are due, and how many."""
        these = slice(*np.searchsorted(self.places, (self.place, self.place + n), side="right"))
        return self.due[these], self.results[these]


class WindowQueue(TupleQueue):
    """The same of a unit that evaluates windows whole: the next one waits once it has closed."""

    __slots__ = ()
    whole = True

    @property
    def behind(self) -> int:
        end = self._next()
        there = end <= min(self.feed.readable, self.end) and self.closes() <= self.feed.now
        return end - self.place if there else 0

    def closes(self) -> float:
        """When the next window does."""
        at = self._at()
        return self.due.item(at) if at < len(self.due) else math.inf

    @property
    def oldest(self) -> float:
        return self.closes() if self.behind else math.inf

    def arrived(self, n: int) -> float:
        return n * self.oldest

    def _at(self) -> int:
        return int(np.searchsorted(self.places, self.place, side="right"))

    def _next(self) -> int:
        at = self._at()
        return self.places.item(at) if at < len(self.places) else sys.maxsize


class Nothing:
    """What a lane sees of a unit that it does not run, or that had better wait."""

    pending, oldest, position = 0, math.inf, 0

    def arrived(self, n: int) -> float:
        return math.inf * n


NOTHING = Nothing()


def queues(workload: Workload) -> list[TupleQueue]:
    """A queue for each unit; units that read the same share a feed."""
    numbers = _numbers(workload)
    feeds: dict[object, Feed] = {}
    found = []
    for spec in workload.units:
        reads = [slice(spec.first.get(s, 0), spec.last.get(s, len(workload.arrivals[s]))) for s in spec.streams]
        # A single stream is the feed itself, wherever in it the unit begins and ends.
        alone = len(reads) == 1
        parts = [slice(None)] if alone else reads
        key = (spec.streams, *((part.start, part.stop) for part in parts))
        if key not in feeds:
            columns = [
                (
                    workload.arrivals[s][part] - workload.start,
                    workload.seen(s)[part] - workload.start,
                    numbers[s][part],
                )
                for s, part in zip(spec.streams, parts, strict=True)
            ]
            at, seen, number = (np.concatenate(column) for column in zip(*columns, strict=True))
            order = np.argsort(number)
            feeds[key] = Feed(at[order], seen[order], number[order])
        feed = feeds[key]
        first, last = (reads[0].start, reads[0].stop) if alone else (0, len(feed.at))
        kind = WindowQueue if spec.whole else TupleQueue
        found.append(kind(feed, first, last, _windows(spec, workload.start)))
    return found


def _windows(spec: UnitSpec, start: float) -> Windows:
    at, results = zip(*sorted(spec.windows), strict=True) if spec.windows else ((), ())
    return np.array(at, dtype=np.float64) - start, np.array(results, dtype=np.float64)


def _numbers(workload: Workload) -> Mapping[str, NDArray[np.int64]]:
    """The number of each tuple in the order in which tuples can be read, over all streams."""
    names = list(workload.arrivals)
    lengths = [len(workload.arrivals[name]) for name in names]
    stream = np.repeat(np.arange(len(names)), lengths)
    at = np.concatenate([workload.arrivals[name] for name in names])
    seen = np.concatenate([workload.seen(name) for name in names])
    numbers = np.empty(len(at), dtype=np.int64)
    numbers[np.lexsort((stream, at, seen))] = np.arange(len(at))
    edges = np.cumsum([0, *lengths])
    return {name: numbers[lo:hi] for name, (lo, hi) in zip(names, pairwise(edges), strict=True)}
