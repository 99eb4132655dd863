"""What a sink is: results go in two steps, around the commit of the run in the manifest.

    stage(run, rows) -> receipt     before the commit; may be repeated after a crash, then perhaps with other rows
    (the manifest commits the run, its cursor and the receipt in one transaction)
    publish(receipt)                after the commit; the sink makes the rows visible

After a restart `open` gets the last committed receipt: that run may not have been published yet, and whatever was
staged behind it never happened. So a sink that hides staged rows delivers exactly once; one that hands them out in
`stage` delivers at least once. The runs of a query are staged one after the other, under rising numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import pyarrow as pa
from pyspark.sql import SparkSession

Receipt = Mapping[str, Any]
"""What a sink needs to publish a staged run, as JSON."""

Guarantee = Literal["exactly once", "at least once"]


@dataclass(frozen=True, slots=True)
class Opening:
    """What a sink is told before the first run: whose results, their columns, and where it stood."""

    query: str
    schema: pa.Schema
    spark: SparkSession
    last: Receipt | None


class Sink(Protocol):
    """Where a query's results go."""

    @property
    def guarantee(self) -> Guarantee:
        """How often a result is delivered when the process crashes."""

    def open(self, opening: Opening) -> None:
        """Get ready: publish the last committed run if it is not yet, undo whatever was staged behind it."""

    def stage(self, run: int, rows: pa.Table) -> Receipt:
        """Take the rows of a run, which may be none."""

    def publish(self, receipt: Receipt) -> None:
        """Make a committed run visible; harmless if it is already."""

    def close(self) -> None:
        """Let go of files and connections."""
