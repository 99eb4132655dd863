"""A moment of a recorded run: what each lane ran and why that, who else waited, and what held for each class.

A policy is a function of what it sees, and the record has all of that: the queues of a moment are put together again,
and whoever waited is ranked as it was ranked then.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headgate.control.regime import Given, Regime, regime
from headgate.model.operator import Cost
from headgate.model.qos import LatencyGraph
from headgate.model.unit import Unit
from headgate.monitor.statistics import known
from headgate.policy.classes.scheduler import ByClass
from headgate.policy.registry import create
from headgate.policy.statement import PriorityPolicy
from headgate.policy.worthwhile import due_in, unripe
from headgate.record import Life, Managed, Planned, Ran, Reason, Recorded


@dataclass(frozen=True, slots=True)
class Waits:
    """A unit with tuples that wait: how many and for how long, and the priority of its next train of n.

    There is a priority where the policy has one formula for all; inside a class, for a class scheduler. A unit that
    is not `ripe` waits for more to come: its work is little against the overhead of a run.
    """

    unit: str
    cls: str
    pending: int
    wait: float
    n: int | None
    priority: float | None
    ripe: bool


@dataclass(frozen=True, slots=True)
class Lane:
    """What a lane runs, or ran last: when that was decided, and why; and who else waited for such a lane then."""

    lane: int
    kind: str
    running: bool
    unit: str
    cls: str
    decided: float
    started: float
    finished: float
    n: int
    shed: int
    formula: str
    terms: Mapping[str, float]
    over: str | None
    error: str | None
    others: tuple[Waits, ...]


@dataclass(frozen=True, slots=True)
class Force:
    """What holds for a class: its share of the time, its usage of that, and the part of its tuples that it drops.

    The rate holds `since` then; `order` says by which state of the load manager.
    """

    cls: str
    share: float
    usage: float
    drop: float
    since: float
    order: Reason | None


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of a run, in seconds since its start: its lanes, and what held for its classes if load is managed."""

    time: float
    at: float
    policy: str
    lanes: tuple[Lane, ...]
    waiting: tuple[Waits, ...]
    classes: tuple[Force, ...]
    shares: Reason | None


@dataclass(frozen=True, slots=True)
class _Queue:
    """The tuples behind a unit at a moment, by their arrivals."""

    at: NDArray[np.float64]
    position: int = 0

    @property
    def pending(self) -> int:
        return len(self.at)

    @property
    def oldest(self) -> float:
        return self.at.item(0) if len(self.at) else math.inf

    def arrived(self, n: int) -> float:
        return float(self.at[:n].sum())


_EMPTY = _Queue(np.empty(0))


