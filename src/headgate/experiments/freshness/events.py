"""APP-E11: what users see, by the formula and event by event."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from headgate.experiments.freshness.five import LAM, PROFILES
from headgate.experiments.freshness.setups import ALIGNMENTS, numbered, seeds, small, volatile_small
from headgate.experiments.report import Experiment, Figure, Line, Outcome, Scale, Task, holds, reported
from headgate.freshness.problem import Problem, perceived
from headgate.freshness.solver import solve
from headgate.sim.freshness.refreshers import Planned
from headgate.sim.freshness.simulation import Source, Span, settled, simulate

OFTEN = 0.2
"""In a period, to an object: accesses that follow each other closely find the same, and count as one."""
CASES = (*PROFILES, *ALIGNMENTS, "sizes")


def world(case: str, seed: int) -> Problem:
    """The five objects, the small world at θ = 0.8, or small objects that change often."""
    if case in PROFILES:
        return Problem.of(PROFILES[case], LAM, 5)
    if case == "sizes":
        return volatile_small(seed)
    return small(seed, 0.8, next(each for each in ALIGNMENTS if each == case))


def both(seed: int, case: str, accesses: int) -> dict[str, float]:
    """Perceived freshness by the formula, by accesses that are drawn and by the time that copies were fresh."""
    problem = world(case, seed)
    f = solve(problem).f
    warm = settled(f)
    often = OFTEN * len(problem)
    source, span = Source([(0.0, problem.lam)]), Span(warm + accesses / often, warm, often)
    seen = simulate(problem, source, Planned(f), span, np.random.default_rng([seed, 11]))
    return {
        "formula": perceived(problem, f),
        "sampled": seen.sampled,
        "integrated": seen.integrated(problem.p),
        "accesses": seen.accesses,
    }


def tolerance(formula: float, accesses: float) -> float:
    """By how much drawn accesses may differ: three deviations, and a little for how refreshes fall in the run."""
    return 3 * math.sqrt(formula * (1 - formula) / accesses) + 0.005


def _accesses(scale: Scale) -> int:
    return 2000 if scale.quick else 20_000


def tasks(scale: Scale) -> Mapping[Any, Task]:
    """All cases with all seeds."""
    return {
        ("both", case, seed): (both, (seed, case, _accesses(scale))) for case in CASES for seed in seeds(scale)
    }  # fmt: skip


def e11(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Both modes."""
    rows = []
    for case in CASES:
        runs = [results["both", case, seed] for seed in seeds(scale)]
        good = [
            max(abs(r["sampled"] - r["formula"]), abs(r["integrated"] - r["formula"]))
            <= tolerance(r["formula"], r["accesses"])
            for r in runs
        ]
        rows.append(holds(f"{case}: both modes within their tolerance", "equal", sum(good), len(good)))
        mean = {name: float(np.mean([r[name] for r in runs])) for name in ("formula", "sampled", "integrated")}
        values = " / ".join(f"{mean[name]:.4f}" for name in mean)
        rows.append(reported(f"{case}: formula / drawn accesses / time that copies were fresh", "–", values))
    lines = tuple(
        Line(
            name, (), [float(np.mean([results["both", case, seed][name] for seed in seeds(scale)])) for case in CASES]
        )
        for name in ("formula", "sampled", "integrated")
    )
    figure = Figure("Formula and events", "", "perceived freshness", lines, CASES, log_y=False)
    what = f"plans of APP-E1, of APP-E3 at θ = 0.8 and of APP-E10; about {_accesses(scale)} accesses"
    return Outcome(E11.id, E11.title, what, numbered(seeds(scale)), tuple(rows), (figure,))


E11 = Experiment("APP-E11", "What users see, by the formula and event by event", "Section 2.5", tasks, e11)
