"""Queries that look at one tuple at a time: each train once."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from headgate.engine.evaluation.protocol import Execute, Setting, Step, Waiting, micros, queued, stream_input
from headgate.engine.log.manifest import Progress
from headgate.engine.log.stream import ARRIVAL
from headgate.engine.reader import JobInput
from headgate.engine.sql.plan import PerTrain


class TrainEvaluation:
    """Runs the query over the next tuples."""

    def __init__(self, plan: PerTrain, setting: Setting) -> None:
        self.plan, self._setting = plan, setting
        self.streams = (plan.stream,)
        self._log = setting.logs[plan.stream]
        self.prepare()

    def prepare(self) -> None:
        """Plan the text, with the results' times of arrival where it can carry them."""
        self._prepared = self._setting.prepare(self.plan.stamped or self.plan.sql)
        schema = self._prepared.schema
        self.schema = schema.remove(len(schema) - 1) if self.plan.stamped else schema

    def begin(self, positions: Mapping[str, int]) -> Progress:
        """Start at the stream's position."""
        return Progress(cursors=positions)

    def waiting(self, progress: Progress) -> Waiting:
        """The tuples behind the cursor."""
        return queued(self._log, progress.cursors[self.plan.stream])

    def step(self, progress: Progress, n: int, execute: Execute) -> Step:
        """The next n tuples."""
        low = progress.cursors[self.plan.stream]
        high = min(low + n, self._log.head)
        rows = execute(self._prepared, self._input(low, high))
        if self.plan.stamped:
            due = micros(rows.column(ARRIVAL)) / 1e6
            rows = rows.drop_columns([ARRIVAL])
        else:
            due = np.full(rows.num_rows, self._log.arrived(low, high - low) / max(1, high - low))
        return Step(rows, due, replace(progress, cursors={self.plan.stream: high}), high - low)

    def needed(self, progress: Progress, stream: str) -> int:
        """Nothing before the cursor."""
        return progress.cursors[stream]

    def tidy(self, progress: Progress) -> None:
        """Keeps nothing but its progress."""

    def warm(self, execute: Execute) -> None:
        """An empty train."""
        execute(self._prepared, self._input(0, 0))

    def _input(self, low: int, high: int) -> JobInput:
        return JobInput({self.plan.stream: stream_input(self._log, self._log.slices(low, high), None)})
