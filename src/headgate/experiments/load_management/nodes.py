"""DILOS-ARM: several nodes under a coordinator. ARMaDILoS was described, and never measured; bands are ours.

Eight nodes with DILoS, 400 queries of three classes, and a load that shifts between streams: what is lost with a
placement that stays, with one that follows the load, and on one node as large as all eight. And the same with a node
that dies and returns later.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal

import numpy as np

from headgate.control.nodes.balancer import Balancer
from headgate.control.nodes.options import MINIMAL, WEIGHED
from headgate.experiments.load_management.single import named, seeds
from headgate.experiments.report import (
    Band,
    Experiment,
    Figure,
    Line,
    Outcome,
    Row,
    Scale,
    Task,
    banded,
    holds,
    reported,
)
from headgate.sim.metrics import interval
from headgate.sim.nodes.failing import Failure
from headgate.sim.nodes.placing import at_random, balanced
from headgate.sim.nodes.report import ClusterReport
from headgate.sim.nodes.simulation import ClusterSimulation, Setup, ideal
from headgate.sim.nodes.workload import CLASSES, Day, shifting

System = Literal["random", "balanced", "minimal", "weighed", "taken over", "one large node"]
SYSTEMS: tuple[System, ...] = ("random", "balanced", "minimal", "weighed", "one large node")
AT_NIGHT: tuple[System, ...] = ("random", "minimal", "weighed")
WITHOUT: tuple[System, ...] = ("random", "taken over", "weighed")
NODES, LOADS, DARK, SEEDS = 8, (0.85, 1.15), 0.2, 4
NAMES = tuple(each.name for each in CLASSES)
TIMELY = 99.0
"""Percent of the time in which a class is to be within its delay target."""
RECOVERED, LASTING = 0.02, 30.0
"""After a node is lost, a class has recovered once it loses less than this part of what comes, for so long."""


@dataclass(frozen=True)
class Case:
    """A system under a load, as a part of the capacity of all nodes, for so many seconds; with a night or without.

    If a node is `away`, it dies at the first of two times and is back at the second.
    """

    system: System
    load: float
    end: float
    night: tuple[float, float] | None = None
    away: tuple[float, float] | None = None


def run(case: Case, seed: int) -> ClusterReport:
    """A run of a case: all systems see the same load, and whoever moves queries finds them placed at random.

    Where a placement stays for good, nobody takes over what a dead node had.
    """
    workload = shifting(case.load * NODES, Day(case.end, case.night, DARK), seed, phase=150.0)
    setup = Setup(NODES)
    if case.system == "one large node":
        return ideal(workload, setup)
    if case.system == "balanced":
        return ClusterSimulation(workload, balanced(workload, NODES), setup, seed=seed).run()
    rules = {"minimal": Balancer(MINIMAL), "weighed": Balancer(WEIGHED)}
    place = at_random(workload, NODES, seed)
    if case.system == "random":
        setup = replace(setup, patience=None)
    failures = [Failure(0, *case.away)] if case.away else []
    return ClusterSimulation(workload, place, setup, rules.get(case.system), seed=seed, failures=failures).run()


def days(scale: Scale) -> list[Case]:
    """Every system under every load."""
    end = 150.0 if scale.quick else 450.0
    return [Case(system, load, end) for load in LOADS for system in SYSTEMS]


def nights(scale: Scale) -> list[Case]:
    """The systems that differ where little is to be done."""
    end, night = (450.0, (30.0, 300.0)) if scale.quick else (900.0, (60.0, 660.0))
    return [Case(system, LOADS[0], end, night) for system in AT_NIGHT]


def failures(scale: Scale) -> list[Case]:
    """A node that is lost for some minutes: its queries wait for it, are taken over, or also balanced then."""
    end, away = (150.0, (30.0, 90.0)) if scale.quick else (450.0, (120.0, 300.0))
    return [Case(system, LOADS[0], end, away=away) for system in WITHOUT]


def tasks(scale: Scale) -> Mapping[Any, Task]:
    """A run for each case and seed."""
    cases = (*days(scale), *nights(scale), *failures(scale))
    return {(case, seed): (run, (case, seed)) for case in cases for seed in seeds(scale, SEEDS)}


Runs = Mapping[System, Sequence[ClusterReport]]


def arm(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Loss, time in target and use of the nodes by system."""
    numbers = seeds(scale, SEEDS)
    rows: list[Row] = []
    figures: list[Figure] = []

    def found(cases: Sequence[Case]) -> Runs:
        return {case.system: [results[case, seed] for seed in numbers] for case in cases}

    for load in LOADS:
        runs = found([case for case in days(scale) if case.load == load])
        rows += _figures(f"{load:g}×", runs)
        rows += _orders(load, runs)
        figures.append(_bars(load, runs))
    asleep = found(nights(scale))
    rows += _figures("night", asleep)
    rows += _night(asleep)
    figures.append(_sleep(asleep))
    dies, returns = failures(scale)[0].away or (0.0, 0.0)
    lost = found(failures(scale))
    rows += _figures("a node lost", lost)
    rows += _lost(lost, dies)
    note = (
        "No publication has figures for this; bands are ours. At random, a query is on any node. Balanced, nodes "
        "have the same mean load over the whole run, which one would have to know beforehand. Both stay. Minimal and "
        "weighed are the two rules of the coordinator, from the random placement on. The large node reads each "
        "stream once, each of the eight what its queries need, so that they have more to do in all. Nodes are fluid "
        "models under DILoS with the manager backlog."
    )
    failing = (
        f"A node lost: at {LOADS[0]:g}×, one of eight dies at {dies:g} s and is back at {returns:g} s. At random "
        "its queries are lost until then. Taken over, the coordinator misses it after 5 s, the nodes with the fewest "
        "queries begin its own a second later, and they stay there. Weighed, they are balanced as well. What comes "
        "for a query while nobody runs it counts as lost, though nodes with a common log would read it later. Gold "
        f"and silver have recovered once each loses less than {RECOVERED:.0%} for {LASTING:g} s. What these rows ask "
        "for was written down after trial runs."
    )
    length = f"{days(scale)[0].end:g} s, at night {nights(scale)[0].end:g} s"
    return Outcome(
        ARM.id,
        ARM.title,
        f"load that shifts between 40 streams, {length}",
        named(numbers),
        tuple(rows),
        tuple(figures),
        (note, failing),
    )


