"""Speed and quality of freshening plans: the exact solver, a general one beside it, and plans by groups of copies.

All of it runs in one process, and times are CPU seconds. The copies are those of the published big world: accesses by
Zipf's law with θ = 1, change rates gamma(2, 2) that have nothing to do with them, a refresh for every second copy.
"""

import time
from collections.abc import Callable
from typing import Any

from headgate.bench.report import Report, at_least, at_most
from headgate.experiments.freshness.setups import BIG, big
from headgate.freshness.kmeans import refine
from headgate.freshness.nonlinear import solve_generic
from headgate.freshness.partitions import partition
from headgate.freshness.problem import Floats, Problem, perceived, spent
from headgate.freshness.representatives import solve_groups
from headgate.freshness.solver import solve

SEED = 1
SOLVED = (100, 1000, 10_000, 100_000, BIG)
GENERIC = (25, 50, 100, 200)
GROUPS = ((10, 0), (100, 0), (1000, 0), (10_000, 0), (50, 1), (50, 10), (100, 10))
"""Numbers of groups by the key pf, and rounds of k-means."""


def run(progress: Callable[[str], None]) -> Report:
    """Measure everything and check it against the goals."""
    rows: list[dict[str, Any]] = []
    exact: dict[int, float] = {}
    for n in sorted({*SOLVED, *GENERIC}):
        progress(f"the exact solver with {n:,} copies")
        rows.append(_row("solver", "exact", big(SEED, n), lambda problem: solve(problem).f))
        exact[n] = rows[-1]["freshness"]
    for n in GENERIC:
        progress(f"a general solver with {n:,} copies")
        rows.append(_row("solver", "general (SLSQP)", big(SEED, n), lambda problem: solve_generic(problem).f))
        rows[-1]["below"] = exact[n] - rows[-1]["freshness"]
    problem, ideal = big(SEED), exact[BIG]
    for groups, rounds in GROUPS:
        progress(f"{groups:,} groups with {rounds} rounds of k-means")
        row = _row("groups", f"{groups:,} groups", problem, _by_groups(groups, rounds))
        rows.append({**row, "rounds": rounds, "below": ideal - row["freshness"]})
    took = {(row["way"], row["copies"]): row["seconds"] for row in rows if row["part"] == "solver"}
    largest = GENERIC[-1]
    worst = max(abs(row["below"]) for row in rows if row["way"] == "general (SLSQP)")
    checks = (
        at_most(f"the exact optimum of {BIG:,} copies, s", took["exact", BIG], 15),
        at_most("budget that is missed by any plan, of the budget", max(row["off"] for row in rows), 1e-6),
        at_most("perceived freshness between both solvers", worst, 1e-4),
        at_least(
            f"the exact solver with {largest} copies against the general one",
            took["general (SLSQP)", largest] / took["exact", largest],
            10,
            "×",
        ),
    )
    return Report("freshness", tuple(rows), checks)


def _by_groups(groups: int, rounds: int) -> Callable[[Problem], Floats]:
    return lambda problem: solve_groups(problem, refine(problem, partition(problem, "pf", groups), rounds))


def _row(part: str, way: str, problem: Problem, plan: Callable[[Problem], Floats]) -> dict[str, Any]:
    start = time.process_time()
    f = plan(problem)
    seconds = time.process_time() - start
    return {
        "part": part,
        "way": way,
        "copies": len(problem),
        "seconds": seconds,
        "freshness": perceived(problem, f),
        "off": abs(spent(problem, f) / problem.B - 1),
        "below": 0.0,
    }
