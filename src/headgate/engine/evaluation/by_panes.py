"""Window aggregates by panes: each train adds partial results, and a window that closes puts its panes together."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from headgate.engine.evaluation.protocol import Execute, Setting, Step, Waiting, micros, queued, stream_input
from headgate.engine.log.manifest import Progress
from headgate.engine.log.stream import write
from headgate.engine.reader import JobInput
from headgate.engine.sql.plan import ByPanes
from headgate.engine.windows import NEVER


class PaneEvaluation:
    """Runs the partial query over the next tuples, and the final one over the panes of windows that close by that."""

    def __init__(self, plan: ByPanes, setting: Setting) -> None:
        self.plan, self._setting = plan, setting
        self.streams = (plan.stream,)
        self._log = setting.logs[plan.stream]
        self._shape = (plan.window.size, plan.window.slide)
        self.prepare()

    def prepare(self) -> None:
        """Plan both halves; the results have the types of the query as it was given."""
        whole = self._setting.prepare(self.plan.sql)
        self._partial = self._setting.prepare(self.plan.partial)
        self._final = self._setting.prepare(self.plan.final, whole.schema, self._partial.schema)
        self.schema = self._final.schema

    def begin(self, positions: Mapping[str, int]) -> Progress:
        """Start with the first window that begins behind everything that has come before."""
        (position,) = positions.values()
        newest = self._log.newest(self.plan.window.time, position)
        closed = self.plan.window.last_end(newest) if newest > NEVER else NEVER
        return Progress(cursors=positions, closed=closed)

    def waiting(self, progress: Progress) -> Waiting:
        """The tuples behind the cursor; where there are none, windows that time has closed."""
        cursor = progress.cursors[self.plan.stream]
        found = queued(self._log, cursor)
        if found.pending or not (due := self._due(progress, self._log.head)):
            return found
        return Waiting(1, self._closed_at(due[0][1]), cursor)

    def step(self, progress: Progress, n: int, execute: Execute) -> Step:
        """Add the next n tuples to their panes, then close what that lets close."""
        log, window = self._log, self.plan.window
        low = progress.cursors[self.plan.stream]
        high = min(low + n, log.head)
        panes = dict(progress.panes)
        if high > low:
            partial = execute(self._partial, self._input(low, high))
            if partial.num_rows:
                run = progress.run + 1
                write(partial, self._file(run))
                panes[run] = tuple(int(p) for p in np.unique(partial.column("_pane").to_numpy()))
        late = progress.late + log.late(low, high, window)
        moved = replace(progress, cursors={self.plan.stream: high}, panes=panes, late=late)
        rows, due = self.schema.empty_table(), np.empty(0)
        if windows := self._due(moved, high):
            rows = execute(self._final, self._panes_of(moved, windows))
            ends = micros(rows.column("window_end"))
            at = {end: self._closed_at(end) for _, end in windows}
            due = np.array([at[int(end)] for end in ends])
        closed = max(progress.closed, log.watermark(window.time, high))
        kept = {run: starts for run, starts in panes.items() if window.last_end(starts[-1]) > closed}
        return Step(rows, due, replace(moved, closed=closed, panes=kept), high - low)

    def needed(self, progress: Progress, stream: str) -> int:
        """Nothing before the cursor: the rest is in the panes."""
        return progress.cursors[stream]

    def warm(self, execute: Execute) -> None:
        """An empty train, and no windows."""
        execute(self._partial, self._input(0, 0))
        execute(self._final, JobInput())

    def tidy(self, progress: Progress) -> None:
        """Remove the files of panes that no open window has."""
        for file in self._setting.folder.glob("*.arrow"):
            if int(file.stem) not in progress.panes:
                file.unlink(missing_ok=True)

    def _input(self, low: int, high: int) -> JobInput:
        given = stream_input(self._log, self._log.slices(low, high), self.plan.window.time)
        return JobInput({self.plan.stream: given}, window=self._shape)

    def _panes_of(self, progress: Progress, windows: list[tuple[int, int]]) -> JobInput:
        first, last = min(start for start, _ in windows), max(end for _, end in windows)
        files = [
            str(self._file(run)) for run, starts in progress.panes.items() if starts[0] < last and starts[-1] >= first
        ]
        return JobInput(panes=tuple(files), windows=tuple(windows))

    def _due(self, progress: Progress, position: int) -> list[tuple[int, int]]:
        """The windows with tuples that the watermark has reached and that are not closed yet, in their order."""
        window = self.plan.window
        mark = self._log.watermark(window.time, position)
        if mark <= progress.closed:
            return []
        found = {
            each
            for starts in progress.panes.values()
            for pane in starts
            for each in window.of(pane)
            if progress.closed < each[1] <= mark
        }
        return sorted(found, key=lambda each: each[1])

    def _closed_at(self, end: int) -> float:
        return self._log.reached(end, self.plan.window.time).arrived_last / 1e6

    def _file(self, run: int) -> Path:
        self._setting.folder.mkdir(parents=True, exist_ok=True)
        return self._setting.folder / f"{run:012d}.arrow"
