"""Members of a unit by the constants that one or two of their atoms compare with: who may want a tuple, at once."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from headgate.engine.kernel.arrays import Flags, Ints, bisect, search, spread
from headgate.engine.kernel.dense import Dense
from headgate.engine.kernel.dictionary import Dictionary
from headgate.engine.kernel.keys import NULL

_AT_ONCE = 1 << 21
"""So many candidates are looked at together."""


@dataclass(frozen=True, slots=True)
class Path:
    """How candidates are found: an operand that is equal to a constant, then one that is equal, less or greater.

    Either may be missing. `by` is the sign of the second. With the sign `near` both ends of a range are known, and
    ranges are found by the cells of `1 << level` keys that they touch.
    """

    first: int | None = None
    second: int | None = None
    by: str = ""
    level: int = 0


EACH = Path(by="each")
"""No path at all: an atom is tried on every row."""
BITS = Path(by="bits")
"""None either: all atoms together are bit sets."""


class Index:
    """The entries of a path, sorted by the two keys. `slots` say whose they are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._groups = Dictionary()
        self._group = np.empty(0, np.int64)
        self._second = np.empty(0, np.int64)
        self._slots = np.empty(0, np.int64)
        self._starts = self._ends = np.zeros(1, np.int64)
        self._has_cells = path.by == "near" and path.first is None
        """Whether the cells themselves are what is first equal."""
        self._new: list[tuple[Ints, Ints, Ints]] = []

    def __len__(self) -> int:
        return len(self._slots) + sum(len(slots) for slots, *_ in self._new)

    def insert(self, slots: Ints, first: Ints | None, low: Ints | None, high: Ints | None) -> None:
        """Enter slots with the key that is first equal, and the bounds of the second."""
        second = np.zeros(len(slots), np.int64)
        if low is not None and high is not None:
            second = np.invert(high) if self.path.by == "<" else low >> self.path.level
            if self.path.by == "near":
                end = high >> self.path.level
                two = end > second
                slots, second = np.concatenate((slots, slots[two])), np.concatenate((second, end[two]))
                first = None if first is None else np.concatenate((first, first[two]))
        if self._has_cells:
            first, second = second, np.zeros(len(slots), np.int64)
        group = np.zeros(len(slots), np.int64) if first is None else self._groups.enter(first)
        self._new.append((slots, group, second))

    def discard(self, dead: Flags) -> None:
        """Forget slots."""
        self._settle()
        keep = ~dead[self._slots]
        self._hold(self._slots[keep], self._group[keep], self._second[keep])

    @property
    def slots(self) -> Ints:
        """Whose the entries are, in their order."""
        self._settle()
        return self._slots

    def hits(self, first: Ints | None, second: Ints | None, n: int) -> tuple[Ints, Ints, Ints]:
        """Rows, given by their keys, that some entries may want; where these begin, and how many they are."""
        self._settle()
        wanted = None
        if second is not None:
            wanted = np.invert(second) if self.path.by == "<" else second >> self.path.level
        if self._has_cells:
            first, wanted = wanted, None
        if first is not None:
            return self._grouped(first, second, wanted)
        if wanted is None or second is None:
            return np.arange(n), np.zeros(n, np.int64), np.full(n, len(self._slots))
        # Most rows are wanted by nobody, since most thresholds are far off.
        rows = np.flatnonzero((wanted >= self._second[:1]) & (second != NULL))
        return rows, np.zeros(len(rows), np.int64), search(self._second, wanted[rows], after=True)

    def _grouped(self, first: Ints, second: Ints | None, wanted: Ints | None) -> tuple[Ints, Ints, Ints]:
        group = self._groups.find(first)
        rows = np.flatnonzero(group >= 0)
        group = group[rows]
        begin, end = self._starts[group], self._ends[group]
        if wanted is not None and second is not None:
            end = bisect(self._second, begin, end, wanted[rows], after=True)
            if self.path.by in ("=", "near"):
                begin = bisect(self._second, begin, end, wanted[rows], after=False)
            else:
                end = np.where(second[rows] == NULL, begin, end)
        hit = np.flatnonzero(end > begin)
        return rows[hit], begin[hit], (end - begin)[hit]

    def _settle(self) -> None:
        """Merge what is new; few entries into their places, many by sorting."""
        if not self._new:
            return
        slots, group, second = (np.concatenate(each) for each in zip(*self._new, strict=True))
        self._new = []
        order = np.lexsort((second, group))
        slots, group, second = slots[order], group[order], second[order]
        if len(slots) * 8 > len(self._slots):
            slots, group, second = (
                np.concatenate(each) for each in ((self._slots, slots), (self._group, group), (self._second, second))
            )
            order = np.lexsort((second, group))
            self._hold(slots[order], group[order], second[order])
            return
        # New groups come behind all others.
        known = group < len(self._starts)
        begin = np.where(known, self._starts[np.where(known, group, 0)], len(self._slots))
        end = np.where(known, self._ends[np.where(known, group, 0)], len(self._slots))
        at = bisect(self._second, begin, end, second, after=True)
        self._hold(
            np.insert(self._slots, at, slots), np.insert(self._group, at, group), np.insert(self._second, at, second)
        )

    def _hold(self, slots: Ints, group: Ints, second: Ints) -> None:
        self._slots, self._group, self._second = slots, group, second
        counts = np.bincount(group, minlength=max(1, len(self._groups)))
        self._ends = np.cumsum(counts)
        self._starts = self._ends - counts


