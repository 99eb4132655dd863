"""What a run of the box kernel has shown: every output, where the time went, and the measures made of both."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headgate.model.qos import LatencyGraph
from headgate.monitor.utility import BLOCK, AverageQos
from headgate.sim.boxes.feeds import Feed
from headgate.sim.boxes.lines import SECOND
from headgate.sim.metrics import Floats, Ints


@dataclass(slots=True)
class Spent:
    """Where the time went, in nanoseconds, and how often what was done."""

    work: int = 0
    worker: int = 0
    storage: int = 0
    scheduler: int = 0
    idle: int = 0
    decisions: int = 0
    runs: int = 0
    calls: int = 0
    dropped: int = 0

    @property
    def overhead(self) -> int:
        """Time that was neither work on tuples nor idle."""
        return self.worker + self.storage + self.scheduler

    @property
    def busy(self) -> int:
        """Time that was not idle."""
        return self.work + self.overhead

    @property
    def share(self) -> float:
        """Part of the busy time that was scheduling."""
        return self.scheduler / self.busy if self.busy else 0.0


@dataclass(frozen=True)
class Memory:
    """Size of all that is queued at some times in seconds; it changes evenly from one to the next."""

    times: Floats
    sizes: Floats

    @property
    def integral(self) -> float:
        """Size times seconds."""
        return float(np.trapezoid(self.sizes, self.times))

    def at(self, times: Floats) -> Floats:
        """The size at other times."""
        return np.interp(times, self.times, self.sizes)


@dataclass(frozen=True)
class Report:
    """All outputs in the order in which they left: application, number of the tuple, time in nanoseconds."""

    feed: Feed
    graphs: tuple[LatencyGraph, ...]
    apps: Ints
    items: Ints
    at: Ints
    ended: int
    spent: Spent
    memory: Memory

    @cached_property
    def latencies(self) -> Floats:
        """Seconds from arrival to output."""
        return (self.at - self.feed.times[self.items]) / SECOND

    @cached_property
    def utilities(self) -> Floats:
        """What each output is worth to its application."""
        found = np.empty(len(self.apps))
        for app, graph in enumerate(self.graphs):
            mine = self.apps == app
            found[mine] = graph.utilities(self.latencies[mine])
        return found

    @cached_property
    def worth(self) -> AverageQos:
        """QoS by application and on average."""
        found = AverageQos.of({f"A{app}": graph for app, graph in enumerate(self.graphs)})
        for app in range(len(self.graphs)):
            found.add(f"A{app}", self.latencies[self.apps == app])
        return found

    @property
    def qos(self) -> float:
        """Average QoS: that of each application, averaged over them."""
        return self.worth.average

    @property
    def per_tuple(self) -> float:
        """Average utility of an output, so that busy applications count more."""
        return self.worth.per_tuple

    @property
    def latency(self) -> float:
        """Average seconds from arrival to output."""
        return float(self.latencies.mean())

    @property
    def running(self) -> Floats:
        """Average utility of all outputs so far, after each."""
        return np.cumsum(self.utilities) / np.arange(1, len(self.utilities) + 1)

    @property
    def recent(self) -> Floats:
        """Average utility of each block of a thousand outputs."""
        whole = len(self.utilities) // BLOCK * BLOCK
        return np.asarray(self.utilities[:whole].reshape(-1, BLOCK).mean(axis=1))

    def misses(self, phase: int | None = None, app: int | None = None) -> tuple[int, int]:
        """Outputs that missed their deadline and that made it: all, or those of a phase or an application."""
        chosen = np.ones(len(self.apps), bool)
        if phase is not None:
            chosen &= self.feed.phases[self.items] == phase
        if app is not None:
            chosen &= self.apps == app
        deadlines = np.array([graph.deadline for graph in self.graphs])
        late = int((self.latencies > deadlines[self.apps])[chosen].sum())
        return late, int(chosen.sum()) - late

    @property
    def scheduling(self) -> float:
        """Part of the whole run that was scheduling."""
        return self.spent.scheduler / self.ended if self.ended else 0.0
