"""APP-E12: a scheduler of boxes against a thread for each box."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from headgate.experiments.application_aware.cases import mean, numbered, over, required, seeds, tuples
from headgate.experiments.report import Experiment, Outcome, Scale, Task, reported
from headgate.policy.registry import create
from headgate.sim.boxes import feeds, networks
from headgate.sim.boxes.overhead import SMALL
from headgate.sim.boxes.simulation import Simulation
from headgate.sim.boxes.threads import Threads, run_threads
from headgate.sim.boxes.units import box_at_a_time

DEPTH, COST, RATE = 5, 1e-4, 25.0
"""Boxes of a query, their seconds per tuple, and tuples per second of each query."""
SWITCHING = Threads(quantum=0.001, switch=1e-5, growth=0.05)
OPERATORS = (25, 50, 100, 150, 200, 250)


def latencies(operators: int, n: int, seed: int) -> tuple[float, float]:
    """Average latency with a scheduler, and with threads."""
    queries = operators // DEPTH
    applications = networks.chains(queries, DEPTH, COST, (networks.ANY,))
    feed = feeds.steady(n, RATE * queries, queries, np.random.default_rng([seed, 12]))
    scheduled = Simulation(box_at_a_time(applications), feed, create("in-turn", {"seed": seed}), SMALL).run()
    return scheduled.latency, run_threads(applications, feed, SWITCHING).latency


def tasks(scale: Scale) -> Mapping[Any, Task]:
    """Each number of operators with each seed."""
    n = tuples(scale, 20_000)
    return {("threads", k, seed): (latencies, (k, n, seed)) for k in OPERATORS for seed in seeds(scale)}


def outcome(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Latency against the number of operators."""

    def of(k: int, which: int) -> float:
        return mean(results, [("threads", k, seed) for seed in seeds(scale)], lambda found: found[which]).mean

    scheduled, threads = ([of(k, which) for k in OPERATORS] for which in (0, 1))
    ratios = [t / s for t, s in zip(threads, scheduled, strict=True)]
    rows = [
        required(
            "latency with threads over that with a scheduler grows with the number of operators",
            "near-linear against exponential",
            " → ".join(f"{ratio:.2f}" for ratio in ratios),
            met=all(a < b for a, b in pairwise(ratios)),
        ),
        *(
            reported(f"{name}: latency at {', '.join(map(str, OPERATORS))} operators", "–", _ms(values))
            for name, values in (("scheduler", scheduled), ("threads", threads))
        ),
    ]
    figure = over(
        "tuple latency", "operators", OPERATORS, {"scheduler": scheduled, "a thread for each box": threads}, "s"
    )
    notes = (
        (
            "Each query has its own input of 25 tuples/s, so load grows with their number: 250 operators are 62.5 % "
            f"of the processor. A switch takes {SWITCHING.switch * 1e6:g} µs, and a twentieth of that more for each "
            "thread, which is our model of cold caches and contended locks; the publication gives none."
        ),
        "With few boxes threads are faster here: nobody decides anything, and tuples go on one by one.",
    )
    return Outcome(
        E12.id, E12.title, "chains of five boxes, Poisson arrivals", numbered(scale), tuple(rows), (figure,), notes
    )


def _ms(values: list[float]) -> str:
    return " / ".join(f"{1000 * value:.3g}" for value in values) + " ms"


E12 = Experiment("APP-E12", "A scheduler of boxes against a thread for each box", "Figure 3.3", tasks, outcome)
