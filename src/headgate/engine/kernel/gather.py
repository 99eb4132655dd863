"""Results: the columns that queries ask for, gathered once for all rows that any of them wants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headgate.engine.kernel.arrays import Ints
from headgate.engine.kernel.batch import Batch, Formulas
from headgate.engine.kernel.ir import Column, Node, Parameter
from headgate.engine.kernel.program import NUMBER
from headgate.engine.kernel.types import arrow

Layout = tuple[tuple[str, Node], ...]
Kinds = dict[tuple[tuple[str, pa.DataType], ...], int]
"""Numbers for lists of names and types."""


class Output:
    """The columns of queries of a shape. Those that are a constant have a value for each query."""

    def __init__(self, columns: Layout, formulas: Formulas, kinds: Kinds) -> None:
        fields = [pa.field(name, arrow(node.type)) for name, node in columns]
        self.schema = pa.schema([pa.field(NUMBER, pa.int64()), *fields])
        self.cells = [node if isinstance(node, Parameter) else formulas.enter(node) for _, node in columns]
        self._constants: dict[int, list[pa.Array]] = {
            cell.number: [] for cell in self.cells if isinstance(cell, Parameter)
        }
        self.kind = kinds.setdefault(tuple((each.name, each.type) for each in self.schema), len(kinds))
        """Equal for outputs with the same names and types."""
        self._count = 0

    def failing(self, failed: Mapping[int, str]) -> str | None:
        """Why its columns cannot be computed, given the formulas that cannot be."""
        return next((failed[cell] for cell in self.cells if isinstance(cell, int) and cell in failed), None)

    def extend(self, constants: Sequence[pa.Array], count: int) -> int:
        """Add queries with these constants; the number of the first of them here."""
        for number, held in self._constants.items():
            held.append(constants[number])
        self._count += count
        return self._count - count

    def constants(self, number: int) -> pa.Array:
        """The values of a constant, query by query."""
        held = self._constants[number]
        if len(held) > 1:
            held[:] = [pa.concat_arrays(held)]
        return held[0]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Pairs of a row and a query, in the order of the queries: numbers, outputs, and places within these."""

    rows: Ints
    numbers: Ints
    outputs: Ints
    places: Ints

    def only(self, some: Ints) -> "Wanted":
        """Some of them."""
        return Wanted(self.rows[some], self.numbers[some], self.outputs[some], self.places[some])


def parts(batch: Batch, outputs: Sequence[Output], wanted: Wanted) -> tuple[list[pa.Table], dict[int, str]]:
    """The results, a table for each list of names and types; and the queries whose columns cannot be computed."""
    if not len(wanted.rows):
        return [], {}
    present = np.unique(wanted.outputs).tolist()
    values = _computed(batch, [outputs[k] for k in present], wanted.rows)
    errors: dict[int, str] = {}
    alike: dict[int, list[int]] = {}
    for k in present:
        failed = outputs[k].failing(batch.failed) if batch.failed else None
        if failed is None:
            alike.setdefault(outputs[k].kind, []).append(k)
        else:
            errors |= dict.fromkeys(wanted.numbers[wanted.outputs == k].tolist(), failed)
    if len(alike) == 1 and not errors:
        return [_table(batch, {k: outputs[k] for k in present}, wanted, values)], errors
    order = np.argsort(wanted.outputs, kind="stable")
    ends = np.searchsorted(wanted.outputs[order], present, "right")
    mine = dict(zip(present, np.split(order, ends[:-1]), strict=True))
    tables = []
    for some in alike.values():
        pairs = wanted.only(np.sort(np.concatenate([mine[k] for k in some])))
        tables.append(_table(batch, {k: outputs[k] for k in some}, pairs, values))
    return tables, errors


Values = dict[int, tuple[pa.Array, Ints]]
"""By formula: its values, and where among these that of a row is."""


def _computed(batch: Batch, outputs: Sequence[Output], rows: Ints) -> Values:
    """What is not a column as it came, computed once for all rows that are wanted."""
    nodes = batch.formulas.nodes
    wanted = {cell for each in outputs for cell in each.cells if isinstance(cell, int)}
    if batch.arrow is not None:
        wanted = {cell for cell in wanted if not isinstance(nodes[cell], Column)}
    if not wanted:
        return {}
    distinct = np.unique(rows)
    where = np.empty(batch.n, np.int64)
    where[distinct] = np.arange(len(distinct))
    return {cell: (values.to_arrow(), where) for cell, values in batch.at(distinct, sorted(wanted)).items()}


def _table(batch: Batch, outputs: dict[int, Output], wanted: Wanted, values: Values) -> pa.Table:
    """The pairs of some outputs, which have the same names and types."""
    schema = next(iter(outputs.values())).schema
    columns = [pa.array(wanted.numbers)]
    mine: dict[int, Ints] = {}
    for column in range(len(schema) - 1):
        cells: dict[object, list[int]] = {}
        for k, output in outputs.items():
            cell = output.cells[column]
            cells.setdefault((k, cell) if isinstance(cell, Parameter) else cell, []).append(k)
        if len(cells) == 1:
            columns.append(_taken(batch, next(iter(outputs.values())), column, wanted, values))
            continue
        mine = mine or {k: np.flatnonzero(wanted.outputs == k) for k in outputs}
        pairs = [np.concatenate([mine[k] for k in some]) for some in cells.values()]
        pieces = [
            _taken(batch, outputs[some[0]], column, wanted.only(each), values)
            for some, each in zip(cells.values(), pairs, strict=True)
        ]
        back = np.argsort(np.concatenate(pairs), kind="stable")
        columns.append(pa.concat_arrays(pieces).take(pa.array(back)))
    return pa.Table.from_arrays(columns, schema=schema)


def _taken(batch: Batch, output: Output, column: int, wanted: Wanted, values: Values) -> pa.Array:
    cell, kind = output.cells[column], output.schema.field(column + 1).type
    if isinstance(cell, Parameter):
        found = output.constants(cell.number).take(pa.array(wanted.places))
    elif cell in values:
        array, where = values[cell]
        found = array.take(pa.array(where[wanted.rows]))
    else:
        node = batch.formulas.nodes[cell]
        found = batch.arrow(node.name).take(pa.array(wanted.rows))  # type: ignore[misc, union-attr]
    return found if found.type == kind else found.cast(kind)