def _figures(where: str, runs: Runs) -> list[Row]:
    rows: list[Row] = []
    for system, each in runs.items():
        loss = " / ".join(str(interval([100 * r.classes[cls].loss for r in each])) for cls in NAMES)
        rows.append(reported(f"{where}, {system}: loss of gold / silver / bronze", "–", f"{loss} %"))
        timely = " / ".join(f"{fmean(100 * r.classes[c].in_target for r in each):.4g}" for c in NAMES)
        used = _mean(each, lambda r: 100 * r.worked)
        more = f"; {_mean(each, lambda r: r.moves)} moves" if system in ("minimal", "weighed") else ""
        rows.append(reported(f"{where}, {system}: time in target; capacity used", "–", f"{timely} %; {used} %{more}"))
    return rows


def _orders(load: float, runs: Runs) -> list[Row]:
    where, n = f"{load:g}×", len(runs["random"])
    rows = [
        holds(f"{where}: weighed loses less than random", "–", _less(runs, "weighed", "random"), n),
        holds(f"{where}: the large node loses least", "–", _less(runs, "one large node", "weighed"), n),
        holds(
            f"{where}: weighed does more work than random",
            "–",
            sum(a.worked > b.worked for a, b in zip(runs["weighed"], runs["random"], strict=True)),
            n,
        ),
    ]
    if load < 1:
        rows.append(holds(f"{where}: weighed loses less than minimal", "–", _less(runs, "weighed", "minimal"), n))
    else:
        # More is lost than there is room for, so that who loses it is what counts.
        for other in ("random", "minimal"):
            good = sum(
                a.classes["gold"].loss <= b.classes["gold"].loss
                for a, b in zip(runs["weighed"], runs[other], strict=True)
            )
            rows.append(holds(f"{where}: gold loses no more by weighed than by {other}", "–", good, n))
    ordered = sum(r.classes["gold"].loss <= r.classes["bronze"].loss for r in runs["weighed"])
    rows.append(holds(f"{where}: gold loses less than bronze by weighed", "–", ordered, n))
    least = min(100 * r.classes[cls].in_target for r in runs["weighed"] for cls in NAMES)
    rows.append(banded(f"{where}: least time in target of any class, weighed", "–", least, Band(TIMELY, 100.0, " %")))
    return rows


