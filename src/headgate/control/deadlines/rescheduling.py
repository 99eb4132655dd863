"""When to make a new plan.

    static               once, at the start
    pessimistic          every shortest period
    pessimistic-finish   whenever an iteration is finished
    optimistic           every longest period, when each query has run at least once
    permissive           when the results lost since the last plan are more than a threshold, but not more often than
                         every shortest period

All of them also do so at once when a query comes or goes, or when a stream is attached or detached. Times by the
clock keep to a grid that starts with the first plan, so that one which was forced does not shift those after it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from headgate.errors import InputError, choose

THRESHOLD = 0.1
"""The part of the weighted results that may be lost before the permissive policy makes a new plan."""
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Finished:
    """An iteration has finished."""

    query: str = ""


@dataclass(frozen=True, slots=True)
class Due:
    """An iteration has reached its deadline: weighted results that it should have had, and those that are lost."""

    query: str
    whole: float
    lost: float


@dataclass(frozen=True, slots=True)
class Admitted:
    """A query has come; `periods` are those of all queries there are now."""

    periods: Sequence[float]


@dataclass(frozen=True, slots=True)
class Removed:
    """A query has gone; `periods` are those of all that are left."""

    periods: Sequence[float]


@dataclass(frozen=True, slots=True)
class Attached:
    """A stream was attached or detached."""


Event = Finished | Due | Admitted | Removed | Attached


class Trigger(Protocol):
    """Says when a new plan is due: by time, or by what happens."""

    def next(self, now: float) -> float:
        """When the next plan is due by time alone; infinite if never, and past if it is overdue."""

    def on(self, event: Event, now: float) -> bool:
        """Whether an event asks for a new plan."""

    def fired(self, now: float) -> None:
        """A plan was made."""


@dataclass
class Static:
    """Only when queries or streams come and go."""

    periods: Sequence[float]
    _start: float | None = field(default=None, init=False)
    _last: float = field(default=-math.inf, init=False)

    def next(self, now: float) -> float:
        """At once if there is no plan yet, otherwise never."""
        return math.inf if self._start is not None else now

    def on(self, event: Event, now: float) -> bool:  # noqa: ARG002
        """Whether the set of queries or streams is another one."""
        if isinstance(event, Admitted | Removed):
            self.periods = event.periods
        return isinstance(event, Admitted | Removed | Attached)

    def fired(self, now: float) -> None:
        """Keep the time of the first plan and of the last one."""
        if self._start is None:
            self._start = now
        self._last = now


class Optimistic(Static):
    """Every longest period."""

    def next(self, now: float) -> float:
        """The first point of the grid after the last plan."""
        if self._start is None:
            return now
        step = self.step()
        if not 0 < step < math.inf:
            return math.inf
        done = math.floor((self._last - self._start) / step + ROUNDING)
        return self._start + (done + 1) * step

    def step(self) -> float:
        """The distance of the grid."""
        return max(self.periods, default=math.inf)


class Pessimistic(Optimistic):
    """Every shortest period."""

    def step(self) -> float:
        """The distance of the grid."""
        return min(self.periods, default=math.inf)


class PessimisticFinish(Static):
    """Whenever an iteration is finished."""

    def on(self, event: Event, now: float) -> bool:
        """Whether something is finished, or the set is another one."""
        return super().on(event, now) or isinstance(event, Finished)


@dataclass
class Permissive(Static):
    """When too many results were lost since the last plan.

    What was lost before it does not count: that would ask for a new plan for ever. Under a lasting overload the least
    loss possible may be above the threshold; then there is a plan every shortest period, and `pressed` counts how
    many in a row came that soon.
    """

    threshold: float = THRESHOLD
    pressed: int = field(default=0, init=False)
    _whole: float = field(default=0.0, init=False)
    _lost: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < 1:
            rule = "permissive rescheduling: the threshold is a part of the weighted results, from 0 to below 1"
            raise InputError(rule, self.threshold, "Give a part such as 0.1.")

    def on(self, event: Event, now: float) -> bool:
        """Whether what was due since the last plan has lost too much."""
        forced = super().on(event, now)
        if isinstance(event, Due):
            self._whole += event.whole
            self._lost += event.lost
        far = now - self._last >= self._least() * (1 - ROUNDING)
        return forced or (far and self._whole > 0 and self._lost > self.threshold * self._whole)

    def fired(self, now: float) -> None:
        """Begin to count anew."""
        soon = self._lost > self.threshold * self._whole and now - self._last < 2 * self._least()
        self.pressed = self.pressed + 1 if soon else 0
        self._whole = self._lost = 0.0
        super().fired(now)

    def _least(self) -> float:
        return min(self.periods, default=0.0)


TRIGGERS: Mapping[str, type[Static]] = {
    "static": Static,
    "pessimistic": Pessimistic,
    "pessimistic-finish": PessimisticFinish,
    "optimistic": Optimistic,
    "permissive": Permissive,
}


def create(name: str, periods: Sequence[float], threshold: float = THRESHOLD) -> Trigger:
    """The trigger of that name for queries with such periods."""
    checked(name)
    return Permissive(periods, threshold) if name == "permissive" else TRIGGERS[name](periods)


def checked(name: str) -> str:
    """The name, if there is such a trigger."""
    if name not in TRIGGERS:
        raise InputError("a known time of rescheduling", f"'{name}'", choose(name, TRIGGERS))
    return name
