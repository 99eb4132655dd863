"""APP-EX1, EX2, EX5: floors, the price of bandwidth, and plans that are mended. There are no published figures."""

import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from headgate.experiments.freshness.setups import (
    SMALL,
    averaged,
    best,
    big,
    for_seeds,
    freshness_of,
    listed,
    numbered,
    seeds,
    small,
)  # fmt: skip
from headgate.experiments.report import Band, Experiment, Figure, Line, Outcome, Scale, Task, banded, holds, reported
from headgate.freshness.floors import affordable, for_freshness
from headgate.freshness.incremental import mend
from headgate.freshness.price import Point, curve, knee
from headgate.freshness.problem import freshness, perceived, spent
from headgate.freshness.solver import solve

FLOORS = (0.0, 0.05, 0.1, 0.15, 0.2)
BUDGETS = (25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2000.0)
PRICES = (5e-4, 2e-4, 1e-4)
WORLD = SMALL + ", θ = 1, shuffled"


def floored(seed: int) -> dict[str, Any]:
    """The optimum above floors, and floors first with the rest spent as if there were none."""
    problem = small(seed, 1.0)
    found: dict[str, Any] = {"least": [], "above": [], "first": [], "unrefreshed": []}
    for phi in FLOORS:
        floor = for_freshness(problem.lam, phi)
        above = solve(problem, floor).f
        first = floor + solve(replace(problem, B=problem.B - spent(problem, floor))).f
        found["least"].append(float(freshness(above, problem.lam).min()))
        found["above"].append(perceived(problem, above))
        found["first"].append(perceived(problem, first))
        found["unrefreshed"].append(float(np.mean(above == 0)))
    asked = np.full(len(problem), 0.5)
    found["affordable"] = float(affordable(problem, asked)[0])
    return found


def ex1_tasks(scale: Scale) -> Mapping[Any, Task]:
    """All seeds."""
    return for_seeds("floors", floored, seeds(scale))


