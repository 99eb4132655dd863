"""Response time and slowdown of what units did, from sums that a run of any length can keep.

A recorded run and its replay are summarised by the same lines, so that their figures can be compared. The ideal time
is T = a + b, that of one tuple in a job of its own: an unloaded tuple has a slowdown of 1.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.model.operator import Cost
from headgate.monitor.utility import Shared, average


class Response(NamedTuple):
    """The response times of some results: their sum, the longest, and the sum of their squares."""

    total: float = 0.0
    longest: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, times: NDArray[np.float64], many: NDArray[np.float64] | None = None) -> "Response":
        """Those of results that took the given times, of each so `many`."""
        if many is None:
            return cls(float(times.sum()), float(times.max(initial=0.0)), float(times @ times))
        return cls(float(times @ many), float(times[many > 0].max(initial=0.0)), float((times * times) @ many))


@dataclass(slots=True)
class Served:
    """What became of the tuples of one unit: its runs and their time, its results, and the tuples that still wait.

    Of its `tuples`, so many were `shed`. Results have a `worth` where queries have QoS graphs.
    """

    unit: str
    cls: str
    cost: Cost
    runs: int = 0
    tuples: int = 0
    busy: float = 0.0
    results: float = 0.0
    response: Response = Response()
    waiting: int = 0
    shed: int = 0
    worth: Shared | None = None

    def add(self, tuples: int, busy: float, results: float, response: Response) -> None:
        """Count one run."""
        self.ran(tuples, busy)
        self.answer(results, response)

    def ran(self, tuples: int, busy: float) -> None:
        """Count a run, but for its results."""
        self.runs += 1
        self.tuples += tuples
        self.busy += busy

    def answer(self, results: float, response: Response) -> None:
        """Count results."""
        self.results += results
        total, longest, squares = self.response
        self.response = Response(total + response.total, max(longest, response.longest), squares + response.squares)


@dataclass(frozen=True, slots=True)
class Figures:
    """What units did. NaN where there were no results.

    `utilisation` is the share of the lanes' time in which the units ran, `overhead` the share that went into `a`,
    the part of a run that does not depend on its train. `waiting` tuples were not served in the end; of those that
    were passed, so many were `shed`. `qos` is the average QoS, where queries have graphs.
    """

    results: float
    avg_slowdown: float
    max_slowdown: float
    rms_slowdown: float
    avg_response: float
    max_response: float
    runs: int
    avg_train: float
    utilisation: float
    overhead: float
    waiting: int
    shed: int
    qos: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of all units, of each class, and of each unit."""

    overall: Figures
    classes: dict[str, Figures]
    units: dict[str, Figures]


def summarise(served: Sequence[Served], seconds: float) -> Summary:
    """The summary of units that shared so many seconds of lanes."""
    classes, units = (dict.fromkeys(getattr(one, kind) for one in served) for kind in ("cls", "unit"))
    return Summary(
        figures(served, seconds),
        {cls: figures([one for one in served if one.cls == cls], seconds) for cls in classes},
        {unit: figures([one for one in served if one.unit == unit], seconds) for unit in units},
    )


def slowdowns(one: Served, T: float) -> tuple[float, float, float]:
    """Average, root mean square and maximum of the slowdown of a unit's results, against the ideal time T."""
    seen, results = one.response, one.results
    if not (results and T):
        return math.nan, math.nan, math.nan
    return seen.total / T / results, math.sqrt(seen.squares / results) / T, seen.longest / T


def figures(served: Iterable[Served], seconds: float) -> Figures:
    """The figures of some units, each result relative to its own unit's ideal time."""
    some = [(one, one.cost.of(1)) for one in served]
    runs = sum(one.runs for one, _ in some)
    results = sum(one.results for one, _ in some)
    return Figures(
        results=results,
        avg_slowdown=_ratio(sum(_ratio(one.response.total, T) for one, T in some), results),
        max_slowdown=max((_ratio(one.response.longest, T) for one, T in some), default=0.0) if results else math.nan,
        rms_slowdown=math.sqrt(_ratio(sum(_ratio(one.response.squares, T**2) for one, T in some), results)),
        avg_response=_ratio(sum(one.response.total for one, _ in some), results),
        max_response=max((one.response.longest for one, _ in some), default=0.0) if results else math.nan,
        runs=runs,
        avg_train=_ratio(sum(one.tuples for one, _ in some), runs),
        utilisation=_ratio(sum(one.busy for one, _ in some), seconds),
        overhead=_ratio(sum(min(one.runs * one.cost.a, one.busy) for one, _ in some), seconds),
        waiting=sum(one.waiting for one, _ in some),
        shed=sum(one.shed for one, _ in some),
        qos=average(one.worth for one, _ in some if one.worth),
    )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
