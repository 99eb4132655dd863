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


class Index:
    """The entries of a path, sorted by the two keys. `slots` say whose they are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._groups = Dictionary()
        self._group = np.empty(0, np.int64)
        self._second = np.empty(0, np.int64)
        self._slots = np.empty(0, np.int64)
        self._starts = self._ends = np.zeros(1, np.int64)
        self._new: list[tuple[Ints, Ints, Ints]] = []

    def __len__(self) -> int:
        return len(self._slots) + sum(len(slots) for slots, *_ in self._new)

    def insert(self, slots: Ints, first: Ints | None, low: Ints | None, high: Ints | None) -> None:
        """Enter slots with the key that is first equal, and the bounds of the second."""
        group = np.zeros(len(slots), np.int64) if first is None else self._groups.enter(first)
        match self.path.by:
            case "":
                self._new.append((slots, group, group))
            case ">" | "=":
                self._new.append((slots, group, low))  # type: ignore[arg-type]
            case "<":
                self._new.append((slots, group, np.invert(high)))  # type: ignore[arg-type]
            case _:
                start, end = (each >> self.path.level for each in (low, high) if each is not None)
                self._new.append((slots, group, start))
                two = end > start
                self._new.append((slots[two], group[two], end[two]))

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

    def ranges(self, first: Ints | None, second: Ints | None, n: int) -> tuple[Ints, Ints]:
        """Where the entries that may want a row, given by its keys, begin; and how many they are."""
        self._settle()
        if first is None:
            begin, end = np.zeros(n, np.int64), np.full(n, len(self._slots))
        else:
            # Nothing is in the last group, which -1 stands for.
            group = self._groups.find(first)
            begin, end = self._starts[group], self._ends[group]
        if second is None:
            return begin, end - begin
        wanted = ~second if self.path.by == "<" else second >> self.path.level
        if self.path.by in ("=", "near"):
            low, high = self._bisect(begin, end, wanted, first is None)
            return low, high - low
        _, high = self._bisect(begin, end, wanted, first is None)
        return begin, np.where(second == NULL, 0, high - begin)

    def _bisect(self, begin: Ints, end: Ints, wanted: Ints, whole: bool) -> tuple[Ints, Ints]:
        """From where to where the second key is equal."""
        both = self.path.by in ("=", "near")
        if whole:
            high = search(self._second, wanted, after=True)
            return (search(self._second, wanted, after=False) if both else begin), high
        high = bisect(self._second, begin, end, wanted, after=True)
        return (bisect(self._second, begin, high, wanted, after=False) if both else begin), high

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
        known = group < len(self._starts) - 1
        begin = np.where(known, self._starts[np.where(known, group, 0)], len(self._slots))
        end = np.where(known, self._ends[np.where(known, group, 0)], len(self._slots))
        at = bisect(self._second, begin, end, second, after=True)
        self._hold(
            np.insert(self._slots, at, slots), np.insert(self._group, at, group), np.insert(self._second, at, second)
        )

    def _hold(self, slots: Ints, group: Ints, second: Ints) -> None:
        self._slots, self._group, self._second = slots, group, second
        counts = np.bincount(group, minlength=max(1, len(self._groups)))
        self._ends = np.append(np.cumsum(counts), 0)
        self._starts = np.append(self._ends[:-1] - counts, 0)


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
            begin, counts = index.ranges(first, second, n)
            hit = np.flatnonzero(counts)
            found.append((hit, begin[hit] + base, counts[hit]))
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
