"""Which parts of tables Spark's joins look at: told from a sample of the tuples of a run and the keys of the table.

Spark does not say where the rows of a result came from. Where a query finds rows by plain columns, its tuples do:
the part that holds the key of a tuple is the one that it looks at. What cannot be told counts for all parts alike.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa
from polars.exceptions import PolarsError

from headgate.engine.kernel.lookups import UNFOUND, read_parts
from headgate.engine.kernel.program import Joined
from headgate.engine.log.stream import StreamLog
from headgate.engine.query import LiveQuery
from headgate.engine.sql.matches import Match, matches
from headgate.engine.sql.plan import Catalog, Relation
from headgate.engine.table.tables import Tables

_SAMPLED = 2000
"""Tuples of a run that are looked at, the last ones."""
_MOST_ROWS = 1_000_000
"""Keys of a table with more rows are not kept."""
_ANEW = 10.0
"""Seconds after which keys are read anew if the table has changed: rows seldom move from one part to another."""

_PART = "headgate part"


@dataclass(frozen=True, slots=True)
class Ran:
    """A run of a query on Spark, over tuples from one position to before another of each stream, by which it passed
    so many.
    """

    query: LiveQuery
    positions: Mapping[str, tuple[int, int]]
    read: int


@dataclass(slots=True)
class _Keys:
    """Keys of a table, each with its part; as of a snapshot, read at a time."""

    folder: str
    read: float
    rows: pl.DataFrame


@dataclass(slots=True)
class LookedUp:
    """What runs have looked up."""

    tables: Tables
    _matches: dict[str, tuple[str, Sequence[Match]]] = field(default_factory=dict, init=False)
    _keys: dict[tuple[str, tuple[str, ...]], _Keys] = field(default_factory=dict, init=False)

    def of(self, ran: Ran) -> Joined:
        """The tuples of a run by the parts of tables that they look at."""
        found: dict[str, dict[int, int]] = {}
        for match in self._known(ran.query):
            if len(self.tables.kept[match.table].names) > 1 and (shares := self._shares(ran, match)) is not None:
                parts = found.setdefault(match.table, {})
                for part, share in shares.items():
                    parts[part] = parts.get(part, 0) + round(share * ran.read)
        return {table: found.get(table, {UNFOUND: ran.read}) for table in ran.query.draft.reads}

    def _known(self, query: LiveQuery) -> Sequence[Match]:
        sql = query.draft.sql
        if self._matches.get(query.name, ("",))[0] != sql:
            streams = {name: Relation(tuple(log.schema.names)) for name, log in query.logs.items()}
            tables = {table: self.tables.columns[table] for table in query.draft.reads}
            self._matches[query.name] = sql, matches(sql, Catalog(streams, tables))
        return self._matches[query.name][1]

    def _shares(self, ran: Ran, match: Match) -> dict[int, float] | None:
        """Of the tuples of a run, those that look at each part; None if that cannot be told."""
        try:
            keys = self._table(match)
            low, high = ran.positions[match.stream]
            sample = _sample(ran.query.logs[match.stream], match, max(low, high - _SAMPLED), high)
            if keys is None or sample is None:
                return None
            sample = sample.cast(keys.drop(_PART).schema, strict=False)
            found = sample.join(keys, on=sample.columns, how="left")
        except (OSError, pa.ArrowException, PolarsError, KeyError, ValueError):
            # A train or a snapshot that is gone by now, or types that are not compared like that.
            return None
        counted = found[_PART].fill_null(UNFOUND).value_counts()
        return {part: count / len(sample) for part, count in counted.iter_rows()}

    def _table(self, match: Match) -> pl.DataFrame | None:
        kept = self.tables.kept[match.table].latest
        if sum(each.rows for each in kept.contents) > _MOST_ROWS:
            return None
        columns = tuple(dict.fromkeys(column for column, _ in match.keys))
        known, now = self._keys.get((match.table, columns)), time.monotonic()
        if known is None or (known.folder != str(kept.folder) and now - known.read > _ANEW):
            known = self._keys[match.table, columns] = _Keys(str(kept.folder), now, _read(str(kept.folder), columns))
        return known.rows


def _read(folder: str, columns: Sequence[str]) -> pl.DataFrame:
    """The keys of a snapshot, each with its part in the last column."""
    tables, parts = read_parts(folder, columns)
    rows = [
        pl.DataFrame(table).with_columns(pl.lit(part).alias(_PART)) for table, part in zip(tables, parts, strict=True)
    ]
    return pl.concat(rows, how="vertical_relaxed").unique()


def _sample(log: StreamLog, match: Match, low: int, high: int) -> pl.DataFrame | None:
    if high <= low:
        return None
    columns = {key: log.column(column, low, high) for key, column in match.keys}
    return pl.DataFrame(pa.table(columns))
