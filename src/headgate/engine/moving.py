"""Where one instance of a query ends and the next begins, on this engine or on another one.

Queries over windows end with a window. By UniMiCo, the last one of the old instance is the first that has not been
given out yet whose successor begins where the new instance can read, and ends when that one can be there. The new
instance has every tuple from there on, so no state moves. Tuples of the windows between are read by both, and each
window is given out by one of them. Other queries end at the tuple that they have come to, and the new instance goes
on behind it.
"""

import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from headgate.control.migration.timestamps import ts_mi_time
from headgate.engine.evaluation import Evaluation
from headgate.engine.evaluation.by_iteration import IterationEvaluation
from headgate.engine.evaluation.by_panes import PaneEvaluation
from headgate.engine.evaluation.per_window import WindowEvaluation
from headgate.engine.log.progress import Progress
from headgate.engine.log.trains import Trains
from headgate.engine.query import LiveQuery
from headgate.engine.windows import ENDED, NEVER, Window

HANDOVER = 2.0
"""Seconds until a query runs elsewhere, for which the old instance goes on."""

Windowed = PaneEvaluation | WindowEvaluation | IterationEvaluation


@dataclass(frozen=True, slots=True)
class Boundary:
    """Behind what a query goes on: tuples by stream, or with windows the end of the last one, in microseconds.

    Of sessions, no tuple before `low` is in an open one.
    """

    positions: Mapping[str, int] = field(default_factory=dict)
    closed: int = NEVER
    low: int = NEVER

    @classmethod
    def of(cls, progress: Progress) -> Self:
        """Where a query is now."""
        return cls(dict(progress.cursors), progress.closed, progress.low)

    def as_json(self) -> dict[str, Any]:
        """For messages and files."""
        return asdict(self)

    def begin(self, evaluation: Evaluation, logs: Mapping[str, Trains]) -> Progress:
        """The progress of a query that goes on there."""
        window = windowed(evaluation)
        if window is None:
            return Progress(cursors=dict(self.positions), closed=self.closed, low=self.low)
        start = self.closed - window.size + window.slide
        cursors = {name: logs[name].first_since(start, window.time) for name in evaluation.streams}
        return Progress(cursors=cursors, closed=self.closed)


@dataclass(frozen=True, slots=True)
class Inherited:
    """What another engine has committed of a query before it was lost: its progress, and the folder of its panes."""

    progress: Progress
    panes: Path

    def apart(self, folder: Path) -> "Inherited":
        """The same with panes in a folder of their own, since the other one may go."""
        for run in self.progress.panes:
            _link(self.panes / f"{run:012d}.arrow", folder / f"{run:012d}.arrow")
        return replace(self, panes=folder)

    def begin(self, folder: Path) -> Progress:
        """The same progress, of which nothing is anybody else's; partial results are linked into a folder."""
        progress = self.progress
        for run in progress.panes:
            _link(self.panes / f"{run:012d}.arrow", folder / f"{run:012d}.arrow")
        return replace(progress, receipt=None, results=0, tuples=0, late=0, shed=0)


def as_json(progress: Progress) -> dict[str, Any]:
    """A progress that is committed, for a file."""
    return {each.name: getattr(progress, each.name) for each in fields(progress) if each.name != "fresh"}


def from_json(known: Mapping[str, Any]) -> Progress:
    """The same from a file."""
    panes = {int(run): tuple(starts) for run, starts in known["panes"].items()}
    return Progress(**{**known, "panes": panes})


def windowed(evaluation: Evaluation) -> Window | None:
    """The windows of a query that can end with one of them."""
    return evaluation.plan.window if isinstance(evaluation, Windowed) else None


def given_out(evaluation: Evaluation, progress: Progress) -> Boundary:
    """Behind what another instance goes on without anything of this one's: it builds the open windows itself."""
    window = windowed(evaluation)
    if window is None:
        return Boundary.of(progress)
    # What has closed may be any time up to which a stream has come.
    closed = progress.closed
    return Boundary(
        closed=(closed - window.size) // window.slide * window.slide + window.size if closed > NEVER else closed
    )


def end_at(query: LiveQuery, until: Boundary) -> None:
    """See that a query which runs again goes up to a boundary that was agreed upon before."""
    if isinstance(query.evaluation, Windowed):
        query.evaluation.stop_at(until.closed)
    else:
        # It is there: it ended where it was.
        query.status = "paused"


def last_window(window: Window, closed: int, since: int) -> int:
    """The end of the last window of an instance that has closed those up to a time.

    The next one can read from `since` on.
    """
    if closed == since == NEVER:
        return NEVER
    # Where nothing has been given out, windows begin at multiples of the slide all the same.
    last = (closed - window.size if closed > NEVER else since - window.slide) // window.slide * window.slide
    return ts_mi_time(since, last, window.slide) + window.size


def handed_over(window: Window, closed: int, logs: Collection[Trains]) -> int:
    """The time from which on windows are left to the next instance, for the one who has closed those up to a time.

    It takes a moment until that one runs. So that no result waits for it, the old instance goes on meanwhile: its
    windows are those that end before what it will have come to by then, at the pace at which its streams go.
    """
    marks = [log.watermark(window.time) for log in logs]
    if closed == NEVER or NEVER in marks or ENDED in marks:
        return NEVER
    # Whoever lags behind comes no further by waiting than by its own pace.
    now = min(*marks, closed + window.slide)
    return now + max(round(log.pace(window.time) * HANDOVER) for log in logs) - window.size


def readable(evaluation: Evaluation, logs: Mapping[str, Trains]) -> int:
    """From which time on all tuples are there that a query over windows reads; NEVER if it has none."""
    window = windowed(evaluation)
    if window is None:
        return NEVER
    return max(logs[name].complete_since(window.time) for name in evaluation.streams)


def _link(old: Path, new: Path) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    new.unlink(missing_ok=True)
    with suppress(OSError):
        new.hardlink_to(old)
        return
    # Another file system.
    shutil.copyfile(old, new)