def ex1(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """What floors cost."""
    runs = [results["floors", seed] for seed in seeds(scale)]
    kept = [least >= phi - 1e-9 for r in runs for phi, least in zip(FLOORS, r["least"], strict=True)]
    better = [a >= b - 1e-12 for r in runs for a, b in zip(r["above"], r["first"], strict=True)]
    mean = {name: np.mean([r[name] for r in runs], axis=0).tolist() for name in ("above", "first", "unrefreshed")}
    floors = " / ".join(f"{phi:g}" for phi in FLOORS)
    rows = [
        holds("every object is as fresh as its floor", "–", sum(kept), len(kept)),
        holds("the optimum above floors is at least as good as floors first", "–", sum(better), len(better)),
        reported(f"PF with floors of {floors}", "–", listed(mean["above"])),
        reported("PF with floors first, the rest as if there were none", "–", listed(mean["first"])),
        reported("share of objects that are never refreshed", "–", listed(mean["unrefreshed"])),
        reported("floor that all can have, of 0.5", "–", f"{np.mean([r['affordable'] for r in runs]):.3f}"),
    ]
    lines = {"optimum above floors": mean["above"], "floors first": mean["first"]}
    figure = freshness_of("What floors cost", "floor", lines, FLOORS, log=False)
    return Outcome(EX1.id, EX1.title, WORLD, numbered(seeds(scale)), tuple(rows), (figure,))


def priced(seed: int) -> dict[str, Any]:
    """What budgets buy, the slope beside the multiplier, and the budgets at which prices are met."""
    problem = small(seed, 1.0)
    points = curve(problem, BUDGETS)
    slopes = []
    for point in points:
        low, high = curve(problem, [0.999 * point.B, 1.001 * point.B])
        slopes.append((high.freshness - low.freshness) / (0.002 * point.B) / point.mu)
    knees = [knee(problem, price) for price in PRICES]
    again = [solve(replace(problem, B=each.B)).mu / each.mu for each in knees]
    return {"points": points, "slopes": slopes, "knees": knees, "again": again}


def ex2_tasks(scale: Scale) -> Mapping[Any, Task]:
    """All seeds."""
    return for_seeds("prices", priced, seeds(scale))


def ex2(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """What bandwidth is worth."""
    runs = [results["prices", seed] for seed in seeds(scale)]
    slopes = max(abs(each - 1) for r in runs for each in r["slopes"])
    again = max(abs(each - 1) for r in runs for each in r["again"])
    falling = [a.mu > b.mu for r in runs for a, b in pairwise(r["points"])]
    rows = [
        banded("the multiplier and the slope of PF over the budget differ by", "–", 100 * slopes, Band(0, 1, " %")),
        banded("the price and the multiplier of the budget for it differ by", "–", 100 * again, Band(0, 1e-4, " %")),
        holds("what one more unit adds falls with the budget", "–", sum(falling), len(falling)),
    ]
    budgets = " / ".join(f"{B:g}" for B in BUDGETS)

    def mean(points: list[list[Point]], name: str) -> list[float]:
        return [float(np.mean([getattr(point, name) for point in each])) for each in points]

    by_budget = [[r["points"][k] for r in runs] for k in range(len(BUDGETS))]
    by_price = [[r["knees"][k] for r in runs] for k in range(len(PRICES))]
    rows.append(reported(f"PF with a budget of {budgets}", "–", listed(mean(by_budget, "freshness"))))
    for price, B, pf in zip(PRICES, mean(by_price, "B"), mean(by_price, "freshness"), strict=True):
        rows.append(reported(f"worth buying at a price of {price:g}", "–", f"{B:.0f} refreshes for a PF of {pf:.3f}"))
    figures = (
        freshness_of("What budgets buy", "budget", {"PF": mean(by_budget, "freshness")}, BUDGETS, log=True),
        Figure("What one more refresh adds", "budget", "μ", (Line("μ", BUDGETS, mean(by_budget, "mu")),), log_x=True),
    )
    return Outcome(EX2.id, EX2.title, WORLD, numbered(seeds(scale)), tuple(rows), figures)


CHANGES = ("a hot object changes ten times as often", "a tenth less bandwidth", "both")


def mended(seed: int, n: int) -> dict[tuple[str, str], float]:
    """Mended beside new plans: how far below the optimum, the steps, and the time of either."""
    problem = small(seed, 1.0) if n == len(small(seed, 1.0)) else big(seed, n)
    plan = solve(problem).f
    volatile = problem.lam.copy()
    volatile[0] *= 10
    found: dict[tuple[str, str], float] = {}
    for change, after in (
        (CHANGES[0], replace(problem, lam=volatile)),
        (CHANGES[1], replace(problem, B=0.9 * problem.B)),
        (CHANGES[2], replace(problem, lam=volatile, B=0.9 * problem.B)),
    ):
        start = time.process_time()
        new = mend(after, plan)
        middle = time.process_time()
        ideal = best(after)
        end = time.process_time()
        stale = perceived(after, plan * min(1.0, after.B / problem.B))
        found |= {
            (change, "below"): ideal - perceived(after, new.f),
            (change, "unmended"): ideal - stale,
            (change, "over"): abs(spent(after, new.f) / after.B - 1),
            (change, "steps"): float(new.steps),
            (change, "mending"): middle - start,
            (change, "solving"): end - middle,
        }
    return found


def _sizes(scale: Scale) -> tuple[int, int]:
    return 500, 2_000 if scale.quick else 20_000


def ex5_tasks(scale: Scale) -> Mapping[Any, Task]:
    """The small world and the big one."""
    few, many = _sizes(scale)
    return {
        **for_seeds("mended", mended, seeds(scale), few),
        **for_seeds("mended", mended, seeds(scale)[:2], many),
    }


def ex5(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Mended and new plans."""
    rows = []
    few, many = _sizes(scale)
    below = []
    for n, of in ((few, seeds(scale)), (many, seeds(scale)[:2])):
        mean = averaged([results["mended", n, seed] for seed in of])
        for change in CHANGES:
            what = f"{n} objects, {change}"
            less = mean[change, "below"]
            rows.append(banded(f"{what}: a mended plan is below the optimum by", "–", less, Band(-1e-9, 0.001)))
            took = f"{mean[change, 'mending']:.3f} s, anew in {mean[change, 'solving']:.3f} s"
            rows.append(reported(f"{what}: mended in", "–", f"{mean[change, 'steps']:.0f} steps, {took}"))
            rows.append(reported(f"{what}: below the optimum unmended", "–", f"{mean[change, 'unmended']:.4f}"))
        below.append(Line(f"{n} objects", (), [mean[change, "steps"] for change in CHANGES]))
        worst = max(mean[change, "over"] for change in CHANGES)
        rows.append(banded(f"{n} objects: budget missed by", "–", worst, Band(0, 1e-9)))
    figure = Figure("Steps until a plan is mended", "", "steps", tuple(below), CHANGES, log_y=False)
    note = "The exact solver is so fast that a new plan is there before the old one is mended."
    return Outcome(
        EX5.id,
        EX5.title,
        WORLD + "; a big world of fewer objects",
        numbered(seeds(scale)),
        tuple(rows),
        (figure,),
        (note,),
    )


EX1 = Experiment("APP-EX1", "Objects that have to be fresh for a share of time", "Section 6.2", ex1_tasks, ex1)
EX2 = Experiment("APP-EX2", "How much bandwidth is worth its price", "Section 6.2", ex2_tasks, ex2)
EX5 = Experiment("APP-EX5", "Plans that are mended", "Section 6.2", ex5_tasks, ex5)
