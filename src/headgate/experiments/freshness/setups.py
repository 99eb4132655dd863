"""The published worlds, and how their numbers are shown."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headgate.experiments.report import Figure, Line, Scale, Task
from headgate.freshness.problem import Floats, Problem, perceived
from headgate.freshness.solver import solve
from headgate.sim.freshness.worlds import Alignment, change_rates, ordered, pareto_sizes, zipf
from headgate.sim.metrics import interval

N, UPDATES, DEVIATION = 500, 2.0, 1.0
"""The published small world: objects, and the mean and deviation of their changes in a period."""
BIG, BIG_DEVIATION = 500_000, 2.0
TAIL = 1.1
"""The exponent of sizes, which is not published; this one comes closest to the published optimum."""
ALIGNMENTS: tuple[Alignment, ...] = ("shuffled", "aligned", "reverse")

SMALL = "500 objects, 1000 changes and 250 refreshes in a period, gamma(2, 1)"
LARGE = "500 000 objects, 10⁶ changes and 250 000 refreshes in a period, gamma(2, 2), θ = 1, shuffled"


def small(seed: int, theta: float, alignment: Alignment = "shuffled", deviation: float = DEVIATION) -> Problem:
    """The small world, with room for a refresh of every second object in a period."""
    rng = np.random.default_rng([seed, 2])
    return Problem.of(zipf(N, theta), ordered(change_rates(N, UPDATES, deviation, rng), alignment, rng), N / 2)


def big(seed: int, n: int = BIG) -> Problem:
    """The big world, or one like it with fewer objects."""
    rng = np.random.default_rng([seed, 3])
    return Problem.of(zipf(n, 1.0), ordered(change_rates(n, UPDATES, BIG_DEVIATION, rng), "shuffled", rng), n / 2)


def volatile_large(seed: int) -> Problem:
    """All are accessed equally; what changes most is the largest."""
    rng = np.random.default_rng([seed, 9])
    lam = ordered(change_rates(N, UPDATES, DEVIATION, rng), "aligned", rng)
    return Problem.of(zipf(N, 0.0), lam, N / 2, ordered(pareto_sizes(N, TAIL, rng), "aligned", rng))


def volatile_small(seed: int, n: int = N) -> Problem:
    """What changes most is the smallest; accesses have nothing to do with either."""
    rng = np.random.default_rng([seed, 10])
    lam = ordered(change_rates(n, UPDATES, DEVIATION if n == N else BIG_DEVIATION, rng), "aligned", rng)
    sizes = ordered(pareto_sizes(n, TAIL, rng), "reverse", rng)
    return Problem.of(ordered(zipf(n, 1.0), "shuffled", rng), lam, n / 2, sizes)


def best(problem: Problem) -> float:
    """The perceived freshness of the optimum."""
    return perceived(problem, solve(problem).f)


def seeds(scale: Scale, full: int = 6, quick: int = 2) -> tuple[int, ...]:
    """The seeds of a run: 1, 2, …"""
    return tuple(range(1, (quick if scale.quick else full) + 1))


def numbered(of: Sequence[int]) -> str:
    """The seeds in words."""
    return ", ".join(map(str, of))


def for_seeds(name: str, function: Callable[..., Any], of: Sequence[int], *arguments: object) -> dict[Any, Task]:
    """A task for each seed."""
    return {(name, *arguments, seed): (function, (seed, *arguments)) for seed in of}


def averaged(found: Sequence[Mapping[Any, float]]) -> dict[Any, float]:
    """The means over seeds, by what was measured."""
    return {key: float(np.mean([each[key] for each in found])) for key in found[0]}


def shown(values: Sequence[float]) -> str:
    """A mean over seeds with its interval."""
    i = interval(values)
    return f"{i.mean:.3f} ± {i.half:.3f}" if i.n > 1 else f"{i.mean:.3f}"


def listed(values: Sequence[float] | Floats) -> str:
    """Numbers beside each other."""
    return " / ".join(f"{value:.3f}" for value in values)


def freshness_of(
    title: str, x: str, lines: Mapping[str, Sequence[float]], at: Sequence[float], *, log: bool
) -> Figure:
    """Curves of perceived freshness."""
    curves = tuple(Line(name, at, values) for name, values in lines.items())
    return Figure(title, x, "perceived freshness", curves, log_x=log, log_y=False)
