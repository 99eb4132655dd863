"""Runs of the mix of queries with deadlines: what varies, and what is kept of a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from headgate.control.deadlines import measures
from headgate.control.deadlines.profiles import create
from headgate.experiments.report import Band, Figure, Line, Row, Scale, Task
from headgate.experiments.traces import Recorded
from headgate.sim.deadlines import rates
from headgate.sim.deadlines.estimators import ESTIMATORS
from headgate.sim.deadlines.setup import RESCHEDULING, Report, Setup
from headgate.sim.deadlines.simulation import simulate
from headgate.sim.deadlines.workload import Query, mix, visiting
from headgate.sim.metrics import Floats, Interval, interval
from headgate.sim.traces import Trace

HORIZON = 20.0
EVERY = 0.5
"""Seconds between the points of a curve."""

STEADY, LOW = 12_000.0, 10_000.0
"""Tuples per second of each stream: loads of 1.418 and 1.182."""

LRM, RM, HPF, PLUS = "lrm-seed", "rm", "hpf", "lrm+"
SHOWN = {
    LRM: "LRM",
    RM: "RM",
    HPF: "HPF",
    PLUS: "LRM+",
    "ledf": "LEDF",
    "ledf+": "LEDF+",
    "edf": "EDF",
    "rm-abort": "RM-ABORT",
}

MIX = (
    "The mix of ten queries has the published types, periods and weights; streams, selectivities and rates are ours, "
    "as they are not published. A tuple on each stream is 118.2 µs of work, so the processor is full at 8460 "
    "tuples/s, and deadlines can be met without shedding up to 7227 tuples/s."
)

Options = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Case:
    """One run.

    `load` is 'step', 'fast' or 'random', or the rate that stays. A trace stands in the place of what is random.
    Visitors are the five queries behind the mix, from 5 s to 12 s.
    """

    profile: str
    load: str | float = STEADY
    options: Options = ()
    seed: int = 1
    n: int = 10
    horizon: float = HORIZON
    estimator: str = "rate_last"
    overhead: float = RESCHEDULING
    piece: float = 0.0
    blocking: bool = True
    visitors: bool = False
    gated: bool = False
    pairs: bool = False
    trace: Recorded | None = None


@dataclass(frozen=True)
class Curve:
    """What was so at each time, in per cent."""

    at: tuple[float, ...]
    miss: tuple[float, ...]
    completion: tuple[float, ...]
    useful: tuple[float, ...]
    error: tuple[float, ...]


@dataclass(frozen=True)
class Seen:
    """What a run has shown, in per cent but for what is counted."""

    misses: int
    due: int
    released: int
    miss: float
    weighted_miss: float
    completion: float
    useful: float
    error: float
    processing: float
    total: float
    tardiness: float
    late: Mapping[str, int]
    kept: Mapping[str, float]
    reschedulings: tuple[float, ...]
    spent: float
    suspended: int
    refused: Mapping[str, str]
    curve: Curve


@cache
def _trace(recorded: Recorded) -> Floats:
    return np.concatenate(list(Trace(recorded.path).chunks(np.random.default_rng(0))))


def arrivals(case: Case) -> rates.Rates:
    """The streams of a case."""
    if case.trace is not None:
        return rates.traced(_trace(case.trace), case.seed)
    if case.load == "random":
        return rates.random(case.seed)
    if isinstance(case.load, str):
        return rates.stepped(every={"step": 1.0, "fast": 0.5}[case.load])
    return rates.steady(case.load)


def queries(case: Case) -> tuple[Query, ...]:
    """The queries of a case."""
    found = mix(case.n)
    if case.visitors:
        found += visiting(5, case.n, 5.0, 12.0)
    return tuple(_by_pairs(each) for each in found) if case.pairs else found


def _by_pairs(query: Query) -> Query:
    window = dict.fromkeys(query.tree.streams, STEADY * query.deadline.window)
    return Query(query.name, query.tree.by_pairs(window), query.deadline, nominal=query.nominal)


def run(case: Case) -> Seen:
    """Run a case."""
    found = simulate(
        Setup(
            queries(case),
            arrivals(case),
            create(case.profile, **dict(case.options)),
            horizon=case.horizon,
            estimator=ESTIMATORS[case.estimator],
            overhead=case.overhead,
            piece=case.piece,
            blocking=case.blocking,
            gated=case.gated,
        )
    )
    return seen(found)


def seen(found: Report) -> Seen:
    """What is kept of a run."""
    horizon = found.horizon
    due = [each for each in found.records if each.due <= horizon + measures.ROUNDING]
    errors = measures.errors(found.records, horizon)
    late = measures.tardiness(found.records, horizon)
    curve = measures.curves(found.records, EVERY, horizon)
    names = list(dict.fromkeys(each.query for each in found.records))
    return Seen(
        misses=found.misses,
        due=len(due),
        released=len(found.records),
        miss=found.miss,
        weighted_miss=100 * measures.weighted_miss(found.records, horizon),
        completion=found.completion,
        useful=found.useful,
        error=errors.output_percent,
        processing=errors.processing_percent,
        total=errors.output,
        tardiness=float(late.mean()) if len(late) else 0.0,
        late={name: sum(each.missed for each in due if each.query == name) for name in names},
        kept={name: _kept([each for each in found.records if each.query == name]) for name in names},
        reschedulings=found.reschedulings,
        spent=100 * found.spent / horizon,
        suspended=sum(bool(plan.suspended) for plan in found.plans),
        refused={name: answer.reason for name, answer in found.answers.items() if answer.kind == "refuse"},
        curve=Curve(
            tuple(curve.at.tolist()),
            *(
                tuple((100 * each).tolist())
                for each in (curve.miss, curve.completion, curve.useful, curve.output_percent / 100)
            ),
        ),
    )


def _kept(records: Sequence[measures.Iterated]) -> float:
    return 100 * sum(each.kept for each in records) / max(1.0, sum(each.tuples for each in records))


def runs_of(cases: Sequence[Case]) -> Mapping[Any, Task]:
    """A run for each case."""
    return {case: (run, (case,)) for case in cases}


def seeds(scale: Scale, full: int, quick: int) -> range:
    """The seeds of a run: 1, 2, …"""
    return range(1, (quick if scale.quick else full) + 1)


def numbered(of: range) -> str:
    """The seeds in words."""
    return f"{of[0]} … {of[-1]}"


def mean(results: Mapping[Any, Seen], cases: Sequence[Case], value: Callable[[Seen], float]) -> Interval:
    """A value over the runs of some cases."""
    return interval([value(results[case]) for case in cases])


def apart(above: Interval, below: Interval) -> bool:
    """Whether two means are apart by more than chance explains."""
    return above.mean - above.half > below.mean + below.half


def at_most(high: float, unit: str = " %") -> Band:
    """Up to a value."""
    return Band(-float("inf"), high, unit)


def at_least(low: float, unit: str = " %") -> Band:
    """From a value on."""
    return Band(low, float("inf"), unit)


def required(what: str, paper: str, shown: str, *, met: bool) -> Row:
    """A finding that has to show."""
    return Row(what, paper, shown, "has to show", "in band" if met else "out of band")


def over_time(title: str, found: Mapping[str, Seen], value: Callable[[Curve], Sequence[float]]) -> Figure:
    """A measure over time, one curve for each way."""
    lines = tuple(Line(name, each.curve.at, value(each.curve)) for name, each in found.items())
    return Figure(title, "time (s)", "%", lines, log_y=False)


def three(found: Mapping[str, Seen]) -> tuple[Figure, ...]:
    """Misses, completion and error over time."""
    return (
        over_time("missed deadlines", found, lambda curve: curve.miss),
        over_time("completed iterations", found, lambda curve: curve.completion),
        over_time("weighted error of results", found, lambda curve: curve.error),
    )


def averaged(runs: Sequence[Seen]) -> Seen:
    """One of several runs with the curves of all, averaged point by point."""
    first = runs[0].curve
    parts = {
        name: tuple(np.mean([getattr(each.curve, name) for each in runs], axis=0).tolist())
        for name in ("miss", "completion", "useful", "error")
    }
    return Seen(**{**vars(runs[0]), "curve": Curve(first.at, **parts)})
