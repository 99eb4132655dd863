"""Windows over one stream or several that have closed in all of them, one after the other."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace

from headgate.engine.evaluation.protocol import NOTHING, Waiting, stream_input
from headgate.engine.log.progress import Progress
from headgate.engine.log.trains import Extent, Trains
from headgate.engine.reader import StreamInput
from headgate.engine.windows import ENDED, NEVER, Window


@dataclass(frozen=True, slots=True)
class Closed:
    """A window that has closed: its edges in microseconds, and when the last of its streams had reached its end."""

    start: int
    end: int
    at: float


class ClosedWindows:
    """The windows of a query that have a tuple. Windows without a tuple of any stream do not exist."""

    def __init__(self, logs: Mapping[str, Trains], window: Window) -> None:
        self._logs, self._window = logs, window
        self.until = ENDED
        # The policy, the lane and whoever looks at the status ask at the same time.
        self._lock = threading.Lock()
        self._open: set[int] = set()
        self._scanned = dict.fromkeys(logs, -1)

    def begin(self, positions: Mapping[str, int]) -> Progress:
        """Start with the first window that begins behind everything that has come before."""
        window = self._window
        newest = max(self._logs[name].newest(window.time, at) for name, at in positions.items())
        return Progress(cursors=positions, closed=window.last_end(newest) if newest > NEVER else NEVER)

    def next(self, progress: Progress) -> Closed | None:
        """The next window that has closed in all streams."""
        window = self._window
        if window.over_rows:
            return self._next_of_rows(progress)
        # The watermark first: windows of a train that comes in between must not be passed over.
        mark = min(self.until, *(log.watermark(window.time) for log in self._logs.values()))
        with self._lock:
            self._scan(progress)
            end = min((end for end in self._open if progress.closed < end <= mark), default=None)
        if end is None:
            return None
        return self._closed(end)

    def released(self, progress: Progress, after: int) -> list[Closed]:
        """The windows of time that have closed in all streams, of those that end after some time, the first first."""
        mark = min(self.until, *(log.watermark(self._window.time) for log in self._logs.values()))
        with self._lock:
            self._scan(progress)
            ends = sorted(end for end in self._open if max(progress.closed, after) < end <= mark)
        return [self._closed(end) for end in ends]

    def waiting(self, progress: Progress) -> Waiting:
        """The next window, counted by the tuples that came since the last."""
        found = self.next(progress)
        if found is None:
            return self._left(progress)
        moved = self._behind(progress, found)
        fresh = sum(moved[name] - at for name, at in progress.cursors.items())
        return Waiting(max(1, fresh), found.at, min(progress.cursors.values()))

    def passed(self, progress: Progress, closed: Closed | None) -> tuple[Progress, int]:
        """The progress behind a window, or without one behind all that is left, and the tuples that this passes."""
        logs = self._logs
        cursors = self._behind(progress, closed) if closed else {name: log.head for name, log in logs.items()}
        late = sum(log.late(progress.cursors[name], cursors[name], self._window) for name, log in logs.items())
        read = sum(cursors.values()) - sum(progress.cursors.values())
        end = closed.end if closed else progress.closed
        return replace(progress, cursors=cursors, closed=end, late=progress.late + late), read

    def inputs(self, closed: Closed) -> dict[str, StreamInput]:
        """What of each stream may be in a window."""
        time = self._window.time
        return {
            n: stream_input(log, log.within(closed.start, closed.end, time), time) for n, log in self._logs.items()
        }

    def extents(self, closed: Closed) -> dict[str, Extent]:
        """Where the tuples of a window are, by stream."""
        return {n: log.extent(closed.start, closed.end, self._window.time) for n, log in self._logs.items()}

    def stopped(self, progress: Progress) -> bool:
        """Whether no window is left up to where they stop."""
        marks = (log.watermark(self._window.time) for log in self._logs.values())
        return all(mark >= self.until for mark in marks) and self.next(progress) is None

    def needed(self, progress: Progress, stream: str) -> int:
        """The first train with tuples of a window that has not closed."""
        start = progress.closed - self._window.size
        return min(progress.cursors[stream], self._logs[stream].first_since(start, self._window.time))

    def _next_of_rows(self, progress: Progress) -> Closed | None:
        """The next window of rows: there are as many as rows, and which they are follows from their number."""
        (log,) = self._logs.values()
        head = log.head
        ends = self._window.ends(progress.closed, min(self.until, log.watermark("rows", head)), head)
        if not ends:
            return None
        return Closed(ends[0] - self._window.size, ends[0], log.reached(ends[0], "rows").arrived_last / 1e6)

    def _closed(self, end: int) -> Closed:
        trains = [log.reached(end, self._window.time) for log in self._logs.values()]
        return Closed(end - self._window.size, end, max(train.arrived_last for train in trains) / 1e6)

    def _behind(self, progress: Progress, closed: Closed) -> dict[str, int]:
        time = self._window.time
        return {n: max(progress.cursors[n], log.reached(closed.end, time).end) for n, log in self._logs.items()}

    def _left(self, progress: Progress) -> Waiting:
        """At the end of all streams, the tuples that no window has: those that came late, or into a gap."""
        behind = {name: at for name, at in progress.cursors.items() if at < self._logs[name].head}
        marks = (log.watermark(self._window.time) for log in self._logs.values())
        if not behind or self.until < ENDED or any(mark < ENDED for mark in marks):
            return NOTHING
        pending = sum(self._logs[name].head - at for name, at in behind.items())
        return Waiting(pending, min(self._logs[name].oldest(at) for name, at in behind.items()), min(behind.values()))

    def _scan(self, progress: Progress) -> None:
        """Note the windows of trains that are new since the last look."""
        window = self._window
        self._open = {end for end in self._open if end > progress.closed}
        for name, log in self._logs.items():
            for train in log.since_seq(self._scanned[name] + 1):
                for pane in log.panes(train, window):
                    ends = (end for _, end in window.of(pane) if end > progress.closed)
                    self._open.update(end for end in ends if train.before(window.time) < end)
                self._scanned[name] = train.seq
