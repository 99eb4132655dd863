"""When each copy is refreshed: at equal intervals, always in the same order."""

import heapq
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from headgate.freshness.problem import Floats


class Refresh(NamedTuple):
    """A copy that is refreshed at a time."""

    at: float
    copy: int


class FixedOrder(Iterator[Refresh]):
    """Refreshes for ever, in the order of time; `head` is the next of them.

    A copy is refreshed f times in a period; f need not be whole, and a copy with 0 never is. The first times are
    spread over the copies' intervals. Where it is known when copies were refreshed `last`, intervals go on from then,
    and what is overdue is refreshed at the start.
    """

    def __init__(self, f: Floats, period: float = 1.0, start: float = 0.0, last: Floats | None = None) -> None:
        (funded,) = np.nonzero(f)
        self._interval = dict(zip(funded.tolist(), (period / f[funded]).tolist(), strict=True))
        spread = np.arange(len(funded)) / max(1, len(funded))
        first = start + spread * period / f[funded]
        if last is not None:
            first = np.maximum(start, last[funded] + period / f[funded])
        self._due = [Refresh(*each) for each in zip(first.tolist(), funded.tolist(), strict=True)]
        heapq.heapify(self._due)

    @property
    def head(self) -> Refresh | None:
        """The next refresh; none if no copy is ever refreshed."""
        return self._due[0] if self._due else None

    def __next__(self) -> Refresh:
        if not self._due:
            raise StopIteration
        now = self._due[0]
        heapq.heapreplace(self._due, Refresh(now.at + self._interval[now.copy], now.copy))
        return now
