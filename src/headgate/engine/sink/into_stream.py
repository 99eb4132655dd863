"""Results as the tuples of a stream, which other queries read; exactly once.

The rows of a run wait in a hidden file until the run is committed. Then they are a train of the stream, and the
number of the run stands in the state that the stream keeps with it: what is in the log is not appended again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from headgate.engine.log.stream import write
from headgate.engine.reader import HIDDEN
from headgate.engine.sink.destination import distinct
from headgate.engine.sink.protocol import Guarantee, Opening, Receipt
from headgate.engine.source.protocol import Intake, State
from headgate.engine.sql.hidden import KEPT
from headgate.errors import HeadgateError, InputError

_DUE = "__due"
_LOOK = 0.02


class Feed(Protocol):
    """What takes the tuples: the stream as a source sees it."""

    @property
    def state(self) -> State | None:
        """The state of the last append."""

    def append(self, rows: pa.Table, state: State, *, arrived: NDArray[np.float64] | None = None) -> None:
        """Add a train."""


def stream(
    name: str, *, event_time: str | None = None, delay: str | float = 0.0, idle: str | float | None = None
) -> "IntoStream":
    """A stream of that name, with the columns of the results: other queries can read it.

    Windows of its readers over event time go by the column `event_time`; `delay` and `idle` are as for any stream.
    Its tuples have arrived when they were due as results, so response times along a chain count from its beginning.
    It ends when the query has nothing more to give. Exactly once.
    """
    return IntoStream(name, event_time, delay, idle)


def columns(query: str, results: pa.Schema) -> pa.Schema:
    """The columns of a stream of results: all but the share of the tuples that was kept."""
    distinct(results)
    shown = pa.schema([field for field in results if field.name != KEPT])
    if taken := [name for name in shown.names if name in HIDDEN]:
        rule = f"the results of query '{query}' are a stream, whose columns have names of their own"
        raise InputError(rule, f"'{taken[0]}'", "Rename it in the query, as in `x AS y`.")
    return shown


@dataclass(frozen=True, slots=True)
class Results:
    """The source of such a stream. Its tuples come by the sink; it only waits for the end.

    `ended` says whether the query has nothing more to give, and raises a HeadgateError if it has failed.
    """

    query: str
    columns: pa.Schema
    ended: Callable[[], bool]

    def __repr__(self) -> str:
        """What a user sees of it."""
        return f"results of {self.query}"

    def schema(self, spark: SparkSession) -> pa.Schema:  # noqa: ARG002 - known without it
        """The columns of the results."""
        return self.columns

    def run(self, intake: Intake) -> None:
        """Wait for the end."""
        while not intake.wait(_LOOK):
            if self.ended():
                return


class IntoStream:
    """Stages runs as files, and appends those that are committed to a stream."""

    guarantee: Guarantee = "exactly once"

    def __init__(
        self, name: str, event_time: str | None, delay: str | float = 0.0, idle: str | float | None = None
    ) -> None:
        self.name, self.event_time, self.delay, self.idle = name, event_time, delay, idle
        self._query, self._sync = "", False
        self._feed: Feed | None = None
        self._folder = Path()

    def __repr__(self) -> str:
        """As it is written."""
        return f"stream('{self.name}')"

    def attach(self, feed: Feed, folder: Path) -> None:
        """Have the stream, and a folder for what waits."""
        self._feed, self._folder = feed, folder

    def open(self, opening: Opening) -> None:
        """Append the last committed run if it is not in the log yet, and forget what was staged behind it."""
        self._query, self._sync = opening.query, opening.sync
        self._folder.mkdir(parents=True, exist_ok=True)
        last = opening.last if opening.last and opening.last.get("stream") == self.name else None
        if last is None and self._appended:
            rule = f"a stream that query '{opening.query}' begins is new"
            raise InputError(rule, f"'{self.name}', which has tuples", "Give the stream another name.")
        if last is not None:
            self.publish(last)
        for file in self._folder.iterdir():
            file.unlink()

    def stage(self, run: int, rows: pa.Table, due: NDArray[np.float64] | None = None) -> Receipt:
        """Keep the rows, and since when each was due."""
        kept = rows.drop_columns([KEPT]) if KEPT in rows.column_names else rows
        if due is not None:
            kept = kept.append_column(_DUE, pa.array(due, pa.float64()))
        write(kept, self._file(run), sync=self._sync)
        return {"stream": self.name, "run": run}

    def publish(self, receipt: Receipt) -> None:
        """Append the run to the stream, unless it is there."""
        run = int(receipt["run"])
        file = self._file(run)
        if run > self._appended:
            rows, due = self._staged(file)
            self._feeds().append(rows, {"run": run}, arrived=due)
        file.unlink(missing_ok=True)

    def tick(self, now: float) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing to let go of: the stream belongs to the engine."""

    def fence(self, opening: Opening) -> None:
        """Refused: the stream is in the log of the engine that runs the query, and in no other."""
        rule, remedy = "a query whose results are a stream goes on with the engine that it began with", "Restart it."
        raise InputError(rule, f"query '{opening.query}' elsewhere", remedy)

    def take_over(self, opening: Opening) -> None:
        """Refused, as above."""
        self.fence(opening)

    @property
    def _appended(self) -> int:
        """The last run that is in the stream."""
        return int((self._feeds().state or {}).get("run", 0))

    def _staged(self, file: Path) -> tuple[pa.Table, NDArray[np.float64] | None]:
        try:
            with pa.memory_map(str(file)) as source:
                rows = pa.ipc.open_file(source).read_all()
        except (OSError, pa.ArrowException) as error:
            msg = f"query '{self._query}' cannot read {file}, which stream '{self.name}' has yet to get: {error}"
            raise HeadgateError(msg) from error
        if _DUE not in rows.column_names:
            return rows, None
        return rows.drop_columns([_DUE]), rows.column(_DUE).to_numpy()

    def _file(self, run: int) -> Path:
        return self._folder / f"{run:012d}.arrow"

    def _feeds(self) -> Feed:
        if self._feed is None:
            rule, remedy = "results become a stream of an engine", "Give this sink to engine.query()."
            raise InputError(rule, f"{self!r} without one", remedy)
        return self._feed
