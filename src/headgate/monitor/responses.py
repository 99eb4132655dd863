"""Response times of results by magnitude, for their quantiles."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_PER_DECADE = 20
"""Classes of magnitude per factor of ten: a quantile is exact to about 6 %."""
_LEAST = 1e-9


def magnitudes(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The class of magnitude of each value."""
    found: NDArray[np.int64] = np.floor(_PER_DECADE * np.log10(np.maximum(values, _LEAST))).astype(np.int64)
    return found


def quantile(spread: Mapping[int, float], share: float, most: float = math.inf) -> float:
    """The value that this share of all stays below, by how many have each magnitude; none is above `most`."""
    left = share * sum(spread.values())
    for magnitude in sorted(spread):
        left -= spread[magnitude]
        if left <= 0 < spread[magnitude]:
            return min(most, float(10 ** ((magnitude + 0.5) / _PER_DECADE)))
    return math.nan


@dataclass
class Responses:
    """Count, mean, maximum and quantiles of a positive quantity."""

    count: int = 0
    total: float = 0.0
    most: float = 0.0
    _classes: Counter[int] = field(default_factory=Counter)

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
