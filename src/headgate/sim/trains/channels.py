"""Where tuples wait: streams that bring them, channels between operators, and the ports that read either.

Both keep their tuples in arrays that are only ever appended to, so a slice that was taken stays what it was. A
position counts from the first tuple there ever was. One channel serves all readers of an operator, each with a
cursor of its own, and is full when the slowest of them lags by its capacity.
"""

import math
from bisect import bisect_right
from typing import ClassVar, Protocol

import numpy as np

from headgate.sim.draws import identity
from headgate.sim.metrics import Floats
from headgate.sim.trains.gates import Gate
from headgate.sim.trains.train import Train


class Feed(Protocol):
    """What a port reads from, as seen at a time that never goes back."""

    known: ClassVar[bool]
    """Whether it is known when the next tuple comes."""

    def upto(self, now: float) -> int:
        """The position behind the last tuple that is there."""

    def behind(self, time: float, lo: int, hi: int) -> int:
        """The position behind the last tuple, from lo to hi, that arrived in the system by a time."""

    def arrival(self, position: int) -> float:
        """When a tuple that waits arrived in the system."""

    def slice(self, lo: int, hi: int) -> Train:
        """The tuples from one position to another."""

    def mark(self, now: float) -> float:
        """The time up to which everything that arrived in the system has been here; infinite once all has."""

    def next(self, now: float) -> float:
        """When the next tuple comes; infinite where that is not known, or if none does."""


class Stream:
    """The tuples of a stream, which are there when they arrive."""

    __slots__ = ("_at", "_first", "_tail", "count", "times")
    known: ClassVar[bool] = True

    def __init__(self, number: int, times: Floats) -> None:
        self.times = times
        self.count = len(times)
        # Single numbers come out of a memoryview several times faster than out of an array.
        self._at = times.data
        self._first = int(identity(number, 0))
        self._tail = 0

    def upto(self, now: float) -> int:
        tail = self._tail
        if tail < self.count and self._at[tail] <= now:
            self._tail = tail = bisect_right(self._at, now, tail)
        return tail

    def behind(self, time: float, lo: int, hi: int) -> int:
        return bisect_right(self._at, time, lo, hi)

    def arrival(self, position: int) -> float:
        return self._at[position]

    def slice(self, lo: int, hi: int) -> Train:
        return Train(self.times[lo:hi], np.arange(self._first + lo, self._first + hi, dtype=np.uint64))

    def mark(self, now: float) -> float:
        tail = self.upto(now)
        if tail == self.count:
            return math.inf
        return self._at[tail - 1] if tail else -math.inf

    def next(self, now: float) -> float:
        tail = self.upto(now)
        return self._at[tail] if tail < self.count else math.inf


