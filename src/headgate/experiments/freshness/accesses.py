"""APP-E3: plans that know what is accessed beside plans that do not, as accesses become more skewed."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from headgate.experiments.freshness.setups import (
    ALIGNMENTS,
    SMALL,
    averaged,
    for_seeds,
    freshness_of,
    numbered,
    seeds,
    small,
)
from headgate.experiments.report import Band, Experiment, Outcome, Scale, Task, banded, claim, holds, reported
from headgate.freshness.baselines import by_change, general, time_to_live, uniform
from headgate.freshness.problem import perceived
from headgate.freshness.solver import solve
from headgate.sim.freshness.worlds import Alignment

THETAS = tuple(round(0.2 * k, 1) for k in range(9))
WAYS = {
    "profile": lambda problem: solve(problem).f,
    "general": general,
    "uniform": uniform,
    "by change": by_change,
    "time to live": time_to_live,
}

Found = dict[tuple[str, float], float]


def skewed(seed: int, alignment: Alignment) -> Found:
    """The perceived freshness of every way at every skew."""
    worlds = {theta: small(seed, theta, alignment) for theta in THETAS}
    return {
        (way, theta): perceived(problem, plan(problem))
        for way, plan in WAYS.items()
        for theta, problem in worlds.items()
    }


def tasks(scale: Scale) -> Mapping[Any, Task]:
    """All alignments with all seeds."""
    return {key: task for each in ALIGNMENTS for key, task in for_seeds("skew", skewed, seeds(scale), each).items()}


def e3(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """By profile and in general."""
    runs = {each: [results["skew", each, seed] for seed in seeds(scale)] for each in ALIGNMENTS}
    mean = {each: averaged(found) for each, found in runs.items()}
    cells = [(run, theta) for found in runs.values() for run in found for theta in THETAS]
    above = [run["profile", theta] >= run["general", theta] - 1e-9 for run, theta in cells]
    equal = [abs(run["profile", 0.0] - run["general", 0.0]) <= 1e-9 for found in runs.values() for run in found]
    ends = mean["aligned"]
    rows = [
        holds("a plan by profile is at least as good as a general one", "yes", sum(above), len(above)),
        holds("both are equal without skew", "yes", sum(equal), len(equal)),
        banded("aligned, θ = 1.6: general plan", "→ 0", ends["general", 1.6], Band(0, 0.02)),
        banded("aligned, θ = 1.6: plan by profile", "–", ends["profile", 1.6], Band(0.7, 1)),
    ]
    for alignment in ALIGNMENTS:
        curve = [mean[alignment]["profile", theta] for theta in THETAS]
        lowest = min(range(len(THETAS)), key=curve.__getitem__)
        dip = f"{curve[0]:.3f} at θ = 0, lowest {curve[lowest]:.3f} at {THETAS[lowest]:g}, {curve[-1]:.3f} at 1.6"
        rising = all(a <= b for a, b in pairwise(curve))
        rows.append(claim(f"{alignment}: PF of the plan by profile rises with skew", "yes", dip, confirmed=rising))
    for alignment in ALIGNMENTS:
        values = [
            f"{mean[alignment]['profile', t]:.3f}/{mean[alignment]['general', t]:.3f}" for t in (0.4, 0.8, 1.2, 1.6)
        ]
        rows.append(reported(f"{alignment}: by profile/general at θ = 0.4, 0.8, 1.2, 1.6", "–", "  ".join(values)))
    others = [f"{way} {mean['shuffled'][way, 1.0]:.3f}" for way in WAYS]
    rows.append(reported("shuffled, θ = 1: all ways", "–", ", ".join(others)))
    figures = tuple(
        freshness_of(
            each, "θ", {way: [mean[each][way, theta] for theta in THETAS] for way in WAYS}, THETAS, log=False
        )
        for each in ALIGNMENTS
    )
    note = (
        "Where what is accessed most also changes most, a little skew makes the optimum worse before it makes it "
        "better: the refreshes have to go to objects that go stale at once. Time to live refreshes an object when it "
        "is expected to have changed, in the order in which that falls due."
    )
    return Outcome(E3.id, E3.title, SMALL, numbered(seeds(scale)), tuple(rows), figures, (note,))


E3 = Experiment("APP-E3", "Plans by profile and general plans", "Figure 2.3", tasks, e3)
