"""A plan that is mended where something has changed, and not made anew.

Bandwidth goes, step by step, from the copy that loses least by it to the one that gains most. Each step touches two
copies, however many there are; copies that are as well off as the others keep what they have.
"""

import heapq
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc

from headgate.freshness.problem import SHAPE, Floats, Problem, marginal, spent
from headgate.freshness.solver import Solution


@dataclass(frozen=True, slots=True, eq=False)
class Mended(Solution):
    """A plan that was mended, and in how many steps."""

    steps: int


def mend(problem: Problem, f: Floats, tolerance: float = 0.02) -> Mended:
    """The plan f made good for a problem that has changed.

    All refreshes are scaled to the budget. Then bandwidth is moved until what one more unit adds is the same for all
    that are refreshed, up to the tolerance.
    """
    wanted = (problem.p > 0) & (problem.lam > 0)
    kept = np.where(wanted, f, 0.0)
    if not kept.any():
        kept = wanted.astype(float)
    if not kept.any():
        return Mended(kept, 0.0, 0)
    book = _Book(problem, kept * (problem.B / spent(problem, kept)))
    steps = 0
    while book.exchange(tolerance):
        steps += 1
    mu = float(np.max(problem.p * marginal(book.f, problem.lam) / problem.s))
    return Mended(book.f, mu, steps)


class _Book:
    """What every copy has, and who would give and take next: two heaps whose outdated entries are passed over."""

    def __init__(self, problem: Problem, f: Floats) -> None:
        self.f = f
        self._problem = problem
        self._version = [0] * len(f)
        worth = (problem.p * marginal(f, problem.lam) / problem.s).tolist()
        self._takers = [(-value, i, 0) for i, value in enumerate(worth) if value > 0]
        self._givers = [
            (value, i, 0) for i, (value, has) in enumerate(zip(worth, f.tolist(), strict=True)) if has > 0
        ]
        heapq.heapify(self._takers)
        heapq.heapify(self._givers)

    def exchange(self, tolerance: float) -> bool:
        """Move bandwidth from who loses least to who gains most, if that gains enough."""
        if not self._givers:
            return False
        (low, giver), (high, taker) = self._head(self._givers), self._head(self._takers)
        if -high <= (1 + tolerance) * low:
            return False
        # All that the giver has, or so much less of it that the giver does not become the one to gain most.
        moved = float(self._problem.w[giver] * self._problem.s[giver] * self.f[giver])
        while self._worth(taker, moved) <= self._worth(giver, -moved):
            moved /= 2
        self._move(giver, -moved)
        self._move(taker, moved)
        return True

    def _head(self, heap: list[tuple[float, int, int]]) -> tuple[float, int]:
        while heap[0][2] != self._version[heap[0][1]]:
            heapq.heappop(heap)
        return heap[0][:2]

    def _after(self, i: int, more: float) -> float:
        """The refreshes of a copy that has so much more bandwidth."""
        f = self.f[i] + more / (self._problem.w[i] * self._problem.s[i])
        # What is left by rounding only would be given away for ever.
        return float(f) if f > 1e-12 * self.f[i] else 0.0

    def _worth(self, i: int, more: float) -> float:
        """What a bit of bandwidth is worth to a copy that has so much more of it."""
        problem, f = self._problem, self._after(i, more)
        gained = gammainc(SHAPE, problem.lam[i] / f) if f else 1.0
        return float(problem.p[i] * gained / (problem.lam[i] * problem.s[i]))

    def _move(self, i: int, bandwidth: float) -> None:
        self.f[i] = self._after(i, bandwidth)
        self._version[i] += 1
        worth = self._worth(i, 0.0)
        heapq.heappush(self._takers, (-worth, i, self._version[i]))
        if self.f[i] > 0:
            heapq.heappush(self._givers, (worth, i, self._version[i]))