class Indexes:
    """The indexes of all paths. Their entries are looked at as one list, so that many paths take few steps."""

    def __init__(self) -> None:
        self._indexes: dict[Path, Index] = {}
        self.dense = Dense()
        self._slots: Ints | None = None

    def __iter__(self) -> Iterator[Path]:
        return iter(self._indexes)

    def insert(self, path: Path, slots: Ints, first: Ints | None, low: Ints | None, high: Ints | None) -> None:
        """Enter slots with the keys of a path."""
        self._indexes.setdefault(path, Index(path)).insert(slots, first, low, high)
        self._slots = None

    def insert_dense(self, slots: Ints, operand: int, low: Ints, high: Ints, outside: bool) -> None:
        """Enter slots that are tried on every row."""
        self.dense.insert(slots, operand, low, high, outside)
        self._slots = None

    def discard(self, dead: Flags, path: Path | None = None) -> None:
        """Forget slots that are on one path, at whatever level, or anywhere."""
        if path in (None, EACH):
            self.dense.discard(dead)
        for each, index in list(self._indexes.items()):
            if path in (None, replace(each, level=0)):
                index.discard(dead)
                if not len(index):
                    del self._indexes[each]
        self._slots = None

    def candidates(
        self,
        keys: Callable[[int], Ints],
        many: Callable[[list[int]], Iterable[tuple[int, Ints]]],
        n: int,
    ) -> Iterator[tuple[Ints, Ints]]:
        """Rows and the slots that may want them, not too many at a time.

        `keys` gives those of an operand for all rows, `many` those of operands that are needed but once.
        """
        if self._slots is None:
            self._slots = np.concatenate([self.dense.slots, *(each.slots for each in self._indexes.values())])
        found: list[tuple[Ints, Ints, Ints]] = []
        if len(self.dense):
            pairs = list(self.dense.hits(many, n))
            rows = np.concatenate([pair[0] for pair in pairs])
            found.append((rows, np.concatenate([pair[1] for pair in pairs]), np.ones(len(rows), np.int64)))
        base = len(self.dense)
        for path, index in self._indexes.items():
            first, second = (None if each is None else keys(each) for each in (path.first, path.second))
            rows, begin, counts = index.hits(first, second, n)
            found.append((rows, begin + base, counts))
            base += len(index)
        if found:
            yield from self._spread(*(np.concatenate(each) for each in zip(*found, strict=True)))

    def _spread(self, rows: Ints, begin: Ints, counts: Ints) -> Iterator[tuple[Ints, Ints]]:
        ends = np.cumsum(counts)
        done = 0
        while done < len(rows):
            before = int(ends[done - 1]) if done else 0
            upto = max(done + 1, int(np.searchsorted(ends, before + _AT_ONCE, "right")))
            which, places = spread(begin[done:upto], counts[done:upto])
            yield rows[done:upto][which], self._slots[places]  # type: ignore[index]
            done = upto