class Channel:
    """The output of an operator. What a run makes is written when it starts and there when it has ended.

    `feeders` are the ports from which the operator has its tuples.
    """

    __slots__ = (
        "_at",
        "_base",
        "_busy",
        "_ids",
        "_mark",
        "_times",
        "_written",
        "capacity",
        "feeders",
        "readers",
        "tail",
    )

    known: ClassVar[bool] = False

    def __init__(self, capacity: float = math.inf) -> None:
        self.capacity = capacity
        self.readers: list[Port] = []
        self.feeders: list[Port] = []
        self.tail = 0
        self._written = 0
        self._busy = False
        self._base = 0
        self._mark = -math.inf
        self._times = np.empty(256)
        self._ids = np.empty(256, np.uint64)
        self._at = self._times.data

    @property
    def room(self) -> float:
        """Tuples that fit in before it is full."""
        if self.capacity == math.inf:
            return math.inf
        return self.capacity - (self.tail - min(reader.cursor for reader in self.readers))

    def write(self, train: Train) -> None:
        """Put tuples behind the others, out of sight."""
        lo = self._written - self._base
        hi = lo + len(train.times)
        if hi > len(self._times):
            lo, hi = self._move(len(train.times))
        self._times[lo:hi] = train.times
        self._ids[lo:hi] = train.ids
        self._written = self._base + hi
        self._busy = True

    def publish(self, mark: float) -> None:
        """Bring what was written into sight, with the time up to which the operator has done everything."""
        self.tail = self._written
        self._mark = mark
        self._busy = False

    def _move(self, more: int) -> tuple[int, int]:
        """Take new arrays for what still waits and what comes; the old ones stay for those who hold slices."""
        first = min(reader.cursor for reader in self.readers)
        old, live = first - self._base, self._written - first
        size = max(256, 2 * (live + more))
        times, ids = np.empty(size), np.empty(size, np.uint64)
        times[:live] = self._times[old : old + live]
        ids[:live] = self._ids[old : old + live]
        self._times, self._ids, self._base = times, ids, first
        self._at = times.data
        return live, live + more

    def upto(self, now: float) -> int:  # noqa: ARG002 - as in the protocol
        return self.tail

    def behind(self, time: float, lo: int, hi: int) -> int:
        return bisect_right(self._at, time, lo - self._base, hi - self._base) + self._base

    def arrival(self, position: int) -> float:
        return self._at[position - self._base]

    def slice(self, lo: int, hi: int) -> Train:
        lo, hi = lo - self._base, hi - self._base
        return Train(self._times[lo:hi], self._ids[lo:hi])

    def mark(self, now: float) -> float:
        # An operator that has nothing to do lets a mark through without a run of its own.
        if self._busy or any(feeder.waiting(now) for feeder in self.feeders):
            return self._mark
        return max(self._mark, min((feeder.feed.mark(now) for feeder in self.feeders), default=-math.inf))

    def next(self, now: float) -> float:  # noqa: ARG002 - as in the protocol
        return math.inf


class Admitted(Channel):
    """The tuples of a stream that a gate lets in as they arrive."""

    __slots__ = ("_gate", "_seen", "stream")
    known: ClassVar[bool] = True

    def __init__(self, stream: Stream, gate: Gate) -> None:
        super().__init__()
        self.stream = stream
        self._gate = gate
        self._seen = 0

    def upto(self, now: float) -> int:
        tail = self.stream.upto(now)
        if tail > self._seen:
            self.write(self._gate.at_arrival(self.stream.slice(self._seen, tail), self._seen))
            self.publish(-math.inf)
            self._seen = tail
        return self.tail

    def mark(self, now: float) -> float:
        return self.stream.mark(now)

    def next(self, now: float) -> float:
        return self.stream.next(now)


class Port:
    """An input of an operator: where it reads, how far it has, and what is dropped there."""

    __slots__ = ("cursor", "feed", "gate", "last")

    def __init__(self, feed: Feed, gate: Gate | None = None) -> None:
        self.feed = feed
        self.gate = gate
        self.cursor = 0
        self.last = -math.inf
        """Arrival of the last tuple that was read."""

    def waiting(self, now: float) -> int:
        """Tuples that wait here."""
        return self.feed.upto(now) - self.cursor

    def arrived(self, now: float) -> int:
        """Tuples that have come here, with those that a gate has dropped on arrival."""
        here = self.feed.upto(now)
        return here + self.gate.dropped if self.gate is not None and self.gate.at == "arrival" else here

    def oldest(self, now: float) -> float:
        """Arrival of the first that waits; infinite if none does."""
        return self.feed.arrival(self.cursor) if self.feed.upto(now) > self.cursor else math.inf

    def done(self, now: float) -> float:
        """The time up to which everything has been read here."""
        if self.feed.upto(now) == self.cursor:
            return self.feed.mark(now)
        return self.last

    def take(self, n: int) -> Train:
        """Read the n oldest tuples, of which a gate may keep some only."""
        lo = self.cursor
        self.cursor = hi = lo + n
        train = self.feed.slice(lo, hi)
        if n:
            self.last = float(train.times[-1])
        return train if self.gate is None else self.gate.at_read(train, lo)
