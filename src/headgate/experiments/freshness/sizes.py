"""APP-E9, E10: objects of different sizes: plans that know them, and how groups share their bandwidth."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from headgate.experiments.freshness.setups import (
    BIG,
    SMALL,
    averaged,
    best,
    for_seeds,
    freshness_of,
    listed,
    numbered,
    seeds,
    shown,
    volatile_large,
    volatile_small,
)  # fmt: skip
from headgate.experiments.report import Experiment, Figure, Line, Outcome, Scale, Task, claim, holds, reported
from headgate.freshness.kmeans import refine
from headgate.freshness.partitions import partition
from headgate.freshness.problem import Floats, Problem, perceived, spent
from headgate.freshness.representatives import Allocation, solve_groups
from headgate.freshness.solver import solve

NEAR = 0.02
"""A published freshness counts as found within this."""
GROUPS = (10, 25, 50, 100, 200)
ALLOCATIONS: tuple[Allocation, ...] = ("ffa", "fba")
ROUNDS = (0, 1, 3, 5, 10)


def blind(problem: Problem) -> Floats:
    """The optimum for equal sizes, scaled to what the budget allows with these."""
    f = solve(replace(problem, s=np.ones(len(problem)))).f
    return f * (problem.B / spent(problem, f))


def aware(seed: int) -> dict[str, float]:
    """Equal sizes beside large volatile objects; refreshes and freshness of plans."""
    problem = volatile_large(seed)
    known = solve(problem).f
    equal = replace(problem, s=np.ones(len(problem)))
    return {
        "equal": best(equal),
        "aware": perceived(problem, known),
        "blind": perceived(problem, blind(problem)),
        "syncs equal": float(solve(equal).f.sum()),
        "syncs aware": float(known.sum()),
        "bandwidth": spent(problem, known),
        "rate": float(known @ problem.lam / known.sum()),
    }


def e9_tasks(scale: Scale) -> Mapping[Any, Task]:
    """All seeds."""
    return for_seeds("aware", aware, seeds(scale, 20, 6))


def e9(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Plans that know sizes."""
    of = seeds(scale, 20, 6)
    runs = [results["aware", seed] for seed in of]
    mean = averaged(runs)
    rows = [
        holds(
            "in the same world a plan that knows sizes is better",
            "–",
            sum(r["aware"] > r["blind"] for r in runs),
            len(runs),
        ),
        holds(
            "more refreshes than with equal sizes, for the same bandwidth",
            "yes",
            sum(r["syncs aware"] > r["syncs equal"] and abs(r["bandwidth"] - 250) < 1e-6 for r in runs),
            len(runs),
        ),
    ]
    for name, what, paper in (
        ("equal", "PF with equal sizes", 0.312),
        ("aware", "PF with sizes that are known", 0.586),
    ):
        met = abs(mean[name] - paper) <= NEAR
        rows.append(claim(what, f"{paper}", shown([r[name] for r in runs]), confirmed=met))
    rows.append(reported("PF with sizes that are not looked at", "–", shown([r["blind"] for r in runs])))
    rows.append(reported("mean change rate of what is refreshed, of 2", "low", f"{mean['rate']:.2f}"))
    figure = Figure(
        "Large volatile objects", "", "perceived freshness",
        (Line("PF", (), [mean[name] for name in ("equal", "blind", "aware")]),),
        ("equal sizes", "not looked at", "known"), log_y=False,
    )  # fmt: skip
    note = (
        "The two published numbers are from two worlds, one of equal sizes and one of Pareto sizes; plans are "
        "compared in the same one. The exponent of the sizes is not published; ours is 1.1."
    )
    return Outcome(E9.id, E9.title, SMALL + ", θ = 0", numbered(of), tuple(rows), (figure,), (note,))


def shared(seed: int, n: int) -> dict[tuple[str, str, int], float]:
    """The perceived freshness by key, allocation and number of groups."""
    problem = volatile_small(seed, n)
    found: dict[tuple[str, str, int], float] = {}
    for key in ("pfs", "size"):
        for groups in GROUPS:
            labels = partition(problem, key, groups)
            for way in ALLOCATIONS:
                found[key, way, groups] = perceived(problem, solve_groups(problem, labels, way))
    found["ideal", "", 0] = best(problem)
    found["blind", "", 0] = perceived(problem, blind(problem))
    return found


