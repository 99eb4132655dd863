"""Slots with the same operands as bits of words: a word for every cell of an operand, and for every 64 slots."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from headgate.engine.kernel.arrays import Flags, Growing, Ints
from headgate.engine.kernel.cells import Cells

Words = NDArray[np.uint64]
Test = tuple[int, Ints, Ints, bool | Flags]
"""An operand, for each slot the lowest and the highest key, and whether it accepts what is outside of these."""

WIDTH = 64
"""Bits of a word."""
_CLEARLY = 0.8
"""An operand that leaves less than so much of what another one does is worth a change."""


class Block:
    """Slots with the same operands, their bits, and a table of words by cell for each operand."""

    def __init__(self, operands: tuple[int, ...]) -> None:
        self.operands = operands
        self.by = list(range(len(operands)))
        """In which order the operands are looked at."""
        self.tables: list[Words] = [np.zeros((0, 0), np.uint64) for _ in operands]
        self._bits: dict[int, int] = {}
        self._slots, self._owners, self._places = Growing(), Growing(), Growing()
        self._ranges = [(Growing(), Growing(), Growing(np.bool_)) for _ in operands]
        self._cut = 0
        """So many slots have their cells."""
        self._stale: set[int] = set()

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def words(self) -> int:
        """How many words a cell has."""
        return -(-len(self._bits) // WIDTH)

    @property
    def is_stale(self) -> bool:
        """Whether words have changed."""
        return bool(self._stale)

    def insert(self, slots: Ints, bits: Ints, tests: Sequence[Test]) -> None:
        """Enter slots. Those with the same number in `bits` have one bit."""
        places = np.array([self._bits.setdefault(bit, len(self._bits)) for bit in bits.tolist()], np.int64)
        for held, given in ((self._slots, slots), (self._owners, bits), (self._places, places)):
            held.extend(given)
        for (low, high, outside), (_, lowest, highest, inverted) in zip(self._ranges, tests, strict=True):
            low.extend(lowest)
            high.extend(highest)
            outside.extend(np.broadcast_to(inverted, len(slots)))
        self._stale |= set((places // WIDTH).tolist())

    def discard(self, dead: Flags) -> int:
        """Forget slots; how many they were. Their bits are left empty."""
        gone = dead[self._slots.values]
        if not gone.any():
            return 0
        self._stale |= set((self._places.values[gone] // WIDTH).tolist())
        self._cut -= int(gone[: self._cut].sum())
        for each in (self._slots, self._owners, self._places, *chain.from_iterable(self._ranges)):
            each.keep(~gone)
        return int(gone.sum())

    def entries(self) -> tuple[Ints, Ints, list[Test]]:
        """What was inserted, as far as it is there."""
        ranges = [(low.values, high.values, outside.values) for low, high, outside in self._ranges]
        return (
            self._slots.values,
            self._owners.values,
            [(operand, *each) for operand, each in zip(self.operands, ranges, strict=True)],
        )

    def new(self) -> list[tuple[Ints, Ints]]:
        """The ranges that have no cells yet, for each operand."""
        return [(low.values[self._cut :], high.values[self._cut :]) for low, high, _ in self._ranges]

    def cut(self, operand: int, before: Ints) -> None:
        """Make room for new cells of an operand, given which old ones they were a part of."""
        for k, each in enumerate(self.operands):
            if each == operand and len(self.tables[k]):
                self.tables[k] = self.tables[k][before]

    def fill(self, cells: dict[int, Cells]) -> None:
        """Write the words that have changed."""
        for k, operand in enumerate(self.operands):
            height, width = self.tables[k].shape
            self.tables[k] = np.pad(self.tables[k], ((0, len(cells[operand]) - height), (0, self.words - width)))
            for word in self._stale:
                self.tables[k][:, word] = self._accepted(k, word, cells[operand])
        self._cut, self._stale = len(self), set()

    def _accepted(self, k: int, word: int, cells: Cells) -> Words:
        """One word of all cells."""
        mine = np.flatnonzero(self._places.values // WIDTH == word)
        low, high, outside = (each.values[mine] for each in self._ranges[k])
        bits, first, last = self._places.values[mine] % WIDTH, cells.find(low), cells.find(high) + 1
        # What is outside of a range is two of them; NULL is in neither.
        begin = np.concatenate((np.where(outside, 1, first), last[outside]))
        end = np.concatenate((np.where(outside, first, last), np.full(outside.sum(), len(cells))))
        bits = np.concatenate((bits, bits[outside]))
        size = (len(cells) + 1) * WIDTH
        marks = np.bincount(begin * WIDTH + bits, minlength=size) - np.bincount(end * WIDTH + bits, minlength=size)
        accepted = marks.reshape(-1, WIDTH).cumsum(axis=0)[:-1] > 0
        words: Words = np.packbits(accepted, axis=1, bitorder="little").view(np.uint64)[:, 0]
        return words

    def order(self, sample: Sequence[Ints]) -> bool:
        """Look first where clearly the fewest words are left, given the cells of some rows; whether that is new."""
        left = [np.count_nonzero(table[cells]) for table, cells in zip(self.tables, sample, strict=True)]
        best = sorted(range(len(left)), key=left.__getitem__)
        if left[best[0]] >= _CLEARLY * left[self.by[0]]:
            return False
        self.by = best
        return True

    def slots(self) -> Ints:
        """A slot for each bit."""
        found = np.zeros(self.words * WIDTH, np.int64)
        found[self._places.values] = self._slots.values
        return found
