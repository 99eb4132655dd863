"""The keys of the rows of a batch, as far as they are needed."""

from collections.abc import Iterator

import numpy as np

from headgate.engine.kernel.arrays import Ints
from headgate.engine.kernel.batch import Batch
from headgate.engine.kernel.family import Operands

_MATRIX = 1 << 22
"""So many keys are held at a time, of operands that are not needed for long."""


class Keyed:
    """The keys of some operands for all rows, and of the others for the rows that need them."""

    def __init__(self, operands: Operands, batch: Batch, ahead: list[int]) -> None:
        self._operands, self._batch = operands, batch
        values = batch.values(operands[each].formula for each in ahead)
        self._ahead = operands.keys(ahead, values, batch.n)
        self._places = np.full(len(operands), -1)
        self._places[ahead] = np.arange(len(ahead))
        self._matrix = np.empty((0, 0), np.int64)

    def of(self, operand: int) -> Ints:
        """The keys of all rows."""
        return self._ahead[operand]

    def pairs(self, operands: Ints, rows: Ints) -> Ints:
        """The keys of operands for rows, pair by pair."""
        if not len(self._matrix) and self._ahead:
            self._matrix = np.stack(list(self._ahead.values()))
        places = self._places[operands]
        late = np.flatnonzero(places < 0)
        if not len(late):
            found: Ints = self._matrix[places, rows]
            return found
        found = np.empty(len(rows), np.int64)
        early = np.flatnonzero(places >= 0)
        if len(early):
            found[early] = self._matrix[places[early], rows[early]]
        found[late] = self._late(operands[late], rows[late])
        return found

    def _late(self, operands: Ints, rows: Ints) -> Ints:
        """Each operand is computed for all rows that one of them is wanted for, in one go unless that is a lot."""
        numbers, which = np.unique(operands, return_inverse=True)
        places, where = np.unique(rows, return_inverse=True)
        found = np.empty(len(rows), np.int64)
        step = max(1, _MATRIX // len(places))
        for start in range(0, len(numbers), step):
            some = numbers[start : start + step].tolist()
            values = self._batch.at(places, (self._operands[each].formula for each in some))
            matrix = np.stack(list(self._operands.keys(some, values, len(places)).values()))
            mine = (which >= start) & (which < start + step)
            found[mine] = matrix[which[mine] - start, where[mine]]
        return found

    def once(self, operands: list[int]) -> Iterator[tuple[int, Ints]]:
        """Operands with the keys of all rows; those that are not kept, a few at a time."""
        for each in operands:
            if each in self._ahead:
                yield each, self._ahead[each]
        others = [each for each in operands if each not in self._ahead]
        step = max(1, _MATRIX // max(1, self._batch.n))
        for start in range(0, len(others), step):
            some = others[start : start + step]
            values = self._batch.values((self._operands[each].formula for each in some), keep=len(others) <= step)
            yield from self._operands.keys(some, values, self._batch.n).items()
