"""The exact optimum: how often each copy is refreshed so that accesses see as much freshness as the budget allows.

At the optimum every copy that is refreshed gains the same by one more unit of bandwidth, μ, and one that is not would
gain no more than that:

    p·g(λ/f)/λ = μ·s     so that     f = λ / g⁻¹(μ·λ·s/p),     and f = 0 where p/(λ·s) ≤ μ

What all this takes of the budget falls as μ rises; the μ at which it takes all of it is found by bracketing, and the
whole is a dozen passes over the copies.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaincinv

from headgate.errors import InputError
from headgate.freshness.problem import SHAPE, Floats, Problem, spent

EXACT = 4 * float(np.finfo(float).eps)
ROUNDING = 1e-9
"""Of the budget; floors that exceed it by no more than that take all of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Refreshes of each copy in a period, and what one more unit of bandwidth would add to perceived freshness."""

    f: Floats
    mu: float


def solve(problem: Problem, floor: Floats | None = None) -> Solution:
    """The optimum, in which no copy is refreshed less often than its floor.

    What is never read or never changes gets no more than its floor. If that goes for all, budget is left and μ is 0.
    """
    least = np.zeros(len(problem)) if floor is None else floor
    needed = spent(problem, least)
    if needed > problem.B * (1 + ROUNDING):
        raise InputError("the floors fit in the budget", f"{needed:g} of {problem.B:g}", "Lower them, or raise it.")
    p, lam, s = problem.p, problem.lam, problem.s
    wanted = (p > 0) & (lam > 0)
    if not wanted.any():
        return Solution(least, 0.0)
    # The marginal benefit of a copy's first refresh, below which μ has to come for the copy to be refreshed.
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(wanted, p / (lam * s), 0.0)

    def refreshes(mu: float) -> Floats:
        f = least.copy()
        (funded,) = np.nonzero(first > mu)
        f[funded] = np.maximum(f[funded], lam[funded] / gammaincinv(SHAPE, mu / first[funded]))
        return f

    def excess(log_mu: float) -> float:
        # Spending is close to a power of μ, so that both logarithms make it close to a line.
        return math.log(max(spent(problem, refreshes(math.exp(log_mu))), 1e-300) / problem.B)

    most = float(first.max())
    if needed >= problem.B:
        return Solution(least, most)
    low = high = math.log(most) + _last_bits(math.log(most))
    while excess(low) <= 0:
        low, high = low - 2.0, low
    found = float(brentq(excess, low, high, xtol=EXACT, rtol=EXACT))
    # Copies at the brink of being refreshed react to the last bit of μ: the optimum lies between its two neighbours.
    step = _last_bits(found)
    dear, cheap = refreshes(math.exp(found + step)), refreshes(math.exp(found - step))
    below, above = spent(problem, dear), spent(problem, cheap)
    share = (problem.B - below) / (above - below) if above > below else 0.0
    return Solution(dear + share * (cheap - dear), math.exp(found))


def _last_bits(of: float) -> float:
    return 2 * EXACT * (1 + abs(of))
