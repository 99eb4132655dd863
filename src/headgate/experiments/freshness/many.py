"""APP-E6, E7, E8: half a million objects in groups, groups refined by k-means, and what either takes."""

import time
from collections.abc import Mapping
from typing import Any

from headgate.experiments.freshness.groups import IDEAL, KEYS, grouped
from headgate.experiments.freshness.setups import (
    BIG,
    LARGE,
    averaged,
    best,
    big,
    for_seeds,
    freshness_of,
    listed,
    numbered,
    seeds,
)
from headgate.experiments.report import (
    Band,
    Experiment,
    Figure,
    Line,
    Outcome,
    Scale,
    Task,
    banded,
    claim,
    holds,
    reported,
)
from headgate.freshness.kmeans import refine
from headgate.freshness.partitions import partition
from headgate.freshness.problem import perceived
from headgate.freshness.representatives import solve_groups
from headgate.freshness.solver import solve

GROUPS = (10, 25, 50, 100, 250, 500)
ROUNDS = (0, 1, 3, 5, 7, 10, 15, 25)
REFINED = (25, 50, 100)
UNREFINED = (10, 50, 100, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000)
"""Numbers of groups that are timed without refinement."""


def objects(scale: Scale) -> int:
    """How many."""
    return 5_000 if scale.quick else BIG


def by_number(seed: int, n: int) -> dict[tuple[str, int], float]:
    """All keys and numbers of groups."""
    problem = big(seed, n)
    found = {(key, groups): grouped(problem, key, groups) for key in KEYS for groups in (*GROUPS, 2 * REFINED[-1])}
    return {**found, (IDEAL, 0): best(problem)}


def refined(seed: int, n: int) -> dict[tuple[int, int], float]:
    """The perceived freshness after rounds of k-means, by groups and rounds."""
    problem, found = big(seed, n), {}
    for groups in REFINED:
        labels, done = partition(problem, "pf", groups), 0
        for rounds in ROUNDS:
            labels, done = refine(problem, labels, rounds - done), rounds
            found[groups, rounds] = perceived(problem, solve_groups(problem, labels))
    return found


def timed(seed: int, n: int) -> dict[tuple[int, int], tuple[float, float]]:
    """CPU seconds and perceived freshness by groups and rounds; 0 groups stand for the exact optimum."""
    problem = big(seed, n)
    found = {}

    def record(groups: int, rounds: int) -> None:
        start = time.process_time()
        if groups:
            f = solve_groups(problem, refine(problem, partition(problem, "pf", groups), rounds))
        else:
            f = solve(problem).f
        found[groups, rounds] = time.process_time() - start, perceived(problem, f)

    record(0, 0)
    for groups in UNREFINED:
        if groups < n:
            record(groups, 0)
    for groups in REFINED:
        for rounds in ROUNDS[1:]:
            record(groups, rounds)
    return found


def e6_tasks(scale: Scale) -> Mapping[Any, Task]:
    """All seeds."""
    return for_seeds("big", by_number, seeds(scale, 3, 1), objects(scale))


