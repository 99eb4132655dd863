"""APP-E14, E17 and E18: what is saved by running many boxes and many tuples in one go."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from headgate.experiments.application_aware.cases import (
    OVERHEAD,
    at_least,
    mean,
    numbered,
    over,
    required,
    seeds,
    tuples,
)
from headgate.experiments.report import Band, Experiment, Figure, Line, Outcome, Scale, Task, banded, reported
from headgate.model.traversals import min_cost
from headgate.policy.registry import create
from headgate.sim.boxes import feeds, networks
from headgate.sim.boxes.overhead import SMALL
from headgate.sim.boxes.report import Report
from headgate.sim.boxes.simulation import Simulation
from headgate.sim.boxes.trains import ONE, WHOLE, Trains
from headgate.sim.boxes.units import Applications, application_at_a_time, box_at_a_time

TAAT, BAAT, MC = "TAAT", "BAAT", "MC"
"""Tuple at a time, box at a time, application at a time by least cost."""


def forest(trees: int, fanout: int, seed: int) -> Applications:
    """Trees of five levels whose boxes take 0.1 to 1 ms."""
    rng = np.random.default_rng([seed, 14])
    cost = networks.uniform(1e-4, 1e-3, rng)
    made = [networks.tree(fanout, 5, cost, networks.constant(1.0), rng) for _ in range(trees)]
    return networks.alternating(made, (networks.ANY,))


def run(way: str, applications: Applications, feed: feeds.Feed, seed: int, trains: Trains = WHOLE) -> Report:
    """Round robin over boxes, or over trees."""
    plan = application_at_a_time(applications, min_cost) if way == MC else box_at_a_time(applications)
    return Simulation(plan, feed, create("in-turn", {"seed": seed}), SMALL, ONE if way == TAAT else trains).run()


def steady(applications: Applications, capacity: float, n: int, seed: int) -> feeds.Feed:
    """Tuples at inputs by chance whose work takes this part of the processor."""
    rate = networks.rate_for(applications.boxes, capacity)
    return feeds.steady(n, rate, len(applications.boxes.leaves), np.random.default_rng([seed, 17]))


# APP-E14

CAPACITIES = (0.1, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98)
KNEE = 10
"""Saturated is what takes ten times as long as at a tenth of the capacity."""


def latency(way: str, capacity: float, n: int, seed: int) -> float:
    """Average latency of five trees."""
    trees = forest(5, 3, seed)
    return run(way, trees, steady(trees, capacity, n, seed), seed).latency


def e14_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Both ways at each capacity."""
    n = tuples(scale, 20_000)
    return {
        ("capacity", way, capacity, seed): (latency, (way, capacity, n, seed))
        for way in (BAAT, MC)
        for capacity in CAPACITIES
        for seed in seeds(scale)
    }


