"""How many tuples the next window of a query will hold, from what has come until now and from nothing else."""

import math
from dataclasses import dataclass
from typing import Protocol

from headgate.sim.deadlines.processor import EPS
from headgate.sim.deadlines.rates import Stream
from headgate.sim.deadlines.workload import Query

_TERMS = 24
"""Of an exponential average: what is older weighs less than a part in five thousand."""


class Estimator(Protocol):
    """A guess at the next window."""

    def tuples(self, query: Query, stream: Stream, now: float) -> float:
        """The tuples of a stream that a window of the query is expected to hold."""


@dataclass(frozen=True, slots=True)
class LastRate:
    """The rate of the last seconds goes on."""

    span: float = 1.0

    def tuples(self, query: Query, stream: Stream, now: float) -> float:
        """The tuples of the span, for as long as a window is."""
        return stream.count(now - self.span, now) / self.span * query.deadline.window


@dataclass(frozen=True, slots=True)
class LastWindow:
    """The next window will be as the last one was."""

    def tuples(self, query: Query, stream: Stream, now: float) -> float:
        """The tuples of the window that was complete last."""
        stride, window = query.deadline.stride, query.deadline.window
        end = query.first + math.floor((now - query.first) / stride + EPS) * stride
        return stream.count(end - window, end)


@dataclass(frozen=True, slots=True)
class Smoothed:
    """Rates of past spans, of which each weighs less than the one after it."""

    weight: float = 0.3
    span: float = 1.0

    def tuples(self, query: Query, stream: Stream, now: float) -> float:
        """The average rate, for as long as a window is."""
        rate = total = 0.0
        for k in range(_TERMS):
            part = (1 - self.weight) ** k
            rate += part * stream.count(now - (k + 1) * self.span, now - k * self.span) / self.span
            total += part
        return rate / total * query.deadline.window


@dataclass(frozen=True, slots=True)
class Greatest:
    """The largest of several guesses."""

    of: tuple[Estimator, ...] = (LastRate(1.0), LastRate(6.0))

    def tuples(self, query: Query, stream: Stream, now: float) -> float:
        """The guess that is on the safe side of the others."""
        return max(each.tuples(query, stream, now) for each in self.of)


ESTIMATORS: dict[str, Estimator] = {
    "rate_last": LastRate(),
    "rate_last_6s": LastRate(6.0),
    "window_last": LastWindow(),
    "ewma": Smoothed(),
    "max": Greatest(),
}
"""The estimators by name."""
