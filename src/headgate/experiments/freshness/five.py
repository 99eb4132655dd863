"""APP-E1, E2: the optimum of five objects, and what an object gets by its change rate and importance."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from headgate.experiments.freshness.setups import listed
from headgate.experiments.report import Band, Experiment, Figure, Line, Outcome, Scale, Task, banded, holds, reported
from headgate.freshness.baselines import general, uniform
from headgate.freshness.problem import Floats, Problem, marginal, perceived
from headgate.freshness.solver import at_price, solve

LAM = np.arange(1.0, 6.0)
PROFILES = {"P1": np.full(5, 0.2), "P2": LAM / 15, "P3": LAM[::-1] / 15}
PUBLISHED = {
    "P1": (1.15, 1.36, 1.35, 1.14, 0.00),
    "P2": (0.33, 0.67, 1.00, 1.33, 1.67),
    "P3": (1.68, 1.83, 1.49, 0.00, 0.00),
}
IMPORTANCE = (0.5, 1.0, 2.0)
"""Access probabilities as multiples of the multiplier μ."""


def optimum(profile: str) -> dict[str, Any]:
    """The optimum of a profile, how far it is from one, and what others reach."""
    problem = Problem.of(PROFILES[profile], LAM, 5)
    found = solve(problem)
    unit = problem.p * marginal(found.f, problem.lam)
    funded = found.f > 0
    return {
        "f": tuple(found.f.tolist()),
        "apart": float(np.ptp(unit[funded]) / found.mu),
        "beyond": float(np.max(unit[~funded], initial=0.0) / found.mu),
        "freshness": [perceived(problem, f) for f in (found.f, general(problem), uniform(problem))],
    }


def tasks(_scale: Scale) -> Mapping[Any, Task]:
    """The three profiles."""
    return {("five", profile): (optimum, (profile,)) for profile in PROFILES}


def e1(_scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Frequencies as printed."""
    rows = []
    for profile, printed in PUBLISHED.items():
        found = results["five", profile]
        off = max(abs(a - b) for a, b in zip(found["f"], printed, strict=True))
        said = " ".join(f"{f:.2f}" for f in printed)
        ours = " ".join(f"{f:.2f}" for f in found["f"])
        rows.append(banded(f"{profile}: refreshes of e1 … e5, off by at most", said, off, Band(0, 0.01), ours))
        rows.append(
            banded(f"{profile}: marginal benefits of refreshed objects apart", "–", found["apart"], Band(0, 1e-6))
        )
        rows.append(
            reported(f"{profile}: PF of the optimum / general / uniform plan", "–", listed(found["freshness"]))
        )
    unfunded = [results["five", profile]["beyond"] <= 1 for profile in PROFILES]
    rows.append(holds("objects without refreshes would gain no more than μ", "–", sum(unfunded), len(unfunded)))
    names = tuple(f"e{k}" for k in range(1, 6))
    lines = tuple(Line(profile, (), results["five", profile]["f"]) for profile in PROFILES)
    figure = Figure("Refreshes of five objects", "", "refreshes in a period", lines, names, log_y=False)
    return Outcome(
        E1.id, E1.title, "five objects that change 1 … 5 times, 5 refreshes", "none", tuple(rows), (figure,)
    )


def curves(importance: float) -> tuple[Floats, Floats]:
    """Refreshes by change rate for objects whose access probability is a multiple of μ."""
    lam = np.arange(1, 241) / 100
    return lam, at_price(Problem.of(np.full(len(lam), importance), lam, 1), 1.0)


def e2_tasks(_scale: Scale) -> Mapping[Any, Task]:
    """A curve for each importance."""
    return {("curve", k): (curves, (k,)) for k in IMPORTANCE}


def e2(_scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Where refreshes begin and end."""
    rows = []
    found = {k: results["curve", k] for k in IMPORTANCE}
    for k, paper in ((1.0, "none"), (2.0, "significant")):
        lam, f = found[k]
        wanted = {1.0: Band(0, 0), 2.0: Band(0.588, 0.598)}[k]
        rows.append(banded(f"refreshes at λ = 1.2, p = {k:g}·μ", paper, float(f[np.isclose(lam, 1.2)][0]), wanted))
    for k in IMPORTANCE:
        lam, f = found[k]
        cut = float(lam[f == 0].min())
        rows.append(banded(f"change rate from which there are none, p = {k:g}·μ", f"{k:g}", cut, Band(k, k)))
    more = [(found[a][1] <= found[b][1]).all() for a, b in ((0.5, 1.0), (1.0, 2.0))]
    rows.append(holds("the more important gets at least as much at every change rate", "yes", sum(more), len(more)))
    lines = tuple(Line(f"p = {k:g}·μ", found[k][0].tolist(), found[k][1].tolist()) for k in IMPORTANCE)
    figure = Figure("Refreshes by change rate", "λ", "refreshes in a period", lines, log_y=False)
    return Outcome(E2.id, E2.title, "λ from 0.01 to 2.4 at μ = 1", "none", tuple(rows), (figure,))


E1 = Experiment("APP-E1", "The optimum of five objects", "Table 2.1", tasks, e1)
E2 = Experiment("APP-E2", "Refreshes by change rate and importance", "Figure 2.1", e2_tasks, e2)