def _night(runs: Runs) -> list[Row]:
    rows = []
    for system in ("minimal", "weighed"):
        each = runs[system]
        sleeps = fmean(r.orders.get("Sleep", 0) for r in each)
        wakes = fmean(r.orders.get("Wake", 0) for r in each)
        shown = f"{_mean(each, lambda r: 100 * r.awake)} %; {sleeps:g} fell asleep, {wakes:g} were woken"
        rows.append(reported(f"night, {system}: time that nodes are awake", "–", shown))
    good = sum(r.awake < 1 for r in runs["weighed"])
    rows.append(holds("night: nodes sleep by weighed", "–", good, len(runs["weighed"])))
    rows.append(
        holds("night: and less is lost than at random", "–", _less(runs, "weighed", "random"), len(runs["random"]))
    )
    return rows


def _lost(runs: Runs, dies: float) -> list[Row]:
    n = len(runs["random"])
    times = {system: [_recovery(r, dies) for r in each] for system, each in runs.items()}
    rows = [
        reported(f"a node lost, {system}: time until gold and silver have recovered", "–", f"{interval(each)} s")
        for system, each in times.items()
    ]
    for cls in NAMES:
        good = sum(
            a.classes[cls].loss < b.classes[cls].loss for a, b in zip(runs["weighed"], runs["random"], strict=True)
        )
        rows.append(holds(f"a node lost: {cls} loses less by weighed than at random", "–", good, n))
    less = _less(runs, "weighed", "taken over")
    rows.append(holds("a node lost: balanced, less is lost than taken over alone", "–", less, n))
    sooner = sum(a < b for a, b in zip(times["weighed"], times["random"], strict=True))
    rows.append(holds("a node lost: gold and silver recover sooner by weighed than at random", "–", sooner, n))
    return rows


def _recovery(report: ClusterReport, dies: float) -> float:
    """Seconds from the loss of a node until gold and silver have recovered, or to the end if they never do."""
    # The last bin is empty, or nearly so.
    times = report.times[:-1]
    bad = np.maximum(report.lost["gold"], report.lost["silver"])[:-1] > RECOVERED
    length = float(report.times[1])
    for i in np.flatnonzero(times >= dies):
        if not bad[i : i + round(LASTING / length)].any():
            return float(times[i]) - dies
    return float(times[-1]) + length - dies


def _less(runs: Runs, one: System, other: System) -> int:
    return sum(a.loss < b.loss for a, b in zip(runs[one], runs[other], strict=True))


def _mean(runs: Sequence[ClusterReport], value: Callable[[ClusterReport], float]) -> str:
    return str(interval([value(each) for each in runs]))


def _bars(load: float, runs: Runs) -> Figure:
    lines = [
        Line(cls, (), [fmean(100 * r.classes[cls].loss for r in each) for each in runs.values()]) for cls in NAMES
    ]
    return Figure(f"loss at {load:g} times the capacity", "", "%", tuple(lines), tuple(runs), log_y=False)


def _sleep(runs: Runs) -> Figure:
    lines = [Line(system, each[0].times[:-1].tolist(), each[0].nodes[:-1].tolist()) for system, each in runs.items()]
    return Figure("nodes awake, with a night between", "seconds", "nodes", tuple(lines), log_y=False)


ARM = Experiment("DILOS-ARM", "Several nodes: queries that follow the load", "–", tasks, arm)
