"""What a simulation has shown: when results left, what became of the tuples, and what was done about it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from headgate.control.dilos import Directive
from headgate.model.network import Network
from headgate.shed.protocol import Cycle
from headgate.sim.metrics import Floats, Ints
from headgate.sim.trains.accounts import Account

PERCENTILES = (10, 25, 50, 75, 90, 95)


class Departures:
    """The results of one query: when each arrived in the system, and when it left."""

    __slots__ = ("_arrived", "_left", "count")

    def __init__(self) -> None:
        self.count = 0
        self._arrived, self._left = np.empty(256), np.empty(256)

    def add(self, times: Floats, left: float) -> None:
        """Take results that left together."""
        lo, hi = self.count, self.count + len(times)
        if hi > len(self._left):
            more = np.empty(max(hi, 2 * len(self._left)) - lo)
            self._arrived = np.concatenate((self._arrived[:lo], more))
            self._left = np.concatenate((self._left[:lo], more))
        self._arrived[lo:hi] = times
        self._left[lo:hi] = left
        self.count = hi

    @property
    def arrived(self) -> Floats:
        return self._arrived[: self.count]

    @property
    def left(self) -> Floats:
        return self._left[: self.count]


class Moment(NamedTuple):
    """A control period at its end: what it has shown, the tuples that wait, by class, and what was ordered."""

    time: float
    seen: Mapping[str, Cycle]
    waiting: Mapping[str, int]
    directive: Directive


class Responses(NamedTuple):
    """Response times of a set of results; not a number where there are none."""

    results: int
    mean: float
    percentiles: Mapping[int, float]


class Violations(NamedTuple):
    """By how much results were later than their target: over all results, the worst, and over the late ones alone."""

    mean: float
    most: float
    mean_of_late: float
    late: int


class OverTime(NamedTuple):
    """Mean response times and numbers of results by bins of time; not a number where a bin has none."""

    start: Floats
    mean: Floats
    results: Ints


@dataclass
class Report:
    """A finished simulation.

    Results of tuples that arrived before `warm` do not count in response times; over time and in the accounts they
    do. `unfinished` are tuples that wait between operators or are worked on at the end. `busy` is the time that each
    core spent on tuples, team by team; `work` the seconds of work in that, `overhead` the time spent on other things.
    """

    network: Network
    departures: Mapping[str, Departures]
    warm: float = 0.0
    accounts: Sequence[Account] = ()
    unfinished: Mapping[str, int] = field(default_factory=dict)
    moments: list[Moment] = field(default_factory=list)
    decisions: int = 0
    rebuilds: int = 0
    runs: int = 0
    turns: int = 0
    work: float = 0.0
    overhead: float = 0.0
    busy: list[list[float]] = field(default_factory=list)
    ended: float = 0.0

    @property
    def utilisation(self) -> list[list[float]]:
        """The share of the time that each core spent on tuples, team by team."""
        return [[time / self.ended if self.ended else 0.0 for time in team] for team in self.busy]

    def responses(self, cls: str | None = None) -> Responses:
        """Response times of a class, or of everything."""
        times = self._response_times(cls)
        if not len(times):
            return Responses(0, math.nan, dict.fromkeys(PERCENTILES, math.nan))
        found = np.percentile(times, PERCENTILES)
        return Responses(len(times), float(times.mean()), dict(zip(PERCENTILES, found.tolist(), strict=True)))

    def violations(self, cls: str, target: float) -> Violations:
        """How late the results of a class were, measured by a delay target."""
        times = self._response_times(cls)
        late = np.maximum(0.0, times - target)
        count = int(np.count_nonzero(late))
        if not len(late):
            return Violations(math.nan, math.nan, math.nan, 0)
        total = float(late.sum())
        return Violations(total / len(late), float(late.max()), total / count if count else 0.0, count)

    def over_time(
        self, cls: str | None = None, by: Literal["output", "input"] = "output", width: float = 0.1
    ) -> OverTime:
        """Mean response times by when results left, or by when their tuples arrived, from 0 to the end of the run."""
        arrived, left = self._results(cls)
        place = ((left if by == "output" else arrived) / width).astype(np.int64)
        bins = int(self.ended / width) + 1
        results = np.bincount(place, minlength=bins)
        total = np.bincount(place, weights=left - arrived, minlength=bins)
        mean = np.divide(total, results, out=np.full(len(results), math.nan), where=results > 0)
        return OverTime(width * np.arange(len(results), dtype=np.float64), mean, results)

    def loss(self, cls: str) -> float:
        """The share of the tuples offered to a class that were dropped at its entries."""
        found = [each for each in self.accounts if each.cls == cls]
        offered = sum(each.offered for each in found)
        return sum(each.dropped for each in found) / offered if offered else 0.0

    def _response_times(self, cls: str | None) -> Floats:
        arrived, left = self._results(cls)
        counts = arrived >= self.warm
        return left[counts] - arrived[counts]

    def _results(self, cls: str | None) -> tuple[Floats, Floats]:
        found = [self.departures[q.name] for q in self.network.queries if cls is None or q.cls == cls]
        empty = np.empty(0)
        return (
            np.concatenate([empty, *(each.arrived for each in found)]),
            np.concatenate([empty, *(each.left for each in found)]),
        )
