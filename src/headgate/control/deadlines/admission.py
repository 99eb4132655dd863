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
            return f"a first condition that leaves {self.kept:.0%} of its tuples"
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
    blocked: float = 0.0,
    more: Callable[[], bool] = lambda: True,
) -> Admission:
    """The answer to a new query.

    Other work may be in the way of an iteration that is released, for as long as `blocked`. Offers are looked for as
    long as there is `more` time for it.
    """
    if name in running:
        raise InputError("every query has a name of its own", f"'{name}' twice", "Give the new query another name.")
    trial = _Trial(running, name, profile, blocked, more)
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
        met = f"All deadlines are met if tuples are shed: kept are {keep}, and all of the rest."
        reason = f"{_beside(name, late, 'With')}. {met}"
        return Admission("reduce", reason, (), found)
    least = f" even if every query keeps {profile.floor:.0%} of its tuples" if profile.reduction else ""
    if profile.reduction:
        late = trial.late(*trial.judged_at_least(new))
    if running and (there := trial.alone()) is not None:
        reason = f"even without '{name}', {there}{least}"
        return Admission("refuse", reason, (), {}, "Remove one of those that run first, or give one a longer stride.")
    offers, whole = trial.offers(new)
    would = " or ".join(offer.told(new) for offer in offers)
    if offers:
        remedy = f"It would fit with {would}."
    elif whole:
        remedy = f"Remove a query first: nothing smaller of '{name}' fits."
    else:
        remedy = f"Ask for less of '{name}', or remove a query first: what would fit was not found in time."
    return Admission("refuse", f"{_beside(name, late)}{least}", offers, {}, remedy)


class _OutOfTime(Exception):  # noqa: N818
    """There is no time for another try."""


@dataclass(frozen=True, slots=True)
class _Trial:
    running: Mapping[str, Estimate]
    name: str
    profile: Profile
    blocked: float
    more: Callable[[], bool]

    def judged(self, new: Estimate) -> tuple[Sequence[Task], Verdict]:
        tasks = tasks_of(self.beside(new), self.profile)
        return tasks, judged(tasks, self.profile, in_order(tasks, {}, self.blocked))

    def judged_at_least(self, new: Estimate) -> tuple[Sequence[Task], Verdict]:
        return self.least(self.beside(new))

    def least(self, of: Mapping[str, Estimate]) -> tuple[Sequence[Task], Verdict]:
        """The verdict on queries of which as much is shed as may be."""
        tasks = tasks_of(of, self.profile)
        if self.profile.reduction:
            tasks = tuple(replace(task, cost=min(task.floor, task.cost)) for task in tasks)
        return tasks, judged(tasks, self.profile, in_order(tasks, {}, self.blocked))

    def alone(self) -> str | None:
        """Who of those that run is late already; None if they all fit."""
        tasks, verdict = self.least(self.running)
        return None if verdict.ok else self.late(tasks, verdict)

    def late(self, tasks: Sequence[Task], verdict: Verdict) -> str:
        """Who would be late, and by how much."""
        who = verdict.failing
        behind = f" behind runs of others of up to {_seconds(self.blocked)}" if self.blocked else ""
        if self.profile.order == "edf" or who is None:
            soonest = min(tasks, key=lambda task: task.deadline)
            fits = "" if load(tasks) > 1 else f", and what cannot be interrupted in the way of '{soonest.name}'"
            return f"the load would be {self.load(tasks)}{behind}{fits}"
        task = tasks[who]
        due = float(task.deadline)
        done = response_time(tasks, who, FAR * due, self.blocked)
        why = f"as the load is {self.load(tasks)}{behind}"
        if done is None:
            return f"'{task.name}' would never catch up with its deadlines, {why}"
        if done <= due:
            return f"'{task.name}' would be done {_seconds(due - float(done))} before it is due, within the margin"
        by = f"{_seconds(float(done) - due)} after its deadline of {_seconds(due)}"
        return f"'{task.name}' would be done {by}, {why}"

    def load(self, tasks: Sequence[Task]) -> str:
        """The load in words."""
        return f"{float(load(tasks)):.0%}"

    def beside(self, new: Estimate) -> dict[str, Estimate]:
        """All queries."""
        return {**self.running, self.name: new}

    def kept(self, new: Estimate) -> dict[str, float] | None:
        """What every query keeps; None if the deadlines cannot be met."""
        beside = self.beside(new)
        tasks = tasks_of(beside, self.profile)
        if judged(tasks, self.profile, in_order(tasks, {}, self.blocked)).ok:
            return dict.fromkeys(beside, 1.0)
        if self.profile.reduction is None:
            return None
        # Most of what is looked at for an offer does not fit by far, and this is found out sooner than what would.
        if self.profile.reduction.reading == "wf" and not self.judged_at_least(new)[1].ok:
            return None
        try:
            found = reduced(tasks, self.profile, beside, in_order(tasks, {}, self.blocked))
        except Infeasible:
            return None
        costs = {task.name: float(cost) for task, cost in zip(tasks, found.costs, strict=True)}
        return {name: each.kept(costs[name]) for name, each in beside.items()}

    def fits(self, offer: Offer, new: Estimate) -> bool:
        if not self.more():
            raise _OutOfTime
        applied = offer.applied(new)
        # What is said to be read is read: no more of it is shed.
        return self.kept(replace(applied, fixed=applied.cost) if offer.kept < 1 else applied) is not None

    def offers(self, new: Estimate) -> tuple[tuple[Offer, ...], bool]:
        """What fits, from the least change up, and whether there was time to look for all of it."""

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
        found: list[Offer] = []
        for made, most in searches:
            try:
                if (offer := self.first(new, made, most)) is not None:
                    found.append(offer)
            except _OutOfTime:
                return tuple(found), False
        return tuple(found), True

    def first(self, new: Estimate, made: Callable[[float], Offer], most: float) -> Offer | None:
        """The nearest offer that fits, by steps that grow until one does and then by halves."""
        low, high = 1.0, min(1.05, most)
        while not self.fits(made(high), new):
            if high >= most:
                return None
            low, high = high, min(high * 1.25, most)
        while high / low > PRECISE and self.more():
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.fits(made(middle), new) else (middle, high)
        return made(high)


def _beside(name: str, late: str, word: str = "with") -> str:
    """Who is late because of a query; of itself that need not be said."""
    return late if late.startswith(f"'{name}'") else f"{word} '{name}', {late}"


def _seconds(t: float) -> str:
    return f"{t:.3g} s"


def _rounded(t: float) -> float:
    """Three digits, upwards."""
    unit = 10.0 ** (math.floor(math.log10(t)) - 2)
    return round(math.ceil(t / unit * (1 - 1e-12)) * unit, 12)
