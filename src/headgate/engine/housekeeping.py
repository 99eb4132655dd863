"""What takes longer than a decision may, in a thread of its own: lanes, units, the status, what sinks do by time."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from headgate.engine.gentle import gently
from headgate.engine.placing import Placing
from headgate.engine.query import LiveQuery
from headgate.engine.residents import Residents
from headgate.engine.running import message
from headgate.engine.status import NAME as STATUS
from headgate.engine.status import Snapshot, written
from headgate.errors import HeadgateError

_STATUS_EVERY, _WRITTEN_EVERY = 0.5, 2.0
"""Seconds between two looks at everything, and between two times that it is written down for other processes."""
_LOOKS, _LEAST, _NEWS = 60, 30, 1.2
"""The housekeeper rests so many times as long as it works at a look at everything, or at writing it down. Where that
is longer than so many seconds, people wait for news: then it rests so long, but so many times its work at least."""
_log = logging.getLogger(__name__)


class Housekeeper:
    """Looks at everything twice a second, and at lanes and units also when it is told to `look`."""

    def __init__(
        self,
        folder: Path,
        status: Callable[[], Snapshot],
        queries: Mapping[str, LiveQuery],
        residents: Residents,
        placing: Placing,
    ) -> None:
        self._folder, self._status, self._queries = folder, status, queries
        self._residents, self._placing = residents, placing
        self.ending = False
        self._look = threading.Event()
        self._seen: Snapshot | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._keep_house, name="headgate-house", daemon=True)
        self._thread.start()

    def look(self) -> None:
        """Look at lanes and units now."""
        self._look.set()

    def end(self) -> None:
        """Do nothing more after what is under way."""
        self.ending = True
        self._look.set()

    def join(self) -> None:
        """Wait for what is under way."""
        if self._thread:
            self._thread.join()

    def recent(self) -> Snapshot:
        """The last look at everything. As long as nobody looks around, this does."""
        seen = self._seen
        if seen is None or (self._thread is None and time.time() - seen.time > _STATUS_EVERY):
            seen = self._seen = self._status()
        return seen

    def write(self, found: Snapshot, *, running: bool) -> None:
        """Write the status for other processes."""
        file = self._folder / STATUS
        temporary = file.with_suffix(".tmp")
        try:
            temporary.write_text(written(found, running=running))
            temporary.rename(file)
        except OSError as error:
            _log.warning("cannot write %s: %s", file, error.strerror)

    def _keep_house(self) -> None:
        due = writing = time.monotonic()
        took = 0.0
        while not self.ending:
            self._look.wait(max(0.0, due - time.monotonic()))
            self._look.clear()
            try:
                self._residents.adjust()
                self._placing.look()
            except Exception as error:  # noqa: BLE001 - a full disk, say; the next look tries again
                _log.warning("units stay as they are: %s", message(error))
            # With very many queries, looking at them must not keep them from running; waiting for them does not.
            if (began := time.monotonic()) >= due:
                before, took = took, self._spent(self._look_around)
                due = began + until_next(before, took)
            if (seen := self._seen) and began >= writing:
                spent = self._spent(partial(self.write, seen, running=True))
                writing = began + max(_WRITTEN_EVERY, _LOOKS * spent)

    @staticmethod
    def _spent(do: Callable[[], None]) -> float:
        """The processor time that something takes."""
        began = time.thread_time()
        try:
            do()
        except Exception as error:  # noqa: BLE001 - the next look tries again; until then there are no news
            _log.warning("the status stays as it is: %s", message(error))
        return time.thread_time() - began

    def _look_around(self) -> None:
        self._seen = self._status()
        self._tick()

    def _tick(self) -> None:
        """Let sinks do what is due by the time."""
        now = time.time()
        for query in {id(query.sink): query for query in gently(list(self._queries.values()))}.values():
            try:
                query.sink.tick(now)
            except HeadgateError as error:
                # What is committed is not lost: the next tick tries again.
                _log.warning("query %s: %s", query.name, error)


def until_next(before: float, took: float) -> float:
    """Seconds from a look at everything to the next, by what it and the one before it have taken.

    People watch these: one that has taken long for once leaves nobody without news.
    """
    spent = min(before, took)
    return max(_STATUS_EVERY, min(_LOOKS * spent, _NEWS), _LEAST * spent)
