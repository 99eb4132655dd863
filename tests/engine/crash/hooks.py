"""Crashes at chosen instants, in a process that goes on: the engine is abandoned where it stands."""

import threading
from contextlib import ExitStack, contextmanager
from unittest import mock

from headgate.engine.evaluation import by_panes
from headgate.engine.log import stream
from headgate.engine.log.cohorts import Cohorts
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.stored import StoredStreams
from headgate.engine.sink.into_stream import IntoStream
from headgate.engine.sink.json_lines import JsonLines
from headgate.engine.sink.parquet_folder import ParquetFolder

STEPS = {
    "a train or a stream's end is committed": (StoredStreams, "append"),
    "a train's file is written": (stream, "write"),
    "a pane's file is written": (by_panes, "write"),
    "a run is committed": (Manifest, "commit"),
    "a query is entered": (Manifest, "enter_many"),
    "queries join a cohort": (Cohorts, "join"),
    "trains are dropped": (StoredStreams, "drop"),
    "rows are staged as Parquet": (ParquetFolder, "stage"),
    "rows are staged as JSON lines": (JsonLines, "stage"),
    "rows are staged for a stream": (IntoStream, "stage"),
    "Parquet is published": (ParquetFolder, "publish"),
    "JSON lines are published": (JsonLines, "publish"),
}
"""Everything that an engine does to what outlives it, in words."""


class Crash(BaseException):
    """The end of a thread: nothing that the engine catches."""


class Doom:
    """Ends an engine before or after the n-th call of a step; from then on none of its threads does anything."""

    def __init__(self, step, moment, n):
        self._step, self._moment, self._left = step, moment, n
        self._lock = threading.Lock()
        self.struck = threading.Event()

    @contextmanager
    def hanging(self):
        """Let it hang over all engines that run meanwhile."""
        with ExitStack() as stack:
            for step, (owner, name) in STEPS.items():
                stack.enter_context(mock.patch.object(owner, name, self._around(step, getattr(owner, name))))
            stack.enter_context(mock.patch.object(threading, "excepthook", _silent(threading.excepthook)))
            yield

    def _around(self, step, function):
        def guarded(*args, **kwargs):
            with self._lock:
                if self.struck.is_set():
                    raise Crash
                strikes = step == self._step and self._counted()
                if strikes and self._moment == "before":
                    self.struck.set()
                    raise Crash
                if strikes:
                    # Together with the call: another thread must not get in between and be taken for dead.
                    function(*args, **kwargs)
                    self.struck.set()
                    raise Crash
            found = function(*args, **kwargs)
            if self.struck.is_set():
                raise Crash
            return found

        return guarded

    def _counted(self):
        self._left -= 1
        return self._left == 0


def _silent(hook):
    def without_crashes(given):
        if given.exc_type is not Crash:
            hook(given)

    return without_crashes


def abandon(engine):
    """What is left of a process that has died: nothing. Its threads end, its files are let go of."""
    engine._scheduler._stopping = True
    engine._scheduler.wake()
    engine._housekeeper.end()
    for live in engine._streams.values():
        live._stop.set()
    threads = [live._thread for live in engine._streams.values()]
    threads += [engine._scheduler._thread, engine._housekeeper._thread]
    for lane in engine._scheduler.lanes:
        lane._work.put(None)
        threads.append(lane._thread)
    for thread in threads:
        if thread is not None and thread.is_alive():
            thread.join()
    for lane in engine._residents.lanes:
        # Its thread may have died of the crash, and its task would stay in a slot that the next engine needs.
        if lane._task:
            lane._task.drop()
    engine._residents.close()
    engine._recorder.close()
    engine._manifest.close()
