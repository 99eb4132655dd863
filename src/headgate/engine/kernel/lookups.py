"""Joins with reference tables, whose rows are kept by their keys."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from headgate.engine.kernel.arrays import Flags, Ints, spread
from headgate.engine.kernel.batch import Batch, Formulas
from headgate.engine.kernel.dictionary import Dictionary
from headgate.engine.kernel.ir import Column, Lookup, Node, walk
from headgate.engine.kernel.keys import NULL, Encoder, Pool, encoder, is_extreme
from headgate.engine.kernel.types import arrow


class Failed(Exception):  # noqa: N818 - a lookup has
    """A lookup cannot be done for these rows."""


class Reference:
    """The snapshot of a table for one lookup."""

    def __init__(self, lookup: Lookup, folder: str) -> None:
        self._lookup = lookup
        self._columns = _read(lookup, folder)
        n = len(next(iter(self._columns.values()), ()))
        formulas = Formulas()
        table = Batch(formulas, n, self._columns.__getitem__)
        self._keys = [_Key(right.type) for _, right in lookup.keys]
        groups, usable = np.zeros(n, np.int64), np.ones(n, np.bool_)
        for key, (_, right) in zip(self._keys, lookup.keys, strict=True):
            groups, known = key.enter(groups, _values(table, right))
            usable &= known
        rows = np.flatnonzero(usable)
        self._rows = rows[np.argsort(groups[rows], kind="stable")]
        counts = np.bincount(groups[rows], minlength=int(groups.max(initial=0)) + 1)
        self._starts = np.concatenate(([0], np.cumsum(counts)))

    def join(self, batch: Batch) -> Batch:
        """The rows that come of it, in the order of the batch."""
        left, right = self._pairs(batch)
        if self._lookup.condition is not None:
            pairs = self._joined(batch, left, right)
            true = _values(pairs, self._lookup.condition).fill_null(value=False).to_numpy()
            left, right = left[true], right[true]
        match self._lookup.kind:
            case "inner":
                return self._joined(batch, left, right)
            case "left":
                alone = np.setdiff1d(np.arange(batch.n), left)
                order = np.argsort(np.concatenate((left, alone)), kind="stable")
                right = np.concatenate((right, np.full(len(alone), -1)))[order]
                return self._joined(batch, np.concatenate((left, alone))[order], right)
            case "semi":
                return self._joined(batch, np.unique(left), None)
            case "anti":
                return self._joined(batch, np.setdiff1d(np.arange(batch.n), left), None)

    def _pairs(self, batch: Batch) -> tuple[Ints, Ints]:
        groups = np.zeros(batch.n, np.int64)
        for key, (node, _) in zip(self._keys, self._lookup.keys, strict=True):
            groups = key.find(groups, _values(batch, node))
        begin = np.where(groups < 0, 0, self._starts[groups])
        end = np.where(groups < 0, 0, self._starts[groups + 1])
        left, places = spread(begin, end - begin)
        return left, self._rows[places]

    def _joined(self, batch: Batch, left: Ints, right: Ints | None) -> Batch:
        same = len(left) == batch.n and bool((left == np.arange(batch.n)).all())
        gaps: Flags | None = None if right is None or (right >= 0).all() else right < 0

        def column(name: str) -> pl.Series:
            if right is None or name not in self._columns:
                return batch.column(name) if same else batch.column(name)[left]
            table = self._columns[name]
            return table[right] if gaps is None else table.gather(pl.Series(pa.array(right, mask=gaps)))

        return Batch(batch.formulas, len(left), column)


class _Key:
    """One of the values that have to be equal: together with those before it they number groups of rows."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._encoder: Encoder = encoder(kind, ordered=False)
        self._values, self._groups = Dictionary(), Dictionary()

    def enter(self, groups: Ints, values: pl.Series) -> tuple[Ints, Flags]:
        """The groups of rows of the table, and which of them are in one: those without NULL."""
        if self._kind == "bigint" and is_extreme(self._kind, values.min()):
            self._encoder = Pool()
        keys = self._encoder.enter(values)
        return self._groups.enter((groups << 32) | self._values.enter(keys)), keys != NULL

    def find(self, groups: Ints, values: pl.Series) -> Ints:
        """The groups of other rows; -1 where there is none."""
        keys = self._encoder.keys(values)
        numbers = self._values.find(keys)
        found = self._groups.find((groups << 32) | numbers)
        return np.where((groups < 0) | (numbers < 0) | (keys == NULL), -1, found)


def _values(batch: Batch, node: Node) -> pl.Series:
    number = batch.formulas.enter(node)
    found = batch.values([number])
    if number not in found:
        raise Failed(batch.failed[number])
    return found[number]


def _read(lookup: Lookup, folder: str) -> dict[str, pl.Series]:
    """The columns that are needed, under their names in expressions."""
    nodes: list[Node] = [*lookup.columns, *(right for _, right in lookup.keys)]
    wanted = {each.name: each.type for node in nodes for each in walk(node) if isinstance(each, Column)}
    names = {name: name.partition(":")[2] for name in wanted}
    table = pq.read_table(folder, columns=list(dict.fromkeys(names.values())), coerce_int96_timestamp_unit="us")
    return {
        name: pl.Series(name, table.column(short).cast(arrow(wanted[name])).combine_chunks())
        for name, short in names.items()
    }
