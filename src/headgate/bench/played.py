"""A source that brings tuples when it is told to, so that one engine serves the same arrivals several times."""

import queue
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from headgate.engine.source.protocol import Intake

Floats = NDArray[np.float64]
Rows = Callable[[int, Floats], pa.Table]
"""Makes tuples: the number of the first, and when each arrives."""


class Played:
    """Brings tuples at the times of each `play`, made by `rows`, in a train every so many seconds."""

    def __init__(self, schema: pa.Schema, rows: Rows, every: float = 0.005) -> None:
        self._schema, self._rows, self._every = schema, rows, every
        self._waiting: queue.SimpleQueue[tuple[float, Floats]] = queue.SimpleQueue()
        self._next = 0
        self.sent = 0

    def schema(self, spark: SparkSession) -> pa.Schema:  # noqa: ARG002 - the columns are known
        """The columns."""
        return self._schema

    def play(self, times: Floats) -> None:
        """Bring tuples at these times, in seconds from now."""
        self.sent += len(times)
        self._waiting.put((time.time(), times))

    def run(self, intake: Intake) -> None:
        """Append what is due, stamped with the time at which it was."""
        while not intake.wait(0.0):
            try:
                start, times = self._waiting.get(timeout=10 * self._every)
            except queue.Empty:
                continue
            done = 0
            while done < len(times):
                due = int(np.searchsorted(times, intake.now() - start, side="right"))
                if due > done:
                    self._append(intake, start + times[done:due])
                    done = due
                if intake.wait(self._every):
                    return

    def _append(self, intake: Intake, stamps: Floats) -> None:
        rows = self._rows(self._next, stamps)
        self._next += len(stamps)
        intake.append(rows, {"next": self._next}, arrived=stamps)
