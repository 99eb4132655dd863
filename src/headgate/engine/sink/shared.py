"""One place for the results of many queries: an ordinary sink, with a first column that says whose each row is.

The results that are committed together go into it as one run, under a number of its own. Its receipt is the shared
sink's and not that of a query: it counts whatever becomes of the queries, which come and go.
"""

from collections.abc import Sequence
from dataclasses import replace
from threading import RLock

import pyarrow as pa

from headgate.engine.sink.protocol import Guarantee, Opening, Receipt, Sink
from headgate.errors import InputError

QUERY = "query"


def shared(name: str, sink: Sink) -> "Shared":
    """A sink for many queries of the same columns: give the same object to each.

    A column `query` comes first. The name is that of the place, under which the engine notes how far it is written.
    """
    return Shared(name, sink)


class Shared:
    """The sink behind it, and who writes there.

    From `stage` to `publish` it belongs to one commit, and whoever commits holds the `lock` so long: a receipt stands
    for all that was staged before it.
    """

    def __init__(self, name: str, sink: Sink) -> None:
        self.name, self.sink = name, sink
        self.lock = RLock()
        self._columns = pa.schema([])
        self._run = 0
        self._writers = 0

    def __repr__(self) -> str:
        """As it is written."""
        return f"shared('{self.name}', {self.sink!r})"

    @property
    def guarantee(self) -> Guarantee:
        """That of the sink behind it."""
        return self.sink.guarantee

    def open(self, opening: Opening) -> None:
        """Let a query write; the first one opens the sink behind it. The last receipt is the shared sink's."""
        with self.lock:
            if self._writers:
                self._check(opening)
            else:
                self._begin(opening)
            self._writers += 1

    def stage(self, results: Sequence[tuple[str | pa.Array, pa.Table]]) -> Receipt:
        """Take rows as one run, under the name of the query or, for each row, of its own."""
        tables = [rows if rows.schema.equals(self._columns) else rows.cast(self._columns) for _, rows in results]
        whose = [pa.repeat(pa.scalar(name), len(rows)) if isinstance(name, str) else name for name, rows in results]
        names = pa.chunked_array(whose, pa.string())
        rows = pa.concat_tables([self._columns.empty_table(), *tables])
        run = self._run + 1
        return {"run": run, "receipt": self.sink.stage(run, rows.add_column(0, QUERY, names))}

    def publish(self, receipt: Receipt) -> None:
        """Make a committed run visible."""
        self._run = int(receipt["run"])
        self.sink.publish(receipt["receipt"])

    def tick(self, now: float) -> None:
        """Let the sink behind it do what is due."""
        self.sink.tick(now)

    def fence(self, opening: Opening) -> None:
        """Fence an instance of the sink behind it: that of all queries which shared it in one engine."""
        self.sink.fence(self._behind(opening))

    def take_over(self, opening: Opening) -> None:
        """Take over such an instance. The last receipt is the shared sink's."""
        self.sink.take_over(self._behind(opening))

    def close(self) -> None:
        """Note that a query does not write any more; the last one closes the sink behind it."""
        with self.lock:
            self._writers -= 1
            if not self._writers:
                self.sink.close()

    def _begin(self, opening: Opening) -> None:
        if taken := [name for name in opening.schema.names if name.lower() == QUERY]:
            rule = f"queries that share the sink '{self.name}' leave the column `{QUERY}` to it"
            remedy = f"Rename it in query '{opening.query}', as in `{taken[0]} AS {taken[0]}_2`."
            raise InputError(rule, f"'{taken[0]}'", remedy)
        last = opening.last
        self.sink.open(self._behind(opening))
        self._columns, self._run = _nullable(opening.schema), int(last["run"]) if last else 0

    def _behind(self, opening: Opening) -> Opening:
        """What the sink behind it is told."""
        schema = _nullable(opening.schema).insert(0, pa.field(QUERY, pa.string()))
        last = opening.last["receipt"] if opening.last else None
        return replace(opening, query=self.name, schema=schema, last=last)

    def _check(self, opening: Opening) -> None:
        if not _nullable(opening.schema).equals(self._columns):
            rule = f"queries that share the sink '{self.name}' have the columns {_written(self._columns)}"
            remedy = "Cast and name its columns alike, or give it a sink of its own."
            raise InputError(rule, f"{_written(opening.schema)} of query '{opening.query}'", remedy)


def _nullable(schema: pa.Schema) -> pa.Schema:
    """The names and types alone: a column that is never null for one query may be for the next."""
    return pa.schema([(field.name, field.type) for field in schema])


def _written(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
