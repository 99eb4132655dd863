"""Recorded runs under other policies: whole trains at a time, so that millions of tuples take seconds.

A run takes a + b·n on one of the lanes, its results leave when it ends, and each tuple stands for the S results that
are expected of it. Nothing is drawn. The queue of a unit is a place in the log of its streams; what a policy may
ask of it takes the same time however many tuples wait.
"""

import heapq
import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.errors import InputError
from headgate.model.operator import Cost
from headgate.model.parameters import Segment, Stage
from headgate.model.unit import Basis, Entry, Unit
from headgate.monitor.figures import Response, Served, Summary, summarise
from headgate.monitor.statistics import LEAST_SHARE
from headgate.policy.protocol import Decision, Outcome, Policy, Run, View
from headgate.policy.registry import create
from headgate.record import Recorded

Floats = NDArray[np.float64]


class Belief(NamedTuple):
    """What the policy takes a unit for from a time on: the time a + b·n of a run, and S results per tuple."""

    since: float
    a: float
    b: float
    S: float


@dataclass(frozen=True)
class UnitSpec:
    """A unit of a workload: the streams it reads, the time a + b·n of a run, and S results per tuple.

    It reads the tuples of each stream from the place `first` on, up to the place `last`. It does not run in the
    stretches [from, to) in which it is `away`. A policy knows all that, unless `beliefs` say what it takes it for.
    """

    name: str
    streams: tuple[str, ...]
    a: float
    b: float
    S: float = 1.0
    cls: str = "default"
    first: Mapping[str, int] = field(default_factory=dict)
    last: Mapping[str, int] = field(default_factory=dict)
    away: tuple[tuple[float, float], ...] = ()
    beliefs: tuple[Belief, ...] = ()

    def __post_init__(self) -> None:
        for _, a, b, S in (self.truth, *self.beliefs):
            if not Cost(a, b).of(1) > 0:
                rule = f"unit '{self.name}': a run takes longer than 0 s"
                raise InputError(rule, f"a = {a}, b = {b}", "Give a or b in seconds, above 0.")
            if not (math.isfinite(S) and S >= 0):
                rule = f"unit '{self.name}': results per tuple are zero or more"
                raise InputError(rule, S, "Give S, such as 0.1.")

    @property
    def cost(self) -> Cost:
        """The time of a run."""
        return Cost(self.a, self.b)

    @property
    def truth(self) -> Belief:
        """What the unit is."""
        return Belief(-math.inf, self.a, self.b, self.S)

    def numbered(self, number: int, belief: Belief) -> Unit:
        """The unit as a policy knows it, with the ideal time of a tuple in a job of its own."""
        cost = Cost(belief.a, belief.b)
        segment = Segment(self.name, (Stage(belief.b, max(LEAST_SHARE, belief.S)),), cost.of(1))
        return Unit(number, Entry(self.name), (self.name,), (segment,), cost, Basis((segment,), cost), cls=self.cls)


@dataclass(frozen=True)
class Workload:
    """Units, and the times at which the tuples of their streams arrive, ascending.

    Where tuples come in trains, `readable` has the times from which on they can be read. The clock starts at
    `start`; results that are not there at `until` do not count.
    """

    units: tuple[UnitSpec, ...]
    arrivals: Mapping[str, Floats]
    readable: Mapping[str, Floats] = field(default_factory=dict)
    start: float = 0.0
    until: float = math.inf

    def __post_init__(self) -> None:
        for unit in self.units:
            for stream in unit.streams:
                if stream not in self.arrivals:
                    got = f"'{stream}'"
                    raise InputError(
                        f"unit '{unit.name}': its streams have arrivals", got, "Give them, if only none."
                    )
        for stream in self.arrivals:
            for times in (self.arrivals[stream], self.seen(stream)):
                if (times[1:] < times[:-1]).any():
                    raise InputError(f"stream '{stream}': times are ascending", "some that are not", "Sort them.")

    def seen(self, stream: str) -> Floats:
        """When the tuples of a stream can be read."""
        return self.readable.get(stream, self.arrivals[stream])

    @classmethod
    def from_record(cls, recorded: Recorded) -> "Workload":
        """The tuples and units of a recorded run.

        A unit costs what the run took it for in the end, and yields what it did on average; a policy hears of its
        statistics when that of the run did. A unit that was removed has the tuples that it had read by then. If the
        run had served everything in the end, so does the replay, else it stops when the run did.
        """
        streams = recorded.streams

        def places(numbers: Mapping[str, int]) -> dict[str, int]:
            return {name: int(np.searchsorted(streams[name].numbers, number)) for name, number in numbers.items()}

        units = tuple(
            UnitSpec(
                name=life.latest.unit,
                streams=tuple(life.latest.reads),
                a=life.latest.a,
                b=life.latest.b,
                S=life.served.results / life.served.tuples if life.served.tuples else life.latest.S,
                cls=life.latest.cls,
                first=places(life.planned[0].reads),
                last=places(life.stands) if life.removed else {},
                away=life.away,
                beliefs=tuple(Belief(p.time, p.a, p.b, p.S) for p in life.planned),
            )
            for life in recorded.lives
        )
        drained = recorded.measured.overall.waiting == 0
        return cls(
            units,
            {name: logged.at for name, logged in streams.items()},
            {name: logged.readable for name, logged in streams.items()},
            recorded.began.time,
            math.inf if drained else recorded.ended,
        )


@dataclass(frozen=True)
class Replayed:
    """A workload as a policy would have served it, in so many seconds."""

    policy: str
    seconds: float
    summary: Summary


