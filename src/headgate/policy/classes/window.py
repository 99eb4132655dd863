"""Response times of classes since a program was built: their mean, or a percentile.

Since the program was built, and not over the last round: averages of single rounds go up and down without end, and
frequencies that follow them never settle.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from headgate.errors import InputError

Level = float | Literal["mean"]

_STEP = 0.01
"""Response times that a percentile does not tell apart are within one percent of each other."""
_LEAST = 1e-9


@dataclass
class Window:
    """Response times of one class, in memory that does not grow with their number."""

    count: int = 0
    total: float = 0.0
    _steps: Counter[int] = field(default_factory=Counter)

    def add(self, times: ArrayLike) -> None:
        """Take response times."""
        values = np.atleast_1d(np.asarray(times, dtype=np.float64))
        self.count += len(values)
        self.total += float(values.sum())
        self._steps.update(np.floor(np.log(np.maximum(values, _LEAST)) / _STEP).astype(np.int64).tolist())

    def at(self, level: Level) -> float:
        """The mean, or a percentile; not a number while there is nothing."""
        if not self.count:
            return math.nan
        if level == "mean":
            return self.total / self.count
        steps = sorted(self._steps)
        below = accumulate(self._steps[step] for step in steps)
        step = next(step for step, n in zip(steps, below, strict=True) if n >= level / 100 * self.count)
        return math.exp((step + 0.5) * _STEP)


@dataclass
class Windows:
    """A window for each class, looked at on one level once it has so many samples."""

    level: Level = "mean"
    samples: int = 1
    _of: dict[str, Window] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if not (self.level == "mean" or _percentile(self.level)):
            rule = "inversion is looked for at the mean or at a percentile between 0 and 100"
            raise InputError(rule, self.level, "Write level: mean or level: 75.")
        if not self.samples >= 1:
            raise InputError("inversion is looked for in one sample or more", self.samples, "Give 1 or more.")

    def add(self, cls: str, times: ArrayLike) -> None:
        """Take response times of a class."""
        self._of.setdefault(cls, Window()).add(times)

    def at_level(self, classes: Sequence[str]) -> list[float]:
        """The response time of each class; not a number for one with too few samples."""
        found = [self._of.get(name, Window()) for name in classes]
        return [window.at(self.level) if window.count >= self.samples else math.nan for window in found]

    def reset(self) -> None:
        """Forget all."""
        self._of.clear()


def _percentile(level: object) -> bool:
    return isinstance(level, int | float) and 0 < level < 100
