"""Where a query is handed over: the migration timestamp `ts_mi`, at which the last window of the originator begins.

`ts_start` is the time from which on the target sees every tuple, `ts_last` the start of the latest window of which
the originator has given out something, `s` the slide. The first window of the target begins a slide behind `ts_mi`.
In time and in rows it is the same choice: the first window behind `ts_last` of which the target sees all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.control.migration.windows import RowWindow, Stage, TimeWindow
from headgate.errors import InputError


def following(first: int, last: int, slide: int) -> int:
    """The first window behind `last` that begins at `first` or later; all three in time or all three in rows."""
    return last + slide * max(1, -((last - first) // slide))


def common_start(ts_starts: Sequence[int]) -> int:
    """`ts_start` of a query: from there on the target sees all of its inputs."""
    if not ts_starts:
        raise InputError("a query that moves reads at least one stream", "none", "Say from where each can be read.")
    return max(ts_starts)


def ts_mi_time(ts_start: int, ts_last: int, s: int) -> int:
    """The migration timestamp of a window over time (Eq. 7.1)."""
    if ts_start <= ts_last:
        return ts_last
    m = (ts_start - ts_last) % s
    return ts_start - (m or s)


def activation(ts_mi: int, s: int) -> int:
    """The activation timestamp: sources of the target leave out what is before it."""
    return ts_mi + s


def delta(N: int, s: int) -> int:
    """How many rows before `t` the last window of the originator begins (Eq. 7.2).

    `t` is the first row that the target sees, `N` the number of rows between it and the first of the latest window.
    """
    return (N + 1) % s or s


@dataclass(frozen=True, slots=True)
class TimeCut:
    """A query that is handed over by time."""

    ts_mi: int
    activation: int

    @classmethod
    def of(cls, window: TimeWindow, ts_start: int, ts_last: int) -> "TimeCut":
        """The cut of a window."""
        found = ts_mi_time(ts_start, ts_last, window.slide)
        return cls(found, activation(found, window.slide))


@dataclass(frozen=True, slots=True)
class RowCut:
    """A query that is handed over by rows.

    `reference` is the time at or behind which the first row of every input, its `t`, is found by both nodes, and
    `between` (N) the rows of each input from behind the first of the latest window up to its `t`. It is below 0 where
    the target sees that row too.
    """

    slide: int
    between: tuple[int, ...]
    reference: int = 0

    @property
    def N(self) -> int:
        """The most rows of any input: the others wait for it, as windows of the same number belong together."""
        return max(0, *self.between)

    @property
    def delta(self) -> int:
        """How many rows before `t` the last window of the originator begins, on the input with the most rows."""
        return delta(self.N, self.slide)

    @property
    def behind(self) -> int:
        """How many rows behind that of the latest window the last window of the originator begins."""
        return self.N + 1 - self.delta

    @property
    def discards(self) -> tuple[int, ...]:
        """The rows that the target drops of each input from its `t` on: s - δ of that with the most rows."""
        return tuple(self.N - each + self.slide - self.delta for each in self.between)

    @property
    def discards_behind_ts_mi(self) -> int:
        """The rows that it would drop of those behind `ts_mi`, had it seen them all."""
        return self.slide - 1


def row_reference(ts_start: int, ts_last: int) -> int:
    """The time at or behind which `t` is sought.

    A target that could read the latest window begins with the next. That is `ts_mi = ts_last` and δ = 1, and where
    rows have the same time it still counts from a row that both nodes find.
    """
    return max(ts_start, ts_last + 1)


def row_cut(window: RowWindow, last: int, firsts: Sequence[int], reference: int = 0) -> RowCut:
    """The cut by row numbers, for who has them: `last` is the first row of the latest window, `firsts` the `t`s."""
    return RowCut(window.slide, tuple(first - last - 1 for first in firsts), reference)


def measured_start(ts_start: int, before: Sequence[Stage], *, earliest: bool) -> int:
    """`ts_start` at the controlling window: from which time on what it gets at the target is as at the originator.

    Windows that go before it begin with the first that the target sees whole. If results have the time at which their
    window begins (`earliest`) and come in that order, they can be told by it. Results with the time at which they
    came, as those of a join of windows that move with every tuple, are all there only when such a window has passed.
    """
    for stage in before:
        if not isinstance(stage.window, TimeWindow):
            rule = "where a window of rows feeds another, its rows have to be counted"
            raise InputError(rule, "none", "Cut it by row_cut first; its next window is where the other starts.")
        ts_start = stage.window.from_on(ts_start) + (0 if earliest else stage.window.length)
    return ts_start
