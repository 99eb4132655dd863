"""Refreshing as it goes on: what is learned of each copy, how often it is refreshed by that, and which is next.

    accessed ──▶ profile p ─┐
    refreshed ─▶ rates λ ───┼─▶ frequencies f ──▶ Fixed-Order schedule ──▶ the copy that is due
              └▶ costs s ───┘                     held to the budget by a bucket of tokens

Time is a value that is passed in. Whoever refreshes asks `due`, does it, and says how that went.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar, get_args

import numpy as np

from headgate.errors import InputError
from headgate.freshness.baselines import by_change, uniform
from headgate.freshness.fixed_order import FixedOrder
from headgate.freshness.problem import Floats, Problem
from headgate.freshness.profiles import Accesses
from headgate.freshness.rates import ChangeRate
from headgate.freshness.solver import solve

Way = Literal["profile", "uniform", "change", "none"]
Name = TypeVar("Name", bound=tuple[str, ...])

EXPLORED = 0.1
"""The share of the budget that goes to all copies alike: what is never looked at is never known to have changed."""

LOOK = 0.1
"""What it costs to see that nothing has changed, where the source tells its version, of what a refresh costs."""

_HALF_LIFE = 300.0
"""Seconds in which an access loses half of its weight."""

_KEPT = 0.95
"""The weight that earlier refreshes keep with each one, so that a change rate can wander."""

_COSTS = 0.2
"""How much the last refresh counts in what a copy costs."""

SAVED = 3
"""Refreshes for which budget is saved up at most: queries would feel a rush of more."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What refreshes may take of a period, and by what it is shared among copies.

    By `profile`, accesses see as much freshness as it allows; `uniform` and `change` look at nothing, or at change
    rates alone; with `none` nothing is refreshed.
    """

    amount: float
    period: float = 60.0
    policy: Way = "profile"

    def __post_init__(self) -> None:
        if not 0 < self.amount < math.inf:
            raise InputError("a refresh budget is a number above 0", self.amount, "Give the refreshes of a period.")
        if not 0 < self.period < math.inf:
            raise InputError("the period of a refresh budget is above 0 s", self.period, "Write it like 60s.")
        if self.policy not in get_args(Way):
            ways = ", ".join(get_args(Way))
            raise InputError("a known way to refresh", f"'{self.policy}'", f"Choose {ways}.")


@dataclass(frozen=True, slots=True)
class Copy:
    """What is known of a copy: its change rate per second, what refreshing it takes, and when it was last done.

    A refresh takes `full` of the budget, or less where a version tells that nothing has changed; on average `cost`.
    Its last turn was when it was last `tried`; it was last `seen` to be as its source then. It was refreshed so many
    times, of which it had `changed` so many, and so many `failed`.
    """

    rate: ChangeRate
    full: float
    cost: float
    tried: float
    seen: float
    refreshed: int = 0
    changed: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """How a copy fares: its share of accesses, changes per second, how likely it is fresh now, and its interval."""

    share: float
    rate: float
    age: float
    freshness: float
    every: float
    copy: Copy


@dataclass
class Refreshing(Generic[Name]):
    """Copies by name, and the budget for them."""

    budget: Budget
    copies: dict[Name, Copy] = field(default_factory=dict, init=False)
    spent: float = field(default=0.0, init=False)
    _accesses: Accesses[Name] = field(init=False)
    _learned: dict[Name, tuple[ChangeRate, float]] = field(default_factory=dict, init=False)
    _frequencies: dict[Name, float] = field(default_factory=dict, init=False)
    _schedule: FixedOrder | None = field(default=None, init=False)
    _planned: tuple[Name, ...] = field(default=(), init=False)
    _pace: float = field(default=0.0, init=False)
    _tokens: float = field(default=0.0, init=False)
    _filled: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._accesses = Accesses(_HALF_LIFE)

    def change(self, budget: Budget) -> None:
        """Go on with another budget; what is learned stays."""
        self.budget, self._schedule = budget, None
        self._tokens = min(self._tokens, self._depth())

    # What happens

    def add(self, name: Name, now: float, full: float = 1.0) -> None:
        """Have a copy that was just taken, or taken anew by somebody else."""
        if known := self.copies.get(name):
            self.copies[name] = replace(known, full=full, tried=now, seen=now)
        else:
            rate, cost = self._learned.get(name) or (self._guess(), 1.0)
            self.copies[name] = Copy(rate, full, cost * full, now, now)
        self._schedule = None

    def remove(self, name: Name) -> None:
        """Have it no more."""
        self.copies.pop(name, None)
        self._schedule = None

    def accessed(self, name: Name, times: float, now: float) -> None:
        """Count accesses to a copy."""
        self._accesses.observe(name, now, times)

    def refreshed(
        self, name: Name, now: float, full: float, *, changed: bool, looked: bool = False, seconds: float = 0.0
    ) -> None:
        """A copy was refreshed: whether it had changed, and whether a look at its version was enough to see that.

        It took so many seconds; what it found is what was there at the beginning.
        """
        old, seen = self.copies[name], now - seconds
        rate = old.rate.forget(_KEPT).observe(seen - old.seen, changed)
        took = full * LOOK if looked else full
        cost = old.cost + _COSTS * (took - old.cost)
        counts = {"refreshed": old.refreshed + 1, "changed": old.changed + changed}
        self.copies[name] = replace(
            old, rate=rate, full=full, cost=cost, tried=self._turn(name, now), seen=seen, **counts
        )
        self._pace += _COSTS * (seconds / took - self._pace)
        self._pay(took, now)

    def failed(self, name: Name, now: float) -> None:
        """A copy could not be refreshed, which has cost as much."""
        old = self.copies[name]
        self.copies[name] = replace(old, tried=self._turn(name, now), failed=old.failed + 1)
        self._pay(old.full, now)

    # What is to be done

    def due(self, now: float) -> Name | None:
        """The copy to refresh now, if one is due and the budget allows it."""
        head = self._head()
        if head is None or head[0] > now:
            return None
        name = head[1]
        self._fill(now)
        return name if self._tokens >= self.copies[name].full * (1 - 1e-9) else None

    def wait(self, now: float) -> float:
        """Seconds until one can be due; infinite if none ever is."""
        head = self._head()
        if head is None:
            return math.inf
        self._fill(now)
        short = self.copies[head[1]].full - self._tokens
        return max(0.0, head[0] - now, short / self.budget.amount * self.budget.period)

    def estimates(self, now: float) -> dict[Name, Estimate]:
        """How each copy fares."""
        self._head()
        shares = self._shares(list(self.copies))
        found = {}
        for (name, copy), share in zip(self.copies.items(), shares.tolist(), strict=True):
            age = max(0.0, now - copy.seen)
            f = self._frequencies.get(name, 0.0)
            fresh, every = math.exp(-copy.rate.mean * age), self.budget.period / f if f else math.inf
            found[name] = Estimate(share, copy.rate.mean, age, fresh, every, copy)
        return found

    # What outlives the process

    def learned(self, now: float) -> list[dict[str, Any]]:
        """Change rates, costs and accesses, to be kept."""
        counts = self._accesses.counts(now)
        known = self._learned | {name: (copy.rate, copy.cost / copy.full) for name, copy in self.copies.items()}
        return [
            {"name": list(name), "a": rate.a, "b": rate.b, "cost": cost, "accesses": counts.get(name, 0.0)}
            for name, (rate, cost) in known.items()
        ]

    def recall(self, learned: Sequence[Mapping[str, Any]], now: float) -> None:
        """Begin with what was learned before."""
        for each in learned:
            name: Any = tuple(each["name"])
            self._learned[name] = ChangeRate(each["a"], each["b"]), each["cost"]
            if name in self.copies:
                rate, cost = self._learned[name]
                self.copies[name] = replace(self.copies[name], rate=rate, cost=cost * self.copies[name].full)
            if each["accesses"]:
                self._accesses.observe(name, now, each["accesses"])
        self._schedule = None

    # Inside

    def _guess(self) -> ChangeRate:
        """Before anything is seen of a copy: it changes about as often as the budget could refresh it."""
        return ChangeRate.guess(self.budget.amount / self.budget.period / (len(self.copies) + 1))

    def _shares(self, names: Sequence[Name]) -> Floats:
        counts = self._accesses.profile.frequencies
        found = np.array([counts.get(name, 0.0) for name in names])
        total = float(found.sum())
        return found / total if total > 0 else np.full(len(names), 1 / max(1, len(names)))

    def _head(self) -> tuple[float, Name] | None:
        """The copy that is next, and when."""
        if self._schedule is None:
            self._plan()
        head = self._schedule.head if self._schedule else None
        return (head.at, self._planned[head.copy]) if head else None

    def _plan(self) -> None:
        names = self._planned = tuple(self.copies)
        if not names:
            self._frequencies, self._schedule = {}, None
            return
        copies = [self.copies[name] for name in names]
        f = self._spread(copies, self._shares(names))
        self._frequencies = dict(zip(names, f.tolist(), strict=True))
        # From when each was last tried, so that a plan that changes keeps the order, and nobody is passed over.
        last = np.array([copy.tried for copy in copies])
        # All were taken at about the same time; their first refreshes are spread over their intervals.
        new = np.array([not (copy.refreshed or copy.failed) for copy in copies])
        ahead = np.divide(self.budget.period, f, out=np.zeros(len(f)), where=f > 0)
        last -= np.where(new, ahead * (1 - (np.arange(len(f)) + 1) / len(f)), 0.0)
        self._schedule = FixedOrder(f, self.budget.period, 0.0, last)

    def _spread(self, copies: Sequence[Copy], p: Floats) -> Floats:
        """Refreshes of each copy in a period."""
        period, policy = self.budget.period, self.budget.policy
        lam = np.array([copy.rate.mean * period for copy in copies])
        # Refreshes may take too long to use the budget up: then there is no more than that to share.
        amount = min(self.budget.amount, period / self._pace if self._pace else math.inf)
        problem = Problem.of(p, lam, amount, [copy.cost for copy in copies])
        if policy == "none":
            return np.zeros(len(copies))
        if policy == "uniform":
            return uniform(problem)
        least = uniform(replace(problem, B=EXPLORED * problem.B))
        if policy == "change":
            return least + by_change(replace(problem, B=(1 - EXPLORED) * problem.B))
        return solve(problem, least).f

    def _turn(self, name: Name, now: float) -> float:
        """When its turn was, from which the next one counts: what comes late does not make intervals longer.

        It is no further behind than an interval, or one that is always late would always be first.
        """
        every = self.budget.period / f if (f := self._frequencies.get(name, 0.0)) else 0.0
        return min(now, max(self.copies[name].tried + every, now - every))

    def _pay(self, took: float, now: float) -> None:
        self._fill(now)
        self._tokens -= took
        self.spent += took
        self._schedule = None

    def _fill(self, now: float) -> None:
        since = now if self._filled is None else self._filled
        gained = max(0.0, now - since) * self.budget.amount / self.budget.period
        self._tokens, self._filled = min(self._depth(), self._tokens + gained), max(now, since)

    def _depth(self) -> float:
        return SAVED * max((copy.full for copy in self.copies.values()), default=0.0)
