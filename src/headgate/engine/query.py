"""A registered query while the engine runs: its evaluation, its sink, how far it has come and how it fares."""

import logging
import time
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from headgate.engine.evaluation import Evaluation
from headgate.engine.evaluation.protocol import NOTHING, Execute, Waiting
from headgate.engine.log.manifest import Manifest, Progress
from headgate.engine.sink.protocol import Receipt, Sink
from headgate.engine.sql.plan import Plan
from headgate.errors import HeadgateError
from headgate.model.operator import Cost
from headgate.model.parameters import Segment, Stage
from headgate.model.unit import Basis, Entry, Unit
from headgate.monitor.figures import Response, Served
from headgate.monitor.responses import Responses

Status = Literal["running", "paused", "failed"]

_ATTEMPTS = 3
_BACKOFF = 0.5
_GUESSED_TUPLES = 1000
"""Before anything is measured, so many tuples are taken to cost as much as the job around them."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Definition:
    """What a query is, as the manifest keeps it; a restart with another one is refused."""

    sql: str
    window: str
    time: str

    def as_json(self) -> dict[str, Any]:
        """For the manifest."""
        return {"sql": self.sql, "window": self.window, "time": self.time}


@dataclass(frozen=True, slots=True)
class Done:
    """How a run ended: tuples read, results and their response, or the error; and where the time went."""

    started: float
    finished: float
    positions: dict[str, tuple[int, int]]
    read: int = 0
    results: int = 0
    response: Response = Response()
    spark: float = 0.0
    error: str | None = None


@dataclass
class LiveQuery:
    """One query on the engine. The control thread asks, the lane that it was assigned to runs."""

    name: str
    group: str
    plan: Plan
    evaluation: Evaluation
    sink: Sink
    limit: float
    progress: Progress
    manifest: Manifest
    status: Status = "running"
    reason: str | None = None
    busy: bool = False
    attempts: int = 0
    resting: float = 0.0
    most: float = float("inf")
    responses: Responses = field(default_factory=Responses)
    empty_job: float = 0.0
    served: Served = field(init=False)
    _unpublished: Receipt | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.served = Served(self.name, self.group, Cost(self.empty_job, 0.0))

    def unit(self, number: int) -> Unit:
        """The query as a unit of the scheduler, before anything is measured but an empty job."""
        cost = Cost(self.empty_job, self.empty_job / _GUESSED_TUPLES)
        segments = (Segment(self.name, (Stage(cost.b, 1.0),), cost.of(1)),)
        return Unit(number, Entry(self.name), (self.name,), segments, cost, Basis(segments, cost), cls=self.group)

    def waiting(self, now: float) -> Waiting:
        """What the policy may choose: nothing while it runs, rests after an error, or is paused."""
        if self.busy or self.status != "running" or now < self.resting:
            return NOTHING
        return self.evaluation.waiting(self.progress)

    def warm(self, execute: Execute) -> None:
        """Run over nothing, twice: the second time is that of a job alone."""
        self.evaluation.warm(execute)
        started = time.perf_counter()
        self.evaluation.warm(execute)
        self.empty_job = time.perf_counter() - started

    def run(self, n: int, execute: Execute) -> Done:
        """Take about n tuples: evaluate, stage, commit, publish. What fails before the commit never happened."""
        started = time.time()
        timed = _Timed(execute)
        old = self.progress
        try:
            self._publish()
            step = self.evaluation.step(old, int(min(n, self.most)), timed)
            receipt = self.sink.stage(old.run + 1, step.rows)
            new = replace(
                step.progress,
                run=old.run + 1,
                receipt=receipt,
                results=old.results + step.rows.num_rows,
                tuples=old.tuples + step.read,
            )
            self.manifest.commit(self.name, old, new)
            self.progress, self._unpublished = new, receipt
            self._publish()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this query's alone
            return Done(started, time.time(), {}, spark=timed.seconds, error=_message(error))
        finished = time.time()
        waited = np.maximum(finished - step.due, 0.0)
        self.responses.add(waited)
        positions = {s: (old.cursors[s], new.cursors[s]) for s in new.cursors}
        return Done(started, finished, positions, step.read, len(waited), Response.of(waited), timed.seconds)

    def _publish(self) -> None:
        """Show what is committed. A run whose publishing failed is shown before the next is staged."""
        if self._unpublished is not None:
            self.sink.publish(self._unpublished)
            self._unpublished = None

    def ended(self, done: Done, n: int, now: float, *, too_long: bool) -> None:
        """Take note of a run's end: after an error rest, then try a shorter train, and give up after a few."""
        self.busy = False
        if done.error is None:
            self.attempts, self.reason, self.resting = 0, None, 0.0
            self.served.add(done.read, done.finished - done.started, done.results, done.response)
            return
        self.attempts += 1
        self.reason = f"a run took longer than its limit of {self.limit:g} s" if too_long else done.error
        self.most = max(1, n // 4) if too_long else self.most
        self.resting = now + _BACKOFF * 2**self.attempts
        if self.attempts >= _ATTEMPTS:
            self.status = "failed"
        left = "it is stopped; resume it once the cause is mended" if self.status == "failed" else "trying again"
        _log.warning("query %s: %s (attempt %d of %d, %s)", self.name, self.reason, self.attempts, _ATTEMPTS, left)

    def resume(self) -> None:
        """Run again, with all attempts and full trains."""
        self.status, self.reason, self.attempts, self.resting, self.most = "running", None, 0, 0.0, float("inf")

    def close(self) -> None:
        """Let go of the sink."""
        try:
            self.sink.close()
        except HeadgateError as error:
            _log.warning("query %s: %s", self.name, error)


class _Timed:
    """Executes, and adds up the time that Spark took."""

    def __init__(self, execute: Execute) -> None:
        self._execute, self.seconds = execute, 0.0

    def __call__(self, *args: Any) -> Any:  # noqa: ANN401 - as what it wraps
        started = time.perf_counter()
        try:
            return self._execute(*args)
        finally:
            self.seconds += time.perf_counter() - started


def _message(error: Exception) -> str:
    """The first line of what went wrong, without Spark's stack traces."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = next(
        (line for line in lines if not line.startswith(("An error occurred", ":", "at ", "org.apache.spark"))), ""
    )
    said = said or (lines[0] if lines else type(error).__name__)
    return said if isinstance(error, HeadgateError) else f"{type(error).__name__}: {said}"
