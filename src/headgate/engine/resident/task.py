"""The Spark task of a resident lane: one job, one worker, one conversation. Whatever ends one of them ends all."""

import contextlib
import itertools
import threading
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark import InheritableThread, SparkContext
from pyspark.errors import PySparkException

from headgate.engine.resident.channel import Call, Channel, Connected, Kind, Listener, new_token
from headgate.engine.resident.conversation import Conversation
from headgate.engine.resident.entry import Resident
from headgate.engine.resident.flight import FlightListener
from headgate.engine.resident.process import Process
from headgate.engine.resident.unix import UnixListener

_PATIENCE = 5.0
"""Seconds that a worker has for going home."""
_LOOPBACK = "127.0.0.1"
_numbers = itertools.count(1)


class Task:
    """Starts the job of a lane; `talk` is there as soon as its worker has called, `over` when the job has ended."""

    def __init__(
        self,
        context: SparkContext,
        lane: str,
        kind: Kind,
        folder: Path,
        silence: float,
        memory: int | None,
        most: int,
    ) -> None:
        self._context, self._lane, self._folder, self._silence = context, lane, folder, silence
        self._group = f"headgate {lane} {next(_numbers)}"
        self._lock = threading.Lock()
        self._channel: Channel | None = None
        self._process: Process | None = None
        self._stopped = False
        self._trouble = ""
        self.talk: Conversation | None = None
        token = new_token()
        self._listener = _listener(kind, context, token, self._connected)
        call = Call(kind, self._listener.address, token)
        work = Resident(call, memory, most, str(folder))
        self._job = InheritableThread(target=self._run, args=(work,), name=f"headgate-{lane}-job", daemon=True)
        try:
            self._job.start()
        except BaseException:
            self._listener.close()
            raise

    @property
    def over(self) -> bool:
        """Whether Spark's job has ended."""
        return not self._job.is_alive()

    @property
    def trouble(self) -> str:
        """Why its worker is not there."""
        if self.over:
            return self._trouble
        return "its worker has not called yet" if self._placed() else "Spark has no free slot for its task"

    def kill(self) -> None:
        """End the worker, whatever it does. Any thread may do so."""
        # Spark kills the worker as well, also on another machine; but it is in less of a hurry.
        with contextlib.suppress(Py4JError, AttributeError, OSError):
            self._context._jsc.sc().cancelJobGroupAndFutureJobs(self._group)  # noqa: SLF001
        if self._process:
            self._process.kill()

    def drop(self) -> None:
        """End the worker, and hear nothing more of it."""
        self.kill()
        self._leave()

    def end(self) -> None:
        """Send the worker home, and wait until it has gone."""
        if self.talk:
            self.talk.end()
            self._job.join(_PATIENCE)
        if not self.over:
            self.kill()
        self._leave()
        self._job.join(_PATIENCE)

    def _leave(self) -> None:
        with self._lock:
            self._stopped = True
            channel, self._channel = self._channel, None
        if channel:
            channel.close()
        self._listener.close()

    def _connected(self, channel: Channel, process: Process) -> None:
        with self._lock:
            if self._stopped:
                channel.close()
                return
            self._channel, self._process = channel, process
            self.talk = Conversation(channel, self._silence, self._folder)

    def _run(self, work: Resident) -> None:
        try:
            self._context.setJobGroup(self._group, f"headgate {self._lane}: resident", interruptOnCancel=True)
            self._context.parallelize([0], 1).mapPartitions(work).collect()
            self._trouble = "its task has ended"
        except (PySparkException, Py4JError, AttributeError, OSError) as error:
            self._trouble = _said(error)

    def _placed(self) -> bool:
        """Whether Spark has started the task."""
        found = self._context.statusTracker()
        jobs = [found.getJobInfo(job) for job in found.getJobIdsForGroup(self._group)]
        stages = [found.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        return any(stage.numActiveTasks for stage in stages if stage)


def _listener(kind: Kind, context: SparkContext, token: str, connected: Connected) -> Listener:
    if kind == "unix":
        return UnixListener(token, connected)
    host = context.getConf().get("spark.driver.host", _LOOPBACK)
    bind = context.getConf().get("spark.driver.bindAddress", host)
    return FlightListener(token, connected, *((_LOOPBACK, _LOOPBACK) if is_local(context) else (host, bind)))


def is_local(context: SparkContext) -> bool:
    """Whether tasks run on the driver's machine."""
    master = context.master or ""
    return master.startswith("local") and not master.startswith("local-cluster")


def _said(error: Exception) -> str:
    """What a Python worker, or Spark, says of its end, in a line."""
    _, traced, trace = str(error).rpartition("Traceback (most recent call last):")
    if traced:
        return next((line for line in trace.splitlines() if line[:1].strip()), "an unknown error")
    _, failed, last = str(error).partition("most recent failure: ")
    return (last if failed else str(error)).strip().partition("\n")[0]