def e14(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Up to which part of the processor each way works."""

    def of(way: str, capacity: float) -> float:
        return mean(results, [("capacity", way, capacity, s) for s in seeds(scale)], lambda found: found).mean

    found = {way: [of(way, capacity) for capacity in CAPACITIES] for way in (BAAT, MC)}
    knee = {
        way: max(c for c, value in zip(CAPACITIES, values, strict=True) if value <= KNEE * values[0])
        for way, values in found.items()
    }
    rows = [
        banded("MC: capacity before saturation", "beyond 0.90", knee[MC], at_least(0.9)),
        required(
            "BAAT saturates earlier", "far earlier", f"{knee[BAAT]} against {knee[MC]}", met=knee[BAAT] < knee[MC]
        ),
        reported(
            "latency at 0.9 of the capacity, BAAT / MC",
            "–",
            " / ".join(f"{1000 * found[way][CAPACITIES.index(0.9)]:.3g} ms" for way in (BAAT, MC)),
        ),
    ]
    figure = over("tuple latency", "capacity", CAPACITIES, found, "s")
    notes = (
        OVERHEAD,
        (
            f"Saturated is what takes {KNEE} times as long as at a tenth of the capacity. Trains grow with the load: "
            "BAAT bends and does not break: its overhead per tuple falls when queues grow."
        ),
    )
    trace = "five trees of 121 boxes, Poisson arrivals"
    return Outcome(E14.id, E14.title, trace, numbered(scale), tuple(rows), (figure,), notes)


# APP-E17

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
SIZES = (1, 2, 4)
LOAD = 0.3


@dataclass(frozen=True)
class PerBurst:
    """Seconds of overhead for each burst: that of calls, and all with the scheduler's."""

    calls: float
    all: float


def overhead(size: int, share: float, n: int, seed: int) -> PerBurst:
    """One tree whose tuples come in bursts."""
    tree = forest(1, 2, seed)
    feed = feeds.bursts(steady(tree, LOAD, n, seed), size)
    spent = run(BAAT, tree, feed, seed, Trains(share)).spent
    every = 1e9 * n / size
    return PerBurst((spent.worker + spent.storage) / every, spent.overhead / every)


def e17_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Each size of bursts and of trains."""
    n = tuples(scale, 20_000)
    return {
        ("bursts", size, share, seed): (overhead, (size, share, n, seed))
        for size in SIZES
        for share in SHARES
        for seed in seeds(scale)
    }


def e17(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Short trains make bursts expensive."""

    def of(size: int, share: float, name: str = "calls") -> float:
        keys = [("bursts", size, share, seed) for seed in seeds(scale)]
        return mean(results, keys, lambda found: getattr(found, name)).mean

    base = [of(1, share) for share in SHARES]
    four = [of(4, share) for share in SHARES]
    level = sum(base) / len(base)
    flat = max(abs(value / level - 1) for value in base)
    rows = [
        banded("bursts of 1: overhead varies with the train by", "flat", 100 * flat, Band(0, 5, " %")),
        banded("bursts of 4, a fifth of the queue, over bursts of 1", "4×", four[0] / base[0], Band(3, 5, "×")),
        required(
            "bursts of 4: overhead falls as trains grow",
            "falls",
            " → ".join(f"{value / level:.2f}×" for value in four),
            met=all(a >= b for a, b in pairwise(four)) and four[0] > four[-1],
        ),
        banded(
            "bursts of 4, the whole queue, over bursts of 1",
            "near, not equal",
            four[-1] / base[-1],
            Band(math.nextafter(1, 2), 2, "×"),
        ),
        reported(
            "the same with the scheduler's time, a fifth and the whole of the queue",
            "–",
            f"{of(4, 0.2, 'all') / of(1, 0.2, 'all'):.2f}× and {of(4, 1.0, 'all') / of(1, 1.0, 'all'):.2f}×",
        ),
    ]
    figure = over(
        "overhead of calls for each burst",
        "share of the queue that a train takes",
        SHARES,
        {f"bursts of {size}": [of(size, share) for share in SHARES] for size in SIZES},
        "s",
    )
    notes = (
        (
            "Overhead is that of calls, worker and storage, for each burst: per tuple a burst would cost less than a "
            "single tuple does, and the scheduler runs all boxes that wait in one schedule, so its part grows less."
        ),
    )
    trace = f"a tree of 31 boxes at {LOAD} of the capacity; the tuples of an input gathered"
    return Outcome(E17.id, E17.title, trace, numbered(scale), tuple(rows), (figure,), notes)


# APP-E18

HIGH = 0.9
PARTS = ("worker", "storage", "scheduler")


@dataclass(frozen=True)
class Split:
    """Seconds of overhead by where they went, and of the processor in all."""

    worker: float
    storage: float
    scheduler: float
    busy: float

    @property
    def overhead(self) -> float:
        """All but the work."""
        return self.worker + self.storage + self.scheduler


def split(way: str, n: int, seed: int) -> Split:
    """Four trees."""
    trees = forest(4, 3, seed)
    spent = run(way, trees, steady(trees, HIGH, n, seed), seed).spent
    return Split(*(getattr(spent, name) / 1e9 for name in (*PARTS, "busy")))


def e18_tasks(scale: Scale) -> Mapping[Any, Task]:
    """The three ways."""
    n = tuples(scale, 100_000)
    return {("split", way, seed): (split, (way, n, seed)) for way in (TAAT, BAAT, MC) for seed in seeds(scale)}


def e18(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Where the time goes."""

    def of(way: str, name: str) -> float:
        keys = [("split", way, seed) for seed in seeds(scale)]
        return mean(results, keys, lambda found: getattr(found, name)).mean

    total = {way: of(way, "overhead") for way in (TAAT, BAAT, MC)}
    shares = {way: {part: of(way, part) / total[way] for part in PARTS} for way in total}

    def trend(part: str) -> str:
        return " → ".join(f"{100 * shares[way][part]:.0f} %" for way in total)

    rows = [
        required(
            "overhead: TAAT above BAAT above MC",
            "TAAT by far worst",
            " > ".join(f"{way} {value:.3g} s" for way, value in total.items()),
            met=total[TAAT] > total[BAAT] > total[MC],
        ),
        banded("overhead of MC over that of BAAT", "about 0.5", total[MC] / total[BAAT], Band(0.4, 0.7)),
        required(
            "the scheduler's part grows, TAAT → BAAT → MC",
            "grows",
            trend("scheduler"),
            met=shares[TAAT]["scheduler"] < shares[BAAT]["scheduler"] < shares[MC]["scheduler"],
        ),
        reported("the worker's part, TAAT → BAAT → MC", "shrinks", trend("worker")),
        reported("the storage manager's part, TAAT → BAAT → MC", "shrinks", trend("storage")),
        reported(
            "processor time in all, with the work on tuples",
            "–",
            " > ".join(f"{way} {of(way, 'busy'):.4g} s" for way in total),
        ),
    ]
    figure = Figure(
        "overhead", "", "s", tuple(Line(part, (), [of(way, part) for way in total]) for part in PARTS),
        tuple(total), log_y=False,
    )  # fmt: skip
    notes = (
        OVERHEAD,
        (
            "The rate is not published. Trains are longer than a tuple only near saturation, where TAAT and BAAT can "
            "differ; so it is nine tenths of the capacity."
        ),
        "A superbox pays storage once, and the worker for each box, so the worker's part cannot shrink with it.",
    )
    trace = f"four trees of 121 boxes at {HIGH} of the capacity, Poisson arrivals"
    return Outcome(E18.id, E18.title, trace, numbered(scale), tuple(rows), (figure,), notes)


E14 = Experiment("APP-E14", "Boxes one by one against whole applications", "Figure 3.6", e14_tasks, e14)
E17 = Experiment("APP-E17", "Trains and bursts", "Figure 3.9", e17_tasks, e17)
E18 = Experiment("APP-E18", "Where the overhead goes", "Figure 3.10", e18_tasks, e18)
