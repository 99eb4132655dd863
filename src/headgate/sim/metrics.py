"""Response time and slowdown of results, gathered in memory that does not grow with the run.

Averages, maxima and norms are exact, per query. Percentiles come from histograms, one per class of queries, whose
bins are 2 % wide, so they are within 1 % of the exact value.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from headgate.model.network import Network

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_RATIO = 1.02
_SCALE = 1.0 / math.log(_RATIO)
_LOWEST = 1e-9
_BINS = 2500

RESULTS, SUM_R, MAX_R, SUM_H, SUM_H2, MAX_H, MIN_H = range(7)
"""The columns of `Tally.sums`."""


class Tally(NamedTuple):
    """Sums per query and histograms of response time and slowdown per class: arrays for compiled code to fill."""

    cls: Ints
    sums: Floats
    bins: Ints

    @property
    def least_h(self) -> float:
        """The smallest slowdown of any result, which is never below 1; infinite if there is none."""
        return float(self.sums[:, MIN_H].min())

    def of(self, column: int, cls: int | None = None) -> Floats:
        """A column of the sums, for all queries or those of a class."""
        return self.sums[:, column] if cls is None else self.sums[self.cls == cls, column]


def tally(cls: Sequence[int]) -> Tally:
    """An empty tally for queries whose classes are given by number."""
    sums = np.zeros((len(cls), 7))
    sums[:, MIN_H] = math.inf
    return Tally(
        np.asarray(cls, dtype=np.int64),
        sums,
        np.zeros((2, max(cls) + 1, _BINS), dtype=np.int64),
    )


def tally_for(network: Network) -> Tally:
    """An empty tally for the queries of a network."""
    classes = class_names(network)
    return tally([classes.index(q.cls) for q in network.queries])


def class_names(network: Network) -> list[str]:
    """The classes of a network's queries, in the order in which a tally numbers them."""
    return list(dict.fromkeys(q.cls for q in network.queries))


@nb.njit(inline="always", cache=True)
def _bin(value: float) -> int:
    return max(0, min(_BINS - 1, int(math.log(max(value, _LOWEST) / _LOWEST) * _SCALE)))


@nb.njit(inline="always", cache=True)
def record(cls: Ints, sums: Floats, bins: Ints, query: int, r: float, h: float) -> None:
    """Count one result of a query in the arrays of a tally. (Taking them out of the tuple here would cost more.)"""
    sums[query, RESULTS] += 1
    sums[query, SUM_R] += r
    sums[query, MAX_R] = max(sums[query, MAX_R], r)
    sums[query, SUM_H] += h
    sums[query, SUM_H2] += h * h
    sums[query, MAX_H] = max(sums[query, MAX_H], h)
    sums[query, MIN_H] = min(sums[query, MIN_H], h)
    bins[0, cls[query], _bin(r)] += 1
    bins[1, cls[query], _bin(h)] += 1


@nb.njit(cache=True)
def record_all(t: Tally, query: Ints, r: Floats, h: Floats) -> None:
    """Count many results."""
    for i in range(len(query)):
        record(t.cls, t.sums, t.bins, query[i], r[i], h[i])


@dataclass(frozen=True, slots=True)
class Summary:
    """What a set of results looked like. NaN where there were none."""

    results: int
    avg_r: float
    p50_r: float
    p99_r: float
    max_r: float
    avg_h: float
    p50_h: float
    p99_h: float
    max_h: float
    l2: float

    @property
    def rms(self) -> float:
        """The l2 norm per result, comparable between runs of different length."""
        return self.l2 / math.sqrt(self.results) if self.results else math.nan


def summarise(t: Tally, cls: int | None = None) -> Summary:
    """The summary of all queries, or of one class."""
    n = int(t.of(RESULTS, cls).sum())
    if n == 0:
        nan = math.nan
        return Summary(0, nan, nan, nan, nan, nan, nan, nan, nan, 0.0)
    rows = slice(None) if cls is None else slice(cls, cls + 1)
    max_r, max_h = (float(t.of(column, cls).max()) for column in (MAX_R, MAX_H))
    p_r, p_h = (_percentiles(t.bins[k, rows].sum(axis=0), most) for k, most in enumerate((max_r, max_h)))
    return Summary(
        results=n,
        avg_r=float(t.of(SUM_R, cls).sum()) / n,
        p50_r=p_r[0],
        p99_r=p_r[1],
        max_r=max_r,
        avg_h=float(t.of(SUM_H, cls).sum()) / n,
        p50_h=p_h[0],
        p99_h=p_h[1],
        max_h=max_h,
        l2=math.sqrt(float(t.of(SUM_H2, cls).sum())),
    )


def _percentiles(bins: Ints, most: float) -> tuple[float, float]:
    below = np.cumsum(bins)

    def at(share: float) -> float:
        found = int(np.searchsorted(below, share * below[-1]))
        return min(most, float(_LOWEST * _RATIO ** (found + 0.5)))

    return at(0.50), at(0.99)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over seeds with its 95 % confidence interval; half is NaN for a single seed."""

    mean: float
    half: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        """Mean and half width."""
        return f"{self.mean:.4g} ± {self.half:.2g}" if self.n > 1 else f"{self.mean:.4g}"


def interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Student's interval of the mean, and the smallest and largest value."""
    v = np.asarray(values, dtype=np.float64)
    half = math.nan
    if len(v) > 1:
        half = float(stdtrit(len(v) - 1, (1 + confidence) / 2) * v.std(ddof=1) / math.sqrt(len(v)))
    return Interval(float(v.mean()), half, float(v.min()), float(v.max()), len(v))
