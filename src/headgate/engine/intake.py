"""A stream while the engine runs: its log, and the thread in which its source feeds it.

Of a log that engines share, one engine feeds the stream and the others follow: a thread looks for the next train.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.engine.log.stored import StoredTrain
from headgate.engine.log.stream import StreamLog
from headgate.engine.source.protocol import Rejected, Source, State
from headgate.engine.windows import Window
from headgate.errors import HeadgateError, InputError, SupersededError

Status = Literal["waiting", "running", "following", "paused", "ended", "failed"]

_RATE_OVER = 10.0
_LOOKS = 0.001, 0.010
"""Seconds from one look for the next train to another: while trains come, and at most."""
_log = logging.getLogger(__name__)


class LiveStream:
    """One stream on the engine, and what its source sees of it.

    Unless it `feeds`, it follows what another engine feeds into the log that they share.
    """

    def __init__(
        self, log: StreamLog, source: Source, folder: Path, idle: float | None, *, feeds: bool = True
    ) -> None:
        self.log, self.source, self.idle, self.feeds = log, source, idle, feeds
        self.status: Status = "ended" if log.ended else "waiting"
        self.reason: str | None = None
        self._folder = folder
        self._stop, self._turn, self._stopping = threading.Event(), threading.Lock(), False
        self._thread: threading.Thread | None = None
        self._recent: deque[tuple[float, int]] = deque()

    # What the source sees

    @property
    def schema(self) -> pa.Schema:
        """The columns of the stream."""
        return self.log.schema

    @property
    def state(self) -> State | None:
        """The state of the last append."""
        return self.log.state

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.log.ended

    def look(self) -> State | None:
        """The state of the last append, whichever engine made it."""
        self._entered(self.log.follow())
        return self.log.state

    @property
    def folder(self) -> str:
        """A folder of the source's own."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return str(self._folder)

    def append(
        self,
        rows: pa.Table,
        state: State,
        *,
        arrived: NDArray[np.float64] | None = None,
        rejected: Sequence[Rejected] = (),
    ) -> None:
        """Add a train to the log."""
        try:
            self.log.append(rows, state, arrived=arrived, rejected=rejected)
        except SupersededError as error:
            self._give_way(error)
            raise
        self._recent.append((time.time(), rows.num_rows))

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def wait(self, seconds: float) -> bool:
        """Sleep; True if the source has to stop."""
        return self._stop.wait(max(0.0, seconds))

    # What the engine does

    def start(self) -> None:
        """Let the source run, or follow who feeds the stream, in a thread of its own."""
        if self.log.ended:
            self.status = "ended"
            return
        self._stop.clear()
        self.status, self.reason = "running" if self.feeds else "following", None
        self._thread = threading.Thread(target=self._run, name=f"headgate-source-{self.log.name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Tell the source to stop, and wait until it has."""
        with self._turn:
            # From here on nobody goes over from the one to the other by himself.
            self._stopping = True
            self._stop.set()
        if self._thread:
            self._thread.join()
            self._thread = None
        self._stopping = False
        if self.status in ("running", "following"):
            self.status = "paused"

    def feed(self, on: bool) -> None:
        """Feed the stream from now on, behind what is in its log, or follow; what was begun before has ended."""
        if self.log.shared is None:
            rule, remedy = f"who feeds stream '{self.log.name}' is a question", "Give it a folder: shared='...'."
            raise InputError(rule, "a log that is not shared", remedy)
        if on == self.feeds:
            return
        active = self._thread is not None
        self.stop()
        self.feeds = on
        if active:
            self.start()

    @property
    def rate(self) -> float:
        """Tuples per second of late."""
        now = time.time()
        while self._recent and self._recent[0][0] < now - _RATE_OVER:
            self._recent.popleft()
        return sum(n for _, n in list(self._recent)) / _RATE_OVER

    def pass_time(self, windows: Sequence[Window]) -> None:
        """Where nothing comes, let the time that has passed close the windows that are open."""
        if not self.log.trains or self.log.ended or (self.log.shared and not self._feeding):
            return
        try:
            self._pass_time(windows)
        except SupersededError as error:
            self._give_way(error)

    def _pass_time(self, windows: Sequence[Window]) -> None:
        now, last = time.time(), self.log.trains[-1]
        silent = now - last.arrived_last / 1e6
        mark = last.arrival_after
        ends = [w.first_end(mark) for w in windows if w.time == "arrival" and w.last_end(last.newest) > mark]
        if ends and now * 1e6 >= min(ends):
            self.log.pass_time(now)
        if self.idle is not None and silent >= self.idle and self.log.event_time:
            self.log.pass_time(now, last.event_after + round(silent * 1e6))

    @property
    def _feeding(self) -> bool:
        return self.feeds and self.status == "running" and not self._stop.is_set()

    def _give_way(self, error: SupersededError) -> None:
        """Feed the stream no more, since another engine does."""
        with self._turn:
            if self.feeds:
                self.feeds, self.reason = False, str(error)
                self._stop.set()
                _log.warning("stream %s is fed by another engine; it is followed from now on", self.log.name)

    def _run(self) -> None:
        try:
            if self.feeds:
                self._feed()
            with self._turn:
                # Superseded, and not told to stop: the source has ended, and others go on with the stream.
                follows = not self.feeds and not self._stopping and not self.log.ended
                if follows:
                    self._stop.clear()
                    self.status = "following"
            if follows:
                self._follow()
            if self.log.ended:
                self.status = "ended"
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this stream's alone
            self.status = "failed"
            self.reason = (
                str(error) if isinstance(error, HeadgateError | OSError) else f"{type(error).__name__}: {error}"
            )
            _log.warning("stream %s stopped: %s; resume it once the cause is mended", self.log.name, self.reason)

    def _feed(self) -> None:
        self._entered(self.log.follow())
        if self.log.ended:
            return
        try:
            self.source.run(self)
            if not self._stop.is_set():
                self.log.end()
        except SupersededError as error:
            self._give_way(error)
        except Exception:
            # A source may say in its own words that it could not append.
            if self.feeds:
                raise

    def _follow(self) -> None:
        soonest, latest = _LOOKS
        pause = soonest
        while not self._stop.wait(pause):
            found = self.log.follow()
            self._entered(found)
            if self.log.ended:
                return
            pause = soonest if found else min(latest, 2 * pause)

    def _entered(self, trains: Sequence[StoredTrain]) -> None:
        now = time.time()
        self._recent.extend((now, train.count) for train in trains)
