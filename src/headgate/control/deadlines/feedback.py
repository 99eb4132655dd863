"""The owner of the plan: estimates of all queries in, what each may read until the next time out.

Every plan starts from what queries would cost with nothing shed. To shed on top of what is shed already would never
let go of it, so whoever measures a query that keeps a part of its windows has to undo that before it is estimated.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from headgate.control.deadlines.exact import Number
from headgate.control.deadlines.keeping import Allowance, Solve, fraction
from headgate.control.deadlines.profiles import Profile
from headgate.control.deadlines.reduction import Infeasible, Reduced, Stage, reduce, reduce_edf
from headgate.control.deadlines.schedulability import (
    Verdict,
    edf_level,
    edf_longest_pieces,
    edf_schedulable,
    load,
    longest_pieces,
    schedulable,
)
from headgate.control.deadlines.task import Task, by_deadline, by_rate
from headgate.policy.protocol import Why

FORMULA = "ΣN·e = B + V(t) − t·(1 − η) taken where a query would be late"
SAME = 1e-9
"""A plan that would lose less by so small a part is not another one."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a query is expected to ask for: an iteration every `period`, `due` after its release.

    `tuples` (ŵ) and `cost` (Ê) are those of a whole window; `fixed` (c0) is the part of the cost that does not go
    with the tuples. `selectivity` is results per source tuple, `piece` the longest stretch that cannot be
    interrupted. `per_tuple` is the time that a source tuple takes, where that is not the rest of the cost by tuples;
    `solve` says what can be kept for a budget, where that is not linear.
    """

    period: float
    due: float
    weight: float
    tuples: float
    cost: float
    fixed: float = 0.0
    selectivity: float = 1.0
    piece: float = 0.0
    per_tuple: float | None = None
    solve: Solve | None = None

    def kept(self, budget: float) -> float:
        """The fraction of a window that can be read in such a time."""
        return self.solve(budget) if self.solve and budget < self.cost else fraction(budget, self.cost, self.fixed)

    def at(self, k: float) -> float:
        """The cost of an iteration that keeps a fraction, if all tuples cost the same."""
        fixed = min(self.fixed, self.cost)
        return fixed + k * (self.cost - fixed)

    def each(self) -> float:
        """The time that a source tuple takes."""
        if self.per_tuple is not None:
            return self.per_tuple
        return max(0.0, self.cost - self.fixed) / self.tuples if self.tuples > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What holds from `since` on.

    `verdict` is that of the test with nothing shed, whose indices count in `order`, the queries by priority. `level`
    is the demand per time at the tightest point with the plan. `suspended` queries do not run: even with every query
    at its least, all of them together would be too much. `longest` is how long a piece of each may be so that all
    before it can wait for it.
    """

    id: int
    since: float
    allowances: Mapping[str, Allowance]
    order: tuple[str, ...]
    verdict: Verdict
    level: float
    reduced: bool
    suspended: tuple[str, ...]
    stages: tuple[Stage, ...]
    longest: Mapping[str, float]
    why: Why


def tasks_of(estimates: Mapping[str, Estimate], profile: Profile) -> tuple[Task, ...]:
    """The queries as the analysis sees them, in the order of priority."""
    tasks = [
        Task(
            *(name, each.cost, each.period, each.due, each.weight, each.selectivity),
            floor=each.at(profile.floor),
            piece=each.piece if profile.preemptive else each.cost,
        )
        for name, each in estimates.items()
    ]
    return by_rate(tasks) if profile.order == "rate" else by_deadline(tasks)


def judged(tasks: Sequence[Task], profile: Profile, carried: Sequence[Number] = ()) -> Verdict:
    """The test that belongs to the profile's order."""
    if profile.order != "edf":
        return schedulable(tasks, margin=profile.margin, carried=carried)
    # Whatever is in the way of one may be in the way of all.
    blocked = sum(carried, start=0)
    ok = edf_schedulable(tasks, profile.margin, blocked)
    # It is above what is needed, and a set that passes is at its limit at most.
    level = min(edf_level(tasks, blocked), 1 - profile.margin) if ok else max(load(tasks), 1.0)
    return Verdict(ok, None if ok else len(tasks) - 1, level, 1.0, 0, max(0, len(tasks) - 1))


def reduced(
    tasks: Sequence[Task], profile: Profile, estimates: Mapping[str, Estimate], carried: Sequence[Number] = ()
) -> Reduced:
    """The reduction that belongs to the profile; raises Infeasible if the floors do not fit."""
    how = profile.reduction
    if how is None:
        return Reduced(tuple(task.cost for task in tasks))
    per_tuple = [estimates[task.name].each() for task in tasks]
    if profile.order == "edf":
        return reduce_edf(tasks, how.margin, how.split, per_tuple, sum(carried, start=0))
    return reduce(tasks, how, per_tuple, carried)


