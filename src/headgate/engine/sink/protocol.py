"""What a sink is: results go in two steps, around the commit of the run in the manifest.

    stage(run, rows) -> receipt     before the commit; may be repeated after a crash, then perhaps with other rows
    (the manifest commits the run, its cursor and the receipt in one transaction)
    publish(receipt)                after the commit; the sink makes the rows visible, at once or by a later `tick`

After a restart `open` gets the last committed receipt: that run may not have been published yet, and whatever was
staged behind it never happened. So a sink that hides staged rows delivers exactly once; one that hands them out in
`stage` delivers at least once. The runs of a query are staged one after the other, under rising numbers: those that
have no rows need not be staged at all, and several may be staged as one, so numbers are left out.
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
    """What a sink is told before the first run: whose results, their columns, and where it stood.

    With `sync`, what is staged has to outlive the machine and not only the process.
    """

    query: str
    schema: pa.Schema
    spark: SparkSession
    last: Receipt | None
    sync: bool = False


class Sink(Protocol):
    """Where a query's results go."""

    @property
    def guarantee(self) -> Guarantee:
        """How often a result is delivered when the process crashes."""

    def open(self, opening: Opening) -> None:
        """Get ready: publish the last committed run if it is not yet, undo whatever was staged behind it."""

    def stage(self, run: int, rows: pa.Table) -> Receipt:
        """Take the rows of a run, which may be none. What was staged before and is not published is forgotten."""

    def publish(self, receipt: Receipt) -> None:
        """Make a committed run visible, now or before long; harmless if it is already."""

    def tick(self, now: float) -> None:
        """Do what is due by now, in seconds since the epoch. Called now and then, by another thread than the rest.

        Raises HeadgateError as `publish` does; the next call tries again.
        """

    def close(self) -> None:
        """Make all visible that is published, and let go of files and connections."""