def e6(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """By the number of groups."""
    mean = averaged([results["big", objects(scale), seed] for seed in seeds(scale, 3, 1)])
    ideal = mean[IDEAL, 0]
    rows = [
        banded("pf, 100 groups, of the optimum", "–", mean["pf", 100] / ideal, Band(0.9, 1)),
        banded("pf, 500 groups more than 100", "little", mean["pf", 500] - mean["pf", 100], Band(0, 0.03)),
    ]
    won = {g: max(KEYS, key=lambda key: mean[key, g]) for g in GROUPS}
    said = ", ".join(f"{g}: {key}" for g, key in won.items())
    rows.append(claim("best key by the number of groups", "pf", said, confirmed=set(won.values()) == {"pf"}))
    for g in (10, 100, 500):
        values = [mean[key, g] for key in ("p", "lam", "p/lam", "pf")]
        rows.append(reported(f"{g} groups: p / λ / p/λ / pf, of {ideal:.3f}", "–", listed(values)))
    lines = {key: [mean[key, g] for g in GROUPS] for key in KEYS} | {IDEAL: [ideal] * len(GROUPS)}
    figure = freshness_of("500 000 objects", "groups", lines, GROUPS, log=True)
    note = "The optimum was out of reach for the publication; the exact solver finds it in seconds."
    return Outcome(E6.id, E6.title, LARGE, numbered(seeds(scale, 3, 1)), tuple(rows), (figure,), (note,))


def e7_tasks(scale: Scale) -> Mapping[Any, Task]:
    """All seeds, with the numbers of groups for comparison."""
    return {**e6_tasks(scale), **for_seeds("refined", refined, seeds(scale, 3, 1), objects(scale))}


def e7(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """By rounds of k-means."""
    n, of = objects(scale), seeds(scale, 3, 1)
    mean = averaged([results["refined", n, seed] for seed in of])
    plain = averaged([results["big", n, seed] for seed in of])
    gains = {g: (mean[g, 1] - mean[g, 0], plain["pf", 2 * g] - mean[g, 0]) for g in REFINED}
    rows = [
        holds(
            "a round gains more than twice as many groups",
            "large gains",
            sum(a > b for a, b in gains.values()),
            len(gains),
        )
    ]
    for g, (a, b) in gains.items():
        rows.append(reported(f"{g} groups: gained by a round / by {2 * g} groups", "–", f"{a:.4f} / {b:.4f}"))
    for g in REFINED:
        values = listed([mean[g, rounds] for rounds in (0, 1, 3, 5, 10, 25)])
        rows.append(reported(f"{g} groups after 0, 1, 3, 5, 10, 25 rounds, of {plain[IDEAL, 0]:.3f}", "–", values))
    lines = {f"{g} groups": [mean[g, rounds] for rounds in ROUNDS] for g in REFINED}
    lines[IDEAL] = [plain[IDEAL, 0]] * len(ROUNDS)
    figure = freshness_of("500 000 objects", "rounds of k-means", lines, ROUNDS, log=False)
    return Outcome(E7.id, E7.title, LARGE, numbered(of), tuple(rows), (figure,))


def e8_tasks(scale: Scale) -> Mapping[Any, Task]:
    """One run that is timed."""
    return for_seeds("timed", timed, (1,), objects(scale))


def e8(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """What quality takes."""
    found = results["timed", objects(scale), 1]
    took, ideal = found[0, 0]
    seconds, reached = found[50, 10]
    rows = [
        banded("50 groups, 10 rounds: below the optimum by", "–", ideal - reached, Band(0, 0.02)),
        reported("50 groups, 10 rounds", "62 s, the earliest good solution", f"{seconds:.2f} s for {reached:.3f}"),
        reported("exact optimum", "not in days", f"{took:.2f} s for {ideal:.3f}"),
    ]
    plain = {groups: found[groups, 0] for groups in UNREFINED if (groups, 0) in found}
    # If no number of plain groups comes as far, the largest shows how far they come.
    groups = next((groups for groups, (_, value) in plain.items() if value >= reached), max(plain))
    unrefined, value = plain[groups]
    what = "refined groups are there before as many plain groups as are needed for the same freshness"
    ours = f"{seconds:.2f} s, {groups} plain groups {unrefined:.2f} s for {value:.3f}"
    rows.append(claim(what, "yes", ours, confirmed=value < reached or seconds < unrefined))
    rows.append(
        claim(
            "refined groups are there before the exact optimum",
            "yes",
            f"{seconds:.2f} s and {took:.2f} s",
            confirmed=seconds < took,
        )
    )
    alone = sorted(plain.values())
    lines = [Line("groups without rounds", [x for x, _ in alone], [y for _, y in alone])]
    for g in REFINED:
        points = [found[g, rounds] for rounds in ROUNDS[1:]]
        lines.append(Line(f"{g} groups", [x for x, _ in points], [y for _, y in points]))
    lines.append(Line("exact", [took], [ideal]))
    figure = Figure("Time and quality", "CPU seconds", "perceived freshness", tuple(lines), log_y=False)
    note = (
        "Times are CPU seconds of this machine. The nearest centre is found by a tree, not by all distances, so that "
        "rounds cost little more with more groups. Plain groups follow one key and level off below what rounds reach."
    )
    return Outcome(E8.id, E8.title, LARGE, "1", tuple(rows), (figure,), (note,))


E6 = Experiment("APP-E6", "Half a million objects in groups", "Figure 2.7", e6_tasks, e6)
E7 = Experiment("APP-E7", "Groups refined by k-means", "Figure 2.8", e7_tasks, e7)
E8 = Experiment("APP-E8", "Time and quality of refined groups", "Figure 2.9", e8_tasks, e8)
