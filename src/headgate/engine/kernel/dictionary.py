"""Numbers of many 64-bit keys, found for a whole array at once."""

import numpy as np

from headgate.engine.kernel.arrays import Growing, Ints

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SMALL = 1024
_DIRECT = 1 << 16
"""Keys below this have an array of their own; it is as large as a table of 10,000 others."""


class Dictionary:
    """Numbers keys in the order in which they come. New keys wait in a small table, merged when it has grown."""

    def __init__(self) -> None:
        self._keys = Growing()
        self._tables: list[_Table | _Places] = []

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, keys: Ints) -> Ints:
        """The numbers of keys; -1 where one is unknown."""
        if not self._tables:
            return np.full(len(keys), -1)
        first, *others = self._tables
        found = first.find(keys)
        for table in others:
            missing = np.flatnonzero(found < 0)
            found[missing] = table.find(keys[missing])
        return found

    def enter(self, keys: Ints) -> Ints:
        """The numbers of keys, of which some may be new."""
        found = self.find(keys)
        missing = found < 0
        if missing.any():
            new, first, back = np.unique(keys[missing], return_index=True, return_inverse=True)
            places = np.empty(len(new), np.int64)
            places[np.argsort(first)] = len(self) + np.arange(len(new))
            found[missing] = places[back]
            self._keys.extend(new[np.argsort(places)])
            self._grow()
        return found

    def _grow(self) -> None:
        keys = self._keys.values
        if keys.min() >= 0 and keys.max() < max(_DIRECT, 4 * len(keys)):
            self._tables = [_Places(keys)]
            return
        main = self._tables[0].end if self._tables else 0
        if len(self) - main > _SMALL + main // 16:
            self._tables = [_Table(keys.copy(), 0)]
        else:
            self._tables = [*self._tables[:1], _Table(keys[main:].copy(), main)]


class _Places:
    """The numbers of keys that are small themselves: an array by key."""

    def __init__(self, keys: Ints) -> None:
        self.end = len(keys)
        self._numbers = np.full(int(keys.max()) + 2, -1)
        self._numbers[keys] = np.arange(len(keys))
        self._last = np.uint64(len(self._numbers) - 1)

    def find(self, keys: Ints) -> Ints:
        # A key below zero is a great one without its sign.
        return self._numbers[np.minimum(keys.view(np.uint64), self._last).view(np.int64)]


class _Table:
    """A hash table: keys in the order of their buckets, and where each bucket begins."""

    def __init__(self, keys: Ints, first: int) -> None:
        self.end = first + len(keys)
        # Few keys have many buckets, so that hardly two of them share one.
        bits = ((16 if len(keys) < _SMALL else 2) * len(keys)).bit_length()
        self._shift = np.uint64(64 - bits)
        buckets = self._bucket(keys)
        order = np.argsort(buckets, kind="stable")
        self._keys, self._numbers = keys[order], order + first
        counts = np.bincount(buckets, minlength=1 << bits)
        self._starts = np.concatenate(([0], np.cumsum(counts)))
        self._longest = int(counts.max(initial=0))

    def find(self, keys: Ints) -> Ints:
        buckets = self._bucket(keys)
        at, end = self._starts[buckets], self._starts[buckets + 1]
        found = np.full(len(keys), -1)
        waiting = np.flatnonzero(at < end)
        at, end, wanted = at[waiting], end[waiting], keys[waiting]
        for _ in range(self._longest):
            hit = self._keys[at] == wanted
            found[waiting[hit]] = self._numbers[at[hit]]
            more = ~hit & (at + 1 < end)
            if not more.any():
                break
            waiting, at, end, wanted = waiting[more], at[more] + 1, end[more], wanted[more]
        return found

    def _bucket(self, keys: Ints) -> Ints:
        return ((keys.view(np.uint64) * _MIX) >> self._shift).astype(np.int64)
