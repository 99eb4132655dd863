"""The exact optimum: how often each copy is refreshed so that accesses see as much freshness as the budget allows.

At the optimum every copy that is refreshed gains the same by one more unit of bandwidth, μ, and one that is not would
gain no more than that:

    p·g(λ/f)/λ = μ·s     so that     f = λ / g⁻¹(μ·λ·s/p),     and f = 0 where p/(λ·s) ≤ μ

What all this takes of the budget falls as μ rises; the μ at which it takes all of it is found by bracketing, and the
whole is some twenty passes over the copies.
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


def first_benefit(problem: Problem) -> Floats:
    """What the first bit of bandwidth would add, copy by copy: μ has to be below that for a copy to be refreshed."""
    wanted = (problem.p > 0) & (problem.lam > 0)
    found = np.zeros(len(problem))
    np.divide(problem.p, problem.lam * problem.s, out=found, where=wanted)
    return found


def at_price(problem: Problem, mu: float, floor: Floats | None = None) -> Floats:
    """The refreshes that are worth μ to the unit of bandwidth, but not fewer than the floors, whatever the budget."""
    f = np.zeros(len(problem)) if floor is None else floor.copy()
    first = first_benefit(problem)
    (worth,) = np.nonzero(first > mu)
    f[worth] = np.maximum(f[worth], problem.lam[worth] / gammaincinv(SHAPE, mu / first[worth]))
    return f


def solve(problem: Problem, floor: Floats | None = None) -> Solution:
    """The optimum, in which no copy is refreshed less often than its floor.

    What is never read or never changes gets no more than its floor. If that goes for all, budget is left and μ is 0.
    """
    least = np.zeros(len(problem)) if floor is None else floor
    needed = spent(problem, least)
    if needed > problem.B * (1 + ROUNDING):
        raise InputError("the floors fit in the budget", f"{needed:g} of {problem.B:g}", "Lower them, or raise it.")
    most = float(first_benefit(problem).max())
    if most == 0 or needed >= problem.B:
        return Solution(least, most)

    def excess(log_mu: float) -> float:
        # Spending is close to a power of μ, so that both logarithms make it close to a line.
        return math.log(max(spent(problem, at_price(problem, math.exp(log_mu), floor)), 1e-300) / problem.B)

    low = high = math.log(most) + _last_bits(math.log(most))
    while excess(low) <= 0:
        low, high = low - 2.0, low
    found = float(brentq(excess, low, high, xtol=EXACT, rtol=EXACT))
    # Copies at the brink of being refreshed react to the last bit of μ: the optimum lies between its two neighbours.
    step = _last_bits(found)
    dear, cheap = (at_price(problem, math.exp(found + each), floor) for each in (step, -step))
    below, above = spent(problem, dear), spent(problem, cheap)
    share = (problem.B - below) / (above - below) if above > below else 0.0
    return Solution(dear + share * (cheap - dear), math.exp(found))


def _last_bits(of: float) -> float:
    return 2 * EXACT * (1 + abs(of))
