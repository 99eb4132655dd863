"""Response times of results by magnitude, for their quantiles."""

import math
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, cycle
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_PER_DECADE = 20
"""Classes of magnitude per factor of ten: a quantile is exact to about 6 %."""
_LEAST = 1e-9
SPAN = 10.0
"""Seconds over which 'of late' is."""
_MARKS = 4
"""Marks in that time: 'of late' is up to a quarter longer."""
_PHASES = cycle(SPAN / _MARKS * part / 5 for part in range(5))
"""After how long those who are made one after the other are asked again first: not all are at the same time."""
_UNKNOWN = math.nan, math.nan, math.nan
_BOUNDS = range(-3 * _PER_DECADE, 2 * _PER_DECADE + 1, _PER_DECADE // 4)
BOUNDS = tuple(10 ** (magnitude / _PER_DECADE) for magnitude in _BOUNDS)
"""Between which values are counted for a histogram, from a millisecond to 100 s: exact, as classes begin there."""


def magnitudes(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The class of magnitude of each value."""
    found: NDArray[np.int64] = np.floor(_PER_DECADE * np.log10(np.maximum(values, _LEAST))).astype(np.int64)
    return found


def values(classes: Sequence[int]) -> NDArray[np.float64]:
    """A value in the middle of each class of magnitude."""
    return np.asarray(10 ** ((np.array(classes, dtype=np.float64) + 0.5) / _PER_DECADE))


def quantile(spread: Mapping[int, float], share: float, most: float = math.inf) -> float:
    """The value that this share of all stays below, by how many have each magnitude; none is above `most`."""
    return quantiles(spread, (share,), most)[0]


def quantiles(spread: Mapping[int, float], shares: Sequence[float], most: float = math.inf) -> list[float]:
    """The same of several shares."""
    ordered = sorted(spread)
    so_far = [*accumulate(map(spread.__getitem__, ordered))]
    if not so_far or not so_far[-1]:
        return [math.nan] * len(shares)
    # A magnitude that nothing has is nobody's, the least share's either.
    found = [ordered[bisect_left(so_far, max(share * so_far[-1], math.ulp(0.0)))] for share in shares]
    return [min(most, 10 ** ((magnitude + 0.5) / _PER_DECADE)) for magnitude in found]


class _Mark(NamedTuple):
    """What had come by a time."""

    at: float
    n: int = 0
    classes: Mapping[int, int] = {}


@dataclass
class Responses:
    """Count, mean, maximum and quantiles of a positive quantity."""

    count: int = 0
    total: float = 0.0
    most: float = 0.0
    _classes: Counter[int] = field(default_factory=Counter)
    _asked: tuple[int, tuple[float, ...], list[float]] = field(default=(0, (), []), repr=False, compare=False)
    _marks: deque[_Mark] = field(default_factory=lambda: deque([_Mark(-math.inf)]), repr=False, compare=False)
    _recent: tuple[float, float, float] | None = field(default=None, repr=False, compare=False)
    _due: float = field(default=-math.inf, repr=False, compare=False)
    _phase: float = field(default_factory=lambda: next(_PHASES), repr=False, compare=False)

    def add(self, values: NDArray[np.float64]) -> None:
        """Take values of 0 or more."""
        if len(values):
            self.take(float(values.sum()), float(values.max()), magnitudes(values).tolist())

    def take(self, total: float, most: float, classes: Sequence[int]) -> None:
        """Take values of these magnitudes, by their sum and the greatest of them."""
        self.count += len(classes)
        self.total += total
        self.most = max(self.most, most)
        self._classes.update(classes)

    @property
    def mean(self) -> float:
        """The average; not a number while there is none."""
        return self.total / self.count if self.count else math.nan

    def quantile(self, share: float) -> float:
        """The value that this share of all stays below, to the class of magnitude."""
        return quantile(self._classes, share, self.most)

    def quantiles(self, *shares: float) -> list[float]:
        """The same of several shares; costs nothing where no value has come since somebody asked for them."""
        count = self.count
        if self._asked[:2] != (count, shares):
            self._asked = count, shares, quantiles(self._classes, shares, self.most)
        return self._asked[2]

    def below(self) -> tuple[int, ...]:
        """How many values are below each bound."""
        classes = dict(self._classes)
        ordered = sorted(classes)
        so_far = [0, *accumulate(map(classes.__getitem__, ordered))]
        return tuple(so_far[bisect_left(ordered, bound)] for bound in _BOUNDS)

    def recent(self, now: float) -> tuple[float, float, float]:
        """The median, the 90th and the 99th percentile of late, for who asks again and again.

        Where nothing came, those of what came last. They are worked out anew as often as a mark is made, since there
        may be very many who are asked.
        """
        if now < self._due and (self._recent or not self.count):
            return self._recent or _UNKNOWN
        marks = self._marks
        self._due = now + (SPAN / _MARKS if self._recent else self._phase)
        # Others may add to it at this moment, and a copy does not change.
        classes = marks[-1].classes if self.count == marks[-1].n else dict(self._classes)
        marks.append(_Mark(now, self.count, classes))
        while marks[1].at <= now - SPAN:
            marks.popleft()
        before = marks[0].classes
        if news := {each: more for each, n in classes.items() if (more := n - before.get(each, 0))}:
            p50, p90, p99 = quantiles(news, (0.5, 0.9, 0.99), self.most)
            self._recent = p50, p90, p99
        return self._recent or _UNKNOWN

    def __add__(self, other: "Responses") -> "Responses":
        return Responses(
            self.count + other.count,
            self.total + other.total,
            max(self.most, other.most),
            self._classes + other._classes,
        )


@dataclass
class Punctuality:
    """The response times of a class, and how many of its results were later than the target."""

    target: float
    all: Responses = field(default_factory=Responses)
    late: int = 0

    def add(self, times: NDArray[np.float64]) -> None:
        """Take the response times of results."""
        self.all.add(times)
        self.late += int((times > self.target).sum())
