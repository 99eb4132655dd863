"""The resident lanes of an engine: as many as are wanted and Spark has slots for, with one of them left for jobs."""

import logging
import threading
import time
import weakref
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from headgate.engine.resident.lane import Channel, ResidentLane
from headgate.engine.scheduler import Scheduler

_PATIENCE = 5.0
"""Seconds that a job may wait for a slot before a resident lane gives up its own."""

_ALL: "weakref.WeakSet[ResidentLane]" = weakref.WeakSet()
"""The resident lanes of all engines of this process: each has a slot of Spark's for good."""

_log = logging.getLogger(__name__)


class Residents:
    """Opens lanes when there is something for them to do, and follows the slots that come and go with executors."""

    def __init__(
        self, spark: SparkSession, scheduler: Scheduler, wanted: int, folder: Path, channel: Channel | None
    ) -> None:
        self.lanes: list[ResidentLane] = []
        self.wanted = wanted
        self._spark, self._scheduler, self._folder, self._channel = spark, scheduler, folder, channel
        # Whoever adds a query opens lanes, and the housekeeper adjusts them.
        self._lock = threading.Lock()
        self._opened = False
        self._leaving: ResidentLane | None = None
        self._said: int | None = None

    def open(self) -> None:
        """Have lanes from now on."""
        with self._lock:
            if not self._opened:
                self._opened = True
                # Executors may be on their way, and what Spark expects of them counts; later, those that are there.
                self._grow(self._spark.sparkContext.defaultParallelism)

    def adjust(self) -> None:
        """Follow the slots: more lanes where there are some again, fewer where a job gets none. Takes its time."""
        if not self._opened:
            return
        found = slots(self._spark.sparkContext)
        if found is None:
            return
        starved = len(_ALL) >= found and self._scheduler.longest("jobs", time.time()) > _PATIENCE
        if starved and self.lanes and self._leaving is None:
            self._leaving = self.lanes[-1]
        with self._lock:
            if self._leaving:
                # Even if there are slots again: it gets nothing more to do.
                self._give_up(self._leaving)
            else:
                self._grow(found)

    def close(self) -> None:
        """Let other engines have the slots. Whoever closes the lanes is the scheduler."""
        _ALL.difference_update(self.lanes)
        self._opened = False

    def _grow(self, found: int) -> None:
        others = len(_ALL) - len(self.lanes)
        free = max(0, min(self.wanted, found - 1 - others))
        if free < self.wanted and free != self._said:
            _log.warning("Spark has slots for %d of %d resident lanes", free, self.wanted)
        self._said = free
        for i in range(len(self.lanes), free):
            lane = ResidentLane(f"resident-{i + 1}", self._spark, self._folder, channel=self._channel)
            _ALL.add(lane)
            self.lanes.append(lane)
            self._scheduler.enlist(lane)

    def _give_up(self, lane: ResidentLane) -> None:
        if self._scheduler.retire(lane):
            _log.warning("lane %s is closed: Spark has no other slot for jobs", lane.name)
            self.lanes.remove(lane)
            _ALL.discard(lane)
            self._leaving = None
            lane.close()


def slots(context: SparkContext) -> int | None:
    """The tasks that can run at a time on the executors that are there; None if Spark does not tell."""
    try:
        inner = context._jsc.sc()  # noqa: SLF001 - pyspark has no word for it
        return int(inner.maxNumConcurrentTasks(inner.resourceProfileManager().defaultResourceProfile()))
    except (Py4JError, AttributeError, OSError):
        return None
