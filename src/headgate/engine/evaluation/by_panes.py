"""Window aggregates by panes: each train adds partial results, and a window that closes puts its panes together."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from headgate.engine.evaluation.protocol import (
    NOTHING,
    Execute,
    Setting,
    Step,
    Waiting,
    Warm,
    edges,
    micros,
    queued,
    stream_input,
)
from headgate.engine.log.files import write
from headgate.engine.log.progress import Progress
from headgate.engine.reader import JobInput
from headgate.engine.sql.plan import ByPanes
from headgate.engine.windows import ENDED, NEVER

_WINDOWS, _PANES = 10_000, 2_000_000
"""So many windows over rows are closed at a time, and of so many panes in all, each counted in all its windows."""


class PaneEvaluation:
    """Runs the partial query over the next tuples, and the final one over the panes of windows that close by that."""

    def __init__(self, plan: ByPanes, setting: Setting) -> None:
        self.plan, self._setting = plan, setting
        self.streams = (plan.stream,)
        self._log = setting.logs[plan.stream]
        self._shape = (plan.window.size, plan.window.slide)
        self._newest = -1
        self.until = ENDED
        self.prepare()

    def prepare(self) -> None:
        """Plan both halves; the results have the types of the query as it was given."""
        whole = self._setting.prepare(self.plan.sql)
        self.partial = self._setting.prepare(self.plan.partial)
        panes = pa.schema([*self.partial.schema, *edges(self.plan.window)])
        self.final = self._setting.prepare(self.plan.final, whole.schema, panes)
        self.schema = self.final.schema

    def begin(self, positions: Mapping[str, int]) -> Progress:
        """Start with the first window that begins behind everything that has come before."""
        (position,) = positions.values()
        newest = self._log.newest(self.plan.window.time, position)
        closed = self.plan.window.last_end(newest) if newest > NEVER else NEVER
        return Progress(cursors=positions, closed=closed)

    def waiting(self, progress: Progress) -> Waiting:
        """The tuples behind the cursor; where there are none, windows that time has closed."""
        cursor = progress.cursors[self.plan.stream]
        if progress.closed >= self.until:
            return NOTHING
        found = queued(self._log, cursor)
        if found.pending or (since := self.overdue(progress)) == math.inf:
            return found
        return Waiting(1, since, cursor)

    def overdue(self, progress: Progress) -> float:
        """Since when a window could be closed by what has been read; infinite if there is none."""
        due = self._due(progress, progress.cursors[self.plan.stream])
        return self._closed_at(due[0][1]) if due else math.inf

    def step(self, progress: Progress, n: int, execute: Execute) -> Step:
        """Add the next n tuples to their panes, then close what that lets close."""
        low = progress.cursors[self.plan.stream]
        high = min(low + n, self._log.head)
        partial = execute(self.partial, self.input(low, high)) if high > low else None
        return self.absorb(progress, partial, low, high, lambda given: execute(self.final, given))

    def absorb(
        self,
        progress: Progress,
        partial: pa.Table | None,
        low: int,
        high: int,
        close: Callable[[JobInput], pa.Table] | None,
        late: int | None = None,
    ) -> Step:
        """A step whose partial results are there already. `late` tuples are counted if it is not known how many.

        Without `close`, windows stay open for now.
        """
        log, window = self._log, self.plan.window
        fresh = progress.fresh if partial is None or not partial.num_rows else (*progress.fresh, partial)
        late = log.late(low, high, window) if late is None else late
        moved = replace(progress, cursors={self.plan.stream: high}, fresh=fresh, late=progress.late + late)
        rows, due = self.schema.empty_table(), np.empty(0)
        if close is None:
            return Step(rows, due, moved, high - low)
        mark = min(self.until, log.watermark(window.time, high))
        if mark > progress.closed and (windows := self._due(moved, high)):
            moved = self.settle(moved)
            rows = pa.concat_tables(close(self._panes_of(moved, some)) for some in self._some(windows))
            ends = micros(rows.column("window_end"))
            at = {end: self._closed_at(end) for _, end in windows}
            due = np.array([at[int(end)] for end in ends])
        closed = max(progress.closed, mark)
        kept = {run: starts for run, starts in moved.panes.items() if window.last_end(starts[-1]) > closed}
        open_still = tuple(each for each in moved.fresh if window.last_end(self._starts(each)[-1]) > closed)
        return Step(rows, due, replace(moved, closed=closed, panes=kept, fresh=open_still), high - low)

    def settle(self, progress: Progress) -> Progress:
        """Write the partial results that have no file yet."""
        if not progress.fresh:
            return progress
        partial = pa.concat_tables(progress.fresh)
        # Beyond every file that the manifest may know: those must stay as they are until the next commit.
        run = max(progress.run, self._newest, *progress.panes) + 1
        self._newest = run
        write(partial, self._file(run), sync=self._log.sync)
        return replace(progress, panes={**progress.panes, run: self._starts(partial)}, fresh=())

    def stop_at(self, end: int) -> None:
        """Close no window that ends later."""
        self.until = end

    def stopped(self, progress: Progress) -> bool:
        """Whether all windows up to there are closed."""
        if progress.closed >= self.until:
            return True
        # Where nothing more comes, there may be no window left to close on the way there.
        return self._log.watermark(self.plan.window.time) >= self.until and not self.waiting(progress).pending

    def needed(self, progress: Progress, stream: str) -> int:
        """Nothing before the cursor: the rest is in the panes."""
        return progress.cursors[stream]

    def warm(self, execute: Warm) -> None:
        """An empty train, and no windows."""
        execute(self.partial, self.input(0, 0))
        execute(self.final, JobInput())

    def tidy(self, *kept: Progress) -> None:
        """Remove the files of panes that no open window has."""
        for file in self._setting.folder.glob("*.arrow"):
            if not any(int(file.stem) in progress.panes for progress in kept):
                file.unlink(missing_ok=True)

    def input(self, low: int, high: int) -> JobInput:
        """What a run over these positions reads."""
        given = stream_input(self._log, self._log.slices(low, high), self.plan.window.time)
        return JobInput({self.plan.stream: given}, window=self._shape)

    def _panes_of(self, progress: Progress, windows: list[tuple[int, int]]) -> JobInput:
        first, last = min(start for start, _ in windows), max(end for _, end in windows)
        files = [
            str(self._file(run)) for run, starts in progress.panes.items() if starts[0] < last and starts[-1] >= first
        ]
        return JobInput(panes=tuple(files), windows=tuple(windows), over_rows=self.plan.window.over_rows)

    def _some(self, windows: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
        """Those that are closed at a time: there may be as many windows over rows as rows, and a pane in each."""
        window = self.plan.window
        n = max(1, min(_WINDOWS, _PANES // window.size)) if window.over_rows else len(windows)
        return [windows[at : at + n] for at in range(0, len(windows), n)]

    def _due(self, progress: Progress, position: int) -> list[tuple[int, int]]:
        """The windows with tuples that the watermark has reached and that are not closed yet, in their order."""
        window = self.plan.window
        mark = min(self.until, self._log.watermark(window.time, position))
        if mark <= progress.closed:
            return []
        if window.over_rows:
            return [(end - window.size, end) for end in window.ends(progress.closed, mark, position)]
        found = {
            each
            for starts in (*progress.panes.values(), *map(self._starts, progress.fresh))
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

    def _starts(self, partial: pa.Table) -> tuple[int, ...]:
        """The panes of partial results; of rows, where each may have a pane of its own, the first and the last."""
        found = np.unique(partial.column("_pane").to_numpy())
        return tuple(int(pane) for pane in (found[[0, -1]] if self.plan.window.over_rows else found))
