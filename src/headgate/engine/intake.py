"""A stream while the engine runs: its log, and the thread in which its source feeds it."""

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

from headgate.engine.log.stream import StreamLog
from headgate.engine.source.protocol import Rejected, Source, State
from headgate.engine.windows import Window
from headgate.errors import HeadgateError

Status = Literal["waiting", "running", "paused", "ended", "failed"]

_RATE_OVER = 10.0
_log = logging.getLogger(__name__)


class LiveStream:
    """One stream on the engine, and what its source sees of it."""

    def __init__(self, log: StreamLog, source: Source, folder: Path, idle: float | None) -> None:
        self.log, self.source, self.idle = log, source, idle
        self.status: Status = "ended" if log.ended else "waiting"
        self.reason: str | None = None
        self._folder = folder
        self._stop = threading.Event()
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
        self.log.append(rows, state, arrived=arrived, rejected=rejected)
        self._recent.append((time.time(), rows.num_rows))

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def wait(self, seconds: float) -> bool:
        """Sleep; True if the source has to stop."""
        return self._stop.wait(max(0.0, seconds))

    # What the engine does

    def start(self) -> None:
        """Let the source run, in a thread of its own."""
        if self.log.ended:
            return
        self._stop.clear()
        self.status, self.reason = "running", None
        self._thread = threading.Thread(target=self._run, name=f"headgate-source-{self.log.name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Tell the source to stop, and wait until it has."""
        self._stop.set()
        if self._thread:
            self._thread.join()
            self._thread = None
        if self.status == "running":
            self.status = "paused"

    @property
    def rate(self) -> float:
        """Tuples per second of late."""
        now = time.time()
        while self._recent and self._recent[0][0] < now - _RATE_OVER:
            self._recent.popleft()
        return sum(n for _, n in list(self._recent)) / _RATE_OVER

    def pass_time(self, windows: Sequence[Window]) -> None:
        """Where nothing comes, let the time that has passed close the windows that are open."""
        if not self.log.trains or self.log.ended:
            return
        now, last = time.time(), self.log.trains[-1]
        silent = now - last.arrived_last / 1e6
        mark = last.arrival_after
        ends = [w.first_end(mark) for w in windows if w.time == "arrival" and w.last_end(last.newest) > mark]
        if ends and now * 1e6 >= min(ends):
            self.log.pass_time(now)
        if self.idle is not None and silent >= self.idle and self.log.event_time:
            self.log.pass_time(now, last.event_after + round(silent * 1e6))

    def _run(self) -> None:
        try:
            self.source.run(self)
            if not self._stop.is_set():
                self.log.end()
                self.status = "ended"
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this stream's alone
            self.status = "failed"
            self.reason = (
                str(error) if isinstance(error, HeadgateError | OSError) else f"{type(error).__name__}: {error}"
            )
            _log.warning("stream %s stopped: %s; resume it once the cause is mended", self.log.name, self.reason)
