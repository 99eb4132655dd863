"""Whether a new query can be served beside those that run, and what would fit if not.

A query is admitted if all deadlines are met with it; admitted with a reduction if they are met once the profile has
shed what it may; and refused if they are not met even then. Whoever is refused hears who would be late and by how
much, and what would fit, found by trying it: a later deadline, a longer stride, a part of the tuples.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from headgate.control.deadlines.feedback import Estimate, in_order, judged, reduced, tasks_of
from headgate.control.deadlines.profiles import Profile
from headgate.control.deadlines.reduction import Infeasible
from headgate.control.deadlines.schedulability import Verdict, load, response_time
from headgate.control.deadlines.task import Task
from headgate.errors import InputError

Kind = Literal["admit", "reduce", "refuse"]

FARTHEST = 64.0
"""A stride that is longer by more than that is no offer."""
LEAST = 0.01
"""A smaller part of the tuples is no offer."""
FAR = 50
"""A query that is not done in so many times its deadline is not going to be."""
PRECISE = 1.005
"""How near to the limit a search goes, as a ratio."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What would fit: a stride and a deadline in seconds, a window in units of that asked for, a part to read."""

    stride: float
    due: float
    window: float = 1.0
    kept: float = 1.0

    def applied(self, asked: Estimate) -> Estimate:
        """The query as offered: of other windows the tuples and what goes with them are other."""
        part = self.window * self.kept
        cost = asked.at(part)
        piece = cost if asked.piece >= asked.cost else asked.piece
        changed = replace(asked, tuples=part * asked.tuples, cost=cost, piece=piece, solve=None)
        return replace(changed, period=self.stride, due=self.due)

    def told(self, asked: Estimate) -> str:
        """The offer in words."""
        if self.kept < 1:
            return f"reading {self.kept:.0%} of its tuples"
        if self.stride == asked.period:
            return f"a deadline of {_seconds(self.due)}"
        window = f"a window {self.window:.3g} times as long" if self.window > 1 else "the same window"
        return f"a stride of {_seconds(self.stride)} with {window}"


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer: what becomes of the query, why in words, what would fit instead, and what every query keeps.

    The `remedy` has the offers in words. Nothing is kept of a query that is refused, and nothing changes for others.
    """

    kind: Kind
    reason: str
    offers: tuple[Offer, ...]
    kept: Mapping[str, float]
    remedy: str = ""

    @property
    def offer(self) -> Offer | None:
        """The offer that changes least."""
        return self.offers[0] if self.offers else None


def admit(
    running: Mapping[str, Estimate],
    name: str,
    new: Estimate,
    profile: Profile,
    capacity: float = 1.0,
    blocked: float = 0.0,
) -> Admission:
    """The answer to a new query; `capacity` is the part of the processor that queries with deadlines may have.

    Other work may be in the way of an iteration that is released, for as long as `blocked`.
    """
    if not 0 < capacity <= 1:
        raise InputError(
            "a capacity is a part of the processor, above 0 and up to 1", capacity, "Give 1 for all of it."
        )
    if name in running:
        raise InputError("every query has a name of its own", f"'{name}' twice", "Give the new query another name.")
    trial = _Trial(running, name, profile, capacity, blocked)
    tasks, verdict = trial.judged(new)
    if verdict.ok:
        tight = tasks[verdict.tightest].name
        reason = (
            f"'{name}' fits: the load is {trial.load(tasks)}, and '{tight}' is the tightest at {verdict.level:.0%}."
        )
        return Admission("admit", reason, (), dict.fromkeys((*running, name), 1.0))
    found = trial.kept(new)
    late = trial.late(tasks, verdict)
    if found is not None:
        keep = ", ".join(f"'{each}' {k:.0%}" for each, k in found.items() if k < 1)
        reason = (
            f"With '{name}' {late}. All deadlines are met if tuples are shed: kept are {keep}, and all of the rest."
        )
        return Admission("reduce", reason, (), found)
    offers = trial.offers(new)
    least = f" even if every query keeps {profile.floor:.0%} of its tuples" if profile.reduction else ""
    if profile.reduction:
        late = trial.late(*trial.judged_at_least(new))
    would = " or ".join(offer.told(new) for offer in offers)
    remedy = f"It would fit with {would}." if offers else f"Remove a query first: nothing smaller of '{name}' fits."
    return Admission("refuse", f"with '{name}' {late}{least}", offers, {}, remedy)


@dataclass(frozen=True, slots=True)
class _Trial:
    running: Mapping[str, Estimate]
    name: str
    profile: Profile
    capacity: float
    blocked: float

    def judged(self, new: Estimate) -> tuple[Sequence[Task], Verdict]:
        tasks = tasks_of(self.slowed(new), self.profile)
        return tasks, judged(tasks, self.profile, in_order(tasks, {}, self.blocked))

    def judged_at_least(self, new: Estimate) -> tuple[Sequence[Task], Verdict]:
        tasks = [replace(task, cost=min(task.floor, task.cost)) for task in tasks_of(self.slowed(new), self.profile)]
        return tasks, judged(tasks, self.profile, in_order(tasks, {}, self.blocked))

    def late(self, tasks: Sequence[Task], verdict: Verdict) -> str:
        """Who would be late, and by how much."""
        who = verdict.failing
        if self.profile.order == "edf" or who is None:
            soonest = min(tasks, key=lambda task: task.deadline)
            fits = "" if load(tasks) > 1 else f", and what cannot be interrupted in the way of '{soonest.name}'"
            return f"the load would be {self.load(tasks)}{fits}"
        task = tasks[who]
        due = float(task.deadline)
        done = response_time(tasks, who, until=FAR * due)
        if done is None:
            return f"'{task.name}' would never catch up with its deadlines, as the load is {self.load(tasks)}"
        if done <= due:
            return f"'{task.name}' would be done {_seconds(due - float(done))} before it is due, within the margin"
        by = f"{_seconds(float(done) - due)} after its deadline of {_seconds(due)}"
        return f"'{task.name}' would be done {by}, as the load is {self.load(tasks)}"

    def load(self, tasks: Sequence[Task]) -> str:
        """The load in words, with what it is a part of."""
        of = f" of the {self.capacity:.0%} of the processor that there is" if self.capacity < 1 else ""
        return f"{float(load(tasks)):.0%}{of}"

    def slowed(self, new: Estimate) -> dict[str, Estimate]:
        """All queries on a processor of which only a part can be had."""
        c = self.capacity
        return {
            name: replace(
                each,
                cost=each.cost / c,
                fixed=each.fixed / c,
                piece=each.piece / c,
                per_tuple=each.each() / c,
                solve=None,
            )
            for name, each in {**self.running, self.name: new}.items()
        }

    def kept(self, new: Estimate) -> dict[str, float] | None:
        """What every query keeps; None if the deadlines cannot be met."""
        slowed = self.slowed(new)
        tasks = tasks_of(slowed, self.profile)
        if judged(tasks, self.profile, in_order(tasks, {}, self.blocked)).ok:
            return dict.fromkeys(slowed, 1.0)
        if self.profile.reduction is None:
            return None
        # Most of what is looked at for an offer does not fit by far, and this is found out sooner than what would.
        if self.profile.reduction.reading == "wf" and not self.judged_at_least(new)[1].ok:
            return None
        try:
            found = reduced(tasks, self.profile, slowed, in_order(tasks, {}, self.blocked))
        except Infeasible:
            return None
        costs = {task.name: float(cost) for task, cost in zip(tasks, found.costs, strict=True)}
        return {name: each.kept(costs[name]) for name, each in slowed.items()}

    def fits(self, offer: Offer, new: Estimate) -> bool:
        applied = offer.applied(new)
        # What is said to be read is read: no more of it is shed.
        return self.kept(replace(applied, fixed=applied.cost) if offer.kept < 1 else applied) is not None

    def offers(self, new: Estimate) -> tuple[Offer, ...]:
        """What fits, from the least change up."""

        def due_at(stride: float) -> float:
            return min(new.due * stride / new.period, stride)

        def later(x: float) -> Offer:
            return Offer(new.period, min(new.due * x, new.period))

        def longer(x: float) -> Offer:
            stride = _rounded(new.period * x)
            return Offer(stride, due_at(stride), window=stride / new.period)

        def rarer(x: float) -> Offer:
            stride = _rounded(new.period * x)
            return Offer(stride, due_at(stride))

        def fewer(x: float) -> Offer:
            return Offer(new.period, new.due, kept=math.floor(1000 / x) / 1000)

        searches: list[tuple[Callable[[float], Offer], float]] = [
            (longer, FARTHEST),
            (rarer, FARTHEST),
            (fewer, 1 / LEAST),
        ]
        if new.due < new.period:
            searches.insert(0, (later, new.period / new.due))
        found = [offer for made, most in searches if (offer := self.first(new, made, most)) is not None]
        return tuple(found)

    def first(self, new: Estimate, made: Callable[[float], Offer], most: float) -> Offer | None:
        """The nearest offer that fits, by steps that grow until one does and then by halves."""
        low, high = 1.0, min(1.05, most)
        while not self.fits(made(high), new):
            if high >= most:
                return None
            low, high = high, min(high * 1.25, most)
        while high / low > PRECISE:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.fits(made(middle), new) else (middle, high)
        return made(high)


def _seconds(t: float) -> str:
    return f"{t:.3g} s"


def _rounded(t: float) -> float:
    """Three digits, upwards."""
    unit = 10.0 ** (math.floor(math.log10(t)) - 2)
    return round(math.ceil(t / unit * (1 - 1e-12)) * unit, 12)
