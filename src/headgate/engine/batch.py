"""Results of many queries that go to one place: they stay together, and are only counted by query."""

from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.engine.kernel.program import NUMBER
from headgate.engine.query import Floats, LiveQuery
from headgate.engine.sink.shared import Shared

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
    """What the kernel found for queries of one shape, by their numbers: so many rows of each, one after the other."""

    numbers: Sequence[int]
    counts: Ints
    rows: pa.Table

    @classmethod
    def of(cls, table: pa.Table, known: Container[int], failed: Container[int]) -> "Part":
        """From rows with a first column of numbers: those of the known ones that have not failed."""
        whose = table.column(NUMBER).to_numpy()
        firsts = np.flatnonzero(np.diff(whose, prepend=whose[0] - 1)) if len(whose) else np.empty(0, np.int64)
        made = cls(whose[firsts].tolist(), np.diff(firsts, append=len(whose)), table.remove_column(0))
        return made.only([number for number in made.numbers if number in known and number not in failed])[0]

    def each(self) -> Iterator[tuple[int, int, int]]:
        """Number by number, the first of its rows and how many they are."""
        first = 0
        for number, count in zip(self.numbers, self.counts.tolist(), strict=True):
            yield number, first, count
            first += count

    def only(self, numbers: Sequence[int]) -> tuple["Part", NDArray[np.bool_] | slice]:
        """The part of some of its numbers, in their order; and which rows these are."""
        if len(numbers) == len(self.numbers):
            return self, slice(None)
        kept = np.isin(self.numbers, numbers)
        rows = np.repeat(kept, self.counts)
        return Part(numbers, self.counts[kept], self.rows.filter(pa.array(rows))), rows


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows for a shared sink, those of a query one after the other: so many of each, each due since then."""

    sink: Shared
    queries: tuple[LiveQuery, ...]
    counts: Ints
    rows: pa.Table
    due: Floats

    def names(self) -> pa.Array:
        """Whose each row is."""
        whose = np.repeat(np.arange(len(self.queries)), self.counts)
        return pa.array([query.name for query in self.queries], pa.string()).take(pa.array(whose))

    def of(self, names: Collection[str]) -> Iterator[tuple[LiveQuery, pa.Table, Floats]]:
        """What is in it of some queries."""
        ends = np.cumsum(self.counts)
        for query, end, count in zip(self.queries, ends.tolist(), self.counts.tolist(), strict=True):
            if query.name in names:
                yield query, self.rows.slice(end - count, count), self.due[end - count : end]

    def without(self, names: Collection[str]) -> "Batch":
        """The same without what is in it of some queries."""
        kept = np.array([query.name not in names for query in self.queries], dtype=bool)
        if kept.all():
            return self
        rows = np.repeat(kept, self.counts)
        queries = tuple(query for query in self.queries if query.name not in names)
        return Batch(self.sink, queries, self.counts[kept], self.rows.filter(pa.array(rows)), self.due[rows])
