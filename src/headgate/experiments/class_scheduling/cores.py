"""CLS-E28 and E30: cores for sources, and queries that stay on their core."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from headgate.experiments.class_scheduling.cases import Case, averaged, ms, seeds, tasks
from headgate.experiments.class_scheduling.figures import mean_by_class
from headgate.experiments.class_scheduling.workloads import W5G_4, scaled_queries
from headgate.experiments.report import Experiment, Outcome, Scale, change, claim, reported, sized

SPLITS = {"8+1": (8, 1, "morr"), "7+2 in turn": (7, 2, "morr"), "7+2 by priority": (7, 2, "mbd")}
SHARING = 8
SHARED = (
    "5S_8 is eight times one set of queries, and here all eight read the same streams. With a stream for each leaf "
    "one core would be nine tenths full with reading, and two cores for that would be better than one."
)
SAME = 0.05
"""Response times this part from each other do not differ."""


def _seeds(scale: Scale) -> tuple[int, ...]:
    return (1,) if scale.quick else (1, 2, 3)


def _split(scale: Scale, split: str) -> list[Case]:
    cores, readers, scheduler = SPLITS[split]
    workload = replace(scaled_queries(8), cores=cores)
    seconds = 0.3 if scale.quick else 1.0
    return [
        Case(workload, "mbd", seconds, seed, sources=scheduler, source_cores=readers, sharing=SHARING)
        for seed in _seeds(scale)
    ]


def _splits(scale: Scale) -> list[Case]:
    return [each for split in SPLITS for each in _split(scale, split)]


def e28(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Nine cores, of which one or two read the streams."""
    found = {split: averaged([results[each] for each in _split(scale, split)]) for split in SPLITS}
    one, turns, priority = (found[split].wavg for split in SPLITS)
    apart = abs(turns / priority - 1)
    rows = [
        claim("the two 7+2, weighted", "no difference", f"{100 * apart:.1f} % apart", confirmed=apart < SAME),
        claim(
            "8+1 against 7+2, weighted",
            "best",
            f"{ms([one, turns, priority])} ms",
            confirmed=one < min(turns, priority),
        ),
    ]
    rows += [reported(f"classes, {split}, ms", "–", ms(seen.mean)) for split, seen in found.items()]
    figure = mean_by_class("5S_8 on nine cores", found, W5G_4)
    cases = _splits(scale)
    trace = f"Poisson, 1200 tuples per second and stream, {cases[0].seconds:g} s"
    notes = (
        SHARED,
        "The publication recalls a rate of 4800 for a workload of 1200; at 4800 per stream it would be overloaded.",
    )
    return Outcome(E28.id, E28.title, trace, seeds(cases), tuple(rows), (figure,), notes)


def _stays(scale: Scale, scheduler: str) -> list[Case]:
    return [Case(W5G_4, scheduler, 0.6 if scale.quick else 3.0, seed) for seed in _seeds(scale)]


def e30(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """What the look ahead costs where it brings nothing."""
    runs = {name: [results[each] for each in _stays(scale, name)] for name in ("mbd", "ambd")}
    means = {name: [float(np.mean(seen.mean)) for seen in each] for name, each in runs.items()}
    rows = [
        sized("mean response time, AMBD against MBD", 10, change(means["ambd"], means["mbd"])),
        *(reported(f"classes, {name}, ms", "–", ms(averaged(each).mean)) for name, each in runs.items()),
    ]
    figure = mean_by_class("5G_4", {name: averaged(each) for name, each in runs.items()}, W5G_4)
    cases = _stays(scale, "mbd")
    trace = f"Poisson, {W5G_4.rate:g} tuples per second and stream, {cases[0].seconds:g} s"
    notes = (
        "Nothing is gained by staying: the simulator has no cache. Each slot looked at takes 1 µs, as a poll does.",
    )
    return Outcome(E30.id, E30.title, trace, seeds(cases), tuple(rows), (figure,), notes)


E28 = Experiment("CLS-E28", "Cores for sources", "Figure 119", lambda scale: tasks(_splits(scale)), e28)
E30 = Experiment(
    "CLS-E30",
    "Queries that stay on their core",
    "text",
    lambda scale: tasks([*_stays(scale, "mbd"), *_stays(scale, "ambd")]),
    e30,
)
EXPERIMENTS = (E28, E30)
