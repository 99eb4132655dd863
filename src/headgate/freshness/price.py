"""How much bandwidth is worth its price.

The multiplier of the optimum is the slope of perceived freshness over the budget, and it falls; so what is worth
buying ends where it has come down to the price.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headgate.freshness.problem import Problem, perceived, spent
from headgate.freshness.solver import at_price, solve


@dataclass(frozen=True, slots=True)
class Point:
    """A budget, the perceived freshness that it buys, and what one more unit would add."""

    B: float
    freshness: float
    mu: float


def knee(problem: Problem, price: float) -> Point:
    """The smallest budget at which one more unit adds no more than the price, whatever the problem's budget is."""
    f = at_price(problem, price)
    return Point(spent(problem, f), perceived(problem, f), price)


def curve(problem: Problem, budgets: Sequence[float]) -> tuple[Point, ...]:
    """What budgets buy."""
    found = [(B, solve(replace(problem, B=B))) for B in budgets]
    return tuple(Point(B, perceived(problem, solution.f), solution.mu) for B, solution in found)
