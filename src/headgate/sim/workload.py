"""Workloads of whole trains: units, and the times at which the tuples of their streams arrive; or a recorded run."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.errors import InputError
from headgate.model.classes import QueryClass
from headgate.model.deadlines import Deadline
from headgate.model.operator import Cost
from headgate.model.qos import LatencyGraph
from headgate.model.unit import Unit
from headgate.monitor.statistics import known
from headgate.record import Life, Logged, Ran, Recorded, late
from headgate.sim.pace import Pace, paces

Floats = NDArray[np.float64]


class Belief(NamedTuple):
    """What the policy takes a unit for from a time on: the time a + b·n of a run, and S results per tuple."""

    since: float
    a: float
    b: float
    S: float


class Due(NamedTuple):
    """Results of windows: since when they are due, and how many there are."""

    at: float
    results: float


@dataclass(frozen=True)
class UnitSpec:
    """A unit of a workload: the streams it reads, the time a + b·n of a run, and S results per tuple.

    It reads the tuples of each stream from the place `first` on, up to the place `last`. It does not run in the
    stretches [from, to) in which it is `away`, is not there before `since`, nor after `until` once it has read all.
    A policy knows all that, unless `beliefs` say what it takes it for. With `windows`, results are theirs and not the
    tuples'; a unit that evaluates them `whole` runs over the tuples of one after the other, once it has closed. One
    with a `deadline` does so before others. Its `graphs` are those of so many of its `queries` as are `valued`.
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
    kind: str = "jobs"
    since: float = -math.inf
    until: float = math.inf
    graphs: tuple[LatencyGraph, ...] = ()
    windows: tuple[Due, ...] = ()
    whole: bool = False
    deadline: Deadline | None = None
    queries: tuple[str, ...] = ()
    valued: int | None = None

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
        """The unit as a policy knows it."""
        unit = known(self.name, number, self.cls, Cost(belief.a, belief.b), belief.S, self.graphs)
        return replace(unit, deadline=self.deadline) if self.deadline else unit


@dataclass(frozen=True)
class Workload:
    """Units, and the times at which the tuples of their streams arrive, ascending.

    Where tuples come in trains, `readable` has the times from which on they can be read. The clock starts at
    `start`; results that are not there at `until` do not count. Units are of the `classes`, if there are any. A run
    begins after `handover` seconds of work, and lanes of a kind may have a `pace`, from the start on.
    """

    units: tuple[UnitSpec, ...]
    arrivals: Mapping[str, Floats]
    readable: Mapping[str, Floats] = field(default_factory=dict)
    start: float = 0.0
    until: float = math.inf
    classes: tuple[QueryClass, ...] = ()
    handover: float = 0.0
    pace: Mapping[str, Pace] = field(default_factory=dict)

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

        A unit costs and yields what it did on average, on a machine that is as fast at each moment as it was; a
        policy hears of its statistics when that of the run did. A unit that was removed has the tuples that it had
        read by then. If the run had served everything in the end, so does the replay, else it stops when the run did.
        """
        streams, found = _unread(recorded), paces(recorded)
        deadlines = _deadlines(recorded)

        def places(numbers: Mapping[str, int]) -> dict[str, int]:
            return {name: int(np.searchsorted(streams[name].numbers, number)) for name, number in numbers.items()}

        units = tuple(
            UnitSpec(
                name=life.latest.unit,
                streams=tuple(life.latest.reads),
                a=cost.a,
                b=cost.b,
                S=_yield(life),
                cls=life.latest.cls,
                first=places(life.planned[0].reads),
                last=places(life.stands) if life.removed else {},
                away=life.away,
                beliefs=tuple(Belief(p.time, p.a, p.b, p.S) for p in life.planned),
                kind=life.latest.kind,
                since=life.planned[0].time,
                until=max((ran.finished for ran in life.ran), default=-math.inf) if life.removed else math.inf,
                graphs=tuple(LatencyGraph(points) for points in life.latest.graphs),
                windows=tuple(_windows(life, streams)) if life.latest.windows else (),
                whole=life.latest.whole or life.latest.unit in deadlines,
                deadline=deadlines.get(life.latest.unit),
                queries=life.latest.queries,
                valued=life.latest.valued,
            )
            for life, cost in zip(recorded.lives, found.costs, strict=True)
        )
        drained = recorded.measured.overall.waiting == 0
        return cls(
            units,
            {name: logged.at for name, logged in streams.items()},
            {name: logged.readable for name, logged in streams.items()},
            recorded.since,
            math.inf if drained else recorded.ended,
            recorded.classes,
            found.handover,
            found.pace,
        )


def _deadlines(recorded: Recorded) -> Mapping[str, Deadline]:
    """The deadlines of the queries that had one, each in a unit of its own, as their windows show them."""
    found = {}
    for query in dict.fromkeys(each.query for each in recorded.iterated):
        ends = sorted((each.end, each.due - each.release) for each in recorded.iterated if each.query == query)
        due = min(span for _, span in ends)
        stride = min((after - end for (end, _), (after, _) in pairwise(ends)), default=due)
        found[query] = Deadline(stride, stride, min(due, stride))
    return found


def _unread(recorded: Recorded) -> Mapping[str, Logged]:
    """The tuples of each stream from the first on that a unit had not read when it began."""
    found = {}
    for name, logged in recorded.streams.items():
        first = min(life.planned[0].reads[name] for life in recorded.lives if name in life.planned[0].reads)
        at = int(np.searchsorted(logged.numbers, first))
        found[name] = Logged(logged.at[at:], logged.readable[at:], logged.numbers[at:])
    return found


def _windows(life: Life, streams: Mapping[str, Logged]) -> Iterator[Due]:
    """The results of windows, and since when they were due.

    One that is evaluated whole had closed when the last of its tuples could be read. Of several that came with a run,
    the response times are known by their magnitudes, and all together exactly.
    """
    for ran in life.ran:
        if ran.error is not None:
            continue
        times, many = late(ran)
        if many.any():
            yield from map(Due, (ran.finished - times).tolist(), many.tolist())
        elif life.latest.whole and (closed := _closed(ran, streams)) is not None:
            yield Due(closed, 0.0)


def _closed(ran: Ran, streams: Mapping[str, Logged]) -> float | None:
    """When the last tuple of a run could be read."""
    at = [(s, int(np.searchsorted(streams[s].numbers, hi)) - 1) for s, (lo, hi) in ran.positions.items() if hi > lo]
    return max((streams[stream].readable.item(i) for stream, i in at if i >= 0), default=None)


def _yield(life: Life) -> float:
    """Results per tuple that was not dropped."""
    kept = life.served.tuples - life.served.shed
    return life.served.results / kept if kept else life.latest.S
