"""A registered query while the engine runs: its evaluation, its sink, how far it has come and how it fares."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.engine.compiled import Compiled
from headgate.engine.drafts import PLAIN, Draft, Shown
from headgate.engine.evaluation import Evaluation
from headgate.engine.evaluation.protocol import NOTHING, Step, Waiting
from headgate.engine.evaluation.trial import Tried
from headgate.engine.log.progress import Passed, Progress
from headgate.engine.log.stream import StreamLog
from headgate.engine.sink.into_stream import IntoStream
from headgate.engine.sink.protocol import Receipt, Sink
from headgate.engine.sink.shared import Shared
from headgate.engine.thinning import Thinning
from headgate.engine.utility import Protected
from headgate.errors import HeadgateError
from headgate.model.operator import FREE
from headgate.model.qos import LatencyGraph, LossGraph
from headgate.monitor.figures import Served
from headgate.monitor.responses import Responses
from headgate.shed.droppers import Drop

Status = Literal["running", "paused", "failed"]
Floats = NDArray[np.float64]

_ATTEMPTS = 3
_BACKOFF = 0.5
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Definition:
    """What a query is, as the manifest keeps it; a restart with another one is refused.

    Whether results are `due` by a deadline belongs to it, but not how long that is.
    """

    sql: str
    window: str
    time: str
    shown: Shown = PLAIN
    due: bool = False

    def as_json(self) -> dict[str, Any]:
        """For the manifest."""
        shown = {name: True for name in ("kept", "scale") if getattr(self.shown, name)}
        due = {"due": True} if self.due else {}
        return {"sql": self.sql, "window": self.window, "time": self.time, **shown, **due}


@dataclass(slots=True)
class Cohort:
    """Queries that move along together: one cursor for all of them, ahead of the one that the manifest keeps."""

    id: int
    stream: str
    position: int
    kept: int
    rates: Thinning
    passed: Passed = Passed()
    kept_passed: Passed = Passed()

    @property
    def owner(self) -> str:
        """The name under which the manifest has its drop rates."""
        return f"#{self.id}"


class SoFar(NamedTuple):
    """What a query has passed, how much of it was shed, what came of it, and what came too late."""

    tuples: int
    shed: int
    results: int
    late: int


@dataclass(slots=True)
class LiveQuery:
    """One query on the engine. The scheduler's thread asks and takes note; the lane that runs it moves it on.

    It goes ahead in memory, and what the manifest keeps follows commit by commit: `progress` against `kept`. A sink
    that may see results twice gets them at once, one that may not with the commit. A query that is `alone`, for the
    reason that this gives, is not run by the kernel any more. The seconds of an empty run and, where it was `tried`,
    of tuples too are those from before its first run. Graphs say what results are worth: `qos` by how long they take,
    `loss` by the share of the tuples that was kept.
    """

    draft: Draft
    cls: str
    sink: Sink | Shared
    limit: float
    kept: Progress
    logs: Mapping[str, StreamLog]
    status: Status = "running"
    reason: str | None = None
    attempts: int = 0
    repeats: bool = False
    resting: float = 0.0
    most: float = float("inf")
    alone: str | None = None
    empty_job: float = 0.0
    tried: Tried | None = None
    keeps_shed: bool = False
    protects: Mapping[str, Protected] = field(default_factory=dict)
    qos: LatencyGraph | None = None
    loss: LossGraph | None = None
    responses: Responses = field(default_factory=Responses)
    served: Served = field(init=False)
    rates: dict[str, Thinning] = field(init=False)
    _ahead: Progress = field(init=False)
    _cohort: Cohort | None = field(default=None, init=False)
    _joined: Passed = field(default=Passed(), init=False)
    _rows: list[pa.Table] = field(default_factory=list, init=False)
    _due: list[Floats] = field(default_factory=list, init=False)
    _unpublished: Receipt | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.served = Served(self.name, self.cls, FREE)
        self._ahead = self.kept
        self.restore({stream: (at, ()) for stream, at in self.kept.cursors.items()})

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        return self.draft.name

    @property
    def evaluation(self) -> Evaluation:
        """How it is run."""
        return self.draft.evaluation

    @property
    def compiled(self) -> Compiled | None:
        """What the kernel does for it, if it can and has not failed."""
        return None if self.alone else self.draft.compiled

    @property
    def why_not(self) -> str | None:
        """Why it runs on a Spark plan of its own."""
        return self.alone or self.draft.why_not

    # How far it has come

    @property
    def progress(self) -> Progress:
        """How far it has come in memory."""
        cohort = self._cohort
        if cohort is None:
            return self._ahead
        tuples, shed, _, _ = self.so_far
        return replace(self._ahead, cursors={cohort.stream: cohort.position}, tuples=tuples, shed=shed)

    @property
    def so_far(self) -> "SoFar":
        """What has been counted so far, in memory."""
        own, cohort = self._ahead, self._cohort
        if cohort is None:
            return SoFar(own.tuples, own.shed, own.results, own.late)
        passed, joined = cohort.passed, self._joined
        tuples, shed = own.tuples + passed[0] - joined[0], own.shed + passed[1] - joined[1]
        return SoFar(tuples, shed, own.results, own.late)

    @property
    def durable(self) -> Progress:
        """How far it has come in the manifest."""
        cohort = self._cohort
        return self.kept if cohort is None else replace(self.kept, cursors={cohort.stream: cohort.kept})

    @property
    def unsaved(self) -> bool:
        """Whether it has rows or a progress of its own that the manifest does not know."""
        return bool(self._rows or self._ahead.fresh) or self._ahead != self.kept

    @property
    def hidden(self) -> bool:
        """Whether something is committed that has yet to be shown."""
        return self._unpublished is not None

    @property
    def eager(self) -> bool:
        """Whether results wait for a commit that have no reason to wait."""
        return bool(self._rows) and self.sink.guarantee == "at least once"

    def join(self, cohort: Cohort) -> None:
        """Move along with others from now on."""
        self.rates, self._cohort, self._joined = {}, cohort, cohort.passed

    def leave(self, position: int) -> None:
        """Move on alone, from a position on that the cohort has reached or passed."""
        cohort = self._cohort
        if cohort is None:
            return
        own = self._ahead
        behind = Passed(cohort.position - position, cohort.rates.shed(position, cohort.position))
        tuples, shed = _passed(self.progress).minus(behind)
        self._ahead = replace(own, cursors={cohort.stream: position}, tuples=tuples, shed=shed)
        tuples, shed = _passed(own).plus(cohort.kept_passed.minus(self._joined))
        self.kept = replace(self.kept, cursors={cohort.stream: cohort.kept}, tuples=tuples, shed=shed)
        self.rates, self._cohort = {cohort.stream: cohort.rates.copy()}, None

    def restore(self, rates: Mapping[str, tuple[int, Sequence[tuple[int, Drop]]]]) -> None:
        """Have these drop rates, by stream: up to where they are decided, and the steps."""
        keeps = self.cls if self.keeps_shed else None
        self.rates = {s: Thinning(self.logs[s], *known, keeps, self.protects.get(s)) for s, known in rates.items()}

    def waiting(self, now: float) -> Waiting:
        """What the policy may choose: nothing while the query is paused, or rests after an error."""
        if self.status != "running" or now < self.resting:
            return NOTHING
        progress = self.progress
        found = self.evaluation.waiting(progress)
        if not found.pending and self._unpublished is not None:
            # Nothing may come any more that would have it published on the way.
            return Waiting(1, now, min(progress.cursors.values()))
        return found

    @property
    def over(self) -> bool:
        """Whether the streams that it reads have ended and all that it will ever give is out."""
        # What is committed first: by then it is known what has yet to be published.
        kept = self.durable
        if self._unpublished is not None or not all(self.logs[name].ended for name in self.evaluation.streams):
            return False
        return not self.evaluation.waiting(kept).pending

    # What a run does

    def take(self, step: Step) -> Floats:
        """Go on in memory by a step. Gives the response times of what went out at once."""
        self.publish()
        rows, due, out = self._rows, self._due, _NONE
        if step.rows.num_rows:
            rows, due = [*rows, step.rows], [*due, step.due]
        ahead = self._ahead
        if rows and self.sink.guarantee == "at least once" and not isinstance(self.sink, Shared):
            ahead, out = self._handed_over(self.sink, rows, due)
            rows, due, self._unpublished = [], [], ahead.receipt
        own = step.progress
        if self._cohort is not None:
            own = replace(own, cursors=ahead.cursors, tuples=ahead.tuples, shed=ahead.shed)
        else:
            shed = sum(rate.shed(ahead.cursors[s], own.cursors[s]) for s, rate in self.rates.items())
            own = replace(own, tuples=own.tuples + step.read, shed=own.shed + shed + step.shed)
        self._rows, self._due = rows, due
        self._ahead = replace(own, run=ahead.run, receipt=ahead.receipt, results=ahead.results)
        if out.size:
            self.publish()
        return waits(out)

    def stage(self) -> tuple[Progress, Floats, pa.Table | None]:
        """Hand all rows to the sink; gives the progress to commit, since when the rows were due, and the rows.

        A sink that others share takes the rows of all of them together.
        """
        self.publish()
        settled = self.evaluation.settle(self._ahead)
        if not self._rows:
            self._ahead = settled
            return settled, _NONE, None
        if isinstance(self.sink, Shared):
            rows = pa.concat_tables(self._rows)
            counted = replace(settled, run=settled.run + 1, results=settled.results + rows.num_rows)
            return counted, np.concatenate(self._due), rows
        staged, due = self._handed_over(self.sink, self._rows, self._due)
        return replace(settled, run=staged.run, receipt=staged.receipt, results=staged.results), due, None

    def committed(self, progress: Progress) -> None:
        """Go on from what the manifest keeps from now on."""
        if (
            progress.run != self.kept.run
            and self.sink.guarantee == "exactly once"
            and not isinstance(self.sink, Shared)
        ):
            self._unpublished = progress.receipt
        self.kept = self._ahead = progress
        self._rows, self._due = [], []

    def counted(self, results: int) -> None:
        """Take note of results in a shared sink that the manifest has counted."""
        old = self.kept
        run, total = old.run + 1, old.results + results
        self.kept = replace(old, run=run, results=total)
        self._ahead = self.kept if self._ahead is old else replace(self._ahead, run=run, results=total)

    def hold(self, rows: pa.Table, due: Floats) -> None:
        """Keep results that somebody else has kept so far."""
        self._rows, self._due = [*self._rows, rows], [*self._due, due]

    def publish(self) -> None:
        """Show what is committed. A run whose publishing failed is shown before the next is staged."""
        if self._unpublished is not None and not isinstance(self.sink, Shared):
            self.sink.publish(self._unpublished)
            self._unpublished = None

    def roll_back(self) -> None:
        """Forget what is not committed, to run it again."""
        self._ahead, self._rows, self._due = self.kept, [], []

    def _handed_over(self, sink: Sink, rows: list[pa.Table], due: list[Floats]) -> tuple[Progress, Floats]:
        table = rows[0] if len(rows) == 1 else pa.concat_tables(rows)
        run, since = self._ahead.run + 1, np.concatenate(due)
        receipt = sink.stage(run, table, since) if isinstance(sink, IntoStream) else sink.stage(run, table)
        results = self._ahead.results + table.num_rows
        return replace(self._ahead, run=run, receipt=receipt, results=results), since

    # How it fares

    def succeeded(self) -> None:
        """Take note that a run has gone well."""
        self.attempts, self.repeats, self.reason, self.resting = 0, False, None, 0.0

    def failed(self, error: str, n: int, now: float, *, too_long: bool) -> None:
        """Take note of an error: rest, then try again, with a shorter train if it took too long, or give up."""
        self.attempts += 1
        self.repeats = True
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
        self.served = Served(self.name, self.cls, self.served.cost)

    def close(self) -> None:
        """Let go of the sink."""
        try:
            self.sink.close()
        except HeadgateError as error:
            _log.warning("query %s: %s", self.name, error)


_NONE: Floats = np.empty(0)


def _passed(progress: Progress) -> Passed:
    return Passed(progress.tuples, progress.shed)


def waits(due: Floats) -> Floats:
    """The response times of results that go out now."""
    found: Floats = np.maximum(time.time() - due, 0.0)
    return found
