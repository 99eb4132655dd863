"""PCT and PCT_S: a thread per class, or two, and the operating system's queue of threads.

A thread runs the queries of its class in turn and yields after each; those that wait for a lane stand in a queue. A
thread is never on two lanes, so that lanes beyond the number of threads have nothing to do, whatever waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from headgate.model.unit import Unit
from headgate.policy.classes.scheduler import ByClass
from headgate.policy.protocol import Decision, Run, View, Why, Work

FORMULA = "first thread in the queue; inside, next in turn"


@dataclass
class _Thread:
    """Queries of one class, and the one whose turn it is."""

    units: list[int]
    at: int = 0

    def next(self, view: View) -> int | None:
        """The next query that has something."""
        for _ in self.units:
            i = self.units[self.at]
            self.at = (self.at + 1) % len(self.units)
            if view.queues[i].pending:
                return i
        return None


@dataclass
class Threads(ByClass):
    """One thread per class."""

    _threads: list[_Thread] = field(default_factory=list, init=False)
    _waiting: list[int] = field(default_factory=list, init=False)
    _running: set[int] = field(default_factory=set, init=False)
    _lanes: int = field(default=0, init=False)

    def prepare(self, units: Sequence[Unit]) -> None:
        """Take the units; other ones, or other classes of the same, make other threads."""
        known = [(unit.entry, unit.cls) for unit in self.units]
        super().prepare(units)
        if known != [(unit.entry, unit.cls) for unit in units]:
            self._lanes = 0

    def choose(self, view: View) -> Decision | None:
        """Give the lane the first thread of the queue that has something to do."""
        if view.lanes != self._lanes:
            self._start(view)
        for t in sorted(self._running):
            if view.running.isdisjoint(self._threads[t].units):
                self._running.discard(t)
                self._waiting.append(t)
        for place, t in enumerate(self._waiting):
            i = self._threads[t].next(view)
            if i is not None:
                del self._waiting[place]
                self._running.add(t)
                m = self.train.length(self.units[i], view.queues[i].pending)
                terms = {"class": self.rank[i] + 1.0, "thread": float(t), "skipped": float(place), "n": float(m)}
                return Decision((Run(i, m),), Why(FORMULA, terms), Work(reads=place + 1))
        return None

    def _reshared(self) -> None:
        self._lanes = 0

    def _start(self, view: View) -> None:
        self._lanes = view.lanes
        self._threads = [_Thread(units) for units in self._parts(view.lanes)]
        self._running = {t for t, thread in enumerate(self._threads) if not view.running.isdisjoint(thread.units)}
        self._waiting = [t for t in range(len(self._threads)) if t not in self._running]

    def _parts(self, lanes: int) -> list[list[int]]:  # noqa: ARG002 - for threads that depend on the lanes
        return [members for members in self.members if members]


@dataclass
class SplitThreads(Threads):
    """One thread per class; while lanes are left, the most important class that is whole becomes two halves."""

    def _parts(self, lanes: int) -> list[list[int]]:
        classes = super()._parts(lanes)
        left = lanes - len(classes)
        parts: list[list[int]] = []
        for members in classes:
            half = (len(members) + 1) // 2
            if left > 0 and half < len(members):
                parts += [members[:half], members[half:]]
                left -= 1
            else:
                parts.append(members)
        return parts
