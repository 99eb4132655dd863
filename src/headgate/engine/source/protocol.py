"""What a source is: something that feeds a stream's intake and can go on where it stopped.

    source.schema(spark)      once, at registration: the columns of the stream
    source.run(intake)        in a thread of its own, until it has no more or is told to stop

Whatever `append` has returned for is in the log, together with the source's state, and neither is lost. After a
restart `run` is called with an intake whose `state` is that of the last append; the source goes on behind it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

State = Mapping[str, Any]
"""Where a source stands, as JSON: what it needs to go on behind the tuples that it has appended."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that is no tuple of the stream: what was got, why it was refused, and where it came from."""

    row: str
    reason: str
    place: str


class Intake(Protocol):
    """The log of one stream, as its source sees it."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the stream. Appended tables have exactly these."""

    @property
    def state(self) -> State | None:
        """The state of the last append; None if there was none yet."""

    @property
    def folder(self) -> str:
        """A folder of the source's own, for what it keeps beside its state."""

    def append(
        self,
        rows: pa.Table,
        state: State,
        *,
        arrived: NDArray[np.float64] | None = None,
        rejected: Sequence[Rejected] = (),
    ) -> None:
        """Add a train. `arrived` are the tuples' times of arrival, ascending; without it, all arrive now."""

    def now(self) -> float:
        """Seconds since the epoch."""

    def wait(self, seconds: float) -> bool:
        """Sleep; True, at once, if the source has to stop."""


class Source(Protocol):
    """Where a stream's tuples come from."""

    def schema(self, spark: SparkSession) -> pa.Schema:
        """The columns of the stream; raises InputError if they cannot be told."""

    def run(self, intake: Intake) -> None:
        """Feed the intake until there is no more, which ends the stream, or until it says to stop."""


@runtime_checkable
class Replayable(Protocol):
    """A source that gives the same tuples in the same order to everybody who goes on from the same state."""

    def start(self, at: float) -> State:
        """The state of one that has given nothing yet and whose time begins then, in seconds since the epoch."""
