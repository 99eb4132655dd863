"""Response time and slowdown of results, gathered in memory that does not grow with the run.

Averages, maxima and norms are exact, per query. Percentiles come from histograms with logarithmic bins, one per
class of queries, and are within 1 % of the exact value.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_RATIO = 1.02
_LOWEST = 1e-9
_BINS = 2500
_SCALE = 1.0 / math.log(_RATIO)
_OFFSET = math.log(_LOWEST)


class Tally(NamedTuple):
    """Counts and sums per query, histograms per class. A plain tuple of arrays, so that compiled code can fill it."""

    cls: Ints
    results: Ints
    sum_r: Floats
    max_r: Floats
    sum_h: Floats
    sum_h2: Floats
    max_h: Floats
    bins_r: Ints
    bins_h: Ints


def tally(cls: Sequence[int]) -> Tally:
    """An empty tally for queries whose classes are given by number."""
    queries, classes = len(cls), max(cls) + 1

    return Tally(
        cls=np.asarray(cls, dtype=np.int64),
        results=np.zeros(queries, dtype=np.int64),
        sum_r=np.zeros(queries),
        max_r=np.zeros(queries),
        sum_h=np.zeros(queries),
        sum_h2=np.zeros(queries),
        max_h=np.zeros(queries),
        bins_r=np.zeros((classes, _BINS), dtype=np.int64),
        bins_h=np.zeros((classes, _BINS), dtype=np.int64),
    )


@nb.njit(inline="always", cache=True)
def _bin(value: float) -> int:
    if value <= _LOWEST:
        return 0
    return min(_BINS - 1, int((math.log(value) - _OFFSET) * _SCALE))


@nb.njit(inline="always", cache=True)
def record(t: Tally, query: int, r: float, h: float) -> None:
    """Count one result of a query with its response time and slowdown."""
    t.results[query] += 1
    t.sum_r[query] += r
    t.sum_h[query] += h
    t.sum_h2[query] += h * h
    t.max_r[query] = max(t.max_r[query], r)
    t.max_h[query] = max(t.max_h[query], h)
    t.bins_r[t.cls[query], _bin(r)] += 1
    t.bins_h[t.cls[query], _bin(h)] += 1


@nb.njit(cache=True)
def record_all(t: Tally, query: Ints, r: Floats, h: Floats) -> None:
    """Count many results."""
    for i in range(len(query)):
        record(t, query[i], r[i], h[i])


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
    chosen = np.ones(len(t.cls), dtype=bool) if cls is None else t.cls == cls
    rows = slice(None) if cls is None else slice(cls, cls + 1)
    n = int(t.results[chosen].sum())
    if n == 0:
        nan = math.nan
        return Summary(0, nan, nan, nan, nan, nan, nan, nan, nan, 0.0)
    p_r, p_h = (
        _percentiles(bins[rows].sum(axis=0), float(most[chosen].max()))
        for bins, most in ((t.bins_r, t.max_r), (t.bins_h, t.max_h))
    )
    return Summary(
        results=n,
        avg_r=float(t.sum_r[chosen].sum()) / n,
        p50_r=p_r[0],
        p99_r=p_r[1],
        max_r=float(t.max_r[chosen].max()),
        avg_h=float(t.sum_h[chosen].sum()) / n,
        p50_h=p_h[0],
        p99_h=p_h[1],
        max_h=float(t.max_h[chosen].max()),
        l2=math.sqrt(float(t.sum_h2[chosen].sum())),
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
        half = float(stats.t.ppf((1 + confidence) / 2, len(v) - 1) * v.std(ddof=1) / math.sqrt(len(v)))
    return Interval(float(v.mean()), half, float(v.min()), float(v.max()), len(v))
