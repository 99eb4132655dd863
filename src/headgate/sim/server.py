"""Lanes that serve a workload, whole trains at a time, under the policies and load managers of a live engine.

A run takes a + b·n on one of the lanes, its results leave when it ends, and each tuple stands for the S results that
are expected of it. Nothing is drawn. The queue of a unit is a place in the log of its streams; what a policy may
ask of it takes the same time however many tuples wait.
"""

import heapq
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np

from headgate.control.loads import Standing
from headgate.control.shedding import Shed, Shedding
from headgate.model.unit import Unit
from headgate.monitor.figures import Response, Served
from headgate.monitor.responses import magnitudes
from headgate.monitor.statistics import Measured
from headgate.monitor.utility import Shared
from headgate.policy.classes.scheduler import ByClass
from headgate.policy.deadlines import DeadlinesFirst, Order
from headgate.policy.protocol import Outcome, Policy, Queue, Run, View
from headgate.policy.worthwhile import OVERRIPE, due_in, length, unripe
from headgate.sim.queues import NOTHING, WindowQueue, queues
from headgate.sim.workload import Floats, Workload

_TICK = 0.2
"""Seconds after which lanes that were given nothing ask again, though nothing has happened."""


@dataclass(frozen=True, slots=True)
class Service:
    """How a workload is served: by which policy, each kind of lanes its own, on so many lanes.

    With `resident` lanes, units run on lanes of their kind; without, on any. Load may be managed. With a bound `most`
    on the tuples of a run, lengths of runs and unripe queues are as in a live engine; without it, a run is what the
    policy says. One that `learns` begins with what units cost, and then goes by its own runs, as a live engine does
    that has run for a while; else the policy hears what units are taken for when that is due. Units with a deadline
    go before others, in this `order`.
    """

    make: Callable[[], Policy]
    jobs: int = 1
    resident: int = 0
    shed: Shed | None = None
    most: float | None = None
    learns: bool = False
    overripe: float = OVERRIPE
    order: Order = "rate"

    @property
    def lanes(self) -> int:
        """All of them."""
        return self.jobs + self.resident


class _Lane(NamedTuple):
    """A lane: its kind, and its number among those of the kind, of which there are so many."""

    kind: str
    number: int
    alike: int


class _Running(NamedTuple):
    """A run under way: when it ends, where, and the arrivals of the tuples that it has not dropped."""

    finish: float
    tick: int
    started: float
    lane: _Lane
    run: Run
    at: Floats
    rest: Iterator[Run]


