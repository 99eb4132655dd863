"""APP-E13, E15 and E16: in which order the boxes of a tree are called, and what that costs and saves."""

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from headgate.experiments.application_aware.cases import (
    OVERHEAD,
    exact,
    mean,
    numbered,
    over,
    required,
    seeds,
    tuples,
)
from headgate.experiments.report import Experiment, Outcome, Row, Scale, Task, banded, reported
from headgate.model.boxes import Box, Boxes
from headgate.model.traversals import (
    min_cost,
    min_latency,
    min_memory,
    min_memory_example,
    min_memory_pseudo,
    replay,
)
from headgate.policy.registry import create
from headgate.sim.boxes import feeds, networks
from headgate.sim.boxes.overhead import SMALL, Overhead
from headgate.sim.boxes.simulation import Simulation
from headgate.sim.boxes.units import application_at_a_time
from headgate.sim.metrics import Floats

WAYS = {"MC": min_cost, "ML": min_latency, "MM": min_memory}

# APP-E13

SIX = Boxes((Box((1, 5)), Box((3, 2)), Box((4,)), Box(), Box(), Box()))
"""Boxes b1 to b6 of the worked example."""
RELEASING = Boxes(
    tuple(
        replace(box, sel=sel, cost=cost)
        for box, sel, cost in zip(
            SIX.boxes, (0.9, 0.4, 0.5, 1.0, 0.4, 0.6), (2.0, 2.0, 1.0, 2.0, 3.0, 1.0), strict=True
        )
    )
)


def named(order: tuple[int, ...]) -> str:
    """Boxes by the names of the example."""
    return " ".join(f"b{b + 1}" for b in order)


def _order(what: str, paper: str, order: tuple[int, ...], wanted: str) -> Row:
    return required(what, paper, named(order), met=named(order) == wanted)


def e13(_scale: Scale, _results: Mapping[Any, Any]) -> Outcome:
    """The worked examples."""
    loaded = dict.fromkeys(range(6), 1.0)

    def with_overhead(order: tuple[int, ...], o: float, *, processing: float = 1.0) -> tuple[float, float]:
        boxes = Boxes(tuple(replace(box, cost=processing) for box in SIX.boxes))
        found = replay(boxes, order, loaded, o)
        return found.total, found.latency

    mc, ml = min_cost(SIX), min_latency(SIX)
    # Times are p·tuples + o·calls, so two runs give both factors.
    tiny = 1e-9
    factors = {
        name: (with_overhead(order, 0.0), with_overhead(order, 1.0, processing=tiny))
        for name, order in (("MC", mc), ("ML", ml))
    }
    mean_p = factors["MC"][0][1] - factors["ML"][0][1]
    mean_o = factors["ML"][1][1] - factors["MC"][1][1]
    memory = replay(RELEASING, min_memory_example(RELEASING), loaded, 0.0).calls
    printed = "b3 b2 b1 b6 b1 b2 b5 b3 b2 b1 b4 b2 b1"
    rows = [
        _order("MC: order of calls", "b4 b5 b3 b2 b6 b1", mc, "b4 b5 b3 b2 b6 b1"),
        _order(
            "ML: order of calls",
            "b1 b2 b1 b6 b1 b4 b2 b1 b3 b2 b1 b5 b3 b2 b1",
            ml,
            "b1 b2 b1 b6 b1 b4 b2 b1 b3 b2 b1 b5 b3 b2 b1",
        ),
        *(
            banded(f"{name}: {what}", paper, round(value, 6), exact(wanted))
            for name, what, paper, value, wanted in (
                ("MC", "processing times p in all", "15", factors["MC"][0][0], 15.0),
                ("MC", "overheads o in all", "6", factors["MC"][1][0], 6.0),
                ("MC", "p until a result, on average", "12.5", factors["MC"][0][1], 12.5),
                ("ML", "overheads o in all", "15", factors["ML"][1][0], 15.0),
                ("ML", "p until a result, on average", "7.17", factors["ML"][0][1], round(43 / 6, 6)),
                ("ML", "o until a result, on average", "7.17", factors["ML"][1][1], round(43 / 6, 6)),
                ("ML", "better from p/o on", "0.22", mean_o / mean_p, 0.21875),
            )
        ),
        _order(
            "MM as in the pseudo code",
            "–",
            min_memory_pseudo(RELEASING),
            "b3 b6 b2 b5 b3 b1 b4 b2",
        ),
        reported("MM as in the example, calls with tuples", printed, named(memory)),
    ]
    figure = over(
        "average time of a result in units of o",
        "p/o",
        (0.0, 0.5),
        {name: [factors[name][1][1] + p * factors[name][0][1] for p in (0.0, 0.5)] for name in ("MC", "ML")},
        "o",
    )
    notes = (
        (
            "The printed order of MM also calls b2 between b1 and b5, where it has nothing left, and has no call of "
            "b1 for the tuple that waits there from the start."
        ),
    )
    return Outcome(E13.id, E13.title, "a tuple at each of six boxes", "none", tuple(rows), (figure,), notes)


