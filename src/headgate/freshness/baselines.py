"""Ways to spend a budget that look at less than the optimum does: at nothing, at change rates, at expiry."""

import numpy as np
from scipy.optimize import brentq

from headgate.freshness.problem import Floats, Problem, spent
from headgate.freshness.solver import solve


def uniform(problem: Problem) -> Floats:
    """All copies equally often."""
    return np.full(len(problem), problem.B / float(np.sum(problem.w * problem.s)))


def by_change(problem: Problem) -> Floats:
    """In proportion to change rates."""
    asked = spent(problem, problem.lam)
    return problem.lam * (problem.B / asked) if asked else np.zeros(len(problem))


def general(problem: Problem) -> Floats:
    """General freshening: the optimum for the average copy, whatever is accessed."""
    equal = np.full(len(problem), 1 / float(problem.w.sum()))
    return solve(Problem(equal, problem.lam, problem.s, problem.B, problem.w)).f


def time_to_live(problem: Problem) -> Floats:
    """A copy expires a mean time between changes after its refresh, and expired copies wait their turn.

    If all are served in order, they wait equally long, and by that much is every interval longer than it should be.
    """
    if spent(problem, problem.lam) <= problem.B:
        return problem.lam.copy()

    def served(wait: float) -> Floats:
        return problem.lam / (1 + problem.lam * wait)

    longest = float(np.sum(problem.w * problem.s)) / problem.B
    return served(brentq(lambda wait: spent(problem, served(wait)) - problem.B, 0.0, longest, xtol=1e-15 * longest))
