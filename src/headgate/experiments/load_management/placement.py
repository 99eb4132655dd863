"""DILOS-LSRM: where to shed. Aurora's load manager drops everywhere alike, or by the road map where it costs least.

No publication of ours has figures for this; what has to come out is computed beforehand.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headgate.control.dilos import Management
from headgate.experiments.report import Band, Experiment, Figure, Line, Outcome, Row, Scale, Task, banded, reported
from headgate.model.classes import QueryClass
from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.policy.registry import create
from headgate.policy.trains import Train
from headgate.shed.lsrm import Placement, Point, slopes, spread
from headgate.shed.registry import maker
from headgate.sim.metrics import interval
from headgate.sim.trains import plan
from headgate.sim.trains.cores import Team
from headgate.sim.trains.simulation import Simulation
from headgate.sim.trains.steering import Control

ALL = (QueryClass("all", 1.0, 2.0),)
SHARED, BRANCHES = 1e-4, tuple(2**k * 1e-4 for k in range(6))
"""Seconds of work for a tuple: once for all queries, and behind the split for each."""
WORK = SHARED + sum(BRANCHES)
HEADROOM = 0.9
LOADS = (1.2, 1.6, 2.4)
PERIOD, END = 0.5, 60.0
POINTS = 2.0
"""On either side of what is computed: drop rates are in whole percent, and the first period sheds nothing."""


@dataclass(frozen=True)
class Seen:
    """What a run has shown: the part of the time that was worked, and what each query has lost of its results."""

    worked: float
    lost: tuple[float, ...]


def network() -> Network:
    """One stream, an operator that all queries share, and a dearer one for each."""
    shared = [Operator("in", Kind.SOURCE), Operator("shared", Kind.PROJECT, ("in",), Cost(0.0, SHARED), 1.0)]
    names = [f"q{k}" for k in range(len(BRANCHES))]
    own = [Operator(n, Kind.PROJECT, ("shared",), Cost(0.0, b), 1.0) for n, b in zip(names, BRANCHES, strict=True)]
    return Network((*shared, *own), tuple(Query(name, name, "all") for name in names))


def run(load: float, place: Placement, seed: int) -> Seen:
    """A run at a load, as a multiple of what one core can do."""
    bed, rate = network(), load / WORK
    times = np.cumsum(np.random.default_rng(seed).exponential(1 / rate, int(rate * END)))
    team = Team(
        create("rr", {"over": "units", "train": Train(50)}), lambda n: plan.by_operator(n, {"in": rate}, _worth, ALL)
    )
    management = Management(ALL, "separate", maker("aurora", {"headroom": HEADROOM}))
    control = Control(management, PERIOD, place=place)
    report = Simulation(bed, ALL, {"in": times}, [team], seed=seed, control=control).run()
    lost = tuple(1 - report.departures[query.name].count / len(times) for query in bed.queries)
    return Seen(report.work / report.ended, lost)


def computed(load: float, place: Placement) -> float:
    """The part of its results that a query loses on average."""
    drop = 1 - HEADROOM / load
    if place == "even":
        return drop
    names = [f"q{k}" for k in range(len(BRANCHES))]
    points = [Point("in", 1.0, WORK, tuple(names))]
    points += [Point(n, 1.0, b, (n,), under="in") for n, b in zip(names, BRANCHES, strict=True)]
    parts = spread(points, dict.fromkeys(names, slopes(None)), drop)
    kept = [(1 - parts.get("in", 0.0)) * (1 - parts.get(name, 0.0)) for name in names]
    return 1 - sum(kept) / len(kept)


def _worth(segment: Any) -> float:  # noqa: ANN401 - as plans take it
    return float(segment.S)


def _seeds(scale: Scale) -> range:
    return range(1, 2 if scale.quick else 6)


def tasks(scale: Scale) -> Mapping[Any, Task]:
    """A run for each load, place and seed."""
    places: tuple[Placement, ...] = ("even", "lsrm")
    cases = [(load, place, seed) for load in LOADS for place in places for seed in _seeds(scale)]
    return {("lsrm", *case): (run, case) for case in cases}


def lsrm(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Results lost and work done, with the same load manager."""
    rows: list[Row] = []
    curves: dict[Placement, list[float]] = {"even": [], "lsrm": []}
    for load in LOADS:
        for place, curve in curves.items():
            runs = [results["lsrm", load, place, seed] for seed in _seeds(scale)]
            lost = interval([100 * sum(each.lost) / len(each.lost) for each in runs])
            wanted = 100 * computed(load, place)
            band = Band(round(wanted - POINTS, 1), round(wanted + POINTS, 1), " %")
            rows.append(banded(f"results lost on average at {load:g}×, {place}", "–", lost.mean, band, f"{lost} %"))
            worked = interval([100 * each.worked for each in runs])
            rows.append(reported(f"time worked at {load:g}×, {place}", "–", f"{worked} %"))
            curve.append(lost.mean)
    figure = Figure(
        "results lost, by where tuples are dropped",
        "offered load",
        "%",
        tuple(Line(place, LOADS, curve) for place, curve in curves.items()),
        log_y=False,
    )
    note = (
        f"Six queries over one stream; to them a tuple costs {1e3 * BRANCHES[0]:g} to {1e3 * BRANCHES[-1]:g} ms "
        f"behind an operator that all share; Aurora with a headroom of {HEADROOM:g}. All queries are worth the same. "
        "Bands are computed from the road map."
    )
    numbers = ", ".join(map(str, _seeds(scale)))
    return Outcome(LSRM.id, LSRM.title, f"Poisson, {END:g} s", numbers, tuple(rows), (figure,), (note,))


LSRM = Experiment("DILOS-LSRM", "Where to shed: everywhere alike, or by the road map", "–", tasks, lsrm)
