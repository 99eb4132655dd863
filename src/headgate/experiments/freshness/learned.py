"""APP-EX3, EX4: change rates that have to be learned, and bandwidth kept for what no plan foresees."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from headgate.experiments.freshness.setups import (
    SMALL,
    UPDATES,
    averaged,
    best,
    for_seeds,
    listed,
    numbered,
    seeds,
    shown,
    small,
)
from headgate.experiments.report import Experiment, Figure, Line, Outcome, Scale, Task, claim, reported
from headgate.freshness.problem import Floats, Problem, perceived
from headgate.freshness.solver import solve
from headgate.sim.freshness.refreshers import Learning, Split
from headgate.sim.freshness.simulation import Refresher, Source, Span, simulate

ACCESSES = 250
EVERY = 5.0
"""Periods between plans of a mirror that learns."""
Stretches = tuple[tuple[int, int], ...]
STRETCHES: Stretches = ((0, 10), (10, 25), (25, 50), (50, 100))
"""Periods over which it is looked at what has been learned."""
EXPLORED = (0.0, 0.1)
DEVIATIONS = (1.0, 2.0)
"""Of the change rates."""
SHARES = tuple(round(0.1 * k, 1) for k in range(11))
SHOCK, AFTER = 20.0, 20.0
"""When a hot object becomes volatile, and for how long that is watched."""
FACTORS = (1.0, 20.0)
WORLD = SMALL + ", θ = 1, shuffled"


def _seen(problem: Problem, source: Source, refresher: Refresher, start: float, end: float, seed: int) -> float:
    span = Span(end, start, ACCESSES)
    return simulate(problem, source, refresher, span, np.random.default_rng([seed, 12])).integrated(problem.p)


def unknown(seed: int, deviation: float, stretches: Stretches) -> dict[str, float]:
    """What a mirror reaches that begins with a guess of all rates, beside some that know or do not learn."""
    problem = small(seed, 1.0, deviation=deviation)
    source = Source([(0.0, problem.lam)])
    guessed = solve(Problem.of(problem.p, np.full(len(problem), UPDATES), problem.B)).f
    found = {
        "known": perceived(problem, solve(problem).f),
        "guessed": perceived(problem, guessed),
        "accesses": perceived(problem, problem.B * problem.p),
    }
    for explore in EXPLORED:
        for start, end in stretches:
            mirror = Learning(problem, UPDATES, EVERY, explore)
            found[f"{explore:g} {start}"] = _seen(problem, source, mirror, start, end, seed)
    return found


def ex3_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Rates that are rather alike, and rates that are not."""
    of, looked = seeds(scale, quick=1), _stretches(scale)
    return {key: task for each in DEVIATIONS for key, task in for_seeds("unknown", unknown, of, each, looked).items()}


def _stretches(scale: Scale) -> Stretches:
    return ((25, 40),) if scale.quick else STRETCHES


def ex3(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Rates that are learned."""
    rows, figures = [], []
    of, looked = seeds(scale, quick=1), _stretches(scale)
    ends, last = [end for _, end in looked], looked[-1][0]
    stretches = " / ".join(f"{start}–{end}" for start, end in looked)
    for deviation in DEVIATIONS:
        runs = [results["unknown", deviation, looked, seed] for seed in of]
        mean = averaged(runs)
        world = f"rates 2 ± {deviation:g}"
        learned = [r[f"{explore:g} {last}"] > r["guessed"] for r in runs for explore in EXPLORED]
        what = f"{world}: at last a mirror that learns is better than one that takes the mean rate for all"
        rows += [
            claim(what, "suggested", f"{sum(learned)} of {len(learned)}", confirmed=all(learned)),
            reported(f"{world}: PF with known rates", "–", shown([r["known"] for r in runs])),
            reported(f"{world}: PF with the mean rate for all", "–", shown([r["guessed"] for r in runs])),
            reported(f"{world}: PF in proportion to accesses", "–", shown([r["accesses"] for r in runs])),
        ]
        lines = [Line(name, ends, [mean[name]] * len(ends)) for name in ("known", "guessed")]
        for explore in EXPLORED:
            values = [mean[f"{explore:g} {start}"] for start, _ in looked]
            what = f"{world}: PF learned in periods {stretches}, {explore:.0%} explored"
            rows.append(reported(what, "–", listed(values)))
            lines.append(Line(f"learned, {explore:.0%} explored", ends, values))
        figures.append(Figure(world, "periods", "perceived freshness", tuple(lines), log_y=False))
    note = "All rates are guessed as 2 at first; there is a new plan every 5 periods. At first all copies are fresh."
    return Outcome(EX3.id, EX3.title, WORLD, numbered(of), tuple(rows), tuple(figures), (note,))


def _shocked(problem: Problem, factor: float) -> Floats:
    lam = problem.lam.copy()
    lam[0] *= factor
    return lam


def split(seed: int, factor: float, shares: tuple[float, ...]) -> dict[float, float]:
    """What is seen after the hottest object has become volatile, by the share of bandwidth that is planned."""
    problem = small(seed, 1.0)
    source = Source([(0.0, problem.lam), (SHOCK, _shocked(problem, factor))])
    return {share: _seen(problem, source, Split(problem, share), SHOCK, SHOCK + AFTER, seed) for share in shares}


def ex4_tasks(scale: Scale) -> Mapping[Any, Task]:
    """With and without the shock."""
    shares, of = _shares(scale), seeds(scale, quick=1)
    return {key: task for each in FACTORS for key, task in for_seeds("split", split, of, each, shares).items()}


def _shares(scale: Scale) -> tuple[float, ...]:
    return (0.0, 0.5, 1.0) if scale.quick else SHARES


def ex4(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Shares that are planned."""
    rows, lines, shares, of = [], [], _shares(scale), seeds(scale, quick=1)
    for factor in FACTORS:
        runs = [results["split", factor, shares, seed] for seed in of]
        mean = averaged(runs)
        chosen = max(shares, key=lambda share: mean[share])
        what = "as planned for" if factor == 1 else f"the hottest object {factor:g} times as volatile"
        values = f"{mean[1.0]:.3f} / {mean[chosen]:.3f} with {chosen:.0%} planned / {mean[0.0]:.3f}"
        rows.append(reported(f"{what}: all planned / best / nothing planned", "–", values))
        lines.append(Line(what, shares, [mean[share] for share in shares]))
        if factor > 1:
            better = [max(r[share] for share in shares[:-1]) > r[1.0] for r in runs]
            what = "after the shock some split is better than the plan"
            rows.append(claim(what, "suggested", f"{sum(better)} of {len(better)}", confirmed=all(better)))
            optimum = shown([best(replace(small(seed, 1.0), lam=_shocked(small(seed, 1.0), factor))) for seed in of])
            rows.append(reported("a plan that knows the new rate", "–", optimum))
    figure = Figure(
        "Bandwidth that is kept back", "share that is planned", "perceived freshness", tuple(lines), log_y=False
    )
    note = (
        "The plan has the rates from before the shock. What is kept back goes at equal intervals to the longest wait "
        "times the probability of a change, with rates that are learned from refreshes; 50 objects are eligible."
    )
    return Outcome(EX4.id, EX4.title, WORLD, numbered(of), tuple(rows), (figure,), (note,))


EX3 = Experiment("APP-EX3", "Change rates that have to be learned", "Section 6.2", ex3_tasks, ex3)
EX4 = Experiment("APP-EX4", "Bandwidth kept for what no plan foresees", "Section 6.2", ex4_tasks, ex4)
