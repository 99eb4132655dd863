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
from headgate.freshness.floors import above, allowed, for_age
from headgate.freshness.problem import Floats, Problem, perceived
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
    It is to begin `max_age` seconds after the one before at the latest, if the budget allows that.
    Its last turn was when it was last `tried`; it was last `seen` to be as its source then. It was refreshed so many
    times, of which it had `changed` so many, and so many `failed`.
    """

    rate: ChangeRate
    full: float
    cost: float
    tried: float
    seen: float
    max_age: float = math.inf
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
    """Copies by name, and the budget for them, which allows such a share of the refreshes that their ages ask for."""

    budget: Budget
    allowed: float = field(default=1.0, init=False)
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

    def add(
        self, name: Name, now: float, full: float = 1.0, seen: float | None = None, max_age: float = math.inf
    ) -> None:
        """Have a copy that was just taken, or taken anew by somebody else; what it holds was `seen` then."""
        seen = now if seen is None else seen
        if known := self.copies.get(name):
            self.copies[name] = replace(known, tried=now, seen=max(known.seen, seen), max_age=max_age)
            self.rescale(name, full)
        else:
            rate, cost = self._learned.get(name) or (self._guess(), 1.0)
            self.copies[name] = Copy(rate, full, cost * full, now, seen, max_age)
        self._schedule = None

    def rescale(self, name: Name, full: float) -> None:
        """A refresh of a copy takes so much of the budget: it has another size, or is counted in another unit."""
        if known := self.copies.get(name):
            self.copies[name] = replace(known, full=full, cost=known.cost / known.full * full)
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

        It took so many seconds; what it found is what was there at the beginning. One that is gone by now does not
        count.
        """
        old, seen = self.copies.get(name), now - seconds
        if old is None:
            return
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
        """A copy could not be refreshed, which has cost as much; one that is gone by now does not count."""
        old = self.copies.get(name)
        if old is None:
            return
        self.copies[name] = replace(old, tried=self._turn(name, now), failed=old.failed + 1)
        self._pay(old.full, now)

    # What is to be done

    def due(self, now: float) -> Name | None:
        """The copy to refresh now, if one is due and the budget allows it."""
        head, ages = self._head(), self._ages()
        self._fill(now)
        if ages and ages[0][0] <= now:
            name, spare = ages[0][1], self._tokens
        elif head and head[0] <= now:
            name, spare = head[1], self._spare(head[1], ages, now)
        else:
            return None
        return name if spare >= self.copies[name].full * (1 - 1e-9) else None

    def wait(self, now: float) -> float:
        """Seconds until one can be due; infinite if none ever is."""
        head, ages = self._head(), self._ages()
        self._fill(now)
        # What may not take what others need for their ages has to wait for the first of these.
        kept = head and self._spare(head[1], ages, now) < min(self._tokens, self.copies[head[1]].full)
        nexts = [*ages[:1], *([head] if head and not kept else [])]
        return min((self._until(*each, now) for each in nexts), default=math.inf)

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

    def gain(self, more: float) -> float | None:
        """What so much more budget in a period would add to the share of accesses that find their copy fresh."""
        if not self.copies or self.budget.policy == "none":
            return None
        names, amount = list(self.copies), self.budget.amount
        copies, p = [self.copies[name] for name in names], self._shares(names)
        now, then = (self._problem(copies, p, each) for each in (amount, amount + more))
        return perceived(then, self._spread(copies, then)) - perceived(now, self._spread(copies, now))

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

    def _ages(self) -> list[tuple[float, Name]]:
        """When copies become too old, and which, in this order; later where the budget does not suffice."""
        if self.budget.policy == "none":
            return []
        aged = ((name, copy) for name, copy in self.copies.items() if copy.max_age < math.inf)
        return sorted((max(copy.seen, copy.tried) + copy.max_age / self.allowed, name) for name, copy in aged)

    def _spare(self, name: Name, ages: Sequence[tuple[float, Name]], now: float) -> float:
        """What a copy can take of the budget now so that others do not become too old for want of it."""
        spare, before = self._tokens, 0.0
        for at, other in ages:
            if other != name:
                copy, gained = self.copies[other], (at - now) * self.budget.amount / self.budget.period
                spare = min(spare, self._tokens + gained - before - copy.full)
                before += copy.cost
        return spare

    def _until(self, at: float, name: Name, now: float) -> float:
        short = self.copies[name].full - self._tokens
        return max(0.0, at - now, short / self.budget.amount * self.budget.period)

    def _plan(self) -> None:
        names = self._planned = tuple(self.copies)
        if not names:
            self._frequencies, self._schedule, self.allowed = {}, None, 1.0
            return
        copies = [self.copies[name] for name in names]
        problem = self._problem(copies, self._shares(names), self.budget.amount)
        self.allowed = 1.0 if self.budget.policy == "none" else allowed(problem, self._least(copies))
        f = self._spread(copies, problem)
        self._frequencies = dict(zip(names, f.tolist(), strict=True))
        # From when each was last tried, so that a plan that changes keeps the order, and nobody is passed over.
        last = np.array([copy.tried for copy in copies])
        # All were taken at about the same time; their first refreshes are spread over their intervals.
        new = np.array([not (copy.refreshed or copy.failed) for copy in copies])
        ahead = np.divide(self.budget.period, f, out=np.zeros(len(f)), where=f > 0)
        last -= np.where(new, ahead * (1 - (np.arange(len(f)) + 1) / len(f)), 0.0)
        self._schedule = FixedOrder(f, self.budget.period, 0.0, last)

    def _problem(self, copies: Sequence[Copy], p: Floats, amount: float) -> Problem:
        period = self.budget.period
        lam = np.array([copy.rate.mean * period for copy in copies])
        # Refreshes may take too long to use the budget up: then there is no more than that to share.
        amount = min(amount, period / self._pace if self._pace else math.inf)
        return Problem.of(p, lam, amount, [copy.cost for copy in copies])

    def _least(self, copies: Sequence[Copy]) -> Floats:
        """Refreshes of each copy in a period that its age asks for."""
        return for_age([copy.max_age for copy in copies], self.budget.period)

    def _spread(self, copies: Sequence[Copy], problem: Problem) -> Floats:
        """Refreshes of each copy in a period."""
        policy, least = self.budget.policy, self._least(copies)
        least *= allowed(problem, least)
        if policy == "none":
            return np.zeros(len(copies))
        if policy == "uniform":
            return above(problem, least, uniform(problem))
        explored = uniform(replace(problem, B=EXPLORED * problem.B))
        if policy == "change":
            changing = by_change(replace(problem, B=(1 - EXPLORED) * problem.B))
            return above(problem, least, explored + changing)
        return solve(problem, above(problem, least, explored)).f

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
