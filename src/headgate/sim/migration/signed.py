"""Windows that move with every tuple, as STREAM and AQSIOS have them: what leaves a window takes its results back.

A window of three rows gives out a minus for the first row when the fourth comes. A join gives a plus for each pair
that comes about and a minus when one of the two has left; a sum takes back the old sum and gives the new one.
"""

from collections import deque
from itertools import takewhile

from headgate.control.migration.windows import RowWindow, TimeWindow
from headgate.sim.migration.rows import Row
from headgate.sim.migration.windows import Counting, TimeJoin, paired


class RangeJoin(TimeJoin):
    """Pairs of the same key of two inputs that are at most a range apart."""

    def __init__(self, window: TimeWindow) -> None:
        super().__init__(TimeWindow(window.length, 1))

    def push(self, row: Row, port: int = 0) -> list[Row]:
        return [*self.advance(row.at), *super().push(row, port)]

    def advance(self, ts: int) -> list[Row]:
        length = self.window.length
        gone = (takewhile(lambda row: row.at + length <= ts, rows) for rows in self.rows)
        expired = [(row.at, port) for port, rows in enumerate(gone) for row in rows]
        found = []
        for at, port in sorted(expired):
            row = self.leave(port)
            taken = (paired(row, other, port) for other in self.partners(row, port))
            found += [Row(pair.begin, at + length, pair.value, -1) for pair in taken]
        self.settle(ts)
        return found


class RunningSum(Counting):
    """The sum of the latest rows. A node where the stream began gives sums of fewer rows at first."""

    def __init__(self, window: RowWindow, *, from_the_start: bool) -> None:
        super().__init__(RowWindow(window.length))
        self.from_the_start = from_the_start
        self.rows: deque[Row] = deque(maxlen=window.length)
        self.given: Row | None = None

    @property
    def origin(self) -> int:
        # Sums of fewer rows are of the first window, which so begins where the stream does.
        return self.latest or 0

    @property
    def held(self) -> int:
        return len(self.rows)

    def push(self, row: Row, port: int = 0) -> list[Row]:
        number = self.admitted(row, port)
        if number is None:
            return []
        self.rows.append(row)
        if len(self.rows) < self.window.length and not self.from_the_start:
            return []
        old, self.given = self.given, None
        found = [] if old is None else [Row(old.begin, row.at, old.value, -1)]
        start = max(0, number - self.window.length + 1)
        if start <= self.through:
            self.latest = start
            self.given = Row(self.rows[0].begin, row.at, (sum(each.value[-1] for each in self.rows),))
            found.append(self.given)
        self.settle()
        return found

    def settle(self) -> None:
        # The last sum is taken back when the window moves on: only then is nothing left to do.
        moved_on = len(self.times[0]) > self.through + self.window.length
        self.finished = self.finished or moved_on or (self.ended and self.through < len(self.times[0]))
