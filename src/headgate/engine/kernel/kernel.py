"""All queries of a unit over one train, at once."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from headgate.engine.kernel.arrays import Growing, Ints
from headgate.engine.kernel.batch import Batch, Formulas, reason
from headgate.engine.kernel.ir import Column, Lookup, Node, Segment, walk
from headgate.engine.kernel.keys import Exhausted
from headgate.engine.kernel.lookups import UNFOUND, Failed, Reference
from headgate.engine.kernel.matcher import Seen
from headgate.engine.kernel.program import NUMBER, Add, Answer, Change
from headgate.engine.kernel.stage import Stage

_GARBAGE = 1024
"""So many queries may be gone and still be in the way, or as many as there are left, before all is made anew."""


@dataclass(frozen=True, slots=True)
class Described:
    """Conditions of so many queries that have the same form, over rows that are joined with these tables."""

    tables: tuple[str, ...]
    queries: int
    atoms: tuple[Seen, ...]


class Kernel:
    """The queries of a program, as far as its changes are applied. `tables` are the folders of reference tables."""

    def __init__(self, tables: Mapping[str, str]) -> None:
        self._tables = tables
        self._rosters: dict[Segment, _Roster] = {}
        self._of: dict[int, _Roster] = {}
        self._references: dict[tuple[Lookup, ...], Reference] = {}
        self._start()

    def use(self, tables: Mapping[str, str]) -> None:
        """Look up in these folders from now on; what has not changed stays as it was read."""
        stale = {name for name, folder in tables.items() if self._tables.get(name) != folder}
        self._references = {key: each for key, each in self._references.items() if key[-1].table not in stale}
        self._tables = dict(tables)

    def apply(self, change: Change) -> None:
        """Add queries, or remove some."""
        numbers = np.array(change.numbers, np.int64)
        if isinstance(change, Add):
            roster = self._rosters.setdefault(change.shape, _Roster(change.shape))
            roster.extend(numbers, change.constants)
            self._of |= dict.fromkeys(change.numbers, roster)
            try:
                self._enter(change.shape, numbers, change.constants)
            except Exhausted:
                self._restart()
        else:
            self._remove(numbers)

    @property
    def columns(self) -> list[str]:
        """The columns of the source that it needs; one at least, since a table has as many rows as its columns."""
        return sorted(self._columns) or ["_position"]

    def run(self, rows: pa.Table) -> Answer:
        """The results of all queries for the rows of a train."""
        batches: dict[tuple[Lookup, ...], Batch] = {(): _train(self._formulas, rows)}
        joined: dict[str, Counter[int]] = {}
        parts: list[pa.Table] = []
        errors = dict(self._broken)
        for lookups, stage in self._stages.items():
            try:
                batch = self._joined(batches, lookups)
            except Failed as error:
                errors |= dict.fromkeys(self._queries_with(lookups), str(error))
                continue
            found, failed, rows_wanted = stage.run(batch)
            parts += found
            errors |= failed
            for table, looked_up in self._looked_up(batch, lookups, rows_wanted) if lookups else ():
                joined.setdefault(table, Counter()).update(looked_up)
        if errors:
            failing = pa.array(list(errors), pa.int64())
            parts = [part.filter(pc.invert(pc.is_in(part.column(NUMBER), failing))) for part in parts]
        return Answer(tuple(part for part in parts if part.num_rows), errors, joined)

    def describe(self) -> list[Described]:
        """How rows are found, by what has been seen of the data."""
        return [
            Described(tuple(lookup.table for lookup in lookups), count, atoms)
            for lookups, stage in self._stages.items()
            for atoms, count in stage.matcher.seen()
        ]

    def _start(self) -> None:
        self._formulas = Formulas()
        self._stages: dict[tuple[Lookup, ...], Stage] = {}
        self._columns: set[str] = set()
        self._broken: dict[int, str] = {}
        self._gone = 0

    def _restart(self) -> None:
        """Make everything anew, without what is gone."""
        self._start()
        for roster in self._rosters.values():
            self._enter(roster.shape, *roster.queries())
        needed = {lookups[:count] for lookups in self._stages for count in range(1, len(lookups) + 1)}
        self._references = {key: each for key, each in self._references.items() if key in needed}

    def _enter(self, shape: Segment, numbers: Ints, constants: Sequence[pa.Array]) -> None:
        """Queries that cannot be entered fail alone."""
        try:
            stage = self._stages.setdefault(shape.lookups, Stage(self._formulas))
            stage.add(shape, numbers, constants)
            self._columns |= _columns(shape)
        except Exhausted:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it concerns these queries only
            self._broken |= dict.fromkeys(numbers.tolist(), reason(error))

    def _remove(self, numbers: Ints) -> None:
        by_roster: dict[int, list[int]] = {}
        for number in numbers.tolist():
            roster = self._of.pop(number)
            self._broken.pop(number, None)
            by_roster.setdefault(id(roster), []).append(number)
        rosters = {id(roster): roster for roster in self._rosters.values()}
        for key, some in by_roster.items():
            roster = rosters[key]
            roster.remove(np.array(some))
            if not len(roster):
                del self._rosters[roster.shape]
        for stage in self._stages.values():
            stage.remove(numbers)
        self._gone += len(numbers)
        if self._gone > max(_GARBAGE, len(self._of)):
            self._restart()

    def _joined(self, batches: dict[tuple[Lookup, ...], Batch], lookups: tuple[Lookup, ...]) -> Batch:
        """The rows of the train with what they are joined with."""
        if lookups not in batches:
            before = self._joined(batches, lookups[:-1])
            if lookups not in self._references:
                self._references[lookups] = self._reference(lookups[-1])
            batches[lookups] = self._references[lookups].join(before)
        return batches[lookups]

    def _looked_up(
        self, batch: Batch, lookups: tuple[Lookup, ...], rows: Ints
    ) -> Iterator[tuple[str, dict[int, int]]]:
        """Of rows that queries want, how many were found in each part of the tables.

        Of what was not found, nobody knows who would have wanted it: as large a share as of the rest.
        """
        queries = sum(len(roster) for roster in self._rosters.values() if roster.shape.lookups == lookups)
        wanted = len(rows) / batch.n if batch.n else float(queries)
        for count in range(1, len(lookups) + 1):
            reference = self._references[lookups[:count]]
            counts = np.bincount(batch.column(reference.part).to_numpy()[rows] - UNFOUND)
            found = {int(part) + UNFOUND: int(counts[part]) for part in np.flatnonzero(counts)}
            if lookups[count - 1].kind == "inner" and reference.unfound:
                found[UNFOUND] = round(reference.unfound * wanted)
            yield lookups[count - 1].table, found

    def _reference(self, lookup: Lookup) -> Reference:
        try:
            return Reference(lookup, self._tables[lookup.table])
        except Failed:
            raise
        except Exception as error:  # noqa: BLE001 - for whatever reason
            raise Failed(f"the table {lookup.table} cannot be read: {reason(error)}") from None

    def _queries_with(self, lookups: tuple[Lookup, ...]) -> list[int]:
        return [number for number, roster in self._of.items() if roster.shape.lookups == lookups]


class _Roster:
    """The queries of a shape, and their constants: enough to enter them again."""

    def __init__(self, shape: Segment) -> None:
        self.shape = shape
        self._numbers, self._there = Growing(), Growing(np.bool_)
        self._constants: list[Sequence[pa.Array]] = []

    def __len__(self) -> int:
        return int(self._there.values.sum())

    def extend(self, numbers: Ints, constants: Sequence[pa.Array]) -> None:
        self._numbers.extend(numbers)
        self._there.extend(np.ones(len(numbers), np.bool_))
        self._constants.append(constants)

    def remove(self, numbers: Ints) -> None:
        self._there.values[np.isin(self._numbers.values, numbers)] = False

    def queries(self) -> tuple[Ints, list[pa.Array]]:
        """Those that are there."""
        there = self._there.values
        constants = [pa.concat_arrays(each).filter(pa.array(there)) for each in zip(*self._constants, strict=True)]
        return self._numbers.values[there], constants


def _train(formulas: Formulas, rows: pa.Table) -> Batch:
    whole: dict[str, pa.Array] = {}

    def arrow(name: str) -> pa.Array:
        if name not in whole:
            whole[name] = rows.column(name).combine_chunks()
        return whole[name]

    return Batch(formulas, rows.num_rows, lambda name: pl.Series(name, arrow(name)), arrow)


def _columns(shape: Segment) -> set[str]:
    """The columns of the source that a shape needs."""
    nodes: list[Node] = [*shape.where]
    of_tables = set()
    for lookup in shape.lookups:
        nodes += [left for left, _ in lookup.keys]
        nodes += [lookup.condition] if lookup.condition else []
        of_tables |= {column.name for column in lookup.columns}
    if shape.grouping:
        nodes += shape.grouping.keys
        for part in shape.grouping.parts:
            nodes += [*part.args, *([part.where] if part.where else [])]
    else:
        nodes += [node for _, node in shape.columns]
    return {each.name for node in nodes for each in walk(node) if isinstance(each, Column)} - of_tables
