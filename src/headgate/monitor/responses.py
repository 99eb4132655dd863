"""Response times of results by magnitude, for their quantiles."""

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_PER_DECADE = 20
"""Classes of magnitude per factor of ten: a quantile is exact to about 6 %."""
_LEAST = 1e-9


@dataclass
class Responses:
    """Count, mean, maximum and quantiles of a positive quantity."""

    count: int = 0
    total: float = 0.0
    most: float = 0.0
    _classes: Counter[int] = field(default_factory=Counter)

    def add(self, values: NDArray[np.float64]) -> None:
        """Take values of 0 or more."""
        if not len(values):
            return
        self.count += len(values)
        self.total += float(values.sum())
        self.most = max(self.most, float(values.max()))
        classes = np.floor(_PER_DECADE * np.log10(np.maximum(values, _LEAST))).astype(np.int64)
        self._classes.update(
            dict(zip(*(each.tolist() for each in np.unique(classes, return_counts=True)), strict=True))
        )

    @property
    def mean(self) -> float:
        """The average; not a number while there is none."""
        return self.total / self.count if self.count else math.nan

    def quantile(self, share: float) -> float:
        """The value that this share of all stays below, to the class of magnitude."""
        left = share * self.count
        for magnitude in sorted(self._classes):
            left -= self._classes[magnitude]
            if left <= 0:
                return min(self.most, float(10 ** ((magnitude + 0.5) / _PER_DECADE)))
        return math.nan

    def __add__(self, other: "Responses") -> "Responses":
        return Responses(
            self.count + other.count,
            self.total + other.total,
            max(self.most, other.most),
            self._classes + other._classes,
        )
