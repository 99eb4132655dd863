"""One side of a window join: the tuples that a probe from the other side can still match."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from operator import itemgetter
from typing import Generic, TypeVar

T = TypeVar("T")


class Side(Generic[T]):
    """Tuples by arrival time. Scheduling may bring them in any order, so a match may be older or newer."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, T]] = []

    def insert(self, time: float, row: T) -> None:
        """Keep a tuple."""
        if not self._rows or time >= self._rows[-1][0]:
            self._rows.append((time, row))
        else:
            insort(self._rows, (time, row), key=itemgetter(0))

    def within(self, time: float, window: float) -> Iterator[T]:
        """The tuples at most `window` away from a time, newest first."""
        lo = bisect_left(self._rows, time - window, key=itemgetter(0))
        hi = bisect_right(self._rows, time + window, key=itemgetter(0))
        for _, row in reversed(self._rows[lo:hi]):
            yield row

    def evict(self, before: float) -> None:
        """Forget the tuples older than a time: nothing that may still come can match them."""
        del self._rows[: bisect_left(self._rows, before, key=itemgetter(0))]

    def __len__(self) -> int:
        return len(self._rows)
