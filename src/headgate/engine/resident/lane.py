"""A resident lane: a thread of the driver that takes work, with the Python worker of a long-running Spark task."""

import atexit
import logging
import queue
import shutil
import threading
import time
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.sql import SparkSession

from headgate.engine.kernel.program import Answer, Program
from headgate.engine.lanes import Work
from headgate.engine.prepared import Prepared
from headgate.engine.reader import JobInput
from headgate.engine.resident.channel import Kind
from headgate.engine.resident.conversation import Conversation, StoppedError
from headgate.engine.resident.task import Task, is_local
from headgate.engine.ship import ship

Channel: TypeAlias = Kind

LARGE = 8 << 20
"""Bytes above which an answer goes into a file."""

_TEND = 0.25
"""Seconds between two looks at an idle worker."""
_PATIENCE = 20.0
"""Seconds that work waits for a worker that is being replaced."""
_PAUSES = 0.1, 5.0
"""Seconds between a task that never got as far as to call and the next: at first, and at most."""

_log = logging.getLogger(__name__)


class LaneLostError(Exception):
    """The worker was lost under a run, which has not happened then; it can be tried again."""


class ResidentLane:
    """Runs programs on command. A worker that dies, hangs or is stopped is replaced by another one.

    One that gives no sign of life for `silence` seconds is taken for hung. It may allocate `memory` bytes, by default
    as many as its machine has. `folder`, which driver and executors have in common, is for answers that are too large
    to be sent. Without a `channel` it is what the master suggests.
    """

    kind: Literal["resident"] = "resident"
    kept = 1.0

    def __init__(
        self,
        name: str,
        spark: SparkSession,
        folder: Path,
        *,
        channel: Channel | None = None,
        silence: float = 3.0,
        memory: int | None = None,
        large: int = LARGE,
    ) -> None:
        self.name = name
        self._context = spark.sparkContext
        self._channel: Channel = channel or ("unix" if is_local(self._context) else "flight")
        self._folder = folder / name
        self._silence, self._memory, self._large = silence, memory, large
        # What is there is of an engine that has died.
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        ship(self._context)
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._running, self._stopped = False, threading.Event()
        self._trouble, self._pause, self._due = "", _PAUSES[0], 0.0
        self._task = self._start()
        # As on a job lane: whatever the work does with Spark has properties of its own.
        self._thread = InheritableThread(target=self._serve, name=f"headgate-{name}", daemon=True)
        self._thread.start()
        # A process that ends with a call of Flight's under way never gets to its end.
        atexit.register(self._abandon)

    @property
    def up(self) -> bool:
        """Whether there is a worker."""
        return self._task is not None and self._task.talk is not None

    @property
    def trouble(self) -> str:
        """Why there is none."""
        task = self._task
        if task is None:
            return self._trouble
        return "" if task.talk else task.trouble

    def ready(self, timeout: float) -> bool:
        """Wait for the worker, and tell whether it is there. If not, `trouble` says why."""
        limit = time.monotonic() + timeout
        while not self.up and time.monotonic() < limit:
            time.sleep(0.01)
        return self.up

    def assign(self, unit: str, work: Work) -> None:  # noqa: ARG002 - Spark has no job of its own to show it on
        """Hand the work to the thread."""
        self._work.put(work)

    def cancel(self) -> None:
        """End the worker, since nothing else stops what it does."""
        if self._running:
            self._stopped.set()
            if task := self._task:
                task.kill()

    def close(self) -> None:
        """Let the thread finish its work, and the worker go home."""
        atexit.unregister(self._abandon)
        self._work.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __call__(self, plan: Prepared, given: JobInput) -> pa.Table:  # noqa: ARG002 - it takes none
        """Plans run on job lanes only."""
        msg = f"{self.name} runs programs, and no plans"
        raise TypeError(msg)

    def answer(self, program: Program, given: JobInput) -> Answer:
        """Have the worker run a program. LaneLostError: it died or hung, or there is none."""
        talk = self._awaited()
        try:
            return talk.answer(program, given, self._stopped.is_set)
        except ConnectionError as error:
            self._replace(f"its worker is lost: {error}")
            if self._stopped.is_set():
                raise StoppedError from None
            msg = f"{self.name}: {self._trouble}"
            raise LaneLostError(msg) from None
        except StoppedError:
            self._replace("a run took too long")
            raise

    def _abandon(self) -> None:
        self.cancel()
        self.close()

    # In the lane's thread

    def _serve(self) -> None:
        while (work := self._next()) is not None:
            self._stopped.clear()
            self._running = True
            try:
                work(self)
            except Exception:  # noqa: BLE001 - work reports its errors; one here is ours, and must not take the lane along
                _log.exception("lane %s", self.name)
            self._running = False
        task, self._task = self._task, None
        if task:
            task.end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _next(self) -> Work | None:
        """Wait for work, and look after the worker meanwhile."""
        while True:
            try:
                return self._work.get(timeout=_TEND)
            except queue.Empty:
                self._tend()

    def _awaited(self) -> Conversation:
        limit = time.monotonic() + _PATIENCE
        while not self._stopped.is_set():
            self._tend()
            if self._task and self._task.talk:
                return self._task.talk
            if time.monotonic() > limit:
                msg = f"{self.name} has no worker: {self.trouble}"
                raise LaneLostError(msg)
            time.sleep(0.01)
        raise StoppedError

    def _tend(self) -> None:
        """Hear whether the worker lives, and see to it that there is one."""
        task = self._task
        if task is None:
            if time.monotonic() >= self._due:
                self._task = self._start()
        elif task.talk:
            try:
                task.talk.listen()
            except ConnectionError as error:
                self._replace(f"its worker is lost: {error}")
        elif task.over:
            self._replace(task.trouble)

    def _replace(self, why: str) -> None:
        task, self._task = self._task, None
        if why != self._trouble:
            _log.warning("lane %s: %s", self.name, why)
        self._trouble = why
        if task:
            task.drop()
            for file in self._folder.iterdir():
                file.unlink()
            self._pause = _PAUSES[0] if task.talk else min(2 * self._pause, _PAUSES[1])
        self._due = time.monotonic() + self._pause

    def _start(self) -> Task | None:
        settings = self._channel, self._folder, self._silence, self._memory, self._large
        try:
            return Task(self._context, self.name, *settings)
        except (Py4JError, AssertionError, AttributeError, OSError) as error:
            # Most of these are what pyspark raises of a context that is no more, or of one whose Java is gone.
            why = f"its task could not be started: {str(error) or 'Spark has ended'}"
            self._trouble, self._due = why, time.monotonic() + _PAUSES[1]
            return None
