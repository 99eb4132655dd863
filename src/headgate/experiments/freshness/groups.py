"""APP-E4, E5: how close groups of objects come to the optimum, by their key, their number and the skew."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from headgate.experiments.freshness.setups import (
    ALIGNMENTS,
    SMALL,
    averaged,
    best,
    for_seeds,
    freshness_of,
    listed,
    numbered,
    seeds,
    small,
)  # fmt: skip
from headgate.experiments.report import Band, Experiment, Outcome, Scale, Task, banded, claim, holds, reported
from headgate.freshness.partitions import partition
from headgate.freshness.problem import Problem, perceived
from headgate.freshness.representatives import solve_groups
from headgate.sim.freshness.worlds import Alignment

KEYS = ("p", "lam", "p/lam", "pf")
GROUPS = (5, 10, 25, 50, 100, 250, 500)
THETAS = (0.0, 0.4, 0.8, 1.0, 1.2, 1.6)
FIXED = 50
IDEAL = "ideal"


def grouped(problem: Problem, key: str, groups: int) -> float:
    """The perceived freshness of a plan by groups."""
    return perceived(problem, solve_groups(problem, partition(problem, key, groups)))


def by_number(seed: int, alignment: Alignment) -> dict[tuple[str, int], float]:
    """All keys and numbers of groups at θ = 1."""
    problem = small(seed, 1.0, alignment)
    found = {(key, groups): grouped(problem, key, groups) for key in KEYS for groups in GROUPS}
    return {**found, (IDEAL, 0): best(problem)}


def by_skew(seed: int) -> dict[tuple[str, float], float]:
    """All keys with a fixed number of groups."""
    worlds = {theta: small(seed, theta) for theta in THETAS}
    found = {(key, theta): grouped(problem, key, FIXED) for key in KEYS for theta, problem in worlds.items()}
    return found | {(IDEAL, theta): best(problem) for theta, problem in worlds.items()}


def e4_tasks(scale: Scale) -> Mapping[Any, Task]:
    """All alignments with all seeds."""
    return {
        key: task for each in ALIGNMENTS for key, task in for_seeds("groups", by_number, seeds(scale), each).items()
    }


def e4(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """By the number of groups."""
    mean = {each: averaged([results["groups", each, seed] for seed in seeds(scale)]) for each in ALIGNMENTS}
    closer = [
        mean[each][key, fewer] <= mean[each][key, more] + 1e-9
        for each in ALIGNMENTS for key in KEYS for fewer, more in pairwise(GROUPS)
    ]  # fmt: skip
    exact = max(abs(mean[each][key, GROUPS[-1]] - mean[each][IDEAL, 0]) for each in ALIGNMENTS for key in KEYS)
    shuffled = mean["shuffled"]
    worst = [shuffled["lam", g] <= min(shuffled[key, g] for key in KEYS) for g in GROUPS if g <= 250]
    rows = [
        holds("more groups are closer to the optimum", "yes", sum(closer), len(closer)),
        banded("a group for each object, away from the optimum", "0", exact, Band(0, 1e-6)),
        holds("shuffled: the key λ is the worst", "yes", sum(worst), len(worst)),
    ]
    for alignment in ("aligned", "reverse"):
        values = mean[alignment]
        spread = {g: max(values[key, g] for key in KEYS) - min(values[key, g] for key in KEYS) for g in GROUPS}
        g = max(spread, key=spread.__getitem__)
        where = f"{spread[g]:.4f} at {g} groups"
        rows.append(banded(f"{alignment}: keys apart at most", "nearly equal", spread[g], Band(0, 0.02), where))
    for g in (10, 50, 100):
        reached = [shuffled[key, g] for key in ("p", "pf", "p/lam", "lam")]
        rows.append(
            reported(f"shuffled, {g} groups: p / pf / p/λ / λ, of {shuffled[IDEAL, 0]:.3f}", "–", listed(reached))
        )
    figures = tuple(
        freshness_of(
            each,
            "groups",
            {key: [mean[each][key, g] for g in GROUPS] for key in KEYS}
            | {IDEAL: [mean[each][IDEAL, 0]] * len(GROUPS)},
            GROUPS,
            log=True,
        )
        for each in ALIGNMENTS
    )
    note = "The skew of the figure is not published; ours is θ = 1."
    return Outcome(E4.id, E4.title, SMALL, numbered(seeds(scale)), tuple(rows), figures, (note,))


def e5_tasks(scale: Scale) -> Mapping[Any, Task]:
    """All seeds."""
    return for_seeds("skewed groups", by_skew, seeds(scale))


def e5(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """By the skew."""
    mean = averaged([results["skewed groups", seed] for seed in seeds(scale)])
    worst = [mean["lam", t] <= min(mean[key, t] for key in KEYS) for t in THETAS if t >= 0.8]
    rows = [holds("the key λ is the worst from θ = 0.8 on", "cannot keep up", sum(worst), len(worst))]
    for key in KEYS:
        curve = [mean[key, t] for t in THETAS]
        rising = all(a <= b for a, b in pairwise(curve))
        rows.append(claim(f"{key}: rises with skew, θ = 0 … 1.6", "yes", listed(curve), confirmed=rising))
    rows.append(reported("optimum", "–", listed([mean[IDEAL, t] for t in THETAS])))
    lines = {key: [mean[key, t] for t in THETAS] for key in (*KEYS, IDEAL)}
    figure = freshness_of(f"{FIXED} groups, shuffled", "θ", lines, THETAS, log=False)
    note = "The number of groups is not published; ours is 50."
    return Outcome(E5.id, E5.title, SMALL, numbered(seeds(scale)), tuple(rows), (figure,), (note,))


E4 = Experiment("APP-E4", "Groups by their key and number", "Figure 2.5", e4_tasks, e4)
E5 = Experiment("APP-E5", "Groups as accesses become more skewed", "Figure 2.6", e5_tasks, e5)
