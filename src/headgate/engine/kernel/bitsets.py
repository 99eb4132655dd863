"""Slots that are found by bit sets: for each cell of an operand's keys, which of 64 slots accept it.

The cells of an operand are the same for all slots, so each row is looked for once. Slots with the same operands share
words, and the slots that want a row are the AND of the words of its cells. Most rows have none after the first.
Slots that differ in the range of one operand only, as those of a list of IN, are one bit.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np

from headgate.engine.kernel.arrays import Flags, Ints
from headgate.engine.kernel.blocks import WIDTH, Block, Test, Words
from headgate.engine.kernel.cells import Cells

_MOST = 1 << 20
"""So many words are kept, each of them twice: 16 MiB."""
_AT_ONCE = 1 << 20
"""So many words are looked at together."""
_SAMPLE = 256
_SELDOM = 64
"""Trains after which a block is asked again which operand leaves the fewest rows; a few are in each train."""
_ALL = np.uint64(2**64 - 1)


class Bitsets:
    """The slots of all families that are found so."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[int, ...], Block] = {}
        self._cells: dict[int, Cells] = {}
        self._width: Counter[int] = Counter()
        """How many words a cell of an operand has."""
        self._gone = 0
        self._runs = 0
        self._plan: _Plan | None = None

    def __len__(self) -> int:
        return sum(len(block) for block in self._blocks.values())

    @property
    def operands(self) -> list[int]:
        """Those whose keys it needs."""
        return list(self._cells)

    def has_room(self, operands: Sequence[int], slots: int, bits: int) -> bool:
        """Whether so many slots more, in so many bits, are not too many, if each of them cuts cells."""
        width, height = Counter(self._width), Counter({each: len(known) for each, known in self._cells.items()})
        for each in operands:
            width[each] += bits // WIDTH + 1
            height[each] += 2 * bits
        # The slots of a bit differ in one operand, whichever that is.
        height[max(operands, key=width.__getitem__)] += 2 * (slots - bits)
        return sum(width[each] * height[each] for each in width) <= _MOST

    def insert(self, slots: Ints, bits: Ints, tests: Sequence[Test]) -> None:
        """Enter slots that have the same operands. Those with the same number in `bits` have one bit."""
        operands = tuple(test[0] for test in tests)
        block = self._blocks.setdefault(operands, Block(operands))
        before = block.words
        block.insert(slots, bits, tests)
        for each in operands:
            self._cells.setdefault(each, Cells())
            self._width[each] += block.words - before

    def discard(self, dead: Flags) -> None:
        """Forget slots."""
        for operands, block in list(self._blocks.items()):
            self._gone += block.discard(dead)
            if not len(block):
                for each in operands:
                    self._width[each] -= block.words
                del self._blocks[operands]
                self._plan = None
        if self._gone > len(self):
            self._restart()

    def pairs(self, keys: Callable[[int], Ints], n: int) -> Iterator[tuple[Ints, Ints]]:
        """Rows and slots that want them, one for each bit. `keys` gives those of an operand for all rows."""
        if not self._blocks:
            return
        changed = self._settle()
        cells = np.stack([known.find(keys(operand)) for operand, known in self._cells.items()])
        plan = self._plan
        if self._order(changed, cells) or changed or plan is None:
            plan = self._plan = _Plan(list(self._blocks.values()), list(self._cells))
        step = max(1, _AT_ONCE // plan.words)
        for start in range(0, n, step):
            rows, slots = plan.matches(np.ascontiguousarray(cells[:, start : start + step]))
            yield rows + start, slots

    def _restart(self) -> None:
        """Make all anew, so that nothing is cut for what is gone."""
        blocks, self._blocks, self._cells, self._gone = self._blocks, {}, {}, 0
        self._width = Counter()
        for block in blocks.values():
            self.insert(*block.entries())

    def _settle(self) -> list[Block]:
        """Cut cells for what is new, and fill the words that have changed; the blocks that have such."""
        changed = [block for block in self._blocks.values() if block.is_stale]
        new: dict[int, list[tuple[Ints, Ints]]] = {}
        for block in changed:
            for operand, ends in zip(block.operands, block.new(), strict=True):
                new.setdefault(operand, []).append(ends)
        for operand, ranges in new.items():
            before = self._cells[operand].cut(*(np.concatenate(ends) for ends in zip(*ranges, strict=True)))
            if before is not None:
                for block in self._blocks.values():
                    block.cut(operand, before)
        for block in changed:
            block.fill(self._cells)
        return changed

    def _order(self, changed: list[Block], cells: Ints) -> bool:
        """Ask some rows which operand leaves the fewest words, of a few blocks in turn; whether any is another."""
        self._runs += 1
        asked = [*changed, *list(self._blocks.values())[self._runs % _SELDOM :: _SELDOM]]
        n = cells.shape[1]
        if not n or not asked:
            return False
        sample = dict(zip(self._cells, cells[:, np.linspace(0, n - 1, _SAMPLE).astype(np.int64)], strict=True))
        moved = [block.order([sample[each] for each in block.operands]) for block in asked]
        return any(moved)


class _Plan:
    """The words of all blocks one beside the other: those looked at first by operand, the others in one array."""

    def __init__(self, blocks: Sequence[Block], operands: Sequence[int]) -> None:
        numbers = {operand: number for number, operand in enumerate(operands)}
        blocks = sorted(blocks, key=lambda block: numbers[block.operands[block.by[0]]])
        self.words = sum(block.words for block in blocks)
        self._slots = np.concatenate([block.slots() for block in blocks])
        self._first: list[tuple[int, Words, int]] = []
        begin = 0
        for number, some in groupby(blocks, lambda block: numbers[block.operands[block.by[0]]]):
            table = np.concatenate([block.tables[block.by[0]] for block in some], axis=1)
            self._first.append((number, table, begin))
            begin += table.shape[1]
        pieces, size = [np.array([_ALL])], 1
        depth = max(len(block.by) for block in blocks)
        # For each word, the operand, and where its table begins and how far its rows are apart. Behind the last
        # operand of a block there is nothing to look at.
        self._later = [np.zeros((3, self.words), np.int64) for _ in range(1, depth)]
        begin = 0
        for block in blocks:
            end = begin + block.words
            for k, place in zip(block.by[1:], self._later, strict=False):
                place[0, begin:end] = numbers[block.operands[k]]
                place[1, begin:end] = size + np.arange(block.words)
                place[2, begin:end] = block.words
                pieces.append(block.tables[k].ravel())
                size += block.tables[k].size
            begin = end
        self._others = np.concatenate(pieces)

    def matches(self, cells: Ints) -> tuple[Ints, Ints]:
        """Rows, given by their cells of each operand, and slots that want them."""
        found = []
        for number, table, begin in self._first:
            accepted = table.take(cells[number], axis=0).ravel()
            hit = np.flatnonzero(accepted != 0)
            rows, words = np.divmod(hit, table.shape[1])
            found.append((rows, words + begin, accepted[hit]))
        rows, words, sets = (np.concatenate(each) for each in zip(*found, strict=True))
        flat = cells.ravel()
        for operands, starts, steps in self._later:
            cell = flat.take((operands * cells.shape[1]).take(words) + rows)
            sets = sets & self._others.take(starts.take(words) + steps.take(words) * cell)
            left = np.flatnonzero(sets != 0)
            rows, words, sets = rows[left], words[left], sets[left]
        which, bits = np.nonzero(np.unpackbits(sets.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little"))
        return rows[which], self._slots[words[which] * WIDTH + bits]
