"""Runs of networks of boxes: what varies, and what is kept of a run."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from headgate.experiments.report import Band, Figure, Line, Row, Scale, Task
from headgate.model.qos import LatencyGraph
from headgate.policy.registry import create
from headgate.sim.boxes import feeds, networks
from headgate.sim.boxes.overhead import SMALL, Overhead
from headgate.sim.boxes.report import Report
from headgate.sim.boxes.simulation import Simulation
from headgate.sim.boxes.units import Applications, Plan, box_at_a_time, push_through
from headgate.sim.metrics import Interval, interval

TURNS, FIXED, SLOPE, BUCKETS = "in-turn", "fixed-priority", "slope-slack", "bucketing"
SHOWN = {TURNS: "Round-Robin", FIXED: "Fixed-Priority", SLOPE: "SlopeSlack", BUCKETS: "Bucketing"}

TIGHT, LOOSE = LatencyGraph.until(0.01), LatencyGraph.until(2.0)
ALMOST = 0.99
"""An average QoS that counts as almost perfect."""

SEEDS = 6
QUICK_SEEDS = 2

OVERHEAD = (
    "The publication measured a prototype and gives no times of its scheduler, workers and storage manager; ours are "
    "constants that are charged by count, fixed before the runs (sim/boxes/overhead.py)."
)

Way = Literal["boxes", "paths"]
Options = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Net:
    """Chains of boxes: how many, how long, seconds of a box, and the deadlines that alternate."""

    apps: int = 20
    depth: int = 5
    cost: float = 1e-4
    deadlines: tuple[float, ...] = (0.01, 2.0)


@cache
def applications(net: Net) -> Applications:
    """The network."""
    return networks.chains(net.apps, net.depth, net.cost, tuple(map(LatencyGraph.until, net.deadlines)))


@cache
def plan(net: Net, way: Way) -> Plan:
    """Its units."""
    return {"boxes": box_at_a_time, "paths": push_through}[way](applications(net))


@dataclass(frozen=True)
class Case:
    """One run at a steady rate of tuples at inputs by chance."""

    policy: str
    rate: float
    way: Way = "boxes"
    options: Options = ()
    net: Net = Net()
    tuples: int = 20_000
    overhead: Overhead = SMALL
    seed: int = 1


@dataclass(frozen=True)
class Seen:
    """What a run has shown: average QoS, seconds of latency, parts of the run and of the busy time for scheduling."""

    qos: float
    per_tuple: float
    latency: float
    scheduling: float
    share: float
    seconds: float


def seen(report: Report) -> Seen:
    """What is kept of a run."""
    return Seen(
        report.qos,
        report.per_tuple,
        report.latency,
        report.scheduling,
        report.spent.share,
        report.spent.scheduler / 1e9,
    )


def run(case: Case) -> Seen:
    """Run a case."""
    chosen = plan(case.net, case.way)
    rng = np.random.default_rng([case.seed, 10])
    feed = feeds.steady(case.tuples, case.rate, len(chosen.applications.boxes.leaves), rng)
    policy = create(case.policy, {**dict(case.options), "seed": case.seed})
    return seen(Simulation(chosen, feed, policy, case.overhead).run())


def runs_of(cases: Sequence[Case]) -> Mapping[Any, Task]:
    """A run for each case."""
    return {case: (run, (case,)) for case in cases}


def seeds(scale: Scale) -> range:
    """The seeds of a run: 1, 2, …"""
    return range(1, (QUICK_SEEDS if scale.quick else SEEDS) + 1)


def tuples(scale: Scale, full: int) -> int:
    """The tuples of a run; a quick one has a quarter."""
    return full // 4 if scale.quick else full


def numbered(scale: Scale) -> str:
    """The seeds in words."""
    return f"1 … {seeds(scale)[-1]}"


def mean(results: Mapping[Any, Any], keys: Sequence[Any], value: Callable[[Any], float]) -> Interval:
    """A value over some runs."""
    return interval([value(results[key]) for key in keys])


def above(what: str, paper: str, first: Interval, second: Interval) -> Row:
    """An order of two means that has to show."""
    return required(what, paper, f"{first} / {second}", met=first.mean > second.mean)


def required(what: str, paper: str, shown: str, *, met: bool) -> Row:
    """A finding that has to show."""
    return Row(what, paper, shown, "has to show", "in band" if met else "out of band")


def at_least(low: float, unit: str = "") -> Band:
    """From a value on."""
    return Band(low, math.inf, unit)


def at_most(high: float, unit: str = "") -> Band:
    """Up to a value."""
    return Band(-math.inf, high, unit)


def exact(value: float, unit: str = "") -> Band:
    """That value."""
    return Band(value, value, unit)


def sustained(rates: Sequence[float], qos: Sequence[float]) -> float:
    """The highest rate up to which QoS is almost perfect, by a straight line between measured ones; 0 if none is."""
    best = 0.0
    for k, (rate, value) in enumerate(zip(rates, qos, strict=True)):
        if value >= ALMOST:
            best = rate
        else:
            if k and qos[k - 1] > value:
                best += (rate - best) * (qos[k - 1] - ALMOST) / (qos[k - 1] - value)
            break
    return best


def over(title: str, x: str, xs: Sequence[float], found: Mapping[str, Sequence[float]], y: str = "QoS") -> Figure:
    """A measure against something, one curve for each name."""
    return Figure(title, x, y, tuple(Line(name, xs, ys) for name, ys in found.items()), log_y=False)
