"""What is left to test of a slot once it is a candidate: operands, and the ranges that their keys have to be in."""

from collections.abc import Callable

import numpy as np

from headgate.engine.kernel.arrays import Growing, Ints
from headgate.engine.kernel.keys import NULL

Values = Callable[[Ints, Ints], Ints]
"""The keys of operands for rows, pair by pair."""


class Ranges:
    """The n-th test of all slots is a column: operand, lowest key, highest key, and whether it has to be outside."""

    def __init__(self) -> None:
        self._counts = Growing(np.int16)
        self._columns: list[tuple[Growing, Growing, Growing, Growing]] = []

    def extend(self, count: int) -> None:
        """Make room for more slots, which have no tests yet."""
        self._counts.extend(np.zeros(count, np.int16))
        for column in self._columns:
            for each in column:
                each.extend(np.zeros(count, np.int64))

    def set(self, slots: Ints, tests: list[tuple[int, Ints, Ints, bool]]) -> None:
        """Give slots the same operands to test, and each its own ranges."""
        while len(self._columns) < len(tests):
            column = (Growing(), Growing(), Growing(), Growing(np.bool_))
            for each in column:
                each.extend(np.zeros(len(self._counts), np.int64))
            self._columns.append(column)
        self._counts.values[slots] = len(tests)
        for column, test in zip(self._columns, tests, strict=False):
            for each, value in zip(column, test, strict=True):
                each.values[slots] = value

    def passed(self, rows: Ints, slots: Ints, values: Values) -> tuple[Ints, Ints]:
        """The pairs of a row and a slot of which all tests hold."""
        done: list[tuple[Ints, Ints]] = []
        for number, (operand, low, high, outside) in enumerate(self._columns):
            more = self._counts.values[slots] > number
            if not more.all():
                done.append((rows[~more], slots[~more]))
                rows, slots = rows[more], slots[more]
            if not len(rows):
                break
            keys = values(operand.values[slots], rows)
            holds = (keys >= low.values[slots]) & (keys <= high.values[slots])
            inverted = outside.values[slots]
            if inverted.any():
                holds = (holds ^ inverted) & ((keys != NULL) | ~inverted)
            rows, slots = rows[holds], slots[holds]
        done.append((rows, slots))
        return np.concatenate([pair[0] for pair in done]), np.concatenate([pair[1] for pair in done])