class Moments:
    """The moments of a recorded run."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded

    def at(self, time: float) -> Moment:
        """A moment, by the clock."""
        managed = self.managed(time)
        numbers = sorted({ran.lane for ran in self.recorded.ran})
        began = [(i, last) for i in numbers if (last := self._last(i, time))]
        return Moment(
            time,
            time - self.recorded.began.time,
            self.recorded.began.policy,
            tuple(self._lane(i, *last, time) for i, last in began),
            self.waiting(time),
            tuple(self.force(cls, time) for cls in managed.drops) if managed else (),
            managed.why if managed else None,
        )

    def managed(self, time: float) -> Managed | None:
        """What the last control period before a moment ended with."""
        return next((each for each in reversed(self.recorded.managed) if each.time <= time), None)

    def force(self, cls: str, time: float) -> Force:
        """What holds for a class; nothing is dropped before the first control period has ended."""
        past = [each for each in self.recorded.managed if each.time <= time and cls in each.drops]
        if not past:
            return Force(cls, math.nan, math.nan, 0.0, self.recorded.began.time, None)
        now = past[-1]
        since = now.time
        for each in reversed(past):
            if each.drops[cls] != now.drops[cls]:
                break
            since = each.time
        return Force(cls, now.shares[cls], now.usage[cls], now.drops[cls], since, now.orders.get(cls))

    def waiting(self, time: float, kind: str | None = None, ran: Ran | None = None) -> tuple[Waits, ...]:
        """Who waits at a moment, for lanes of a kind, the highest priority first; for all, but not what runs.

        As a decision was made, what it chose still waited.
        """
        lives = [life for life in self.recorded.lives if self._there(life, time)]
        planned = [_planned(life, time) for life in lives]
        queues = [
            self._queue(life, time, ran) if kind is None or kind == self._kind(plan) else _EMPTY
            for life, plan in zip(lives, planned, strict=True)
        ]
        costs = [Cost(plan.a, plan.b) for plan in planned]
        targets = {each.name: each.delay_target for each in self.recorded.classes}
        due = [due_in(targets.get(plan.cls, math.inf), map(LatencyGraph, plan.graphs)) for plan in planned]
        green = unripe(time, queues, costs, due, self._regime.overripe)
        found = [
            self._waits(plan, queue, time, ripe=i not in green)
            for i, (plan, queue) in enumerate(zip(planned, queues, strict=True))
            if queue.pending
        ]
        return tuple(sorted(found, key=lambda each: -math.inf if each.priority is None else -each.priority))

    def _waits(self, plan: Planned, queue: _Queue, time: float, *, ripe: bool) -> Waits:
        wait, policy = time - queue.oldest, self._policy
        if policy is None:
            return Waits(plan.unit, plan.cls, queue.pending, wait, None, None, ripe)
        unit = self._unit(plan)
        n = policy.train.length(unit, queue.pending)
        stated = policy.statement
        priority = stated.static(unit, n) * stated.urgency(time, queue.oldest, queue.arrived(n), n)
        return Waits(plan.unit, plan.cls, queue.pending, wait, n, priority, ripe)

    @cached_property
    def _regime(self) -> Regime:
        """That of the run."""
        began, options = self.recorded.began, dict(self.recorded.began.options)
        graphs = any(life.latest.graphs for life in self.recorded.lives)
        given = Given(self.recorded.classes, began.named, graphs, began.lanes, max(1, began.lanes), began.empty)
        return regime(began.policy, given, options.pop("train", None), options)

    @cached_property
    def _policy(self) -> PriorityPolicy | None:
        """The policy that ranks units, or inside a class; None where it has no formula for all of them."""
        made = self._regime.make()
        inner = getattr(made, "inner", None)
        if isinstance(made, ByClass) and isinstance(inner, str):
            made = create(inner, {"train": made.train})
        return made if isinstance(made, PriorityPolicy) else None

    @staticmethod
    def _unit(plan: Planned) -> Unit:
        return known(plan.unit, 0, plan.cls, Cost(plan.a, plan.b), plan.S)

    def _lane(self, number: int, life: Life, ran: Ran, time: float) -> Lane:
        plan = _planned(life, ran.time)
        kind = self._kind(plan)
        return Lane(
            number,
            kind,
            ran.finished > time,
            ran.unit,
            plan.cls,
            ran.time,
            ran.started,
            ran.finished,
            ran.n,
            ran.shed,
            ran.formula,
            ran.terms,
            ran.over,
            ran.error,
            tuple(each for each in self.waiting(ran.time, kind, ran) if each.unit != ran.unit),
        )

    def _last(self, lane: int, time: float) -> tuple[Life, Ran] | None:
        """What a lane began last before a moment."""
        mine = ((life, ran) for life in self.recorded.lives for ran in life.ran if ran.lane == lane)
        begun = [(life, ran) for life, ran in mine if ran.started <= time]
        return max(begun, key=lambda each: each[1].started, default=None)

    def _kind(self, plan: Planned) -> str:
        return plan.kind if self.recorded.began.resident else "jobs"

    @staticmethod
    def _there(life: Life, time: float) -> bool:
        return not any(lo <= time < hi for lo, hi in life.away) and life.planned[0].time <= time

    def _queue(self, life: Life, time: float, chosen: Ran | None) -> _Queue:
        """The tuples behind a unit, unless it runs; the one that was chosen then is taken to wait still."""
        stands = dict(life.planned[0].reads)
        for ran in life.ran:
            if ran.finished <= time:
                stands |= {stream: hi for stream, (_, hi) in ran.positions.items() if ran.error is None}
            elif ran.time < time or (ran.time == time and chosen is None):
                return _EMPTY
        # Which tuples the windows of a query with a deadline had, its runs do not say.
        passed = self.recorded.passed(life.latest.unit, time)
        behind = [self._behind(stream, at, passed, time) for stream, at in stands.items()]
        return _Queue(np.sort(np.concatenate(behind)))

    def _behind(self, stream: str, position: int, passed: float, time: float) -> NDArray[np.float64]:
        at, readable, numbers = self.recorded.streams[stream]
        low = max(np.searchsorted(numbers, position), np.searchsorted(readable, passed, side="right"))
        return at[low : np.searchsorted(readable, time, side="right")]


def _planned(life: Life, time: float) -> Planned:
    """A unit as it was known at a moment."""
    return next((plan for plan in reversed(life.planned) if plan.time <= time), life.planned[0])
