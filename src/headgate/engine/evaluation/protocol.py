"""What every evaluation is: a function of the log and of the query's progress, in steps.

    waiting(progress)             what there is to do, as the policy sees it
    step(progress, n, execute)    do it over about n tuples: rows, and the progress to commit with them
    needed(progress, stream)      the position before which the log may forget

No state but the progress decides a result, so a step that was not committed is repeated and nothing else is.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headgate.engine.log.files import ARRIVAL, STAMP
from headgate.engine.log.progress import Progress
from headgate.engine.log.trains import Slice, Trains
from headgate.engine.prepared import Prepared, Views
from headgate.engine.reader import HIDDEN, POSITION, JobInput, StreamInput
from headgate.engine.sql.columns import used
from headgate.engine.sql.hidden import KEPT
from headgate.engine.windows import Time, Window
from headgate.shed.droppers import UNSHED


class Execute(Protocol):
    """How a lane runs a prepared plan, and the share of the tuples that was kept of what it was given last."""

    kept: float

    def __call__(self, plan: Prepared, given: JobInput) -> pa.Table:
        """Run it."""


Warm = Callable[[Prepared, JobInput], pa.Table]
"""How a prepared plan is tried out, over no tuples."""


def with_kept(rows: pa.Table, kept: float) -> pa.Table:
    """Rows that say from which share of the tuples they come."""
    return rows.append_column(KEPT, pa.repeat(pa.scalar(kept, pa.float64()), rows.num_rows))


@dataclass(frozen=True, slots=True)
class Setting:
    """What evaluations work with: a query's name, the logs by stream, the views, a folder for partial results.

    `reads` are the snapshots of tables that it joins with, by table: folders, which may be others from run to run.
    """

    query: str
    logs: Mapping[str, Trains]
    views: Views
    folder: Path
    reads: Mapping[str, str] = field(default_factory=dict)

    def prepare(self, sql: str, casts: pa.Schema | None = None, partial: pa.Schema | None = None) -> Prepared:
        """Plan a text over the streams that it names."""
        columns = {name: used(sql, [*log.schema.names, *HIDDEN]) for name, log in self.logs.items()}
        return self.views.prepare(sql, columns, casts, partial, self.reads)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits, as a policy's queue: how much, since when, and which place it has in the order of arrival."""

    pending: int = 0
    oldest: float = math.inf
    position: int = 0
    total: Callable[[int], float] | None = None

    def arrived(self, n: int) -> float:
        """Sum of the arrival times of the n oldest tuples."""
        return self.total(n) if self.total else n * self.oldest


NOTHING = Waiting()


@dataclass(frozen=True, slots=True)
class Step:
    """What a step gave: rows, since when each result was due (seconds), the progress to commit, tuples read.

    Of these so many were `shed` other than by the drop rates of the query.
    """

    rows: pa.Table
    due: NDArray[np.float64]
    progress: Progress
    read: int
    shed: int = 0


class Evaluation(Protocol):
    """A way to run one query."""

    schema: pa.Schema

    @property
    def streams(self) -> Sequence[str]:
        """What it reads."""

    def prepare(self) -> None:
        """Plan, or plan again after a table has changed."""

    def begin(self, positions: Mapping[str, int]) -> Progress:
        """The progress of a query that starts at these positions."""

    def waiting(self, progress: Progress) -> Waiting:
        """What there is to do."""

    def step(self, progress: Progress, n: int, execute: Execute) -> Step:
        """Take about n tuples on from there."""

    def needed(self, progress: Progress, stream: str) -> int:
        """The first position of a stream that will be read again."""

    def settle(self, progress: Progress) -> Progress:
        """Write what is in memory only, so that the progress can be committed."""

    def tidy(self, *kept: Progress) -> None:
        """Remove what no progress of these needs any more."""

    def warm(self, execute: Warm) -> None:
        """Run over no tuples: Spark compiles, and the time of an empty job shows."""


def edges(window: Window) -> tuple[pa.Field, pa.Field]:
    """The columns that say of which window a row is: times, or positions."""
    kind = pa.int64() if window.over_rows else STAMP
    return pa.field("window_start", kind), pa.field("window_end", kind)


def stream_input(log: Trains, slices: Collection[Slice], time: Time | None) -> StreamInput:
    """A stream's part of a job's input."""
    found = tuple((s.file, s.offset, s.count, s.first, _before(s, time), UNSHED) for s in slices)
    columns = {None: None, "event": log.event_time, "arrival": ARRIVAL, "rows": POSITION}
    return StreamInput(found, columns[time])


def _before(part: Slice, time: Time | None) -> int:
    if time == "rows":
        return part.first
    return part.arrival_before if time == "arrival" else part.event_before


def micros(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """A column of timestamps in microseconds."""
    return np.asarray(pc.cast(pc.cast(column, STAMP), pa.int64()).to_numpy())


def queued(log: Trains, cursor: int) -> Waiting:
    """The tuples behind a cursor; the same object for all who stand there, until there is another train."""
    last = log.last
    pending = (last.end if last else 0) - cursor
    if not pending:
        return NOTHING
    train, known = log.behind_each
    if train is not last:
        train, known = log.behind_each = last, {}
    found: Waiting | None = known.get(cursor)
    if found is None:
        found = known[cursor] = Waiting(pending, log.oldest(cursor), cursor, lambda n: log.arrived(cursor, n))
    return found
