"""Tables at hand as a stream, for notebooks and tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.engine.source.protocol import Intake
from headgate.engine.source.schemas import conform, normalised
from headgate.engine.spans import seconds
from headgate.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Tables, each of which is a train."""

    tables: tuple[pa.Table, ...] = field(repr=False)
    every: float

    def schema(self, spark: SparkSession) -> pa.Schema:  # noqa: ARG002 - as in the protocol
        return self.tables[0].schema

    def run(self, intake: Intake) -> None:
        done = int((intake.state or {}).get("next", 0))
        for k, table in enumerate(self.tables[done:], done + 1):
            intake.append(table, {"next": k})
            if intake.wait(self.every):
                return


def rows(tables: pa.Table | pa.RecordBatch | Sequence[pa.Table | pa.RecordBatch], *, every: str | float = 0) -> Rows:
    """A table, or a list of tables with the same columns that come one after the other, a time `every` apart."""
    given = [tables] if isinstance(tables, pa.Table | pa.RecordBatch) else list(tables)
    if not given:
        raise InputError("a stream of tables has at least one", "none", "Give an empty one to say its columns.")
    for each in given:
        if not isinstance(each, pa.Table | pa.RecordBatch):
            raise InputError("a stream of tables has Arrow tables", type(each).__name__, "Use pyarrow.table(...).")
    schema = normalised(given[0].schema)
    made = tuple(conform(pa.table(each), schema) for each in given)
    return Rows(made, seconds(every, "every"))
