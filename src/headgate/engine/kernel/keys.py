"""Values as 64-bit numbers in the same order, so that every comparison is one of whole numbers.

Spark's order: NaN is equal to itself and the greatest, -0.0 is 0.0, strings go by their bytes. NULL is less than any
key. Values that do not fit into a number are known by their place among the constants that they are compared with.
"""

from itertools import repeat
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headgate.engine.kernel.arrays import Ints
from headgate.engine.kernel.dictionary import Dictionary
from headgate.engine.kernel.types import decimal, dtype

LEAST = np.iinfo(np.int64).min
MOST = np.iinfo(np.int64).max
NULL = LEAST
_UNKNOWN = -1
_DIGITS = 18
"""So many digits of a decimal fit."""
_GAP = 1 << 40
_FEW = 4096
"""More values than these are looked at together."""


class Encoder(Protocol):
    """Gives values and constants of one operand their keys."""

    def keys(self, values: pl.Series) -> Ints:
        """The keys of values."""
        ...

    def enter(self, constants: pl.Series) -> Ints:
        """The keys of constants, which from now on are told apart from all other values."""
        ...


class Exhausted(Exception):  # noqa: N818 - the keys are
    """No key is left between two others: all have to be given anew."""


def encoder(kind: str, ordered: bool) -> Encoder:
    """For a type, and for comparisons of order or of equality only."""
    if fits(kind):
        return Numbers()
    return Ranks(kind) if ordered else Pool()


def fits(kind: str) -> bool:
    """Whether the values of a type are numbers of 64 bits."""
    digits = decimal(kind)
    return digits[0] <= _DIGITS if digits else kind not in ("string", "binary")


def is_extreme(kind: str, value: object) -> bool:
    """Whether a constant is one that its neighbour cannot be told from, since NULL takes a key."""
    return kind == "bigint" and isinstance(value, int) and value <= LEAST + 1


class Numbers:
    """Booleans, numbers, dates and times: their own bits."""

    def keys(self, values: pl.Series) -> Ints:
        """The keys of values."""
        missing = values.is_null().to_numpy() if values.null_count() else None
        kind = values.dtype
        if kind.is_float():
            found = floats((values if missing is None else values.fill_null(0.0)).to_numpy().astype(np.float64))
        else:
            plain = values.to_physical() if kind.is_temporal() or kind.is_decimal() else values
            plain = plain.cast(pl.Int64) if plain.dtype != pl.Int64 else plain
            found = (plain if missing is None else plain.fill_null(0)).to_numpy()
            if plain.dtype == kind or kind.is_temporal():
                found = np.maximum(found, NULL + 1)
        if missing is not None:
            found = np.where(missing, NULL, found)
        return found

    enter = keys


def floats(values: NDArray[np.float64]) -> Ints:
    """The keys of floating-point numbers."""
    plain = values + 0.0
    nan = np.isnan(plain)
    if nan.any():
        plain[nan] = np.nan
    bits: Ints = plain.view(np.int64)
    return bits ^ ((bits >> 63) & MOST)


class Pool:
    """Equality with constants of any type: the number of the constant that a value is equal to."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {None: NULL}
        self._hashes = Dictionary()
        self._varied: set[bool] = set()
        """Whether most values are different ones: for many of them (True), and for few."""

    def keys(self, values: pl.Series) -> Ints:
        """The keys of values."""
        many = len(values) >= _FEW
        if many not in self._varied:
            found, count = self._by_distinct(values)
            if 2 * count > len(values):
                self._varied.add(many)
            return found
        if not many:
            return self._found(values.to_list())
        # Most values are no constant: those with another hash need not be looked at.
        found = np.full(len(values), _UNKNOWN)
        rows = np.flatnonzero(self._hashes.find(_hashes(values)) >= 0)
        found[rows], _ = self._by_distinct(values[rows])
        if values.null_count():
            found[values.is_null().to_numpy()] = NULL
        return found

    def _by_distinct(self, values: pl.Series) -> tuple[Ints, int]:
        """The keys of values, and how many different ones there are."""
        encoded = values.to_arrow().dictionary_encode("encode")
        return self._found(encoded.dictionary.to_pylist())[encoded.indices.to_numpy()], len(encoded.dictionary)

    def enter(self, constants: pl.Series) -> Ints:
        """The keys of constants."""
        given = constants.drop_nulls()
        for each in given.to_list():
            self._numbers.setdefault(each, len(self._numbers))
        self._hashes.enter(_hashes(given))
        return self._found(constants.to_list())

    def _found(self, values: list[object]) -> Ints:
        return np.fromiter(map(self._numbers.get, values, repeat(_UNKNOWN)), np.int64, len(values))


def _hashes(values: pl.Series) -> Ints:
    hashes: Ints = values.hash().to_numpy().view(np.int64)
    return hashes


class Ranks:
    """Order among constants of any type: the label of the constant, or one between those of its neighbours."""

    def __init__(self, kind: str) -> None:
        self._constants = pl.Series([], dtype=dtype(kind))
        self._labels = np.empty(0, np.int64)

    def keys(self, values: pl.Series) -> Ints:
        """The keys of values."""
        if not len(self._constants):
            found = np.zeros(len(values), np.int64)
        else:
            at = self._constants.search_sorted(values).to_numpy().astype(np.int64)
            there = np.minimum(at, len(self._labels) - 1)
            # A row without a value is neither, but it gets its key below.
            same = (self._constants[pl.Series(there, dtype=pl.UInt32)] == values).to_numpy() == 1
            below = np.where(at > 0, self._labels[at - 1], NULL + 1) + 1
            found = np.where(same, self._labels[there], below)
        if values.null_count():
            found[values.is_null().to_numpy()] = NULL
        return found

    def enter(self, constants: pl.Series) -> Ints:
        """The keys of constants. Raises Exhausted if there is no key left for one."""
        given = constants.drop_nulls()
        new = given.filter(~given.is_in(self._constants.implode())).unique().sort()
        if len(new):
            self._insert(new)
        return self.keys(constants)

    def _insert(self, new: pl.Series) -> None:
        at = self._constants.search_sorted(new).to_numpy().astype(np.int64)
        edges = np.concatenate(([0], self._labels, [0]))
        if len(self._labels):
            edges[0] = self._labels[0] - _GAP * (len(new) + 1)
            edges[-1] = self._labels[-1] + _GAP * (len(new) + 1)
        else:
            edges[-1] = _GAP * (len(new) + 1)
        _, first, counts = np.unique(at, return_index=True, return_counts=True)
        nth = np.arange(len(at)) - np.repeat(first, counts) + 1
        step = (edges[at + 1] - edges[at]) // (np.repeat(counts, counts) + 1)
        if (step < 2).any() or abs(edges).max() > MOST // 2:
            raise Exhausted
        self._labels = np.insert(self._labels, at, edges[at] + nth * step)
        self._constants = self._constants.append(new).sort()
