"""Slots that are tried on every row: for few of them that is cheaper than an index, and their atom may be any."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from headgate.engine.kernel.arrays import Flags, Growing, Ints
from headgate.engine.kernel.keys import NULL

_AT_ONCE = 1 << 18
"""So many keys are compared together: as many as a core has near by."""


class Dense:
    """For each slot an operand, the range that its keys have to be in, and whether they have to be outside."""

    def __init__(self) -> None:
        self._slots, self._operands, self._low, self._high = (Growing() for _ in range(4))
        self._outside = Growing(np.bool_)

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def slots(self) -> Ints:
        """Whose the entries are, in their order."""
        return self._slots.values

    def insert(self, slots: Ints, operand: int, low: Ints, high: Ints, outside: bool) -> None:
        """Enter slots that have the same operand."""
        self._slots.extend(slots)
        self._operands.extend(np.full(len(slots), operand))
        self._low.extend(low)
        self._high.extend(high)
        self._outside.extend(np.full(len(slots), outside))

    def discard(self, dead: Flags) -> None:
        """Forget slots."""
        keep = ~dead[self.slots]
        for each in (self._slots, self._operands, self._low, self._high, self._outside):
            each.keep(keep)

    def hits(self, keys: Callable[[list[int]], Iterable[tuple[int, Ints]]], n: int) -> Iterator[tuple[Ints, Ints]]:
        """Rows, and the places of slots that may want them. `keys` gives operands with their keys for all rows."""
        order = np.argsort(self._operands.values, kind="stable")
        numbers, begin = np.unique(self._operands.values[order], return_index=True)
        places = dict(zip(numbers.tolist(), np.split(order, begin[1:]), strict=True))
        step = max(1, _AT_ONCE // max(1, n))
        for operand, values in keys(numbers.tolist()):
            mine = places[operand]
            for start in range(0, len(mine), step):
                some = mine[start : start + step]
                which, rows = self._inside(values, some)
                yield rows, some[which]

    def _inside(self, values: Ints, places: Ints) -> tuple[Ints, Ints]:
        low, high = self._low.values[places], self._high.values[places]
        if len(places) == 1:
            found = values == low[0] if low[0] == high[0] else (values >= low[0]) & (values <= high[0])
            if self._outside.values[places[0]]:
                found = ~found & (values != NULL)
            rows = np.flatnonzero(found)
            return np.zeros(len(rows), np.int64), rows
        inside = (values >= low[:, None]) & (values <= high[:, None])
        outside = self._outside.values[places]
        if outside.any():
            inside = (inside ^ outside[:, None]) & ((values != NULL) | ~outside[:, None])
        which, rows = np.nonzero(inside)
        return which, rows
