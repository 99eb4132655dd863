"""Any SQL over a window: run once over all its tuples, of one stream or of several, when it has closed in all."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from headgate.engine.evaluation.closed import Closed, ClosedWindows
from headgate.engine.evaluation.protocol import Execute, Setting, Step, Waiting, Warm, edges, with_kept
from headgate.engine.log.progress import Progress
from headgate.engine.reader import JobInput
from headgate.engine.sql.hidden import KEPT
from headgate.engine.sql.plan import PerWindow


class WindowEvaluation:
    """Runs the query over one window after the other."""

    def __init__(self, plan: PerWindow, setting: Setting) -> None:
        self.plan, self._setting = plan, setting
        self.streams = plan.streams
        self._windows = ClosedWindows({name: setting.logs[name] for name in plan.streams}, plan.window)
        self.prepare()

    def prepare(self) -> None:
        """Plan the text."""
        self._prepared = self._setting.prepare(self.plan.sql)
        thinned = [pa.field(KEPT, pa.float64())] if self.plan.kept else []
        self.schema = pa.schema([*edges(self.plan.window), *self._prepared.schema, *thinned])

    def begin(self, positions: Mapping[str, int]) -> Progress:
        """Start with the first window that begins behind everything that has come before."""
        return self._windows.begin(positions)

    def waiting(self, progress: Progress) -> Waiting:
        """The next window that has closed in all streams, counted by the tuples that came since the last."""
        return self._windows.waiting(progress)

    def step(self, progress: Progress, n: int, execute: Execute) -> Step:  # noqa: ARG002 - a window is not divided
        """Evaluate the next window, whole."""
        closed = self._windows.next(progress)
        moved, read = self._windows.passed(progress, closed)
        if closed is None:
            return Step(self.schema.empty_table(), np.empty(0), moved, read)
        rows = execute(self._prepared, JobInput(self._windows.inputs(closed), bounds=(closed.start, closed.end)))
        rows = with_edges(with_kept(rows, execute.kept) if self.plan.kept else rows, closed, self.schema)
        return Step(rows, np.full(rows.num_rows, closed.at), moved, read)

    def stop_at(self, end: int) -> None:
        """Close no window that ends later."""
        self._windows.until = end

    def stopped(self, progress: Progress) -> bool:
        """Whether all windows up to there are closed."""
        return self._windows.stopped(progress)

    def needed(self, progress: Progress, stream: str) -> int:
        """The first train with tuples of a window that has not closed."""
        return self._windows.needed(progress, stream)

    def settle(self, progress: Progress) -> Progress:
        """Keeps nothing but its progress."""
        return progress

    def tidy(self, *kept: Progress) -> None:
        """Keeps nothing but its progress."""

    def warm(self, execute: Warm) -> None:
        """A window without tuples."""
        execute(self._prepared, JobInput())


def with_edges(rows: pa.Table, closed: Closed, schema: pa.Schema) -> pa.Table:
    """Rows that say of which window they are."""
    of = [pa.repeat(pa.scalar(edge, schema.types[0]), rows.num_rows) for edge in (closed.start, closed.end)]
    return pa.Table.from_arrays([*of, *rows.columns], schema=schema)
