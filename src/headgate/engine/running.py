"""One run of a unit: evaluate, take the steps in memory, and commit if it is time to."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from headgate.engine.answered import Answered
from headgate.engine.delivery import SharedSinkError, StagingError
from headgate.engine.kernel.program import Answer, Joined, Program
from headgate.engine.lanes import Executor
from headgate.engine.log.manifest import Manifest
from headgate.engine.prepared import Prepared
from headgate.engine.reader import JobInput
from headgate.engine.resident.lane import LaneLostError
from headgate.engine.thinning import decide, kept, thinned
from headgate.engine.units import LiveUnit
from headgate.errors import HeadgateError
from headgate.monitor.figures import Response
from headgate.shed.droppers import UNSHED, Drop

_NONE: Mapping[str, Drop] = {}


@dataclass(frozen=True, slots=True)
class Done:
    """How a run ended: tuples passed, those of them that were shed, response times of what went out; or the error.

    Some queries may have failed where the others went on: the kernel could not compute them (`failed`), their sinks
    did not take what they got at once (`unsent`), or with the commit (`unstaged`), or do not show what is committed
    (`hidden`). The first two stay where the run began, the third where the manifest has them, the last have gone on.
    So many seconds of it were Spark's. `lost` says that the lane died under the run, `blocked` that the sink which
    all share took nothing. `joined` is what the kernel has looked up in reference tables.
    """

    started: float
    finished: float
    positions: Mapping[str, tuple[int, int]]
    read: int = 0
    shed: int = 0
    waited: Sequence[Answered] = ()
    results: Mapping[str, int] = field(default_factory=dict)
    spark: float = 0.0
    failed: Mapping[str, str] = field(default_factory=dict)
    unsent: Mapping[str, str] = field(default_factory=dict)
    unstaged: Mapping[str, str] = field(default_factory=dict)
    hidden: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    lost: bool = False
    blocked: bool = False
    joined: Sequence[Joined] = ()

    @property
    def bad(self) -> Mapping[str, str]:
        """The queries that failed, and why."""
        return {**self.hidden, **self.failed, **self.unsent, **self.unstaged}

    @property
    def response(self) -> Response:
        """The response times of all results."""
        return Response.of(np.concatenate([each.times for each in self.waited])) if self.waited else Response()

    @property
    def utility(self) -> float | None:
        """What results were worth in all, by the QoS graphs of their queries; None if none has any."""
        worth = [float(graph.utilities(times).sum()) for each in self.waited for _, graph, times in each.valued()]
        return sum(worth) if worth else None


def run(unit: LiveUnit, n: int, executor: Executor, manifest: Manifest, drops: Mapping[str, Drop] = _NONE) -> Done:
    """Take about n tuples, without what is to be dropped, by stream, of those that have no drop rate yet.

    What fails before anything was taken never happened.
    """
    started = time.time()
    timed = _Timed(executor, lambda given: thinned(given, unit.rates, drops, unit.owner, manifest))
    try:
        found = unit.evaluate(n, timed)
        for stream, (_, end) in found.positions.items():
            # Tuples of a window that is still open are passed before they are read.
            decide(unit.rates[stream], end, drops.get(stream, UNSHED), unit.owner, manifest)
        # Counting may have to look at tuples, and is done while nothing has been taken.
        shed = sum(unit.rates[stream].shed(*passed) for stream, passed in found.positions.items())
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this unit's alone
        lost = isinstance(error, LaneLostError)
        return Done(started, time.time(), {}, spark=timed.seconds, error=message(error), lost=lost)
    waited: list[Answered] = []
    unsent: dict[str, str] = {}
    for query, step in found.steps:
        try:
            if (times := query.take(step)).size:
                waited.append(Answered.of(query, times))
        except Exception as error:  # noqa: BLE001 - a sink of one query is nothing to the others
            unsent[query.name] = message(error)
    results = {query.name: step.rows.num_rows for query, step in found.steps if step.rows.num_rows}
    for batch in found.batches:
        results |= {query.name: count for query, count in zip(batch.queries, batch.counts.tolist(), strict=True)}
    why, blocked = None, False
    unstaged: dict[str, str] = {}
    hidden: dict[str, str] = {}
    if len(found.failed) + len(unsent) < len(unit.queries):
        unit.move(found)
        try:
            # Who failed is let go first, at what the manifest has of it.
            if not found.failed and not unsent and unit.commit_due(time.time()):
                delivered = unit.commit(manifest)
                waited += delivered.waited
                hidden = {name: message(each) for name, each in delivered.hidden.items()}
        except StagingError as problem:
            unstaged = {name: message(each) for name, each in problem.failed.items()}
        except Exception as problem:  # noqa: BLE001 - as above
            why, blocked = message(problem), isinstance(problem, SharedSinkError)
    bad = found.failed, unsent, unstaged, hidden
    return Done(
        *(started, time.time(), found.positions, found.read, shed, waited, results, timed.seconds),
        *bad,
        why,
        blocked=blocked,
        joined=found.joined,
    )


class _Timed:
    """Executes what is left of its input, and adds up the time that Spark took."""

    def __init__(self, executor: Executor, give: Callable[[JobInput], JobInput]) -> None:
        self._executor, self._give, self.seconds, self.kept = executor, give, 0.0, 1.0

    def __call__(self, plan: Prepared, given: JobInput) -> pa.Table:
        given = self._thinned(given)
        started = time.perf_counter()
        try:
            return self._executor(plan, given)
        finally:
            self.seconds += time.perf_counter() - started

    def answer(self, program: Program, given: JobInput) -> Answer:
        given = self._thinned(given)
        started = time.perf_counter()
        try:
            return self._executor.answer(program, given)
        finally:
            self.seconds += time.perf_counter() - started

    def _thinned(self, given: JobInput) -> JobInput:
        found = self._give(given)
        self.kept = kept(found)
        return found


def message(error: Exception) -> str:
    """The line that says what went wrong, without Spark's stack traces."""
    _, traced, after = str(error).rpartition("Traceback (most recent call last):")
    # What a Python worker has raised stands behind the lines of its trace, which are indented.
    text = "\n".join(line for line in after.splitlines() if not line.startswith(" ")) if traced else after
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    noise = ("An error occurred", ":", "at ", "org.apache.spark")
    said = next((line for line in lines if not line.startswith(noise)), lines[0] if lines else type(error).__name__)
    return said if isinstance(error, HeadgateError) else f"{type(error).__name__}: {said}"
