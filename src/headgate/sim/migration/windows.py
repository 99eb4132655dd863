"""Window operators of any length and slide: sums of windows, and joins that give each pair once.

An operator that is told to `stop` gives out the windows up to a cut and then has `finished`; one that is told to
`begin` starts with the next. `last` is the start of the latest window of which it has given out something.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterator

from headgate.control.migration.messages import Handover
from headgate.control.migration.timestamps import RowCut, row_cut
from headgate.control.migration.windows import RowWindow, TimeWindow
from headgate.sim.migration.rows import Row

END = 2**62
"""A time behind all others: what the streams end with."""


class Operator(ABC):
    """A window operator of a query that can be cut."""

    finished = False

    @abstractmethod
    def push(self, row: Row, port: int = 0) -> list[Row]:
        """What a row brings out; rows come in order of `at`."""

    def advance(self, ts: int) -> list[Row]:  # noqa: ARG002 - rows do not pass with time
        """What comes out because time goes on."""
        return []

    @property
    @abstractmethod
    def last(self) -> int | None:
        """`ts_last`."""

    @property
    @abstractmethod
    def held(self) -> int:
        """How many rows its state has."""

    @abstractmethod
    def stop(self, handover: Handover) -> None:
        """Give out no window behind that of the handover."""


class Counting(Operator):
    """An operator over rows, which counts them on each input. Who waits for a row hears of it before it counts."""

    def __init__(self, window: RowWindow, inputs: int = 1) -> None:
        self.window = window
        self.times: list[list[int]] = [[] for _ in range(inputs)]
        self.to_drop = [0] * inputs
        self.reference = -END
        self.latest: int | None = None
        self.through = END
        self.ended = False
        self.waiting: list[Callable[[], bool]] = []

    @property
    def last(self) -> int | None:
        return None if self.latest is None else max(times[self.latest] for times in self.times)

    @property
    def origin(self) -> int:
        """The row with which the latest window begins; where there is none yet, the first begins a slide later."""
        return -self.window.slide if self.latest is None else self.latest

    def admitted(self, row: Row, port: int) -> int | None:
        """The number of a row that counts."""
        if row.at < self.reference:
            return None
        if self.to_drop[port]:
            self.to_drop[port] -= 1
            return None
        self.times[port].append(row.at)
        waiting, self.waiting = self.waiting, []
        # Who hears of a row may wait for another one.
        self.waiting = [each for each in waiting if not each()] + self.waiting
        return len(self.times[port]) - 1

    def begin(self, cut: RowCut) -> None:
        """Begin with the next window of a cut."""
        self.reference = cut.reference
        self.to_drop = list(cut.discards)

    def count(self, reference: int, then: Callable[[RowCut], None]) -> None:
        """Make the cut as soon as there is a row at or behind the reference on every input."""

        def counted() -> bool:
            firsts = [bisect_left(times, reference) for times in self.times]
            there = all(first < len(times) for first, times in zip(firsts, self.times, strict=True))
            if there:
                then(row_cut(self.window, self.origin, firsts, reference))
            return there

        if not counted():
            self.waiting.append(counted)

    def missing(self, cut: RowCut, *, earliest: bool) -> int | None:
        """The row with which the last result is known that the target of a cut does not have; None if it has all.

        By the `earliest` time of what it is made of, the row with which it begins.
        """
        last = self.origin + cut.behind
        return None if last < 0 else last + (0 if earliest else self.window.length - 1)

    def passed(self, number: int | None, then: Callable[[int], None]) -> None:
        """Tell the time at which a row has come on every input, as soon as that is so; for no row one before all."""

        def come() -> bool:
            there = number is None or all(len(times) > number for times in self.times)
            if there:
                then(-END if number is None else max(times[number] for times in self.times))
            return there

        if not come():
            self.waiting.append(come)

    def ts_mi(self, cut: RowCut) -> int:
        """The time of the row with which the last window begins."""
        row = self.origin + cut.behind
        return cut.reference - 1 if row < 0 else self.times[cut.between.index(max(cut.between))][row]

    def stop(self, handover: Handover) -> None:
        if handover.rows is None:
            raise ValueError(handover)
        self.through = self.origin + handover.rows.behind
        self.settle()

    def settle(self) -> None:
        """See whether the last window is out."""
        out = min(map(len, self.times)) >= self.through + self.window.length
        self.finished = self.finished or out or (self.ended and self.through < END)

    def advance(self, ts: int) -> list[Row]:
        self.ended = self.ended or ts >= END
        self.settle()
        return []


class RowSums(Counting):
    """The sum of every window of rows."""

    def __init__(self, window: RowWindow) -> None:
        super().__init__(window)
        self.rows: list[Row] = []

    @property
    def held(self) -> int:
        return min(len(self.rows), self.window.length)

    def push(self, row: Row, port: int = 0) -> list[Row]:
        number = self.admitted(row, port)
        if number is None:
            return []
        self.rows.append(row)
        start = number - self.window.length + 1
        found = []
        if start >= 0 and start % self.window.slide == 0 and start <= self.through:
            part = self.rows[start:]
            self.latest = start
            found = [Row(part[0].begin, row.at, (sum(each.value[-1] for each in part),))]
        self.settle()
        return found


class RowJoin(Counting):
    """Pairs of the same key of two inputs, of rows whose numbers are in one window."""

    def __init__(self, window: RowWindow) -> None:
        super().__init__(window, 2)
        self.rows: list[list[Row]] = [[], []]

    @property
    def held(self) -> int:
        return sum(min(len(rows), self.window.length) for rows in self.rows)

    def push(self, row: Row, port: int = 0) -> list[Row]:
        number = self.admitted(row, port)
        if number is None:
            return []
        self.rows[port].append(row)
        found = []
        low = max(0, number - self.window.length + 1)
        for other in range(low, min(len(self.rows[1 - port]), number + self.window.length)):
            start = min(number, other) // self.window.slide * self.window.slide
            partner = self.rows[1 - port][other]
            meet = max(number, other) < start + self.window.length and row.value[0] == partner.value[0]
            if meet and start <= self.through:
                self.latest = max(start, self.origin)
                found.append(paired(row, partner, port))
        self.settle()
        return found


class Timed(Operator):
    """An operator over time."""

    def __init__(self, window: TimeWindow) -> None:
        self.window = window
        self.latest: int | None = None
        self.first = -END
        self.through = END
        self.now = -END

    @property
    def last(self) -> int | None:
        return self.latest

    def begin(self, first: int) -> None:
        """Begin with the window that starts then."""
        self.first = first

    def stop(self, handover: Handover) -> None:
        self.through = handover.ts_mi
        self.settle(-END)

    def settle(self, ts: int) -> None:
        """See whether the last window is out."""
        self.now = max(self.now, ts)
        self.finished = self.finished or self.now >= self.through + self.window.length


class TimeSums(Timed):
    """The sum of every window over time in which there are rows."""

    def __init__(self, window: TimeWindow) -> None:
        super().__init__(window)
        self.open: dict[int, list[Row]] = {}

    @property
    def held(self) -> int:
        return len({id(row) for rows in self.open.values() for row in rows})

    def push(self, row: Row, port: int = 0) -> list[Row]:  # noqa: ARG002 - of one input
        found = self.advance(row.at)
        start = self.window.latest(row.at)
        while start + self.window.length > row.at and start >= self.first:
            if start <= self.through:
                self.open.setdefault(start, []).append(row)
            start -= self.window.slide
        return found

    def advance(self, ts: int) -> list[Row]:
        found = []
        for start in sorted(self.open):
            if start + self.window.length > ts:
                break
            rows = self.open.pop(start)
            if start <= self.through:
                self.latest = start
                total = sum(row.value[-1] for row in rows)
                found.append(Row(start, start + self.window.length, (start, len(rows), total)))
        self.settle(ts)
        return found


class TimeJoin(Timed):
    """Pairs of the same key of two inputs that are in one window over time."""

    def __init__(self, window: TimeWindow) -> None:
        super().__init__(window)
        self.rows: list[deque[Row]] = [deque(), deque()]
        self.by_key: list[defaultdict[int, deque[Row]]] = [defaultdict(deque), defaultdict(deque)]
        self.activation = END

    @property
    def held(self) -> int:
        return sum(map(len, self.rows))

    def stop(self, handover: Handover) -> None:
        super().stop(handover)
        self.activation = END if handover.activation is None else handover.activation

    def push(self, row: Row, port: int = 0) -> list[Row]:
        self.advance(row.at)
        if row.at < self.first or self.finished:
            return []
        self.latest = self.window.latest(row.at)
        self.rows[port].append(row)
        self.by_key[port][row.value[0]].append(row)
        return [paired(row, other, port) for other in self.partners(row, port)]

    def partners(self, row: Row, port: int) -> Iterator[Row]:
        """The rows with which one is in a window of this node."""
        for other in self.by_key[1 - port][row.value[0]]:
            if min(row.at, other.at) < self.activation:
                start = self.window.latest(min(row.at, other.at))
                if max(row.at, other.at) < start + self.window.length:
                    yield other

    def advance(self, ts: int) -> list[Row]:
        for port, rows in enumerate(self.rows):
            while rows and self.window.latest(rows[0].at) + self.window.length <= ts:
                self.leave(port)
        self.settle(ts)
        return []

    def leave(self, port: int) -> Row:
        """Forget the oldest row of an input."""
        row = self.rows[port].popleft()
        return self.by_key[port][row.value[0]].popleft()


def paired(row: Row, other: Row, port: int) -> Row:
    """A pair: its key, the value of the first input and that of the second."""
    first, second = (row, other) if port == 0 else (other, row)
    value = (first.value[0], first.begin, second.begin, second.value[-1], first.value[-1])
    return Row(min(first.begin, second.begin), max(row.at, other.at), value)
