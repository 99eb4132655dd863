"""Results of many queries that go to one place: they stay together, and are only counted by query."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.engine.query import Floats, LiveQuery
from headgate.engine.sink.shared import Shared


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows for a shared sink, those of a query one after the other: so many of each, each due since then."""

    sink: Shared
    queries: tuple[LiveQuery, ...]
    counts: NDArray[np.int64]
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
