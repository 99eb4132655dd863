"""Any SQL over a window: run once over all its tuples, of one stream or of several, when it has closed in all."""

import threading
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from headgate.engine.evaluation.protocol import (
    NOTHING,
    Execute,
    Setting,
    Step,
    Waiting,
    Warm,
    stream_input,
    with_kept,
)
from headgate.engine.log.manifest import Progress
from headgate.engine.log.stream import STAMP
from headgate.engine.reader import JobInput
from headgate.engine.sql.hidden import KEPT
from headgate.engine.sql.plan import PerWindow
from headgate.engine.windows import ENDED, NEVER

_EDGES = (pa.field("window_start", STAMP), pa.field("window_end", STAMP))


class WindowEvaluation:
    """Runs the query over one window after the other. Windows without a tuple of any stream do not exist."""

    def __init__(self, plan: PerWindow, setting: Setting) -> None:
        self.plan, self._setting = plan, setting
        self.streams = plan.streams
        self._logs = {name: setting.logs[name] for name in plan.streams}
        # The policy, the lane and whoever looks at the status ask at the same time.
        self._lock = threading.Lock()
        self._open: set[int] = set()
        self._scanned = dict.fromkeys(plan.streams, -1)
        self.prepare()

    def prepare(self) -> None:
        """Plan the text."""
        self._prepared = self._setting.prepare(self.plan.sql)
        thinned = [pa.field(KEPT, pa.float64())] if self.plan.kept else []
        self.schema = pa.schema([*_EDGES, *self._prepared.schema, *thinned])

    def begin(self, positions: Mapping[str, int]) -> Progress:
        """Start with the first window that begins behind everything that has come before."""
        window = self.plan.window
        newest = max(self._logs[name].newest(window.time, at) for name, at in positions.items())
        return Progress(cursors=positions, closed=window.last_end(newest) if newest > NEVER else NEVER)

    def waiting(self, progress: Progress) -> Waiting:
        """The next window that has closed in all streams, counted by the tuples that came since the last."""
        end = self._next(progress)
        if end is None:
            return self._left(progress)
        trains = [log.reached(end, self.plan.window.time) for log in self._logs.values()]
        fresh = sum(max(0, t.end - progress.cursors[name]) for name, t in zip(self._logs, trains, strict=True))
        closed_at = max(train.arrived_last for train in trains) / 1e6
        return Waiting(max(1, fresh), closed_at, min(progress.cursors.values()))

    def step(self, progress: Progress, n: int, execute: Execute) -> Step:  # noqa: ARG002 - a window is not divided
        """Evaluate the next window, whole."""
        window = self.plan.window
        end = self._next(progress)
        if end is None:
            return self._pass_by(progress)
        start = end - window.size
        closing = {name: log.reached(end, window.time) for name, log in self._logs.items()}
        rows = execute(self._prepared, self._input(start, end))
        rows = with_kept(rows, execute.kept) if self.plan.kept else rows
        edges = [pa.repeat(pa.scalar(edge, STAMP), rows.num_rows) for edge in (start, end)]
        rows = pa.Table.from_arrays([*edges, *rows.columns], schema=self.schema)
        cursors = {name: max(progress.cursors[name], train.end) for name, train in closing.items()}
        late = sum(log.late(progress.cursors[name], cursors[name], window) for name, log in self._logs.items())
        read = sum(cursors.values()) - sum(progress.cursors.values())
        due = np.full(rows.num_rows, max(train.arrived_last for train in closing.values()) / 1e6)
        moved = replace(progress, cursors=cursors, closed=end, late=progress.late + late)
        return Step(rows, due, moved, read)

    def needed(self, progress: Progress, stream: str) -> int:
        """The first train with tuples of a window that has not closed."""
        start = progress.closed - self.plan.window.size
        return min(progress.cursors[stream], self._logs[stream].first_since(start, self.plan.window.time))

    def settle(self, progress: Progress) -> Progress:
        """Keeps nothing but its progress."""
        return progress

    def tidy(self, *kept: Progress) -> None:
        """Keeps nothing but its progress."""

    def warm(self, execute: Warm) -> None:
        """A window without tuples."""
        execute(self._prepared, JobInput())

    def _input(self, start: int, end: int) -> JobInput:
        time = self.plan.window.time
        streams = {name: stream_input(log, log.within(start, end, time), time) for name, log in self._logs.items()}
        return JobInput(streams, bounds=(start, end))

    def _next(self, progress: Progress) -> int | None:
        # The watermark first: windows of a train that comes in between must not be passed over.
        mark = min(log.watermark(self.plan.window.time) for log in self._logs.values())
        with self._lock:
            self._scan(progress)
            return min((end for end in self._open if progress.closed < end <= mark), default=None)

    def _left(self, progress: Progress) -> Waiting:
        """At the end of all streams, the tuples that no window has: those that came late, or into a gap."""
        behind = {name: at for name, at in progress.cursors.items() if at < self._logs[name].head}
        if not behind or any(log.watermark(self.plan.window.time) < ENDED for log in self._logs.values()):
            return NOTHING
        pending = sum(self._logs[name].head - at for name, at in behind.items())
        return Waiting(pending, min(self._logs[name].oldest(at) for name, at in behind.items()), min(behind.values()))

    def _pass_by(self, progress: Progress) -> Step:
        low = progress.cursors
        high = {name: log.head for name, log in self._logs.items()}
        late = sum(log.late(low[name], high[name], self.plan.window) for name, log in self._logs.items())
        moved = replace(progress, cursors=high, late=progress.late + late)
        return Step(self.schema.empty_table(), np.empty(0), moved, sum(high.values()) - sum(low.values()))

    def _scan(self, progress: Progress) -> None:
        """Note the windows of trains that are new since the last look."""
        window = self.plan.window
        self._open = {end for end in self._open if end > progress.closed}
        for name, log in self._logs.items():
            for train in log.since_seq(self._scanned[name] + 1):
                for pane in log.panes(train, window):
                    ends = (end for _, end in window.of(pane) if end > progress.closed)
                    self._open.update(end for end in ends if log.before(train, window.time) < end)
                self._scanned[name] = train.seq
