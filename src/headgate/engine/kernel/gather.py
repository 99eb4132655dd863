"""Results: the columns that queries ask for, gathered once for all rows that any of them wants."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headgate.engine.kernel.arrays import Ints
from headgate.engine.kernel.batch import Batch, Formulas
from headgate.engine.kernel.ir import Column, Node, Parameter
from headgate.engine.kernel.program import NUMBER
from headgate.engine.kernel.types import arrow

Layout = tuple[tuple[str, Node], ...]


class Output:
    """The columns of queries of a shape. Those that are a constant have a value for each query."""

    def __init__(self, columns: Layout, formulas: Formulas) -> None:
        fields = [pa.field(name, arrow(node.type)) for name, node in columns]
        self.schema = pa.schema([pa.field(NUMBER, pa.int64()), *fields])
        self.cells = [node if isinstance(node, Parameter) else formulas.enter(node) for _, node in columns]
        self._constants: dict[int, list[pa.Array]] = {
            cell.number: [] for cell in self.cells if isinstance(cell, Parameter)
        }
        self._count = 0

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


class Wanted:
    """Pairs of a row and a query, in the order of the queries: numbers, outputs, and places within these."""

    def __init__(self, rows: Ints, numbers: Ints, outputs: Ints, places: Ints) -> None:
        self.rows, self.numbers, self.outputs, self.places = rows, numbers, outputs, places

    def only(self, some: Ints) -> "Wanted":
        """Some of them."""
        return Wanted(self.rows[some], self.numbers[some], self.outputs[some], self.places[some])


def parts(batch: Batch, outputs: Sequence[Output], wanted: Wanted) -> tuple[list[pa.Table], dict[int, str]]:
    """The results, a table for each list of columns; and the queries whose columns cannot be computed."""
    present = np.unique(wanted.outputs).tolist()
    source = _Source(batch, [outputs[k] for k in present], wanted.rows)
    errors: dict[int, str] = {}
    alike: dict[pa.Schema, list[int]] = {}
    for k in present:
        failed = [batch.failed[cell] for cell in outputs[k].cells if isinstance(cell, int) and cell in batch.failed]
        if failed:
            errors |= dict.fromkeys(wanted.numbers[wanted.outputs == k].tolist(), failed[0])
        else:
            alike.setdefault(outputs[k].schema, []).append(k)
    tables = []
    for schema, some in alike.items():
        mine = slice(None) if len(some) == len(present) else np.flatnonzero(np.isin(wanted.outputs, some))
        tables.append(source.table(schema, {k: outputs[k] for k in some}, wanted, mine))
    return tables, errors


class _Source:
    """What outputs are made of: formulas computed once for all rows that are wanted, and columns as they came."""

    def __init__(self, batch: Batch, outputs: Sequence[Output], rows: Ints) -> None:
        self._batch, self._rows = batch, rows
        self._values: dict[int, pa.Array] = {}
        self._places = rows
        computed = {
            cell for each in outputs for cell in each.cells if isinstance(cell, int) and not self._as_it_came(cell)
        }
        if computed:
            places, self._places = np.unique(rows, return_inverse=True)
            for number, values in batch.at(places, sorted(computed)).items():
                kind = arrow(batch.formulas.nodes[number].type)
                found = values.to_arrow()
                self._values[number] = found if found.type == kind else found.cast(kind)

    def _as_it_came(self, formula: int) -> bool:
        return self._batch.arrow is not None and isinstance(self._batch.formulas.nodes[formula], Column)

    def table(self, schema: pa.Schema, outputs: dict[int, Output], wanted: Wanted, mine: slice | Ints) -> pa.Table:
        """The pairs of some outputs, which have the same names and types."""
        kinds, numbers = wanted.outputs[mine], wanted.numbers[mine]
        order = np.argsort(kinds, kind="stable")
        ends = np.searchsorted(kinds[order], list(outputs), "right")
        starts = np.searchsorted(kinds[order], list(outputs), "left")
        pairs = np.arange(len(wanted.rows))[mine]
        ranges = {k: pairs[order[start:end]] for k, start, end in zip(outputs, starts, ends, strict=True)}
        columns = [pa.array(numbers)]
        for column, field in enumerate(list(schema)[1:]):
            cells: dict[object, list[int]] = {}
            for k, output in outputs.items():
                cell = output.cells[column]
                cells.setdefault((k, cell) if isinstance(cell, Parameter) else cell, []).append(k)
            if len(cells) == 1:
                ((_, some),) = cells.items()
                columns.append(self._taken(outputs[some[0]], column, wanted, pairs, field.type))
                continue
            which = [np.concatenate([ranges[k] for k in some]) for some in cells.values()]
            pieces = [
                self._taken(outputs[some[0]], column, wanted, each, field.type)
                for some, each in zip(cells.values(), which, strict=True)
            ]
            back = np.argsort(np.concatenate(which), kind="stable")
            columns.append(pa.concat_arrays(pieces).take(pa.array(back)))
        return pa.Table.from_arrays(columns, schema=schema)

    def _taken(self, output: Output, column: int, wanted: Wanted, pairs: Ints, kind: pa.DataType) -> pa.Array:
        cell = output.cells[column]
        if isinstance(cell, Parameter):
            return output.constants(cell.number).take(pa.array(wanted.places[pairs]))
        if cell in self._values:
            return self._values[cell].take(pa.array(self._places[pairs]))
        node = self._batch.formulas.nodes[cell]
        found = self._batch.arrow(node.name).take(pa.array(wanted.rows[pairs]))  # type: ignore[misc, union-attr]
        return found if found.type == kind else found.cast(kind)
