"""A calendar queue: events by their time, put in, taken out and found in constant time on average.

Events are kept by days of some width; a year of days is a ring, so that a day's page also holds what is due on it in
later years. The ring grows and shrinks with the number of events, and its days with the gaps between them.
"""

import math
from bisect import bisect_left, bisect_right, insort
from heapq import nsmallest
from itertools import pairwise

_SAMPLE = 25
"""The next events, whose gaps give the width of a day."""


class CalendarQueue:
    """Numbers by the time at which they are due."""

    def __init__(self) -> None:
        self._pages: list[list[tuple[float, int]]] = [[], []]
        self._width = 1.0
        self._at = 0.0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def insert(self, t: float, x: int) -> None:
        """Put in a number that is due at t."""
        # What is due before the day that the queue has come to would not be looked for.
        self._at = min(self._at, t) if self._size else t
        insort(self._page(t), (t, x))
        self._size += 1
        if self._size > 2 * len(self._pages):
            self._resize(2 * len(self._pages))

    def delete(self, t: float, x: int) -> None:
        """Take out a number that was put in for t."""
        page = self._page(t)
        del page[bisect_left(page, (t, x))]
        self._removed(1)

    def pop_until(self, now: float) -> list[tuple[float, int]]:
        """Take out all that are due until now, in their order."""
        if not self._size or now < self._at:
            return []
        first, last = self._day(self._at), self._day(now)
        found: list[tuple[float, int]] = []
        for day in range(first, min(last, first + len(self._pages) - 1) + 1):
            page = self._pages[day % len(self._pages)]
            if page and page[0][0] <= now:
                until = bisect_right(page, (now, math.inf))
                found += page[:until]
                del page[:until]
        self._at = now
        self._removed(len(found))
        return sorted(found)

    def _day(self, t: float) -> int:
        return math.floor(t / self._width)

    def _page(self, t: float) -> list[tuple[float, int]]:
        return self._pages[self._day(t) % len(self._pages)]

    def _removed(self, n: int) -> None:
        self._size -= n
        if n and len(self._pages) > 2 and self._size < len(self._pages) / 2:
            self._resize(len(self._pages) // 2)

    def _resize(self, pages: int) -> None:
        events = [event for page in self._pages for event in page]
        gaps = [after - before for (before, _), (after, _) in pairwise(nsmallest(_SAMPLE, events)) if after > before]
        if gaps:
            self._width = 3 * sum(gaps) / len(gaps)
        self._pages = [[] for _ in range(pages)]
        for event in sorted(events):
            self._page(event[0]).append(event)