# APP-E15

COSTS = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 4e-4, 8e-4)
HEAVIER = (1, 2, 4)
"""Times the overhead of calls and of storage."""


def latency(cost: float, heavier: int, way: str, n: int, seed: int) -> float:
    """Average latency of one tree at half of the processor."""
    rng = np.random.default_rng([seed, 15])
    boxes = networks.tree(3, 5, networks.constant(cost), networks.constant(1.0), rng)
    plan = application_at_a_time(networks.alternating((boxes,), (networks.ANY,)), WAYS[way])
    feed = feeds.steady(n, networks.rate_for(boxes, 0.5), len(boxes.leaves), rng)
    overhead = replace(SMALL, worker=heavier * SMALL.worker, storage=heavier * SMALL.storage)
    return Simulation(plan, feed, create("in-turn"), overhead).run().latency


def e15_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Both traversals at each cost and overhead."""
    n = tuples(scale, 8_000)
    return {
        ("traversal", cost, heavier, way, seed): (latency, (cost, heavier, way, n, seed))
        for cost in COSTS
        for heavier in HEAVIER
        for way in ("MC", "ML")
        for seed in seeds(scale)
    }


def crossings(ratios: list[float]) -> list[float]:
    """Costs at which the ratio of latencies goes through 1, between two measured ones by their logarithms."""
    found = []
    for (a, x), (b, y) in pairwise(zip(COSTS, ratios, strict=True)):
        if (x < 1) != (y < 1):
            share = (1 - x) / (y - x)
            found.append(math.exp(math.log(a) + share * (math.log(b) - math.log(a))))
    return found


def e15(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Where the cheaper traversal is the slower one."""

    def of(cost: float, heavier: int, way: str) -> float:
        keys = [("traversal", cost, heavier, way, seed) for seed in seeds(scale)]
        return mean(results, keys, lambda found: found).mean

    ratios = {h: [of(cost, h, "MC") / of(cost, h, "ML") for cost in COSTS] for h in HEAVIER}
    crossed = {h: crossings(ratios[h]) for h in HEAVIER}
    ends = all(ratios[h][0] < 1 < ratios[h][-1] for h in HEAVIER)
    moves = [crossed[h][0] if crossed[h] else math.nan for h in HEAVIER]
    rows = [
        required(
            "MC is better at small costs, ML at large ones",
            "yes",
            " / ".join(f"{ratios[h][0]:.2f} → {ratios[h][-1]:.2f}" for h in HEAVIER),
            met=ends,
        ),
        required(
            "there is one crossover",
            "one",
            " / ".join(str(len(crossed[h])) for h in HEAVIER),
            met=all(len(crossed[h]) == 1 for h in HEAVIER),
        ),
        required(
            "it moves to the right where calls cost more: once, twice, four times",
            "–",
            " / ".join(f"{1e6 * x:.0f} µs" for x in moves),
            met=all(a < b for a, b in pairwise(moves)),
        ),
    ]
    figure = replace(
        over(
            "latency, calls as cheap as they are",
            "seconds of a box per tuple",
            COSTS,
            {way: [of(cost, 1, way) for cost in COSTS] for way in ("MC", "ML")},
            "s",
        ),
        log_x=True,
        log_y=True,
    )
    trace = "one tree of 121 boxes at half of the processor, Poisson arrivals"
    return Outcome(E15.id, E15.title, trace, numbered(scale), tuple(rows), (figure,), (OVERHEAD,))