@dataclass
class Feedback:
    """Makes plans for a profile; the last one is its only memory.

    When an iteration is released, something else may be in its way that cannot be interrupted, for as long as
    `blocked`.
    """

    profile: Profile
    blocked: float = 0.0
    plan: Plan | None = field(default=None, init=False)

    def reschedule(
        self, now: float, estimates: Mapping[str, Estimate], carried: Mapping[str, float] | None = None
    ) -> Plan:
        """The plan for such estimates; equal priorities go by the order in which queries are given.

        `carried` is work of released iterations that is unfinished. It counts only if the profile says so.
        """
        work = carried if carried and self.profile.carried else {}
        plan = self._made(now, estimates, work)
        if self.profile.lasting and self.plan and self._lasts(self.plan, plan, estimates, work):
            return self.plan
        self.plan = plan
        return plan

    def _made(self, now: float, estimates: Mapping[str, Estimate], work: Mapping[str, float]) -> Plan:
        profile = self.profile
        tasks = tasks_of(estimates, profile)
        verdict = judged(tasks, profile, in_order(tasks, work, self.blocked))
        found = Reduced(tuple(task.cost for task in tasks))
        suspended: tuple[str, ...] = ()
        if not verdict.ok and profile.reduction:
            found, suspended = self._fitting(tasks, estimates, work)
        running = tuple(task for task in tasks if task.name not in suspended)
        level = self._level(running, found, work)
        allowances = {
            task.name: self._allowance(estimates[task.name], float(cost), level)
            for task, cost in zip(running, found.costs, strict=True)
        }
        shed = any(each.shed for each in allowances.values())
        terms = {"L": float(verdict.level), "L'": level, "t": float(verdict.at), "B": float(verdict.blocking)}
        terms |= {"η": profile.margin, "taken": float(sum(stage.amount for stage in found.stages))}
        return Plan(
            id=self.plan.id + 1 if self.plan else 1,
            since=now,
            allowances={name: allowances[name] for name in estimates if name in allowances},
            order=tuple(task.name for task in tasks),
            verdict=verdict,
            level=level,
            reduced=shed,
            suspended=suspended,
            stages=found.stages,
            longest=self._longest(running, allowances) if profile.reclaims else {},
            why=Why(FORMULA, terms),
        )

    def _fitting(
        self, tasks: Sequence[Task], estimates: Mapping[str, Estimate], work: Mapping[str, float]
    ) -> tuple[Reduced, tuple[str, ...]]:
        """The reduction, and who has to be suspended for it: the lightest first, of equal ones the last to come."""
        found = self._try(tasks, estimates, work)
        if found is not None:
            return found, ()
        last = {name: place for place, name in enumerate(estimates)}
        lightest = sorted(tasks, key=lambda task: (task.weight, -last[task.name]))
        out: list[str] = []
        while found is None:
            out.append(lightest[len(out)].name)
            found = self._try([task for task in tasks if task.name not in out], estimates, work)
        # Who was not in the way comes back, the heaviest first.
        for name in reversed(out[:-1]):
            fewer = [each for each in out if each != name]
            again = self._try([task for task in tasks if task.name not in fewer], estimates, work)
            if again is not None:
                found, out = again, fewer
        return found, tuple(out)

    def _try(
        self, tasks: Sequence[Task], estimates: Mapping[str, Estimate], work: Mapping[str, float]
    ) -> Reduced | None:
        # Work that is there already cannot be shed: a set is not too much because of it.
        for left in (work, {}) if work else ({},):
            carried = in_order(tasks, left, self.blocked)
            try:
                return reduced(tasks, self.profile, estimates, carried)
            except Infeasible:
                continue
        return None

    def _level(self, tasks: Sequence[Task], found: Reduced, work: Mapping[str, float]) -> float:
        after = [
            Task(task.name, max(cost, 0), task.period, task.deadline, piece=min(task.piece, max(cost, 0)))
            for task, cost in zip(tasks, found.costs, strict=True)
        ]
        verdict = judged(after, self.profile, in_order(tasks, work, self.blocked))
        return float(verdict.level)

    def _longest(self, tasks: Sequence[Task], allowances: Mapping[str, Allowance]) -> dict[str, float]:
        held = [replace(task, cost=allowances[task.name].budget, floor=0, piece=0) for task in tasks]
        found = edf_longest_pieces if self.profile.order == "edf" else longest_pieces
        limits = found(held, self.profile.margin)
        return {task.name: float(q) - self.blocked for task, q in zip(tasks, limits, strict=True)}

    def _allowance(self, estimate: Estimate, cost: float, level: float) -> Allowance:
        hold = self.profile.hold
        budget = max(0.0, cost)
        if hold == "clampx":
            spare = (1 - self.profile.margin) / level if level > 0 else math.inf
            # A set that nothing could be done for is not made smaller still by a level above 1.
            budget = budget * max(1.0, spare) if budget else 0.0
        k = estimate.kept(budget)
        return Allowance(hold, k, estimate.tuples * (1 - k), budget, k < 1)

    def _lasts(self, old: Plan, new: Plan, estimates: Mapping[str, Estimate], work: Mapping[str, float]) -> bool:
        """Whether the old plan still meets all deadlines, and a new one would not lose less."""
        if old.suspended != new.suspended or set(old.order) != set(estimates):
            return False
        running = {name: each for name, each in estimates.items() if name in old.allowances}
        keeps = {name: old.allowances[name].keep(each.tuples, each.cost, each.kept) for name, each in running.items()}
        tasks = tasks_of(running, self.profile)
        costs = tuple(running[task.name].at(keeps[task.name]) for task in tasks)
        if self._level(tasks, Reduced(costs), work) > (1 - self.profile.margin) * (1 + SAME):
            return False
        fresh = {name: each.fraction for name, each in new.allowances.items()}
        return _lost(running, keeps) <= _lost(running, fresh) * (1 + SAME)


def in_order(tasks: Sequence[Task], work: Mapping[str, float], blocked: float = 0.0) -> tuple[float, ...]:
    """What is in the way of each task when it is released: unfinished work, and for all of them what is `blocked`."""
    found = [work.get(task.name, 0.0) for task in tasks]
    if found:
        # What the first has to wait for, all others have to as well.
        found[0] += blocked
    return tuple(found) if any(found) else ()


def _lost(estimates: Mapping[str, Estimate], keeps: Mapping[str, float]) -> float:
    """The weighted results per second that such fractions leave out."""
    return sum(
        each.weight * each.selectivity * each.tuples * (1 - keeps[name]) / each.period
        for name, each in estimates.items()
    )
