"""GROUP BY: one pass over the rows of all queries that have the same keys and the same conditions.

Behind it there is a stage over the groups, with HAVING as its conditions.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow as pa

from headgate.engine.kernel.arrays import Ints
from headgate.engine.kernel.batch import Batch, Formulas, by_halves
from headgate.engine.kernel.expressions import expression
from headgate.engine.kernel.functions.aggregates import aggregate
from headgate.engine.kernel.ir import Call, Column, Node, Parameter, Part, Segment, walk

if TYPE_CHECKING:
    from headgate.engine.kernel.stage import Stage

_SELECTION = "?s"
"""No column of a stream, a key or an aggregate has this name."""


class Groups:
    """Queries that group rows by the same keys, where the same conditions hold up to their constants.

    Queries with the same constants there share a selection of rows, and each aggregate is computed once for all.
    """

    def __init__(self, formulas: Formulas, keys: tuple[Node, ...], behind: "Stage") -> None:
        self.behind = behind
        self.keys = keys
        self._keys = [formulas.enter(key) for key in keys]
        self._parts: dict[Part, int] = {}
        self._aggregates: list[pl.Expr] = []
        self._names: set[str] = set()
        self._constants: dict[Node, pl.Expr] = {}
        self._selections: dict[tuple[object, ...], int] = {}
        self._chosen: dict[int, tuple[object, ...]] = {}
        self._users: Counter[tuple[object, ...]] = Counter()
        self._next = 0

    def add(self, shape: Segment, numbers: Ints, constants: Sequence[pa.Array]) -> tuple[list[int], list[int]]:
        """Add queries. Gives the selections that are new, and the rows of the constants that they are for."""
        grouping = shape.grouping
        assert grouping  # noqa: S101 - for the type checker
        names = {f"a{k}": f"a{self._part(part)}" for k, part in enumerate(grouping.parts)}
        mine = Call("EqualTo", (Column(_SELECTION, "bigint"), Parameter(len(constants), "bigint")), "boolean")
        behind = Segment(
            shape.source,
            (),
            (mine, *(_renamed(node, names) for node in grouping.having)),
            None,
            tuple((name, _renamed(node, names)) for name, node in shape.columns),
        )
        own = sorted({node.number for each in shape.where for node in walk(each) if isinstance(node, Parameter)})
        given = list(zip(*(constants[k].to_pylist() for k in own), strict=True)) or [()] * len(numbers)
        new: list[int] = []
        rows: list[int] = []
        for row, (number, values) in enumerate(zip(numbers.tolist(), given, strict=True)):
            if values not in self._selections:
                self._selections[values] = self._next
                new.append(self._next)
                rows.append(row)
                self._next += 1
            self._chosen[number] = values
            self._users[values] += 1
        selections = pa.array([self._selections[values] for values in given], pa.int64())
        self.behind.add(behind, numbers, [*constants, selections])
        return new, rows

    def remove(self, numbers: Ints) -> list[int]:
        """Forget queries. Gives the selections that nobody uses any more."""
        unused = []
        known = [number for number in numbers.tolist() if number in self._chosen]
        for number in known:
            values = self._chosen.pop(number)
            self._users[values] -= 1
            if not self._users[values]:
                del self._users[values]
                unused.append(self._selections.pop(values))
        if known:
            self.behind.remove(np.array(known))
        return unused

    def owners(self, selection: int) -> list[int]:
        """The queries of a selection."""
        return [number for number, values in self._chosen.items() if self._selections[values] == selection]

    def run(self, batch: Batch, rows: Ints, selections: Ints) -> tuple[list[pa.Table], dict[int, str]]:
        """The results of all queries for rows, given by selection; and those that fail."""
        if not self._chosen or (self._keys and not len(rows)):
            return [], {}
        whole = len(self._selections) == 1 and len(rows) == batch.n
        keys = batch.values(self._keys) if whole else batch.at(rows, self._keys)
        failed = [batch.failed[each] for each in self._keys if each not in keys]
        if failed:
            return [], dict.fromkeys(self._chosen, failed[0])
        frame = batch.frame(self._names, None if whole else rows)
        named = [keys[each].alias(f"?k{k}") for k, each in enumerate(self._keys)]
        frame = frame.with_columns(pl.Series(_SELECTION, selections, pl.Int64), *named, *self._constants.values())
        groups, broken = self._grouped(frame)
        if not self._keys:
            groups = self._complete(groups, frame)
        columns = {
            name.lstrip("?") if name != _SELECTION else name: groups.get_column(name) for name in groups.columns
        }
        behind = Batch(self.behind.formulas, groups.height, columns.__getitem__, broken=broken)
        tables, errors, _ = self.behind.run(behind)
        return tables, errors

    def _grouped(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str]]:
        names = [_SELECTION, *(f"?k{k}" for k in range(len(self._keys)))]

        def compute(some: list[int]) -> pl.DataFrame:
            return frame.group_by(names, maintain_order=True).agg(self._aggregates[k] for k in some)

        if not self._aggregates:
            return compute([]), {}
        found, failed = by_halves(compute, list(range(len(self._aggregates))))
        found = found or [compute([])]
        first, *others = found
        return pl.concat([first, *(each.drop(names) for each in others)], how="horizontal"), {
            f"a{k}": message for k, message in failed.items()
        }

    def _complete(self, groups: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
        """Without keys there is one group for each selection, if it has rows or not."""
        there = set(groups.get_column(_SELECTION).to_list())
        missing = [each for each in self._selections.values() if each not in there]
        if not missing:
            return groups
        some = [k for k in range(len(self._aggregates)) if f"a{k}" in groups.columns]
        empty = frame.clear().select(self._aggregates[k] for k in some)
        rows = pl.DataFrame({_SELECTION: pl.Series(missing, dtype=pl.Int64)}).join(empty, how="cross")
        return pl.concat([groups, rows.select(groups.columns)])

    def _part(self, part: Part) -> int:
        if part not in self._parts:
            where = None if part.where is None else expression(part.where)
            built = aggregate(part, [self._argument(arg) for arg in part.args], where)
            self._parts[part] = len(self._aggregates)
            self._aggregates.append(built.alias(f"a{len(self._aggregates)}"))
            nodes = part.args if part.where is None else (*part.args, part.where)
            self._names |= {each.name for node in nodes for each in walk(node) if isinstance(each, Column)}
        return self._parts[part]

    def _argument(self, node: Node) -> pl.Expr:
        """A constant is a column, since it counts as often as there are rows."""
        if any(isinstance(each, Column) for each in walk(node)):
            return expression(node)
        if node not in self._constants:
            self._constants[node] = expression(node).alias(f"?c{len(self._constants)}")
        return pl.col(self._constants[node].meta.output_name())


def _renamed(node: Node, names: dict[str, str]) -> Node:
    if isinstance(node, Column):
        return Column(names.get(node.name, node.name), node.type)
    if isinstance(node, Call):
        return replace(node, args=tuple(_renamed(arg, names) for arg in node.args))
    return node
