"""Aggregates over sessions: evaluated over the tuples of all open sessions, and given out once they have ended.

A session that ends before the watermark is complete: what comes later begins another one.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from headgate.engine.evaluation.protocol import (
    NOTHING,
    Execute,
    Setting,
    Step,
    Waiting,
    Warm,
    micros,
    stream_input,
    with_kept,
)
from headgate.engine.log.progress import Progress
from headgate.engine.reader import JobInput
from headgate.engine.sql.hidden import KEPT
from headgate.engine.sql.plan import BySession
from headgate.engine.windows import ENDED, NEVER


class SessionEvaluation:
    """Runs the query over open sessions whenever the watermark has moved by a gap."""

    def __init__(self, plan: BySession, setting: Setting) -> None:
        self.plan, self._setting = plan, setting
        self.streams = (plan.stream,)
        self._log = setting.logs[plan.stream]
        self.prepare()

    def prepare(self) -> None:
        """Plan the text."""
        self._prepared = self._setting.prepare(self.plan.sql)
        schema = self._prepared.schema
        shown = schema.remove(len(schema) - 1) if self.plan.having else schema
        self.schema = shown.append(pa.field(KEPT, pa.float64())) if self.plan.kept else shown

    def begin(self, positions: Mapping[str, int]) -> Progress:
        """Start behind the newest event time; a session that is under way counts from there."""
        (position,) = positions.values()
        newest = self._log.newest("event", position)
        return Progress(cursors=positions, low=newest + 1 if newest > NEVER else NEVER)

    def waiting(self, progress: Progress) -> Waiting:
        """The tuples since the last evaluation, once a session can have ended."""
        mark = self._log.watermark("event")
        moved = mark == ENDED or mark >= progress.closed + self.plan.gap
        if mark <= progress.closed or not moved:
            return NOTHING
        fresh = self._log.head - progress.cursors[self.plan.stream]
        if not fresh and self._log.first_since(progress.low, "event") == self._log.head:
            return NOTHING
        position = progress.cursors[self.plan.stream]
        return Waiting(max(1, fresh), self._log.reached(mark, "event").arrived_last / 1e6, position)

    def step(self, progress: Progress, n: int, execute: Execute) -> Step:  # noqa: ARG002 - all open sessions
        """Evaluate what is open, and give out what has ended."""
        log, stream = self._log, self.plan.stream
        low, high = progress.cursors[stream], log.head
        mark = log.watermark("event", high)
        found = execute(self._prepared, self._input(progress.low, high))
        starts, ends = (micros(found.column(name)) for name in ("session_start", "session_end"))
        # A session of another key that ended before may lie in the time that is read again.
        ended = (progress.closed <= ends) & (ends < mark)
        if self.plan.having:
            ended &= found.column(found.num_columns - 1).to_numpy()
        shown = found.select(list(range(len(self.schema) - self.plan.kept)))
        rows = (with_kept(shown, execute.kept) if self.plan.kept else shown).filter(pa.array(ended))
        due = np.array([log.reached(min(int(end) + 1, mark), "event").arrived_last / 1e6 for end in ends[ended]])
        # Tuples from the watermark on may yet come, before those of the open sessions.
        still = min([mark, *starts[ends >= mark].tolist()])
        moved = replace(
            progress,
            cursors={stream: high},
            closed=mark,
            low=max(progress.low, still),
            late=progress.late + log.behind(low, high),
        )
        return Step(rows, due, moved, high - low)

    def needed(self, progress: Progress, stream: str) -> int:
        """The first train with tuples of an open session."""
        return min(progress.cursors[stream], self._log.first_since(progress.low, "event"))

    def settle(self, progress: Progress) -> Progress:
        """Keeps nothing but its progress."""
        return progress

    def tidy(self, *kept: Progress) -> None:
        """Keeps nothing but its progress."""

    def warm(self, execute: Warm) -> None:
        """No sessions."""
        execute(self._prepared, JobInput())

    def _input(self, low: int, high: int) -> JobInput:
        given = stream_input(self._log, self._log.since(low, high), "event")
        return JobInput({self.plan.stream: given}, on_time=low)
