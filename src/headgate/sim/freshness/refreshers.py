"""Ways to run a mirror: by a plan, by a plan that learns change rates, and with bandwidth kept for who waits."""

import math
from dataclasses import replace

import numpy as np

from headgate.freshness.fixed_order import FixedOrder
from headgate.freshness.problem import Floats, Problem
from headgate.freshness.rates import ChangeRate
from headgate.freshness.solver import solve
from headgate.freshness.split import Requests


class Planned:
    """Refreshes by a plan that stays."""

    def __init__(self, f: Floats) -> None:
        self._order = FixedOrder(f)

    @property
    def due(self) -> float:
        """When the plan has the next refresh."""
        head = self._order.head
        return head.at if head else math.inf

    def take(self) -> int | None:
        """Whom it has."""
        return next(self._order).copy

    def accessed(self, copy: int, now: float) -> None:
        """The plan does not look at accesses."""

    def refreshed(self, copy: int, now: float, changed: bool) -> None:
        """The plan does not look at what it finds."""


class Learning(Planned):
    """Begins with a guess of all change rates, learns from every refresh, and plans anew every so many periods.

    A part of the bandwidth, `explore`, is spread over all copies: what is never refreshed would never be learned.
    """

    def __init__(self, problem: Problem, guess: float, every: float, explore: float = 0.0) -> None:
        self.rates = [ChangeRate.guess(guess)] * len(problem)
        self._problem = problem
        self._every = every
        self._floor = np.full(len(problem), explore * problem.B / float(np.sum(problem.w * problem.s)))
        self._last = np.zeros(len(problem))
        self._next_plan = every
        super().__init__(self._plan())

    @property
    def estimates(self) -> Floats:
        """The change rates as they are known."""
        return np.array([rate.mean for rate in self.rates])

    def _plan(self) -> Floats:
        return solve(replace(self._problem, lam=self.estimates), self._floor).f

    def refreshed(self, copy: int, now: float, changed: bool) -> None:
        """Learn, and plan if it is time to."""
        self.rates[copy] = self.rates[copy].observe(now - float(self._last[copy]), changed)
        self._last[copy] = now
        if now >= self._next_plan:
            self._next_plan = now + self._every
            self._order = FixedOrder(self._plan(), start=now, last=self._last)


class Split(Planned):
    """A plan for a part of the bandwidth, and the rest at equal intervals for who waits, by rates that it learns."""

    def __init__(self, problem: Problem, planned: float, eligible: int = 50) -> None:
        super().__init__(solve(replace(problem, B=planned * problem.B)).f)
        left = (1 - planned) * problem.B
        self._every = 1 / left if left > 0 else math.inf
        self._turn = self._every
        self._requests = Requests(problem.lam.copy(), problem.s, eligible)
        self._rates = [ChangeRate.guess(lam, trust=5.0) for lam in problem.lam.tolist()]
        self._last = np.zeros(len(problem))

    @property
    def due(self) -> float:
        """The plan's next refresh, or the next turn of who waits."""
        return min(super().due, self._turn)

    def take(self) -> int | None:
        """Whom the plan has, or who has waited longest."""
        if super().due <= self._turn:
            return super().take()
        now = self._turn
        self._turn += self._every
        return self._requests.choose(now)

    def accessed(self, copy: int, now: float) -> None:
        """Somebody waits for a copy that may be stale."""
        self._requests.request(copy, now)

    def refreshed(self, copy: int, now: float, changed: bool) -> None:
        """Nobody waits any more; the copy's rate is a little better known."""
        rate = self._rates[copy].forget(0.9).observe(now - float(self._last[copy]), changed)
        self._rates[copy] = rate
        self._requests.lam[copy] = rate.mean
        self._last[copy] = now
        self._requests.refreshed(copy, now)
