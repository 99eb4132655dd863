"""Workloads of whole trains: units, and the times at which the tuples of their streams arrive; or a recorded run."""

import bisect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.errors import InputError
from headgate.model.classes import QueryClass
from headgate.model.operator import Cost
from headgate.model.parameters import Segment, Stage
from headgate.model.unit import Basis, Entry, Unit
from headgate.monitor.statistics import LEAST_SHARE
from headgate.record import Life, Recorded

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
    stretches [from, to) in which it is `away`, is not there before `since`, nor after `until` once it has read all.
    A policy knows all that, unless `beliefs` say what it takes it for. Its runs take so many times as long as they
    should as `paces` has from a time on.
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
    paces: tuple[tuple[float, float], ...] = ()

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

    def pace(self, time: float) -> float:
        """How many times as long a run takes as it should that begins then."""
        at = bisect.bisect_right(self.paces, (time, math.inf)) - 1
        return self.paces[max(0, at)][1] if self.paces else 1.0

    def numbered(self, number: int, belief: Belief) -> Unit:
        """The unit as a policy knows it, with the ideal time of a tuple in a job of its own."""
        cost = Cost(belief.a, belief.b)
        segment = Segment(self.name, (Stage(belief.b, max(LEAST_SHARE, belief.S)),), cost.of(1))
        return Unit(number, Entry(self.name), (self.name,), (segment,), cost, Basis((segment,), cost), cls=self.cls)


@dataclass(frozen=True)
class Workload:
    """Units, and the times at which the tuples of their streams arrive, ascending.

    Where tuples come in trains, `readable` has the times from which on they can be read. The clock starts at
    `start`; results that are not there at `until` do not count. Units are of the `classes`, if there are any; a run
    begins `handover` seconds after it was decided.
    """

    units: tuple[UnitSpec, ...]
    arrivals: Mapping[str, Floats]
    readable: Mapping[str, Floats] = field(default_factory=dict)
    start: float = 0.0
    until: float = math.inf
    classes: tuple[QueryClass, ...] = ()
    handover: float = 0.0

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

        A unit costs what the run took it for in the end, as many times more or less as its runs of the same time did,
        and yields what it did on average; a policy hears of its statistics when that of the run did. A unit that was
        removed has the tuples that it had read by then. If the run had served everything in the end, so does the
        replay, else it stops when the run did.
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
                S=_yield(life),
                cls=life.latest.cls,
                first=places(life.planned[0].reads),
                last=places(life.stands) if life.removed else {},
                away=life.away,
                beliefs=tuple(Belief(p.time, p.a, p.b, p.S) for p in life.planned),
                kind=life.latest.kind,
                since=life.planned[0].time,
                until=max((ran.finished for ran in life.ran), default=-math.inf) if life.removed else math.inf,
                paces=_paces(life),
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
            recorded.classes,
            _handover(recorded),
        )


def _yield(life: Life) -> float:
    """Results per tuple that was not dropped."""
    kept = life.served.tuples - life.served.shed
    return life.served.results / kept if kept else life.latest.S


def _paces(life: Life) -> tuple[tuple[float, float], ...]:
    """How many times as long each run took as the unit's cost says, by when it began."""
    cost = Cost(life.latest.a, life.latest.b)
    ran = [ran for ran in life.ran if ran.error is None and ran.n > ran.shed]
    # Not to the last digit: times since the epoch have none to spare.
    paces = [(each.started, round((each.finished - each.started) / cost.of(each.n - each.shed), 6)) for each in ran]
    return tuple(sorted(paces))


def _handover(recorded: Recorded) -> float:
    """Seconds from a decision to the beginning of its first run: the median."""
    found: dict[tuple[int, float], float] = {}
    for ran in recorded.ran:
        key = ran.lane, ran.time
        found[key] = min(found.get(key, math.inf), ran.started - ran.time)
    return round(max(0.0, median(found.values())), 6)
