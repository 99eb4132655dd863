"""The event queue: what happens when, in an order that does not depend on chance.

At equal times a run finishes before a controller acts, a controller before tuples arrive, and all of that before
the next decision. Tuples come in the order of their streams, and events of the same rank as they were put in.
"""

import heapq
from collections.abc import Callable
from enum import IntEnum
from itertools import count


class Rank(IntEnum):
    """The order of events at the same time. Streams have a rank of their own each, from `ARRIVAL` on."""

    FINISH = 0
    CONTROL = 1
    ARRIVAL = 2


class Agenda:
    """A clock and the events ahead of it."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, int, Callable[[], None]]] = []
        self._tick = count()

    def at(self, time: float, rank: int, event: Callable[[], None]) -> None:
        """Have an event happen at a time."""
        heapq.heappush(self._heap, (time, rank, next(self._tick), event))

    def step(self) -> bool:
        """Go to the next instant and let all its events happen; False if there is none."""
        if not self._heap:
            return False
        self.now = self._heap[0][0]
        while self._heap and self._heap[0][0] == self.now:
            heapq.heappop(self._heap)[-1]()
        return True