def replay(workload: Workload, policy: str, options: Mapping[str, Any] | None = None, lanes: int = 1) -> Replayed:
    """Serve a workload under a policy."""
    if lanes < 1:
        raise InputError("there is at least one lane", lanes, "Give lanes: 1 or more.")
    if not workload.units:
        raise InputError("a workload has at least one unit", "none", "Add one.")
    server = _Server(workload, create(policy, options), lanes)
    server.run()
    return Replayed(policy, server.now, summarise(server.served, lanes * server.now))


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


class _Queue:
    """The place of a unit in its feed, as a policy sees it: with nothing to read while the unit runs or is away."""

    __slots__ = ("away", "end", "feed", "place", "running")

    def __init__(self, feed: _Feed, place: int, end: int) -> None:
        self.feed = feed
        self.place = place
        self.end = end
        self.running = False
        self.away = False

    @property
    def pending(self) -> int:
        """Tuples that wait."""
        if self.running or self.away:
            return 0
        return max(0, min(self.feed.readable, self.end) - self.place)

    @property
    def oldest(self) -> float:
        """Arrival of the first in line."""
        return self.feed.at.item(self.place) if self.pending else math.inf

    @property
    def position(self) -> int:
        """Number of the first in line."""
        return self.feed.numbers.item(self.place)

    def arrived(self, n: int) -> float:
        """Sum of the arrival times of the first n."""
        if n == 1:  # exactly, so that one which comes this instant has waited for nothing
            return self.feed.at.item(self.place)
        return self.feed.sums.item(self.place + n) - self.feed.sums.item(self.place)

    def next(self) -> float:
        """When the next tuple can be read."""
        return self.feed.seen.item(self.place) if self.place < self.end else math.inf


class _Server:
    """Lanes that serve a workload. Times are relative to its start, so that sums of them stay exact enough."""

    def __init__(self, workload: Workload, policy: Policy, lanes: int) -> None:
        self.specs = workload.units
        self.policy = policy
        self.idle = lanes
        self.until = workload.until - workload.start
        self.now = 0.0
        self.served = [Served(spec.name, spec.cls, spec.cost) for spec in self.specs]
        self.away = [[(a - workload.start, b - workload.start) for a, b in spec.away] for spec in self.specs]
        self.queues = _queues(workload)
        self.feeds = list({id(queue.feed): queue.feed for queue in self.queues}.values())
        self._first = [queue.place for queue in self.queues]
        self._ends: list[tuple[float, int, float, Run, Iterator[Run]]] = []
        self._ticks = count()
        self._units = [spec.numbered(i, spec.truth) for i, spec in enumerate(self.specs)]
        self._beliefs = deque(
            sorted((b.since - workload.start, i, b) for i, spec in enumerate(self.specs) for b in spec.beliefs)
        )

    def run(self) -> None:
        """Serve until nothing is left, or the workload's time is up."""
        self.policy.prepare(self._units)
        time = 0.0
        while time < math.inf and time <= self.until:
            self.now = time
            while self._ends and self._ends[0][0] == time:
                self._end()
            self._look()
            self._learn()
            while self.idle and (decision := self.policy.choose(View(time, self.queues))) is not None:
                self._decide(decision)
            time = self._next()
        if self.until < math.inf:
            self.now = self.until
        self._look()
        for queue, one, first in zip(self.queues, self.served, self._first, strict=True):
            one.waiting = 0 if queue.away else max(0, min(queue.feed.readable, queue.end) - first - one.tuples)

    def _look(self) -> None:
        for feed in self.feeds:
            feed.look(self.now)
        for queue, away in zip(self.queues, self.away, strict=True):
            queue.away = any(lo <= self.now < hi for lo, hi in away)

    def _learn(self) -> None:
        if not self._beliefs or self._beliefs[0][0] > self.now:
            return
        self._units = list(self._units)
        while self._beliefs and self._beliefs[0][0] <= self.now:
            _, i, belief = self._beliefs.popleft()
            self._units[i] = self.specs[i].numbered(i, belief)
        self.policy.prepare(self._units)

    def _decide(self, decision: Decision) -> None:
        self.idle -= 1
        for run in decision.runs:
            self.queues[run.unit].running = True
        self._start(iter(decision.runs))

    def _start(self, runs: Iterator[Run]) -> None:
        run = next(runs, None)
        if run is None:
            self.idle += 1
            return
        finish = self.now + self.specs[run.unit].cost.of(run.train)
        heapq.heappush(self._ends, (finish, next(self._ticks), self.now, run, runs))

    def _end(self) -> None:
        finish, _, started, run, runs = heapq.heappop(self._ends)
        queue, S = self.queues[run.unit], self.specs[run.unit].S
        response = Response.of(finish - queue.feed.at[queue.place : queue.place + run.train]).expected(S)
        queue.place += run.train
        queue.running = False
        results = S * run.train
        self.served[run.unit].add(run.train, finish - started, results, response)
        self.policy.observe(Outcome(run, started, finish, (round(results),)))
        self._start(runs)

    def _next(self) -> float:
        """When there is something to do next: a run ends or, if a lane is idle, a unit has something to read."""
        time = self._ends[0][0] if self._ends else math.inf
        if self.idle:
            for queue, away in zip(self.queues, self.away, strict=True):
                if queue.away:
                    time = min(time, *(hi for lo, hi in away if lo <= self.now < hi))
                elif not queue.running:
                    time = min(time, queue.next())
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


def _numbers(workload: Workload) -> dict[str, NDArray[np.int64]]:
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
