"""Lanes that serve a workload, whole trains at a time, under the policies and load managers of a live engine.

A run takes a + b·n on one of the lanes, its results leave when it ends, and each tuple stands for the S results that
are expected of it. Nothing is drawn. The queue of a unit is a place in the log of its streams; what a policy may
ask of it takes the same time however many tuples wait.
"""

import heapq
import math
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.control.loads import Standing
from headgate.control.shedding import Shed, Shedding
from headgate.model.unit import Unit
from headgate.monitor.figures import Response, Served
from headgate.monitor.responses import magnitudes
from headgate.monitor.statistics import Measured
from headgate.policy.classes.scheduler import ByClass
from headgate.policy.protocol import Outcome, Policy, Queue, Run, View
from headgate.policy.worthwhile import OVERRIPE, due_in, length, unripe
from headgate.shed.droppers import Random
from headgate.sim.workload import Floats, Workload

_TICK = 0.2
"""Seconds after which lanes that were given nothing ask again, though nothing has happened."""


@dataclass(frozen=True, slots=True)
class Service:
    """How a workload is served: by which policy, each kind of lanes its own, on so many lanes.

    With `resident` lanes, units run on lanes of their kind; without, on any. Load may be managed. With a bound `most`
    on the tuples of a run, lengths of runs and unripe queues are as in a live engine; without it, a run is what the
    policy says. One that `learns` begins with what units are first taken for, and then goes by its own runs, as a
    live engine does; else the policy hears what units are taken for when that is due.
    """

    make: Callable[[], Policy]
    jobs: int = 1
    resident: int = 0
    shed: Shed | None = None
    most: float | None = None
    learns: bool = False
    overripe: float = OVERRIPE

    @property
    def lanes(self) -> int:
        """All of them."""
        return self.jobs + self.resident


class _Lane(NamedTuple):
    """A lane: its kind, and its number among those of the kind, of which there are so many."""

    kind: str
    number: int
    alike: int


class _Feed:
    """The log that units read: arrivals, when they can be read, numbers, and sums of arrivals up to each place."""

    def __init__(self, at: Floats, seen: Floats, numbers: NDArray[np.int64]) -> None:
        self.at = at
        self.seen = seen
        self.numbers = numbers
        self.sums: Floats = np.concatenate(([0.0], np.cumsum(at)))
        self.readable = 0

    def look(self, now: float) -> None:
        self.readable = int(np.searchsorted(self.seen, now, side="right"))

    def next(self) -> float:
        """When more can be read than now."""
        return self.seen.item(self.readable) if self.readable < len(self.seen) else math.inf


class _Queue:
    """The place of a unit in its feed, as a policy sees it: with nothing to read while the unit runs or is away."""

    __slots__ = ("away", "decided", "end", "feed", "place", "rates", "running")

    def __init__(self, feed: _Feed, place: int, end: int) -> None:
        self.feed = feed
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


class _Nothing:
    """What a lane sees of a unit that it does not run, or that had better wait."""

    pending, oldest, position = 0, math.inf, 0

    def arrived(self, n: int) -> float:
        return math.inf * n


