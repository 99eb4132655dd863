"""Several sequences into one by the times of what they have, so that none of them runs ahead of another.

What has come of each waits in a queue. The earliest goes first, as long as nobody who is behind could still give
something earlier. The times of a sequence may go back; what comes later in it is then as late as what came before.
"""

import heapq
import math
from collections import deque
from collections.abc import Collection, Mapping
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Merging(Generic[_T]):
    """Queues by the name of their sequence. No clock and no thread."""

    def __init__(self) -> None:
        self._queues: dict[int, deque[tuple[float, _T]]] = {}
        self._latest: dict[int, float] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def lengths(self) -> Mapping[int, int]:
        """How many wait of each sequence."""
        return {name: len(queue) for name, queue in self._queues.items()}

    def add(self, name: int, at: float, item: _T) -> None:
        """Something has come of a sequence."""
        self._latest[name] = latest = max(at, self._latest.get(name, -math.inf))
        self._queues.setdefault(name, deque()).append((latest, item))
        self._count += 1

    def take(self, most: int, behind: Collection[int] = ()) -> list[_T]:
        """What may go now, at most so much. Of sequences that are `behind`, more is known to come."""
        empty = [name for name in behind if not self._queues.get(name)]
        bound = min((self._latest.get(name, -math.inf) for name in empty), default=math.inf)
        heads = [(queue[0][0], name) for name, queue in self._queues.items() if queue]
        heapq.heapify(heads)
        found: list[_T] = []
        while heads and len(found) < most and heads[0][0] <= bound:
            _, name = heads[0]
            queue = self._queues[name]
            found.append(queue.popleft()[1])
            if queue:
                heapq.heapreplace(heads, (queue[0][0], name))
                continue
            heapq.heappop(heads)
            if name in behind:
                bound = min(bound, self._latest[name])
        self._count -= len(found)
        return found
