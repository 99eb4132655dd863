"""What a sink is: results go in two steps, around the commit of the run in the manifest.

    stage(run, rows) -> receipt     before the commit; may be repeated after a crash, then perhaps with other rows
    (the manifest commits the run, its cursor and the receipt in one transaction)
    publish(receipt)                after the commit; the sink makes the rows visible, at once or by a later `tick`

After a restart `open` gets the last committed receipt: that run may not have been published yet, and whatever was
staged behind it never happened. So a sink that hides staged rows delivers exactly once; one that hands them out in
`stage` delivers at least once. The runs of a query are staged one after the other, under rising numbers: those that
have no rows need not be staged at all, and several may be staged as one, so numbers are left out.

A query may go on in another process, as another instance, which writes to the same place beside what the first one
wrote. If that one is dead, or asleep, its sink is taken over:

    fence(opening)                  the old instance shows nothing any more, whenever it wakes up
    (its manifest is read: what it has committed by now is all that it ever will have shown)
    take_over(opening)              with the receipt that was read: what was committed is shown, the rest forgotten

In this order: what it commits and shows after somebody has read its manifest would else be there twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import pyarrow as pa
from pyspark.sql import SparkSession

Receipt = Mapping[str, Any]
"""What a sink needs to publish a staged run, as JSON."""

Guarantee = Literal["exactly once", "at least once"]


@dataclass(frozen=True, slots=True)
class Opening:
    """What a sink is told before the first run: whose results, their columns, and where it stood.

    With `sync`, what is staged has to outlive the machine and not only the process. Where a query can have several
    instances, one after the other, what each of them writes is kept apart by the name of the `instance`. A receipt of
    another instance is none.
    """

    query: str
    schema: pa.Schema
    spark: SparkSession
    last: Receipt | None
    sync: bool = False
    instance: str = ""


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

    def fence(self, opening: Opening) -> None:
        """Keep an instance from showing anything from now on, given as it was opened; its receipt does not matter.

        Whoever writes there gets a SupersededError, sooner or later. The sink itself may be open meanwhile, for
        another instance. Harmless if it was done before.
        """

    def take_over(self, opening: Opening) -> None:
        """Fence an instance, show what its last receipt stands for, and forget what it has staged behind it.

        Harmless if it was done before, or half, with the same receipt, and if the instance never wrote anything.
        """


@runtime_checkable
class Shows(Protocol):
    """A sink that may show what is committed later, and tells when it does. Others have shown it by then."""

    def shows(self, receipt: Receipt) -> bool:
        """Whether readers can see all that a committed receipt stands for. Any thread may ask."""


class Unfenced:
    """A sink from which nothing can be kept back, once it is handed over: results are there at least once."""

    def fence(self, opening: Opening) -> None:
        """Nothing to take away."""

    def take_over(self, opening: Opening) -> None:
        """Nothing to show."""
