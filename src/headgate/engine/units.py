"""Live units: what one decision runs on a lane. One query, or several light ones over the same stream in one job."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.engine.evaluation.protocol import NOTHING, Execute, Step, Waiting, micros, queued, stream_input
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.stream import ARRIVAL, StreamLog
from headgate.engine.prepared import Prepared
from headgate.engine.query import LiveQuery
from headgate.engine.reader import JobInput
from headgate.engine.sql.plan import Fusable, PerTrain
from headgate.errors import HeadgateError
from headgate.model.operator import Cost
from headgate.model.parameters import Segment, Stage
from headgate.model.unit import Basis, Entry, Unit
from headgate.monitor.figures import Response

_GUESSED_TUPLES = 1000
"""Before anything is measured, so many tuples are taken to cost as much as the job around them."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Done:
    """How a run ended: tuples read, each query's response times, or the error; and how much of it was Spark's."""

    started: float
    finished: float
    positions: dict[str, tuple[int, int]]
    read: int = 0
    waited: tuple[Floats, ...] = ()
    spark: float = 0.0
    error: str | None = None

    @property
    def results(self) -> tuple[int, ...]:
        """Results of each query."""
        return tuple(len(each) for each in self.waited)

    @property
    def response(self) -> Response:
        """The response times of all results."""
        return Response.of(np.concatenate(self.waited)) if self.waited else Response()


class LiveUnit(Protocol):
    """What a lane runs."""

    busy: bool

    @property
    def name(self) -> str:
        """A stable name: that of the query, or of the fused unit."""

    @property
    def queries(self) -> Sequence[LiveQuery]:
        """The queries that a run moves on."""

    def waiting(self, now: float) -> Waiting:
        """What the policy may choose."""

    def steps(self, n: int, execute: Execute) -> Sequence[Step]:
        """Evaluate about n tuples: a step for each query."""


class SingleUnit:
    """One query."""

    def __init__(self, query: LiveQuery) -> None:
        self.name, self.queries, self.busy = query.name, (query,), False
        self._query = query

    def waiting(self, now: float) -> Waiting:
        """What waits for the query, up to where it holds."""
        return NOTHING if self.busy else _held(self._query.waiting(now), self._query.hold)

    def steps(self, n: int, execute: Execute) -> Sequence[Step]:
        """The query's own step."""
        query = self._query
        return [query.evaluation.step(query.progress, int(min(n, query.most)), execute)]


class FusedUnit:
    """Several filters and projections over the same tuples of a stream: one scan, one job.

    Each tuple that any of them wants comes back once, with a mark for each query and the columns of all.
    """

    def __init__(self, name: str, queries: Sequence[LiveQuery], log: StreamLog, plan: Prepared) -> None:
        self.name, self.queries, self.busy = name, tuple(queries), False
        self._log, self._plan = log, plan

    def waiting(self, now: float) -> Waiting:
        """What waits for all of them alike."""
        if self.busy or any(q.status != "running" or now < q.resting for q in self.queries):
            return NOTHING
        return _held(queued(self._log, self._cursor), self.queries[0].hold)

    def steps(self, n: int, execute: Execute) -> Sequence[Step]:
        """One job, taken apart by query."""
        low = self._cursor
        high = min(low + n, self._log.head)
        given = stream_input(self._log, self._log.slices(low, high), None)
        rows = execute(self._plan, JobInput({self._log.name: given}))
        return [self._step(i, query, rows, high, high - low) for i, query in enumerate(self.queries)]

    @property
    def _cursor(self) -> int:
        return self.queries[0].progress.cursors[self._log.name]

    def _step(self, number: int, query: LiveQuery, rows: pa.Table, high: int, read: int) -> Step:
        mine = rows.filter(rows.column(f"m{number}"))
        schema = query.evaluation.schema
        columns = [mine.column(f"c{number}_{j}") for j in range(len(schema))]
        table = pa.Table.from_arrays(columns, names=schema.names).cast(schema)
        progress = replace(query.progress, cursors={self._log.name: high})
        return Step(table, micros(mine.column(ARRIVAL)) / 1e6, progress, read)