# APP-E16


def curves(seed: int) -> dict[str, tuple[float, float, Floats]]:
    """Memory·time, total time, and the memory at a hundred times until the slowest is done, of each traversal."""
    rng = np.random.default_rng([seed, 16])
    boxes = networks.tree(3, 5, networks.uniform(1e-4, 1e-3, rng), networks.uniform(0.3, 1.0, rng), rng)
    trees = networks.alternating((boxes,), (networks.ANY,))
    feed = feeds.together([2] * len(boxes.leaves))
    loaded = dict.fromkeys(boxes.leaves, 2.0)
    # A call takes as long as a tuple does, on average.
    overhead = sum(box.cost for box in boxes.boxes) / len(boxes)
    times = np.linspace(0.0, 0.5, 101)
    found = {}
    for name, way in WAYS.items():
        expected = replay(boxes, way(boxes), loaded, overhead)
        calls = Overhead(worker=round(overhead * 1e9))
        seen = Simulation(application_at_a_time(trees, way), feed, create("in-turn"), calls, remember=True).run()
        found[name] = expected.memory, expected.total, seen.memory.at(times)
    return found


def e16_tasks(scale: Scale) -> Mapping[Any, Task]:
    """A tree for each seed."""
    return {("memory", seed): (curves, (seed,)) for seed in seeds(scale)}


def e16(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """What is queued while a superbox runs."""

    def of(way: str, which: int) -> float:
        return mean(results, [("memory", seed) for seed in seeds(scale)], lambda found: found[way][which]).mean

    held, total = ({way: of(way, which) for way in WAYS} for which in (0, 1))
    rows = [
        required(
            "memory·time: MM below MC below ML",
            "MM best, ML worst",
            " < ".join(f"{way} {held[way]:.4g}" for way in ("MM", "MC", "ML")),
            met=held["MM"] < held["MC"] < held["ML"],
        ),
        required(
            "total time: MC below MM below ML",
            "MC is done first",
            " < ".join(f"{way} {total[way]:.4g} s" for way in ("MC", "MM", "ML")),
            met=total["MC"] < total["MM"] < total["ML"],
        ),
    ]
    every = {way: np.mean([results["memory", seed][way][2] for seed in seeds(scale)], axis=0) for way in WAYS}
    times = np.linspace(0.0, 0.5, 101)
    known = every["MM"] > 0
    figure = over(
        "memory over that of MM",
        "s",
        times[known].tolist(),
        {way: (every[way][known] / every["MM"][known]).tolist() for way in WAYS},
        "×",
    )
    notes = (
        (
            "Two tuples wait at each of 81 leaves. No selectivities are published; ours are drawn from 0.3 to 1. A "
            "call takes as long as a tuple does. Without overhead ML would hold less than MC, and with five times as "
            "much MC less than MM."
        ),
    )
    return Outcome(
        E16.id, E16.title, "one run of a tree of 121 boxes", numbered(scale), tuple(rows), (figure,), notes
    )


def _none(_scale: Scale) -> Mapping[Any, Task]:
    return {}


E13 = Experiment("APP-E13", "Three traversals of a tree, worked out", "Section 3.3", _none, e13)
E15 = Experiment("APP-E15", "Least cost against least latency", "Figure 3.7", e15_tasks, e15)
E16 = Experiment("APP-E16", "Memory while a superbox runs", "Figure 3.8", e16_tasks, e16)
