"""The queue of a unit, as a policy sees it and as a run takes from it: one port or several.

A line looks empty while its unit runs, and while what is behind the unit is full.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from headgate.sim.trains.channels import Channel, Port
from headgate.sim.trains.train import Train


class Clock(Protocol):
    """What knows the time."""

    now: float


class Taken(NamedTuple):
    """What a run has read: a train from each port, all tuples with those dropped, and those to be paid for."""

    trains: list[Train]
    read: int
    dropped: int


class Exit(NamedTuple):
    """A bounded channel behind a unit, and the most tuples that one tuple read can bring there."""

    channel: Channel
    growth: float


class Line:
    """What waits at one port. A run reads at most `batch` tuples there."""

    __slots__ = ("_batch", "_clock", "_exits", "_port", "ports", "running")

    def __init__(self, clock: Clock, ports: Sequence[Port], exits: Sequence[Exit], batch: float) -> None:
        self._clock, self._exits, self._batch = clock, exits, batch
        self.ports = ports
        self._port = ports[0]
        self.running = False

    @property
    def pending(self) -> int:
        """Tuples that a run could take."""
        if self.running or (self._exits and not self._room()):
            return 0
        return self._port.feed.upto(self._clock.now) - self._port.cursor

    @property
    def oldest(self) -> float:
        """Arrival of the tuple that waits longest and could be taken; infinite if there is none."""
        first = self._first()
        return math.inf if first is None else first.feed.arrival(first.cursor)

    @property
    def position(self) -> int:
        """The number of that tuple; of the same instant, tuples of an earlier stream come first."""
        first = self._first()
        return 0 if first is None else int(first.feed.slice(first.cursor, first.cursor + 1).ids[0])

    def arrived(self, n: int) -> float:
        """Sum of the arrival times of the n oldest."""
        return float(self._port.feed.slice(self._port.cursor, self._port.cursor + n).times.sum())

    def take(self, n: int) -> Taken:
        """Read up to n tuples, the oldest first."""
        port = self._port
        n = min(n, port.feed.upto(self._clock.now) - port.cursor)
        if n > self._batch:
            n = int(self._batch)
        if self._exits:
            n = min(n, self._room())
        train = port.take(n)
        return Taken([train], n, port.gate.pay() if port.gate is not None else 0)

    def done(self) -> float:
        """The time up to which everything has been read."""
        now = self._clock.now
        return min(port.done(now) for port in self.ports)

    def next(self) -> float:
        """When something comes that is known to come."""
        now = self._clock.now
        return min(port.feed.next(now) for port in self.ports)

    def _first(self) -> Port | None:
        return self._port if self._port.feed.upto(self._clock.now) > self._port.cursor else None

    def _room(self) -> int:
        """What a run may read before a queue behind it could be full; one tuple wherever there is room at all."""
        room = min(each.channel.room / each.growth for each in self._exits)
        return max(1, int(min(room, 1 << 40))) if room > 0 else 0


class Lines(Line):
    """What waits at several ports, in the order of its arrival in the system.

    Ports of one of the `groups` are synchronised: none of them gives a tuple that arrived later in the system than
    the others have come.
    """

    __slots__ = ("_groups",)

    def __init__(
        self,
        clock: Clock,
        ports: Sequence[Port],
        exits: Sequence[Exit],
        batch: float,
        groups: Sequence[Sequence[int]],
    ) -> None:
        super().__init__(clock, ports, exits, batch)
        self._groups = groups

    @property
    def pending(self) -> int:
        """Tuples that a run could take."""
        if self.running or (self._exits and not self._room()):
            return 0
        return sum(self._ready())

    def arrived(self, n: int) -> float:
        """Sum of the arrival times of the n oldest."""
        counts = self._oldest(self._ready(), n)
        return float(
            sum(p.feed.slice(p.cursor, p.cursor + k).times.sum() for p, k in zip(self.ports, counts, strict=True))
        )

    def take(self, n: int) -> Taken:
        """Read up to n tuples, the oldest first, and of each port no more than a batch.

        Where ports are synchronised a batch is for all of them: to cut each on its own would change their order.
        """
        counts = self._ready()
        if self._batch < math.inf:
            if self._groups:
                n = min(n, int(self._batch))
            else:
                counts = [min(count, int(self._batch)) for count in counts]
        counts = self._oldest(counts, min(n, self._room()) if self._exits else n)
        trains, read, dropped = [], 0, 0
        for port, count in zip(self.ports, counts, strict=True):
            trains.append(port.take(count))
            read += count
            if port.gate is not None:
                dropped += port.gate.pay()
        return Taken(trains, read, dropped)

    def _ready(self) -> list[int]:
        """Tuples that could be taken at each port."""
        now, ports = self._clock.now, self.ports
        counts = [port.feed.upto(now) - port.cursor for port in ports]
        # Most lines that are looked at are empty, and to ask how far the others have come takes longer.
        if self._groups and any(counts):
            for group in self._groups:
                bound = min([ports[i].feed.mark(now) for i in group])
                for i in group:
                    lo = ports[i].cursor
                    counts[i] = ports[i].feed.behind(bound, lo, lo + counts[i]) - lo
        return counts

    def _first(self) -> Port | None:
        ready = [port for port, n in zip(self.ports, self._ready(), strict=True) if n]
        return min(ready, key=lambda port: port.feed.arrival(port.cursor)) if ready else None

    def _oldest(self, counts: list[int], n: int) -> list[int]:
        """How many of the n oldest tuples each port has, of so many."""
        if sum(counts) <= n:
            return counts
        times = [p.feed.slice(p.cursor, p.cursor + k).times for p, k in zip(self.ports, counts, strict=True)]
        ports = np.repeat(np.arange(len(times)), counts)
        # Stable: of equal times an earlier port comes first.
        oldest = np.argsort(np.concatenate(times), kind="stable")[:n]
        found: list[int] = np.bincount(ports[oldest], minlength=len(times)).tolist()
        return found
