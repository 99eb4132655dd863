"""A registered query while the engine runs: its evaluation, its sink, how far it has come and how it fares."""

import logging
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headgate.engine.evaluation import Evaluation
from headgate.engine.evaluation.protocol import NOTHING, Step, Waiting
from headgate.engine.log.manifest import Progress
from headgate.engine.sink.protocol import Receipt, Sink
from headgate.engine.sql.plan import Plan
from headgate.errors import HeadgateError
from headgate.model.operator import FREE
from headgate.monitor.figures import Response, Served
from headgate.monitor.responses import Responses

Status = Literal["running", "paused", "failed"]

_ATTEMPTS = 3
_BACKOFF = 0.5
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


@dataclass
class LiveQuery:
    """One query on the engine. The scheduler's thread asks and takes note; the lane that runs it moves it on.

    A query on `hold` reads up to that position only, where others meet it to be fused; one that is `alone` is not.
    """

    name: str
    group: str
    plan: Plan
    evaluation: Evaluation
    sink: Sink
    limit: float
    progress: Progress
    status: Status = "running"
    reason: str | None = None
    attempts: int = 0
    resting: float = 0.0
    most: float = float("inf")
    hold: int | None = None
    alone: bool = False
    empty_job: float = 0.0
    responses: Responses = field(default_factory=Responses)
    served: Served = field(init=False)
    _unpublished: Receipt | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.served = Served(self.name, self.group, FREE)

    def waiting(self, now: float) -> Waiting:
        """What the policy may choose: nothing while the query is paused, or rests after an error."""
        if self.status != "running" or now < self.resting:
            return NOTHING
        found = self.evaluation.waiting(self.progress)
        if not found.pending and self._unpublished is not None:
            # Nothing may come any more that would have it published on the way.
            return Waiting(1, now, min(self.progress.cursors.values()))
        return found

    def stage(self, step: Step) -> Progress:
        """Hand a step's rows to the sink; gives the progress to commit."""
        self.publish()
        old = self.progress
        receipt = self.sink.stage(old.run + 1, step.rows)
        return replace(
            step.progress,
            run=old.run + 1,
            receipt=receipt,
            results=old.results + step.rows.num_rows,
            tuples=old.tuples + step.read,
        )

    def committed(self, progress: Progress) -> None:
        """Go on from what has been committed."""
        self.progress, self._unpublished = progress, progress.receipt

    def publish(self) -> None:
        """Show what is committed. A run whose publishing failed is shown before the next is staged."""
        if self._unpublished is not None:
            self.sink.publish(self._unpublished)
            self._unpublished = None

    def succeeded(self, read: int, busy: float, waited: NDArray[np.float64]) -> None:
        """Take note of a run: the tuples it read, the time it took, the response times of its results."""
        self.attempts, self.reason, self.resting = 0, None, 0.0
        self.responses.add(waited)
        self.served.add(read, busy, len(waited), Response.of(waited))

    def failed(self, error: str, n: int, now: float, *, too_long: bool) -> None:
        """Take note of an error: rest, then try again, with a shorter train if it took too long, or give up."""
        self.attempts += 1
        self.reason = f"a run took longer than the limit of {self.limit:g} s" if too_long else error
        self.most = max(1, min(n, self.most) // 4) if too_long else self.most
        self.resting = now + _BACKOFF * 2**self.attempts
        if self.attempts >= _ATTEMPTS:
            self.status = "failed"
        left = "it is stopped; resume it once the cause is mended" if self.status == "failed" else "trying again"
        _log.warning("query %s: %s (attempt %d of %d, %s)", self.name, self.reason, self.attempts, _ATTEMPTS, left)

    def resume(self) -> None:
        """Run again, with all attempts and full trains."""
        self.status, self.reason, self.attempts, self.resting, self.most = "running", None, 0, 0.0, float("inf")

    def forget(self) -> None:
        """Count response times and slowdowns anew."""
        self.responses = Responses()
        self.served = Served(self.name, self.group, self.served.cost)

    def close(self) -> None:
        """Let go of the sink."""
        try:
            self.sink.close()
        except HeadgateError as error:
            _log.warning("query %s: %s", self.name, error)
