"""Joins with reference tables, whose rows are kept by their keys."""

import re
from collections.abc import Sequence
from pathlib import Path

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

_PART = re.compile(r"p(\d+)-")
UNFOUND = -1
"""The part of a table that rows would have been in for which nothing was found."""


def part_prefix(part: int) -> str:
    """How the files of a part of a table begin."""
    return f"p{part:04d}-"


class Failed(Exception):  # noqa: N818 - a lookup has
    """A lookup cannot be done for these rows."""


class Reference:
    """The snapshot of a table for one lookup."""

    def __init__(self, lookup: Lookup, folder: str) -> None:
        self._lookup = lookup
        self._columns, parts = _read(lookup, folder)
        # The last one is for rows that are joined with none.
        self._parts = np.append(parts, UNFOUND)
        self.part = f"part of {lookup.table} for {id(self)}"
        self.unfound = 0
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
        """The rows that come of it, in the order of the batch.

        Their column `part` is the part of the table that each was found in. How many rows were `unfound`, it notes.
        """
        left, right = self._pairs(batch)
        if self._lookup.condition is not None:
            pairs = self._joined(batch, left, right)
            true = _values(pairs, self._lookup.condition).fill_null(value=False).to_numpy()
            left, right = left[true], right[true]
        self.unfound = batch.n - int(np.count_nonzero(np.diff(left, prepend=-1)))
        match self._lookup.kind:
            case "inner":
                return self._joined(batch, left, right)
            case "left":
                alone = np.setdiff1d(np.arange(batch.n), left)
                order = np.argsort(np.concatenate((left, alone)), kind="stable")
                right = np.concatenate((right, np.full(len(alone), -1)))[order]
                return self._joined(batch, np.concatenate((left, alone))[order], right)
            case "semi":
                left, first = np.unique(left, return_index=True)
                return self._joined(batch, left, right[first], shown=False)
            case "anti":
                alone = np.setdiff1d(np.arange(batch.n), left)
                return self._joined(batch, alone, np.full(len(alone), -1), shown=False)

    def _pairs(self, batch: Batch) -> tuple[Ints, Ints]:
        groups = np.zeros(batch.n, np.int64)
        for key, (node, _) in zip(self._keys, self._lookup.keys, strict=True):
            groups = key.find(groups, _values(batch, node))
        begin = np.where(groups < 0, 0, self._starts[groups])
        end = np.where(groups < 0, 0, self._starts[groups + 1])
        left, places = spread(begin, end - begin)
        return left, self._rows[places]

    def _joined(self, batch: Batch, left: Ints, right: Ints, *, shown: bool = True) -> Batch:
        """Rows of the batch beside rows of the table, which may have none, and whose columns need not be `shown`."""
        same = len(left) == batch.n and bool((left == np.arange(batch.n)).all())
        gaps: Flags | None = None if (right >= 0).all() else right < 0

        def column(name: str) -> pl.Series:
            if name == self.part:
                return pl.Series(self._parts[right])
            if not shown or name not in self._columns:
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


def _read(lookup: Lookup, folder: str) -> tuple[dict[str, pl.Series], Ints]:
    """The columns that are needed, under their names in expressions; and the part of the table of each row."""
    nodes: list[Node] = [*lookup.columns, *(right for _, right in lookup.keys)]
    wanted = {each.name: each.type for node in nodes for each in walk(node) if isinstance(each, Column)}
    names = {name: name.partition(":")[2] for name in wanted}
    tables, parts = read_parts(folder, list(dict.fromkeys(names.values())))
    columns = {
        name: pl.Series(
            name,
            pa.chunked_array(
                [chunk for table in tables for chunk in table.column(short).cast(arrow(wanted[name])).chunks],
                arrow(wanted[name]),
            ).combine_chunks(),
        )
        for name, short in names.items()
    }
    return columns, np.repeat(np.array(parts, np.int64), [table.num_rows for table in tables])


def read_parts(folder: str, columns: Sequence[str]) -> tuple[list[pa.Table], list[int]]:
    """Columns of a snapshot, file by file, and the part of the table that each file belongs to."""
    files = sorted(Path(folder).glob("*.parquet")) if Path(folder).is_dir() else [Path(folder)]
    if not files:
        raise FileNotFoundError(folder)
    tables = [pq.read_table(file, columns=[*columns], coerce_int96_timestamp_unit="us") for file in files]
    return tables, [int(found[1]) if (found := _PART.match(file.name)) else 0 for file in files]