def _held(waiting: Waiting, hold: int | None) -> Waiting:
    """What waits before the position at which a unit holds."""
    if hold is None or not waiting.pending:
        return waiting
    left = hold - waiting.position
    return replace(waiting, pending=min(waiting.pending, left)) if left > 0 else NOTHING


def fused_sql(stream: str, queries: Sequence[Fusable]) -> str:
    """One query that marks which of several want a tuple, and computes the columns of all."""
    wanted = [f"coalesce({q.where}, false)" if q.where else "true" for q in queries]
    outputs = [f"{mark} AS m{i}" for i, mark in enumerate(wanted)]
    for i, query in enumerate(queries):
        outputs += [f"{expression} AS c{i}_{j}" for j, (_, expression) in enumerate(query.columns)]
    return f"SELECT {', '.join(outputs)}, {ARRIVAL} FROM __{stream} WHERE {' OR '.join(wanted)}"  # noqa: S608


def fusable(query: LiveQuery) -> Fusable | None:
    """How a query goes into a fused unit, if it can."""
    return query.plan.fusable if isinstance(query.plan, PerTrain) else None


def run(unit: LiveUnit, n: int, execute: Execute, manifest: Manifest) -> Done:
    """Take about n tuples: evaluate, stage, commit, publish. What fails before the commit never happened."""
    started = time.time()
    timed = _Timed(execute)
    old = [query.progress for query in unit.queries]
    try:
        steps = unit.steps(n, timed)
        new = [query.stage(step) for query, step in zip(unit.queries, steps, strict=True)]
        manifest.commit([(q.name, o, p) for q, o, p in zip(unit.queries, old, new, strict=True)])
        for query, progress in zip(unit.queries, new, strict=True):
            query.committed(progress)
        for query in unit.queries:
            query.publish()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this unit's alone
        return Done(started, time.time(), {}, spark=timed.seconds, error=_message(error))
    finished = time.time()
    positions = {s: (old[0].cursors[s], at) for s, at in new[0].cursors.items()}
    waited = tuple(np.maximum(finished - step.due, 0.0) for step in steps)
    return Done(started, finished, positions, steps[0].read, waited, timed.seconds)


def model(unit: LiveUnit, number: int) -> Unit:
    """The unit of the scheduler, before anything is measured but an empty job."""
    a = max(query.empty_job for query in unit.queries)
    cost = Cost(a, a / _GUESSED_TUPLES)
    share = cost.b / len(unit.queries)
    segments = tuple(Segment(query.name, (Stage(share, 1.0),), cost.of(1)) for query in unit.queries)
    names = tuple(query.name for query in unit.queries)
    return Unit(number, Entry(unit.name), names, segments, cost, Basis(segments, cost), cls=unit.queries[0].group)


class _Timed:
    """Executes, and adds up the time that Spark took."""

    def __init__(self, execute: Execute) -> None:
        self._execute, self.seconds = execute, 0.0

    def __call__(self, plan: Prepared, given: JobInput) -> pa.Table:
        started = time.perf_counter()
        try:
            return self._execute(plan, given)
        finally:
            self.seconds += time.perf_counter() - started


def _message(error: Exception) -> str:
    """The line that says what went wrong, without Spark's stack traces."""
    _, traced, after = str(error).rpartition("Traceback (most recent call last):")
    # What a Python worker has raised stands behind the lines of its trace, which are indented.
    text = "\n".join(line for line in after.splitlines() if not line.startswith(" ")) if traced else after
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    noise = ("An error occurred", ":", "at ", "org.apache.spark")
    said = next((line for line in lines if not line.startswith(noise)), lines[0] if lines else type(error).__name__)
    return said if isinstance(error, HeadgateError) else f"{type(error).__name__}: {said}"
