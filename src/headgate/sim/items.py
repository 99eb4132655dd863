"""Tuples under way in the event kernel, and the queues in which they wait."""

import math
from collections import deque
from typing import NamedTuple

from headgate.sim.draws import Word


class Step(NamedTuple):
    """The work that a base tuple of a result set off, from its arrival."""

    arrival: float
    work: float


class Item(NamedTuple):
    """A tuple in the system. A match of a join has a step for each of its base tuples, in order of arrival."""

    arrival: float
    position: int
    identity: Word
    steps: tuple[Step, ...]

    def worked(self, cost: float) -> "Item":
        """The item after one more operator, whose time counts for the base tuple that arrived last."""
        last = self.steps[-1]
        return self._replace(steps=(*self.steps[:-1], Step(last.arrival, last.work + cost)))

    def ideal_departure(self) -> float:
        """When the result would be there if its base tuples were alone in the system."""
        time = -math.inf
        for arrival, work in self.steps:
            time = max(time, arrival) + work
        return time


class Line:
    """The queue of a unit. Where it stands behind a join, tuples come as matches are made and not as they arrived."""

    __slots__ = ("in_order", "items")

    def __init__(self, *, in_order: bool) -> None:
        self.items: deque[Item] = deque()
        self.in_order = in_order

    @property
    def pending(self) -> int:
        """Tuples that wait."""
        return len(self.items)

    @property
    def oldest(self) -> float:
        """Arrival of the first in line."""
        return self.items[0].arrival if self.items else math.inf

    @property
    def position(self) -> int:
        """Number of the first in line."""
        return self.items[0].position

    def earliest(self) -> float:
        """The earliest arrival in the line."""
        return self.oldest if self.in_order else min((item.arrival for item in self.items), default=math.inf)

    def arrived(self, n: int) -> float:
        """Sum of the arrival times of the first n."""
        if n == 1:
            return self.items[0].arrival
        return sum(item.arrival for item, _ in zip(self.items, range(n), strict=False))
