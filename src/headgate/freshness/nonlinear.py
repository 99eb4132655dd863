"""The same optimum by a general solver of non-linear programs, which knows nothing of the problem's structure.

It is what the exact solver is checked with, and what it is compared with in speed: the time of a step grows with the
cube of the number of copies.
"""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, minimize

from headgate.freshness.problem import Floats, Problem, marginal, perceived
from headgate.freshness.solver import Solution


def solve_generic(problem: Problem) -> Solution:
    """The optimum by sequential quadratic programming (SLSQP), begun at equal refreshes of all copies."""
    weight = problem.w * problem.p
    bandwidth = problem.w * problem.s

    def stale(f: Floats) -> float:
        return -perceived(problem, np.maximum(f, 0.0))

    def slope(f: Floats) -> Floats:
        return -weight * marginal(np.maximum(f, 0.0), problem.lam)

    found = minimize(
        stale,
        np.full(len(problem), problem.B / bandwidth.sum()),
        jac=slope,
        method="SLSQP",
        bounds=Bounds(0.0, np.inf),
        constraints=LinearConstraint(bandwidth[None, :], problem.B, problem.B),
        options={"maxiter": 1000, "ftol": 1e-9},
    )
    f = np.maximum(found.x, 0.0)
    return Solution(f, float(np.max(-slope(f) / bandwidth)))
