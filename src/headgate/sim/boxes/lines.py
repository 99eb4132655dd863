"""The queues in front of boxes, as a policy sees them. A tuple is its number in the order of arrival."""

import math
from collections import deque
from collections.abc import Sequence
from itertools import islice

SECOND = 1_000_000_000
"""The clock counts nanoseconds."""


class Line:
    """First in, first out, whichever input of the box a tuple came by."""

    __slots__ = ("arrivals", "items", "pending", "total")

    def __init__(self, arrivals: Sequence[int]) -> None:
        self.arrivals = arrivals
        self.items: deque[int] = deque()
        self.pending = 0
        self.total = 0
        """Sum of the arrival times of all that wait."""

    def put(self, items: Sequence[int], total: int) -> None:
        """Tuples join the line; `total` is the sum of their arrival times."""
        self.items.extend(items)
        self.pending += len(items)
        self.total += total

    def take(self, n: int) -> tuple[list[int], int]:
        """The n oldest leave the line: they, and the sum of their arrival times."""
        if n == self.pending:
            taken, total = list(self.items), self.total
            self.items.clear()
            self.pending = self.total = 0
            return taken, total
        pop = self.items.popleft
        taken = [pop() for _ in range(n)]
        total = sum(map(self.arrivals.__getitem__, taken))
        self.pending -= n
        self.total -= total
        return taken, total

    @property
    def oldest(self) -> float:
        """Arrival time of the first in line; infinite if there is none."""
        return self.arrivals[self.items[0]] / SECOND if self.items else math.inf

    @property
    def position(self) -> int:
        """Number of the first in line."""
        return self.items[0]

    def arrived(self, n: int) -> float:
        """Sum of the arrival times of the first n."""
        if n >= self.pending:
            return self.total / SECOND
        return sum(self.arrivals[item] for item in islice(self.items, n)) / SECOND


class Lines:
    """The queue of a superbox: all lines of its boxes together."""

    __slots__ = ("lines",)

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines

    @property
    def pending(self) -> int:
        """Tuples in all of the lines."""
        return sum([line.pending for line in self.lines])

    @property
    def oldest(self) -> float:
        """Arrival time of the oldest tuple; infinite if there is none."""
        return min(line.oldest for line in self.lines)

    @property
    def position(self) -> int:
        """Number of the oldest tuple."""
        return min(line.position for line in self.lines if line.pending)

    def arrived(self, n: int) -> float:
        """Sum of the arrival times of the n oldest."""
        if n >= self.pending:
            return sum(line.total for line in self.lines) / SECOND
        oldest = sorted(line.arrivals[item] for line in self.lines for item in line.items)
        return sum(oldest[:n]) / SECOND
