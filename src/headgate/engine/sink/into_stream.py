"""Results as the tuples of a stream, which other queries read; exactly once.

The rows of a run wait in a hidden file until the run is committed. Then they are a train of the stream, and the
number of the run stands in the state that the stream keeps with it: what is in the log is not appended again.

Where engines share the log of the stream, the query may have several instances, one after the other, and the state
also says which of them appends: see `pen`.

    <stream>/_staged/000003/000000000017.arrow     what the third instance has staged as its run 17
"""

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from headgate.engine.log.files import write
from headgate.engine.reader import HIDDEN
from headgate.engine.sink.destination import distinct
from headgate.engine.sink.pen import Heir, Pen, Point
from headgate.engine.sink.protocol import Guarantee, Opening, Receipt
from headgate.engine.source.protocol import Intake, State
from headgate.engine.sql.hidden import KEPT
from headgate.errors import HeadgateError, InputError, SupersededError

_DUE = "__due"
_LOOK = 0.02


class Feed(Protocol):
    """What takes the tuples: the stream as a source sees it."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the stream."""

    @property
    def state(self) -> State | None:
        """The state of the last append."""

    @property
    def over(self) -> bool:
        """Whether it has ended."""

    def look(self) -> State | None:
        """The state of the last append, whichever engine made it."""

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
        self.leaving: Point | None = None
        self._query, self._sync = "", False
        self._feed: Feed | None = None
        self._place = self._folder = Path()
        self._heir: Heir | None = None

    def __repr__(self) -> str:
        """As it is written."""
        return f"stream('{self.name}')"

    def attach(self, feed: Feed, folder: Path) -> None:
        """Have the stream, and a folder for what waits."""
        self._feed, self._place, self._folder = feed, folder, folder

    def succeed(self, heir: Heir) -> None:
        """Be that of an instance from now on, which appends when its turn comes."""
        self._heir, self.leaving = heir, None

    def open(self, opening: Opening) -> None:
        """Append the last committed run if it is not in the log yet, and forget what was staged behind it."""
        self._query, self._sync = opening.query, opening.sync
        self._folder = self._place / opening.instance
        self._folder.mkdir(parents=True, exist_ok=True)
        last = _own(opening, self.name)
        if self._heir is None and last is None and self._appended:
            rule = f"a stream that query '{opening.query}' begins is new"
            raise InputError(rule, f"'{self.name}', which has tuples", "Give the stream another name.")
        if not self.take():
            # Before its turn it has staged nothing, and when its time is over that is for others to show.
            return
        if last is not None and self.holds:
            self.publish(last)
        for file in self._folder.iterdir():
            file.unlink()

    def stage(self, run: int, rows: pa.Table, due: NDArray[np.float64] | None = None) -> Receipt:
        """Keep the rows, and since when each was due."""
        kept = rows.drop_columns([KEPT]) if KEPT in rows.column_names else rows
        if due is not None:
            kept = kept.append_column(_DUE, pa.array(due, pa.float64()))
        try:
            write(kept, self._file(run), sync=self._sync)
        except HeadgateError:
            if self._heir and not self._folder.exists():
                raise SupersededError(self._elsewhere) from None
            raise
        return {"stream": self.name, "run": run, **({"instance": self._heir.number} if self._heir else {})}

    def publish(self, receipt: Receipt) -> None:
        """Append the run to the stream, unless it is there."""
        run = int(receipt["run"])
        file = self._file(run)
        while not self.holds or run > self._appended:
            if not self.holds:
                raise SupersededError(self._elsewhere)
            rows, due = self._staged(file)
            state = {"run": run} if self._heir is None else replace(self._pen, run=run).as_json()
            try:
                self._feeds().append(rows, state, arrived=due)
            except SupersededError:
                # Perhaps somebody has only been kept from ever having a turn.
                self._look()
        file.unlink(missing_ok=True)

    def tick(self, now: float) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Leave no empty folder behind. The stream belongs to the engine."""
        if self._heir:
            with suppress(OSError):
                self._folder.rmdir()

    # Of a log that engines share

    @property
    def holds(self) -> bool:
        """Whether this instance is the one that appends, as far as is known here."""
        return self._heir is None or self._pen.is_of(self._heir)

    def take(self) -> bool:
        """Be the one that appends, if it is this instance's turn; whether it is."""
        heir, feed = self._heir, self._feeds()
        if heir is None:
            return True
        while not (pen := self._look()).is_of(heir) and not feed.over:
            if not pen.may_go_to(heir):
                return False
            self._write(pen.taken(heir))
        return True

    def hand_on(self, until: Point) -> bool:
        """Let the next instance append, if all up to the boundary is in the log; whether that is so."""
        heir, feed = self._heir, self._feeds()
        if heir is None:
            return True
        while not feed.over and (pen := self._look()).is_of(heir):
            self._write(pen.handed_on(until))
        return feed.over or pen.is_beyond(heir, until)

    def fence(self, opening: Opening) -> None:
        """Take the pen away from an instance."""
        number = self._number(opening)
        while not self._feeds().over and number not in (pen := self._look()).fenced:
            self._write(pen.taken_from(number))

    def take_over(self, opening: Opening) -> None:
        """Append the last run that an instance has committed."""
        number, last, feed = self._number(opening), _own(opening, self.name), self._feeds()
        staged = self._place / opening.instance
        while last and not feed.over:
            pen, run = self._look(), int(last["run"])
            if pen.holder != number or pen.run >= run:
                break
            rows, due = self._staged(staged / f"{run:012d}.arrow")
            try:
                feed.append(rows, replace(pen, run=run).as_json(), arrived=due)
            except SupersededError:
                # Perhaps by somebody who does the same.
                continue
        shutil.rmtree(staged, ignore_errors=True)

    def _number(self, opening: Opening) -> int:
        if self._heir is None or not opening.instance:
            rule = "a query whose results are a stream goes on with the engine that it began with"
            raise InputError(rule, f"query '{opening.query}' elsewhere", "Restart it.")
        return int(opening.instance)

    @property
    def _elsewhere(self) -> str:
        return f"another instance of query '{self._query}' appends to stream '{self.name}' now"

    @property
    def _pen(self) -> Pen:
        return Pen.of(self._feeds().state)

    def _look(self) -> Pen:
        return Pen.of(self._feeds().look())

    def _write(self, pen: Pen) -> None:
        """Say who appends; whether that stands, the next look tells."""
        feed = self._feeds()
        try:
            feed.append(feed.schema.empty_table(), pen.as_json())
        except SupersededError:
            return

    # Inside

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


def _own(opening: Opening, stream: str) -> Receipt | None:
    """The last receipt, if it is one of the instance for this stream."""
    last = opening.last
    number = int(opening.instance) if opening.instance else None
    return last if last and last.get("stream") == stream and last.get("instance") == number else None
