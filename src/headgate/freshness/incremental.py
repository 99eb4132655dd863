"""A plan that is mended where something has changed, and not made anew.

Bandwidth goes, step by step, from the copy that loses least by it to the one that gains most. Each step touches two
copies, however many there are.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from headgate.freshness.problem import Floats, Problem, marginal, spent
from headgate.freshness.solver import Solution


@dataclass(frozen=True, slots=True, eq=False)
class Mended(Solution):
    """A plan that was mended, and in how many steps."""

    steps: int


def mend(problem: Problem, f: Floats, first: float = 0.01, last: float = 1e-5) -> Mended:
    """The plan f made good for a problem that has changed.

    Bandwidth beyond the budget is taken back, what the budget has more is handed out. Then bandwidth is moved while
    that gains, first by large steps and at last by small ones; both are shares of the budget.
    """
    book = _Book(problem, f)
    whole = max(problem.B, book.spent)
    step = first * whole
    while step > last * whole:
        book.spend(problem.B, step)
        book.exchange(step)
        step /= 4
    mu = float(np.max(problem.p * marginal(book.f, problem.lam) / problem.s))
    return Mended(book.f, mu, book.steps)


class _Book:
    """What every copy has, and who would give and take next: two heaps whose outdated entries are passed over."""

    def __init__(self, problem: Problem, f: Floats) -> None:
        self.f = np.where(problem.p * problem.lam > 0, f, 0.0)
        self.steps = 0
        self._problem = problem
        self._version = [0] * len(problem)
        worth = (problem.p * marginal(self.f, problem.lam) / problem.s).tolist()
        self._takers = [(-value, i, 0) for i, value in enumerate(worth) if value > 0]
        self._givers = [(value, i, 0) for i, value in enumerate(worth) if self.f[i] > 0]
        heapq.heapify(self._takers)
        heapq.heapify(self._givers)
        self.spent = spent(problem, self.f)

    def spend(self, budget: float, step: float) -> None:
        """Take or give until exactly the budget is spent."""
        while abs(left := budget - self.spent) > 1e-12 * budget:
            chosen = self._head(self._takers if left > 0 else self._givers)
            if chosen is None:
                return
            self._move(chosen, max(-self._has(chosen), min(step, max(-step, left))))

    def exchange(self, step: float) -> None:
        """Move bandwidth from who gains least to who gains most, until a step would gain nothing."""
        while (giver := self._head(self._givers)) is not None and (taker := self._head(self._takers)) is not None:
            moved = min(step, self._has(giver))
            if giver == taker or self._worth(taker, moved) <= self._worth(giver, -moved):
                return
            self._move(giver, -moved)
            self._move(taker, moved)

    def _head(self, heap: list[tuple[float, int, int]]) -> int | None:
        while heap and heap[0][2] != self._version[heap[0][1]]:
            heapq.heappop(heap)
        return heap[0][1] if heap else None

    def _has(self, i: int) -> float:
        return float(self._problem.w[i] * self._problem.s[i] * self.f[i])

    def _worth(self, i: int, more: float) -> float:
        """What a bit of bandwidth is worth to a copy that has so much more of it."""
        problem = self._problem
        f = max(0.0, self.f[i] + more / (problem.w[i] * problem.s[i]))
        return float(problem.p[i] * marginal(f, problem.lam[i]) / problem.s[i])

    def _move(self, i: int, bandwidth: float) -> None:
        problem = self._problem
        self.f[i] = max(0.0, self.f[i] + bandwidth / (problem.w[i] * problem.s[i]))
        self.spent += bandwidth
        self.steps += 1
        self._version[i] += 1
        worth = self._worth(i, 0.0)
        heapq.heappush(self._takers, (-worth, i, self._version[i]))
        if self.f[i] > 0:
            heapq.heappush(self._givers, (worth, i, self._version[i]))
