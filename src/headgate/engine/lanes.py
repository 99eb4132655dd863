"""Lanes: what runs one unit at a time, the 'core' of the schedulers.

A job lane is a thread of the driver that executes prepared plans as ordinary Spark jobs. Whatever else can run a unit
takes the same form: it is given work, calls it with a way to execute, and says when it is done.
"""

import logging
import pickle
import queue
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, Protocol

import pyarrow as pa
from pyspark import InheritableThread
from pyspark.sql import SparkSession

from headgate.engine.kernel.program import Answer, Program
from headgate.engine.prepared import Prepared
from headgate.engine.reader import JobInput
from headgate.engine.resident import answers
from headgate.engine.resident.entry import ANSWER, InJob
from headgate.engine.ship import ship

_log = logging.getLogger(__name__)


class Executor(Protocol):
    """How a lane runs things: plans on job lanes, programs on all.

    Of the tuples that were given last, the share `kept` was not dropped.
    """

    kept: float

    def __call__(self, plan: Prepared, given: JobInput) -> pa.Table:
        """Run a prepared plan."""

    def answer(self, program: Program, given: JobInput) -> Answer:
        """Run a program, as it is now."""


Work = Callable[[Executor], None]
"""What a lane is given. It handles its own errors and reports its own end."""


class Lane(Protocol):
    """Runs one unit at a time."""

    @property
    def name(self) -> str:
        """How the lane is called in logs and views."""

    @property
    def kind(self) -> Literal["jobs", "resident"]:
        """Whether it can run plans, or programs alone but those sooner."""

    def assign(self, unit: str, work: Work) -> None:
        """Begin a unit's work. Only for a lane that runs nothing."""

    def cancel(self) -> None:
        """Stop what is under way; its work then fails."""

    def close(self) -> None:
        """Finish what is under way, and end."""


class JobLane:
    """A thread that runs Spark jobs, one after the other, in a job group of its own."""

    kind: Literal["jobs"] = "jobs"
    kept = 1.0

    def __init__(self, name: str, spark: SparkSession) -> None:
        self.name = name
        self._spark = spark
        self._unit = ""
        self._programs: dict[str, tuple[weakref.ref[Program], tuple[int, Mapping[str, str]], Prepared]] = {}
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

    def __call__(self, plan: Prepared, given: JobInput) -> pa.Table:
        """Run a plan as a job of the calling thread, which is the lane's."""
        return plan.run(given, self._unit)

    def answer(self, program: Program, given: JobInput) -> Answer:
        """Run a program in a job of the calling thread, which is the lane's."""
        found = self._prepared(program).run(given, self._unit)
        sizes, errors, joined = pickle.loads(found.column("head")[0].as_buffer())  # noqa: S301 - made by our own job
        return answers.unpacked(sizes, errors, found.column("body")[0].as_buffer(), joined)

    def _prepared(self, program: Program) -> Prepared:
        """The plan of a program, made anew when the program or a snapshot of its tables has changed."""
        _, known, plan = self._programs.get(program.id, (None, None, None))
        now = replace(program, changes=list(program.changes))
        if plan is None or known != (len(now.changes), now.tables):
            ship(self._spark.sparkContext)
            plan = Prepared(self._spark.range(0, 1, 1, 1).mapInArrow(InJob(now), ANSWER))
            self._programs = {key: entry for key, entry in self._programs.items() if entry[0]() is not None}
            self._programs[program.id] = weakref.ref(program), (len(now.changes), now.tables), plan
        return plan

    @property
    def _group(self) -> str:
        return f"headgate {self.name}"

    def _serve(self) -> None:
        context = self._spark.sparkContext
        context.setJobGroup(self._group, self._group, interruptOnCancel=True)
        while (work := self._work.get()) is not None:
            try:
                work(self)
            except Exception:  # noqa: BLE001 - work reports its errors; one here is ours, and must not take the lane along
                _log.exception("lane %s", self.name)
