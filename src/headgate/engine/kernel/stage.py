"""Queries over rows of one kind: those of the stream, those joined with tables, or groups."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headgate.engine.kernel.arrays import Growing, Ints
from headgate.engine.kernel.batch import Batch, Formulas
from headgate.engine.kernel.gather import Kinds, Layout, Output, Wanted, parts
from headgate.engine.kernel.grouping import Groups
from headgate.engine.kernel.ir import Node, Segment
from headgate.engine.kernel.matcher import Matcher


class Stage:
    """Finds the rows that queries want, and gathers their columns; or groups the rows, for a stage behind it.

    What the matcher calls a member is a query, or a selection of rows that queries with GROUP BY have in common.
    """

    def __init__(self, formulas: Formulas) -> None:
        self.formulas = formulas
        self.matcher = Matcher(formulas)
        self.outputs: list[Output] = []
        self.groupings: list[Groups] = []
        self._layouts: dict[Layout, int] = {}
        self._kinds: Kinds = {}
        self._plans: dict[tuple[tuple[Node, ...], tuple[Node, ...]], int] = {}
        self._numbers, self._targets, self._places = Growing(), Growing(), Growing()
        self._ranks: Ints | None = None
        self._ranked = np.empty(0, np.int64)

    def add(self, shape: Segment, numbers: Ints, constants: Sequence[pa.Array]) -> None:
        """Add queries of a shape."""
        if shape.grouping:
            self._group(shape, numbers, constants)
            return
        target = self._layouts.get(shape.columns)
        if target is None:
            self.outputs.append(Output(shape.columns, self.formulas, self._kinds))
            target = self._layouts[shape.columns] = len(self.outputs) - 1
        first = self.outputs[target].extend(constants, len(numbers))
        members = self._enter(numbers, target, np.arange(first, first + len(numbers)))
        self._select(shape.where, constants, members)

    def remove(self, numbers: Ints) -> None:
        """Forget queries."""
        self.matcher.remove(np.flatnonzero(np.isin(self._numbers.values, numbers)))
        for target, groups in enumerate(self.groupings):
            unused = groups.remove(numbers)
            if unused:
                mine = np.isin(self._places.values, unused) & (self._targets.values == ~target)
                self.matcher.remove(np.flatnonzero(mine))

    def run(self, batch: Batch) -> tuple[list[pa.Table], dict[int, str], Ints]:
        """The results of all queries, those that fail, and the rows that were wanted, as often as they were."""
        rows, members, failed = self.matcher.run(batch)
        rows, members = self._sorted(rows, members, batch.n)
        targets, places = self._targets.values[members], self._places.values[members]
        mine = np.flatnonzero(targets >= 0) if self.groupings else slice(None)
        wanted = Wanted(rows[mine], self._numbers.values[members[mine]], targets[mine], places[mine])
        tables, errors = parts(batch, self.outputs, wanted)
        for target, groups in enumerate(self.groupings):
            mine = np.flatnonzero(targets == ~target)
            found, failures = groups.run(batch, rows[mine], places[mine])
            tables += found
            errors |= failures
        for member, message in failed.items():
            target, place = int(self._targets.values[member]), int(self._places.values[member])
            owners = [int(self._numbers.values[member])] if target >= 0 else self.groupings[~target].owners(place)
            errors |= dict.fromkeys(owners, message)
        return tables, errors, rows

    def _enter(self, numbers: Ints, target: int, places: Ints) -> Ints:
        """New members, and what becomes of their rows."""
        first = len(self._numbers)
        self._numbers.extend(numbers)
        self._targets.extend(np.full(len(numbers), target))
        self._places.extend(places)
        self._ranks = None
        return np.arange(first, first + len(numbers))

    def _select(self, where: tuple[Node, ...], constants: Sequence[pa.Array], members: Ints) -> None:
        try:
            self.matcher.add(where, constants, members)
        except BaseException:
            self.matcher.remove(members)
            raise

    def _group(self, shape: Segment, numbers: Ints, constants: Sequence[pa.Array]) -> None:
        plan = shape.where, shape.grouping.keys  # type: ignore[union-attr]
        if plan not in self._plans:
            self.groupings.append(Groups(self.formulas, plan[1], Stage(Formulas())))
            self._plans[plan] = len(self.groupings) - 1
        target = self._plans[plan]
        groups = self.groupings[target]
        try:
            new, rows = groups.add(shape, numbers, constants)
            if new:
                members = self._enter(np.full(len(new), -1), ~target, np.array(new))
                self._select(shape.where, [each.take(pa.array(rows)) for each in constants], members)
        except BaseException:
            groups.remove(numbers)
            raise

    def _sorted(self, rows: Ints, members: Ints, n: int) -> tuple[Ints, Ints]:
        """Pairs in the order of the queries' numbers and of the rows, each once."""
        if self._ranks is None:
            order = np.argsort(self._numbers.values, kind="stable")
            self._ranks = np.empty(len(order), np.int64)
            self._ranks[order] = np.arange(len(order))
            self._ranked = order
        shift = n.bit_length()
        pairs = (self._ranks[members] << shift) | rows
        pairs.sort()
        if self.matcher.overlaps and len(pairs):
            pairs = pairs[np.concatenate(([True], pairs[1:] != pairs[:-1]))]
        return pairs & ((1 << shift) - 1), self._ranked[pairs >> shift]