def refined(seed: int, n: int, groups: int) -> dict[tuple[str, int], float]:
    """The perceived freshness after rounds of k-means, by allocation."""
    problem = volatile_small(seed, n)
    found: dict[tuple[str, int], float] = {}
    start = partition(problem, "pfs", groups)
    for rounds in ROUNDS:
        labels = refine(problem, start, rounds)
        found |= {(way, rounds): perceived(problem, solve_groups(problem, labels, way)) for way in ALLOCATIONS}
    return found


def e10_tasks(scale: Scale) -> Mapping[Any, Task]:
    """The small world, and a big one."""
    of, n = seeds(scale), _many(scale)
    return {
        **for_seeds("shared", shared, of, 500),
        **for_seeds("shared", shared, of[:2], n),
        **for_seeds("sized rounds", refined, of, 500, 25),
        **for_seeds("sized rounds", refined, of[:2], n, 50),
    }


def _many(scale: Scale) -> int:
    return 5_000 if scale.quick else BIG


def e10(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """How groups share bandwidth."""
    of, rows, figures = seeds(scale), [], []
    for n, counted in ((500, of), (_many(scale), of[:2])):
        mean = averaged([results["shared", n, seed] for seed in counted])
        ideal = mean["ideal", "", 0]
        fba = [mean["pfs", "fba", g] >= mean["pfs", "ffa", g] for g in GROUPS]
        key = [mean["pfs", "fba", g] >= mean["size", "fba", g] for g in GROUPS]
        rows += [
            holds(
                f"{n} objects: equal bandwidth is at least as good as equal frequency", "always", sum(fba), len(fba)
            ),
            holds(f"{n} objects, equal bandwidth: key pfs is at least as good as size", "yes", sum(key), len(key)),
        ]
        for way in ALLOCATIONS:
            reached = listed([mean["pfs", way, g] for g in GROUPS])
            rows.append(
                reported(f"{n} objects, pfs {way}, 10 / 25 / 50 / 100 / 200 groups, of {ideal:.3f}", "–", reached)
            )
        frequent = [mean["size", "ffa", g] <= mean["pfs", "ffa", g] for g in GROUPS]
        said = f"in {sum(frequent)} of {len(frequent)} numbers of groups"
        rows.append(
            claim(f"{n} objects, equal frequency: size is worse than pfs", "yes", said, confirmed=all(frequent))
        )
        lines = {f"{k} {way}": [mean[k, way, g] for g in GROUPS] for k in ("pfs", "size") for way in ALLOCATIONS}
        lines["ideal"] = [ideal] * len(GROUPS)
        figures.append(freshness_of(f"{n} objects", "groups", lines, GROUPS, log=True))
    for n, groups, counted in ((500, 25, of), (_many(scale), 50, of[:2])):
        mean = averaged([results["sized rounds", n, groups, seed] for seed in counted])
        for way in ALLOCATIONS:
            values = [mean[way, rounds] for rounds in ROUNDS]
            what = f"{n} objects, {groups} groups, {way}: better after 0, 1, 3, 5, 10 rounds of k-means"
            rows.append(claim(what, "in few rounds", listed(values), confirmed=values[2] > values[0]))
    worlds = [results["shared", 500, seed] for seed in of]
    rows.append(
        holds(
            "500 objects: a plan that knows sizes is better than one that does not",
            "–",
            sum(w["ideal", "", 0] > w["blind", "", 0] for w in worlds),
            len(worlds),
        )
    )
    note = "The number of objects and the skew are not published; ours are 500 and 500 000, and θ = 1."
    what = "what changes most is smallest, accesses shuffled, Pareto sizes"
    return Outcome(E10.id, E10.title, what, numbered(of), tuple(rows), tuple(figures), (note,))


E9 = Experiment("APP-E9", "Plans that know sizes", "Figure 2.10", e9_tasks, e9)
E10 = Experiment("APP-E10", "Equal frequency or equal bandwidth in a group", "Figure 2.11", e10_tasks, e10)
