"""The keys of an operand, cut where ranges begin and end: within a cell nothing tells one key from another."""

import numpy as np

from headgate.engine.kernel.arrays import Ints
from headgate.engine.kernel.keys import MOST, NULL

_DIRECT = 1 << 16
"""Cuts that are no further apart are found in an array by key."""


class Cells:
    """Cells by number, in the order of their keys. NULL has the first for itself."""

    def __init__(self) -> None:
        self._cuts = np.array([NULL + 1])
        """Where cells begin, all but the first."""
        self._direct: Ints | None = None

    def __len__(self) -> int:
        return len(self._cuts) + 1

    def cut(self, low: Ints, high: Ints) -> Ints | None:
        """Cut at both ends of ranges. Which old cell each new one was a part of, unless there is no new one."""
        ends = np.concatenate((low[low > NULL], high[high < MOST] + 1))
        cuts = np.union1d(self._cuts, ends)
        if len(cuts) == len(self._cuts):
            return None
        before = np.searchsorted(self._cuts, np.concatenate(([NULL], cuts)), "right")
        self._cuts, self._direct = cuts, None
        first, last = int(cuts[1]), int(cuts[-1])
        if last - first < _DIRECT:
            self._direct = np.searchsorted(cuts, cuts[1] - 1 + np.arange(last - first + 2), "right")
        return before

    def find(self, keys: Ints) -> Ints:
        """The cells of keys."""
        if self._direct is None:
            return np.searchsorted(self._cuts, keys, "right")
        below = self._cuts[1] - 1
        found: Ints = self._direct[np.clip(keys, below, self._cuts[-1]) - below]
        found[keys == NULL] = 0
        return found
