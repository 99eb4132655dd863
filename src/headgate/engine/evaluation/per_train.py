"""Queries that look at one tuple at a time: each train once."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.engine.evaluation.protocol import Execute, Setting, Step, Waiting, Warm, micros, queued, stream_input
from headgate.engine.log.progress import Progress
from headgate.engine.prepared import Prepared
from headgate.engine.reader import JobInput
from headgate.engine.sql.plan import PerTrain


class TrainEvaluation:
    """Runs the query over the next tuples."""

    def __init__(
        self,
        plan: PerTrain,
        setting: Setting,
        schema: pa.Schema | None = None,
        text: Callable[[], PerTrain] | None = None,
    ) -> None:
        """With a `schema` it is planned only when it is run. `text` gives the plan, where `plan` is of one alike."""
        self.plan, self._setting, self._text = plan, setting, text
        self.streams = (plan.stream,)
        self._log = setting.logs[plan.stream]
        self._prepared: Prepared | None = None
        self.schema = self._shown(self.prepared.schema) if schema is None else schema

    @property
    def prepared(self) -> Prepared:
        """The text as Spark has planned it, with the results' times of arrival where it can carry them."""
        if self._prepared is None:
            self._prepared = self._planned()
        return self._prepared

    def prepare(self) -> None:
        """Plan again."""
        self._prepared = self._planned()
        self.schema = self._shown(self._prepared.schema)

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
        rows = execute(self.prepared, self._input(low, high))
        if self.plan.stamped:
            rows, due = unstamped(rows)
        else:
            due = np.full(rows.num_rows, self._log.arrived(low, high - low) / max(1, high - low))
        return Step(rows, due, replace(progress, cursors={self.plan.stream: high}), high - low)

    def needed(self, progress: Progress, stream: str) -> int:
        """Nothing before the cursor."""
        return progress.cursors[stream]

    def settle(self, progress: Progress) -> Progress:
        """Keeps nothing but its progress."""
        return progress

    def tidy(self, *kept: Progress) -> None:
        """Keeps nothing but its progress."""

    def warm(self, execute: Warm) -> None:
        """An empty train."""
        execute(self.prepared, self._input(0, 0))

    def _planned(self) -> Prepared:
        plan = self._text() if self._text else self.plan
        return self._setting.prepare(plan.stamped or plan.sql)

    def _shown(self, schema: pa.Schema) -> pa.Schema:
        return schema.remove(len(schema) - 1) if self.plan.stamped else schema

    def _input(self, low: int, high: int) -> JobInput:
        return JobInput({self.plan.stream: stream_input(self._log, self._log.slices(low, high), None)})


def unstamped(rows: pa.Table) -> tuple[pa.Table, NDArray[np.float64]]:
    """Rows without their times of arrival, which stand in the last column, and these in seconds."""
    last = rows.num_columns - 1
    return rows.remove_column(last), micros(rows.column(last)) / 1e6
