"""Windows of a query with a deadline: each is an iteration, taken some tuples at a time, over the share that is kept.

Nothing of an iteration that is under way is written down but the share: after a crash it begins again, with the same
tuples.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from headgate.control.deadlines.keeping import kept_count
from headgate.engine.evaluation.closed import Closed, ClosedWindows
from headgate.engine.evaluation.per_window import with_edges
from headgate.engine.evaluation.protocol import (
    Execute,
    Setting,
    Step,
    Waiting,
    Warm,
    edges,
    stream_input,
    with_kept,
)
from headgate.engine.log.files import write
from headgate.engine.log.progress import Progress
from headgate.engine.log.trains import Extent
from headgate.engine.reader import JobInput, StreamInput
from headgate.engine.sql.hidden import KEPT
from headgate.engine.sql.plan import ByPanes, PerWindow
from headgate.engine.windows import ENDED, NEVER


@dataclass(slots=True)
class Opened:
    """An iteration under way: its window, where that is in each stream, the share that is kept, and how far it is.

    `at` is the position of the next tuple of the stream that is divided, `until` where that stream ends. So many
    tuples of that stream were `taken` by the pieces so far, and so many `beside` them, some by several pieces.
    """

    closed: Closed
    extents: Mapping[str, Extent]
    kept: float
    inputs: Mapping[str, StreamInput]
    at: int
    until: int
    pieces: int = 0
    taken: int = 0
    beside: int = 0
    parts: list[pa.Table] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """The tuples of the window by stream, kept or not."""
        return {name: extent.tuples for name, extent in self.extents.items()}

    @property
    def tuples(self) -> int:
        """The tuples of the window, kept or not."""
        return sum(self.counts.values())

    def give_up(self) -> None:
        """End it without results, as if nothing had been kept."""
        self.kept, self.parts = 0.0, []
        self.inputs = {name: _sampled(given, self.extents[name], 0.0) for name, given in self.inputs.items()}


class IterationEvaluation:
    """Runs the query over one window after the other, each in as many pieces as it takes.

    What cannot be divided is one piece.
    """

    def __init__(self, plan: ByPanes | PerWindow, setting: Setting) -> None:
        self.plan, self._setting = plan, setting
        self.streams = plan.streams
        self.divided = plan.divided if isinstance(plan, PerWindow) else plan.stream
        self.by_panes = isinstance(plan, ByPanes)
        self._logs = {name: setting.logs[name] for name in plan.streams}
        self._windows = ClosedWindows(self._logs, plan.window)
        self._first = NEVER
        self._opened: Opened | None = None
        self.prepare()

    def prepare(self) -> None:
        """Plan the text, or both halves of a text that is divided by panes."""
        plan = self.plan
        whole = self._setting.prepare(plan.sql)
        if isinstance(plan, ByPanes):
            self._piece = self._setting.prepare(plan.partial)
            panes = pa.schema([*self._piece.schema, *edges(plan.window)])
            final = self._setting.prepare(plan.final, whole.schema, panes)
            self._final, self.schema = final, final.schema
        else:
            self._piece = self._final = whole
            thinned = [pa.field(KEPT, pa.float64())] if plan.kept else []
            self.schema = pa.schema([*edges(plan.window), *whole.schema, *thinned])

    def begin(self, positions: Mapping[str, int]) -> Progress:
        """Start with the first window that begins behind everything that has come before."""
        return self._windows.begin(positions)

    def begin_after(self, end: int) -> None:
        """Leave out the windows that end up to there, in microseconds."""
        self._first = end

    def next(self, progress: Progress) -> Closed | None:
        """The iteration that is released and not finished, or the next one if there are several."""
        return self._windows.next(self._since(progress))

    def released(self, progress: Progress, after: int) -> list[Closed]:
        """The iterations that are released and not finished, of those whose windows end after some time."""
        return self._windows.released(self._since(progress), after)

    def extents(self, closed: Closed) -> Mapping[str, Extent]:
        """Where a window is, by stream."""
        return self._windows.extents(closed)

    def opened(self, progress: Progress) -> Opened | None:
        """The iteration that is under way."""
        found = self._opened
        return found if found and found.closed.end > progress.closed else None

    def open(self, closed: Closed, extents: Mapping[str, Extent], kept: float) -> Opened:
        """Begin an iteration, over such a share of its window."""
        inputs = {n: _sampled(given, extents[n], kept) for n, given in self._windows.inputs(closed).items()}
        low, high = _span(inputs[self.divided]) if self.divided else (0, 0)
        self._opened = found = Opened(closed, extents, kept, inputs, low, high)
        return found

    def waiting(self, progress: Progress) -> Waiting:
        """The iteration that is released, since its release."""
        return self._windows.waiting(self._since(progress))

    def step(self, progress: Progress, n: int, execute: Execute) -> Step:
        """Take about n tuples of the iteration; with the last of them its results, and the progress behind it."""
        closed = self.next(progress)
        if closed is None:
            moved, read = self._windows.passed(progress, None)
            return Step(self.schema.empty_table(), np.empty(0), moved, read)
        opened = self.opened(progress) or self.open(closed, self.extents(closed), 1.0)
        last = self._take(opened, n, execute)
        if not last:
            return Step(self.schema.empty_table(), np.empty(0), progress, 0)
        rows = self._results(opened, execute)
        moved, read = self._windows.passed(progress, closed)
        self._opened = None
        return Step(rows, np.full(rows.num_rows, closed.at), moved, read, self._shed(opened))

    def _since(self, progress: Progress) -> Progress:
        return replace(progress, closed=self._first) if self._first > progress.closed else progress

    def stop_at(self, end: int) -> None:
        """Close no window that ends later."""
        self._windows.until = end

    def stopped(self, progress: Progress) -> bool:
        """Whether all windows up to there are closed."""
        return self._windows.stopped(progress)

    def needed(self, progress: Progress, stream: str) -> int:
        """The first train with tuples of a window that is not finished."""
        return self._windows.needed(progress, stream)

    def settle(self, progress: Progress) -> Progress:
        """Keeps nothing but its progress."""
        return progress

    def tidy(self, *kept: Progress) -> None:
        """Keeps nothing but its progress."""

    def warm(self, execute: Warm) -> None:
        """A window without tuples."""
        execute(self._piece, JobInput())
        if self.by_panes:
            execute(self._final, JobInput())

    @property
    def by_tuple(self) -> bool:
        """Whether each result comes from one tuple of a stream, so that of half of them there are half as many."""
        return self.divided is not None and not self.by_panes

    @property
    def least(self) -> int:
        """How many tuples have come of the stream with the fewest."""
        return min(log.head for log in self._logs.values())

    def empty(self, execute: Warm) -> float:
        """The seconds that an iteration over nothing takes."""
        began = time.perf_counter()
        self.warm(execute)
        return time.perf_counter() - began

    def probe(self, n: int, beside: int, execute: Warm) -> int:
        """Run over the newest tuples, n of the stream that is divided and so many of each other one.

        Its results are forgotten. Gives how many tuples there were.
        """
        inputs = {}
        for name, log in self._logs.items():
            most = n if name == self.divided else beside
            inputs[name] = stream_input(log, log.slices(log.head - most, log.head), self.plan.window.time)
        window = (self.plan.window.size, self.plan.window.slide) if self.by_panes else None
        execute(self._piece, JobInput(inputs, window=window, bounds=(NEVER, ENDED)))
        return sum(high - low for low, high in map(_span, inputs.values()))

    def _shed(self, opened: Opened) -> int:
        """The tuples that were dropped of those that no window before this one had."""
        size, slide = self.plan.window.size, self.plan.window.slide
        found = 0
        for name, given in opened.inputs.items():
            extent = opened.extents[name]
            low = extent.low
            if size > slide:
                last = Closed(opened.closed.start - slide, opened.closed.end - slide, 0.0)
                low = max(low, self._windows.extents(last)[name].high)
            if extent.high > low:
                found += extent.high - low - _kept(given, low, extent.high)
        return found

    def _take(self, opened: Opened, n: int, execute: Execute) -> bool:
        """Run one piece; True if it was the last."""
        if opened.kept <= 0:
            return True
        inputs, until = dict(opened.inputs), opened.until
        if self.divided:
            beside = sum(_kept(given, *_span(given)) for name, given in inputs.items() if name != self.divided)
            # Upwards: a tuple that is left over would be a run of its own.
            until = min(until, opened.at + max(1, math.ceil((n - beside) / opened.kept)))
            inputs[self.divided] = _cut(inputs[self.divided], opened.at, until)
        window = (self.plan.window.size, self.plan.window.slide) if self.by_panes else None
        given = JobInput(inputs, window=window, bounds=(opened.closed.start, opened.closed.end))
        opened.parts.append(execute(self._piece, given))
        opened.at = until
        opened.pieces += 1
        counts = {name: _kept(each, *_span(each)) for name, each in inputs.items()}
        opened.taken += counts.pop(self.divided) if self.divided else 0
        opened.beside += sum(counts.values())
        return until >= opened.until

    def _results(self, opened: Opened, execute: Execute) -> pa.Table:
        if not opened.parts:
            return self.schema.empty_table()
        rows = pa.concat_tables(opened.parts)
        if not self.by_panes:
            shown = with_kept(rows, opened.kept) if isinstance(self.plan, PerWindow) and self.plan.kept else rows
            return with_edges(shown, opened.closed, self.schema)
        self._setting.folder.mkdir(parents=True, exist_ok=True)
        file = self._setting.folder / "iteration.arrow"
        write(rows, file, sync=False)
        window = (opened.closed.start, opened.closed.end)
        return execute(self._final, JobInput(panes=(str(file),), windows=(window,)))


def _sampled(given: StreamInput, extent: Extent, kept: float) -> StreamInput:
    given = _cut(given, extent.low, extent.high)
    if kept >= 1 or not extent.tuples:
        return given
    of = extent.high - extent.low
    return replace(given, sample=(extent.low, of, kept_count(kept, of)))


def _span(given: StreamInput) -> tuple[int, int]:
    """The positions from the first to behind the last."""
    if not given.slices:
        return 0, 0
    return given.slices[0][3], max(first + count for _, _, count, first, *_ in given.slices)


def _kept(given: StreamInput, low: int, high: int) -> int:
    """How many tuples between two positions are in the sample."""
    if given.sample is None:
        return high - low
    first, of, kept = given.sample
    return (high - first) * kept // of - (low - first) * kept // of


def _cut(given: StreamInput, low: int, high: int) -> StreamInput:
    """The part between two positions."""
    slices = tuple(
        (
            file,
            offset + max(0, low - first),
            min(first + count, high) - max(first, low),
            max(first, low),
            before,
            percent,
        )
        for file, offset, count, first, before, percent in given.slices
        if first < high and first + count > low
    )
    return replace(given, slices=slices)
