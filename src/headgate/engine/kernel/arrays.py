"""What numpy lacks for sorted and growing arrays of many small groups."""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

_SORT_FROM = 4096
"""So many values are found quicker in order than as they come, among as many."""


class Growing:
    """An array that values are appended to."""

    def __init__(self, dtype: type[Any] = np.int64) -> None:
        self._held: NDArray[Any] = np.empty(8, dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def values(self) -> NDArray[Any]:
        """What it has, for reading and for writing in place."""
        return self._held[: self._count]

    def extend(self, values: NDArray[Any]) -> None:
        """Append values."""
        end = self._count + len(values)
        if end > len(self._held):
            held = np.empty(max(end, 2 * len(self._held)), self._held.dtype)
            held[: self._count] = self.values
            self._held = held
        self._held[self._count : end] = values
        self._count = end

    def keep(self, wanted: Flags) -> None:
        """Forget all others."""
        self._held = self.values[wanted]
        self._count = len(self._held)


def spread(starts: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """For ranges of places: the number of the range, and the place, for all places of all ranges."""
    which = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return which, np.arange(len(which)) + (starts - before)[which]


def bisect(ordered: Ints, low: Ints, high: Ints, values: Ints, after: bool) -> Ints:
    """Where each value belongs within its own sorted range `low:high`; after those that are equal, or before."""
    if not len(ordered):
        return low
    low, high = low.copy(), high.copy()
    last = len(ordered) - 1
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        there = ordered[np.minimum(middle, last)]
        beyond = ((there <= values) if after else (there < values)) & (low < high)
        high = np.where(beyond, high, np.minimum(middle, high))
        low = np.where(beyond, middle + 1, low)
    return low


def search(ordered: Ints, values: Ints, after: bool) -> Ints:
    """The same within the whole array."""
    side: Literal["left", "right"] = "right" if after else "left"
    found = np.empty(len(values), np.int64)
    order = np.argsort(values) if min(len(ordered), len(values)) >= _SORT_FROM else slice(None)
    found[order] = np.searchsorted(ordered, values[order], side)
    return found