class Server:
    """Serves a workload. Times are relative to its start, so that sums of them stay exact enough."""

    def __init__(self, workload: Workload, service: Service) -> None:
        self.specs, self.service = workload.units, service
        self.until = workload.until - workload.start
        self.now = 0.0
        self.served = [
            Served(s.name, s.cls, s.cost, worth=Shared.of(s.queries, s.valued, s.graphs)) for s in self.specs
        ]
        self.spread: list[dict[int, float]] = [{} for _ in self.specs]
        self.shedding = Shedding(service.shed, workload.classes, service.lanes, 0.0) if service.shed else None
        self._clock, self._handover, self._pace = workload.start, workload.handover, workload.pace
        kinds = {"jobs": service.jobs, "resident": service.resident}
        self._lanes = [_Lane(kind, i, n) for kind, n in kinds.items() for i in range(n)]
        self._idle = set(self._lanes)
        self._kind = [spec.kind if service.resident else "jobs" for spec in self.specs]
        self.schedulers = {kind: service.make() for kind, n in kinds.items() if n}
        urgent = any(spec.deadline for spec in self.specs)
        self.policies = {
            kind: DeadlinesFirst(made, service.order) if urgent else made for kind, made in self.schedulers.items()
        }
        targets = {each.name: each.delay_target for each in workload.classes}
        self._targets = [due_in(targets.get(spec.cls, math.inf), spec.graphs) for spec in self.specs]
        self._seen = {name: workload.seen(name) - workload.start for name in workload.arrivals}
        self._away = [[(a - workload.start, b - workload.start) for a, b in spec.away] for spec in self.specs]
        self._queues = queues(workload)
        self._feeds = list({id(queue.feed): queue.feed for queue in self._queues}.values())
        self._first = [queue.place for queue in self._queues]
        self._ends: list[_Running] = []
        self._ticks = count()
        self._units: Sequence[Unit] = [spec.numbered(i, spec.truth) for i, spec in enumerate(self.specs)]
        self._beliefs = deque(
            sorted((b.since - workload.start, i, b) for i, spec in enumerate(self.specs) for b in spec.beliefs)
        )
        self._monitor: Measured | None = None
        self._fresh = set(range(len(self.specs)))
        self._refreshed = 0.0
        if service.learns:
            self._monitor = Measured(self._units, in_jobs=True, known=True)

    def run(self) -> None:
        """Serve until nothing is left, or the workload's time is up."""
        for policy in self.policies.values():
            policy.prepare(self._units)
        time = 0.0
        while time < math.inf and time <= self.until:
            self.now = time
            while self._ends and self._ends[0].finish == time:
                self._end(heapq.heappop(self._ends))
            self._look()
            self._learn()
            if self.shedding and time >= self.shedding.next:
                self._manage(self.shedding)
            for lane in self._lanes:
                if lane in self._idle:
                    self._decide(lane)
            time = self._next()
        if self.until < math.inf:
            self.now = self.until
        self._look()
        for queue, one, first in zip(self._queues, self.served, self._first, strict=True):
            one.waiting = 0 if queue.away else max(0, min(queue.feed.readable, queue.end) - first - one.tuples)

    def _look(self) -> None:
        for feed in self._feeds:
            feed.look(self.now)
        for queue, away in zip(self._queues, self._away, strict=True):
            queue.away = any(lo <= self.now < hi for lo, hi in away)

    def _learn(self) -> None:
        units = self._measured(self._monitor) if self._monitor else self._told()
        if units is not self._units:
            self._units = units
            for policy in self.policies.values():
                policy.prepare(units)

    def _measured(self, monitor: Measured) -> Sequence[Unit]:
        """The units as their runs here have shown them."""
        if self.now - self._refreshed < monitor.period:
            return self._units
        self._refreshed = self.now
        return monitor.units()

    def _told(self) -> Sequence[Unit]:
        """The units as they are taken for by now."""
        units = self._units
        while self._beliefs and self._beliefs[0][0] <= self.now:
            _, i, belief = self._beliefs.popleft()
            units = [*units[:i], self.specs[i].numbered(i, belief), *units[i + 1 :]]
        return units

    def _manage(self, shedding: Shedding) -> None:
        """End a control period."""
        there = [i for i, spec in enumerate(self.specs) if self._there(i) and not spec.deadline]
        if shedding.at_arrival:
            for i in there:
                queue = self._queues[i]
                queue.decide(min(queue.feed.readable, queue.end), shedding.percent(self.specs[i].cls))
        heads = {name: int(np.searchsorted(seen, self.now, side="right")) for name, seen in self._seen.items()}
        found = shedding.cycle([self._standing(i) for i in there], heads, self.now)
        for policy in self.schedulers.values():
            if found.changed and isinstance(policy, ByClass):
                policy.share(found.shares)

    def _there(self, i: int) -> bool:
        spec, time = self.specs[i], self._clock + self.now
        return spec.since <= time and (time < spec.until or self._queues[i].behind > 0)

    def _standing(self, i: int) -> Standing:
        spec, queue = self.specs[i], self._queues[i]
        return Standing(spec.name, spec.cls, spec.streams, self._units[i].cost, queue.behind, queue.oldest)

    def _decide(self, lane: _Lane) -> None:
        ripe = self._ripe(lane)
        running = frozenset(i for i, queue in enumerate(self._queues) if queue.running)
        view = View(self.now, ripe, lane.number, lane.alike, running)
        decision = self.policies[lane.kind].choose(view)
        if decision is None:
            return
        self._idle.discard(lane)
        runs = [Run(r.unit, self._length(r)) for r in decision.runs if self._queues[r.unit].pending]
        for run in runs:
            self._queues[run.unit].running = True
        self._begin(lane, iter(runs))

    def _ripe(self, lane: _Lane) -> Sequence[Queue]:
        """The queues of units that the lane runs, without those that are worth more later."""
        mine: list[Queue] = list(self._queues)
        if self.service.resident:
            mine = [q if kind == lane.kind else NOTHING for q, kind in zip(mine, self._kind, strict=True)]
        if self.service.most is None:
            return mine
        green = unripe(self.now, mine, [unit.cost for unit in self._units], self._targets, self.service.overripe)
        return [NOTHING if i in green else queue for i, queue in enumerate(mine)]

    def _length(self, run: Run) -> int:
        if self._queues[run.unit].whole:
            return self._queues[run.unit].pending
        if self.service.most is None:
            return run.train
        kept = 1 - self._percent(run.unit) / 100
        return length(run.train, self._queues[run.unit].pending, self._units[run.unit].cost, kept, self.service.most)

    def _percent(self, i: int) -> int:
        """What is dropped of the tuples of a unit; one with a deadline is none of the load managers' business."""
        return self.shedding.percent(self.specs[i].cls) if self.shedding and not self.specs[i].deadline else 0

    def _begin(self, lane: _Lane, runs: Iterator[Run]) -> None:
        run = next(runs, None)
        if run is None:
            self._idle.add(lane)
            return
        spec, queue = self.specs[run.unit], self._queues[run.unit]
        queue.decide(queue.place + run.train, self._percent(run.unit))
        at = queue.read(run.train)
        started = self._after(lane, self.now, self._handover)
        finish = self._after(lane, started, spec.cost.of(len(at)))
        heapq.heappush(self._ends, _Running(finish, next(self._ticks), started, lane, run, at, runs))

    def _after(self, lane: _Lane, time: float, work: float) -> float:
        """When a lane has done so much that begins then."""
        pace = self._pace.get(lane.kind)
        return pace.finish(time, work) if pace else time + work

    def _end(self, ended: _Running) -> None:
        finish, _, started, lane, run, at, rest = ended
        i, n = run
        queue, took = self._queues[i], finish - started
        oldest = queue.oldest
        since, many = queue.closed(n) if self.specs[i].windows else (at, np.full(len(at), self.specs[i].S))
        queue.place += n
        queue.running = False
        # A window that time closes, with nothing left to read, takes a run of its own.
        times, results = np.maximum(finish - since, took), float(many.sum())
        self.served[i].add(n, took, results, Response.of(times, many))
        self.served[i].shed += n - len(at)
        if worth := self.served[i].worth:
            worth.add(times, many)
        found, at_magnitude = np.unique(magnitudes(times), return_inverse=True)
        for magnitude, share in zip(found.tolist(), np.bincount(at_magnitude, many).tolist(), strict=True):
            self.spread[i][magnitude] = self.spread[i].get(magnitude, 0.0) + share
        cls, urgent = self.specs[i].cls, self.specs[i].deadline is not None
        if self.shedding and not urgent:
            self.shedding.ran(self.specs[i].name, cls, self._units[i].cost, took, len(at), finish - oldest)
        policy, scheduler = self.policies[lane.kind], self.schedulers[lane.kind]
        # Whole results, none of which gets lost: parts of one are carried over to the next run.
        whole = round(self.served[i].results) - round(self.served[i].results - results)
        outcome = Outcome(Run(i, max(1, len(at))), started, finish, (whole,))
        # As in a live engine, what loads and compiles first says little of the runs after it.
        if self._monitor and i not in self._fresh:
            self._monitor.observe(outcome)
        self._fresh.discard(i)
        policy.observe(outcome)
        if isinstance(scheduler, ByClass) and len(times) and not urgent:
            scheduler.responded(cls, times)
        self._begin(lane, rest)

    def _next(self) -> float:
        """When there is something to do next: a run or a control period ends, or an idle lane may find something."""
        time = self._ends[0].finish if self._ends else math.inf
        if self._idle:
            time = min(time, *(feed.next() for feed in self._feeds))
            for queue, away in zip(self._queues, self._away, strict=True):
                if queue.away:
                    time = min(time, *(hi for lo, hi in away if lo <= self.now < hi))
            closing = [queue.closes() for queue in self._queues if isinstance(queue, WindowQueue)]
            time = min([time, *(each for each in closing if each > self.now)])
            if any(queue.pending for queue in self._queues):
                time = min(time, self.now + _TICK)
        if self.shedding and time < math.inf:
            time = max(self.now, min(time, self.shedding.next))
        return time