_NOTHING = _Nothing()


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
        self.served = [Served(spec.name, spec.cls, spec.cost) for spec in self.specs]
        self.spread: list[dict[int, float]] = [{} for _ in self.specs]
        self.shedding = Shedding(service.shed, workload.classes, service.lanes, 0.0) if service.shed else None
        self._clock, self._handover, self._pace = workload.start, workload.handover, workload.pace
        kinds = {"jobs": service.jobs, "resident": service.resident}
        self._lanes = [_Lane(kind, i, n) for kind, n in kinds.items() for i in range(n)]
        self._idle = set(self._lanes)
        self._kind = [spec.kind if service.resident else "jobs" for spec in self.specs]
        self.policies = {kind: service.make() for kind, n in kinds.items() if n}
        targets = {each.name: each.delay_target for each in workload.classes}
        self._targets = [due_in(targets.get(spec.cls, math.inf), spec.graphs) for spec in self.specs]
        self._seen = {name: workload.seen(name) - workload.start for name in workload.arrivals}
        self._away = [[(a - workload.start, b - workload.start) for a, b in spec.away] for spec in self.specs]
        self._queues = _queues(workload)
        self._feeds = list({id(queue.feed): queue.feed for queue in self._queues}.values())
        self._first = [queue.place for queue in self._queues]
        self._ends: list[_Running] = []
        self._ticks = count()
        self._units: Sequence[Unit] = [spec.numbered(i, spec.truth) for i, spec in enumerate(self.specs)]
        self._beliefs = deque(
            sorted((b.since - workload.start, i, b) for i, spec in enumerate(self.specs) for b in spec.beliefs)
        )
        self._monitor: Measured | None = None
        self._refreshed = 0.0
        if service.learns:
            first = [spec.beliefs[0] if spec.beliefs else spec.truth for spec in self.specs]
            self._units = [spec.numbered(i, first[i]) for i, spec in enumerate(self.specs)]
            self._monitor = Measured(self._units, in_jobs=True)

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
        there = [i for i in range(len(self.specs)) if self._there(i)]
        if shedding.at_arrival:
            for i in there:
                queue = self._queues[i]
                queue.decide(min(queue.feed.readable, queue.end), shedding.percent(self.specs[i].cls))
        heads = {name: int(np.searchsorted(seen, self.now, side="right")) for name, seen in self._seen.items()}
        found = shedding.cycle([self._standing(i) for i in there], heads, self.now)
        for policy in self.policies.values():
            if found.changed and isinstance(policy, ByClass):
                policy.share(found.shares)

    def _there(self, i: int) -> bool:
        spec, time = self.specs[i], self._clock + self.now
        return spec.since <= time and (time < spec.until or self._queues[i].behind > 0)

    def _standing(self, i: int) -> Standing:
        spec, queue = self.specs[i], self._queues[i]
        return Standing(spec.name, spec.cls, spec.streams, self._units[i].cost, queue.behind, queue.oldest)

    def _decide(self, lane: _Lane) -> None:
        queues = self._ripe(lane)
        running = frozenset(i for i, queue in enumerate(self._queues) if queue.running)
        view = View(self.now, queues, lane.number, lane.alike, running)
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
        queues: list[Queue] = list(self._queues)
        if self.service.resident:
            queues = [q if kind == lane.kind else _NOTHING for q, kind in zip(queues, self._kind, strict=True)]
        if self.service.most is None:
            return queues
        green = unripe(self.now, queues, [unit.cost for unit in self._units], self._targets, self.service.overripe)
        return [_NOTHING if i in green else queue for i, queue in enumerate(queues)]

    def _length(self, run: Run) -> int:
        if self.service.most is None:
            return run.train
        kept = 1 - self._percent(run.unit) / 100
        return length(run.train, self._queues[run.unit].pending, self._units[run.unit].cost, kept, self.service.most)

    def _percent(self, i: int) -> int:
        return self.shedding.percent(self.specs[i].cls) if self.shedding else 0

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
        queue, S, took = self._queues[i], self.specs[i].S, finish - started
        oldest = queue.oldest
        queue.place += n
        queue.running = False
        times = finish - at
        results = S * len(at)
        self.served[i].add(n, took, results, Response.of(times).expected(S))
        self.served[i].shed += n - len(at)
        for magnitude, many in Counter(magnitudes(times).tolist()).items():
            self.spread[i][magnitude] = self.spread[i].get(magnitude, 0.0) + S * many
        cls = self.specs[i].cls
        if self.shedding:
            self.shedding.ran(self.specs[i].name, cls, self._units[i].cost, took, len(at), finish - oldest)
        policy = self.policies[lane.kind]
        # Whole results, none of which gets lost: parts of one are carried over to the next run.
        whole = round(self.served[i].results) - round(self.served[i].results - results)
        outcome = Outcome(Run(i, max(1, len(at))), started, finish, (whole,))
        if self._monitor:
            self._monitor.observe(outcome)
        policy.observe(outcome)
        if isinstance(policy, ByClass) and len(at):
            policy.responded(cls, times)
        self._begin(lane, rest)

    def _next(self) -> float:
        """When there is something to do next: a run or a control period ends, or an idle lane may find something."""
        time = self._ends[0].finish if self._ends else math.inf
        if self._idle:
            time = min(time, *(feed.next() for feed in self._feeds))
            for queue, away in zip(self._queues, self._away, strict=True):
                if queue.away:
                    time = min(time, *(hi for lo, hi in away if lo <= self.now < hi))
            if any(queue.pending for queue in self._queues):
                time = min(time, self.now + _TICK)
        if self.shedding and time < math.inf:
            time = max(self.now, min(time, self.shedding.next))
        return time


def _queues(workload: Workload) -> list[_Queue]:
    """A queue for each unit; units that read the same share a feed."""
    numbers = _numbers(workload)
    feeds: dict[object, _Feed] = {}
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
            feeds[key] = _Feed(at[order], seen[order], number[order])
        feed = feeds[key]
        found.append(_Queue(feed, reads[0].start, reads[0].stop) if alone else _Queue(feed, 0, len(feed.at)))
    return found


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
