"""Lanes: what runs one unit at a time, the 'core' of the schedulers.

A job lane is a thread of the driver that executes prepared plans as ordinary Spark jobs. Whatever else can run a unit
takes the same form: it is given work, calls it with a way to execute a plan, and says when it is done.
"""

import logging
import queue
import threading
from collections.abc import Callable
from typing import Protocol

import pyarrow as pa
from pyspark import InheritableThread
from pyspark.sql import SparkSession

from headgate.engine.evaluation.protocol import Execute
from headgate.engine.prepared import Prepared
from headgate.engine.reader import JobInput

Work = Callable[[Execute], None]
"""What a lane is given. It handles its own errors and reports its own end."""

_log = logging.getLogger(__name__)


class Lane(Protocol):
    """Runs one unit at a time."""

    @property
    def name(self) -> str:
        """How the lane is called in logs and views."""

    def assign(self, unit: str, work: Work) -> None:
        """Begin a unit's work. Only for a lane that runs nothing."""

    def cancel(self) -> None:
        """Stop what is under way; its work then fails."""

    def close(self) -> None:
        """Finish what is under way, and end."""


class JobLane:
    """A thread that runs Spark jobs, one after the other, in a job group of its own."""

    def __init__(self, name: str, spark: SparkSession) -> None:
        self.name = name
        self._spark = spark
        self._unit = ""
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        # Spark keeps job-local properties per Java thread, which this kind of thread has one of for itself.
        self._thread = InheritableThread(target=self._serve, name=f"headgate-{name}", daemon=True)
        self._thread.start()

    def assign(self, unit: str, work: Work) -> None:
        """Hand the work to the thread."""
        self._unit = unit
        self._work.put(work)

    def cancel(self) -> None:
        """Cancel the job under way."""
        self._spark.sparkContext.cancelJobGroup(self._group)

    def close(self) -> None:
        """Let the thread finish its work and end."""
        self._work.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    @property
    def _group(self) -> str:
        return f"headgate {self.name}"

    def _serve(self) -> None:
        context = self._spark.sparkContext
        context.setJobGroup(self._group, self._group, interruptOnCancel=True)
        while (work := self._work.get()) is not None:
            try:
                work(self._execute)
            except Exception:  # noqa: BLE001 - work reports its errors; one here is ours, and must not take the lane along
                _log.exception("lane %s", self.name)

    def _execute(self, plan: Prepared, given: JobInput) -> pa.Table:
        return plan.run(given, self._unit)
