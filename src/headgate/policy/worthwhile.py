"""When a run is worth its overhead: which queues had better wait a little, and how long a run should be at least."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from headgate.model.operator import Cost
from headgate.model.qos import LatencyGraph
from headgate.policy.protocol import Queue

_RIPE, _WORTH = 0.1, 5.0
"""A run is put off for so much of the delay target while its work is less than so many times its overhead; or longer,
up to a part of it that depends on the policy, if the overhead of all runs of the lane would not be as small."""

OVERRIPE, OVERRIPE_BY_GRAPH = 0.4, 0.8
"""That part. Where graphs decide, the least slack goes first, so waiting costs nothing until shortly before the
critical point; and long trains are what makes up for overload."""


def due_in(target: float, graphs: Iterable[LatencyGraph]) -> float:
    """How long results may take: up to the delay target, or to where a QoS graph begins to fall; 0 without either."""
    known = (target, *(graph.deadline for graph in graphs))
    return min((each for each in known if math.isfinite(each)), default=0.0)


def unripe(
    now: float,
    queues: Sequence[Queue],
    costs: Sequence[Cost],
    targets: Sequence[float],
    overripe: float = OVERRIPE,
) -> set[int]:
    """The queues that are worth more later: what waits is little work against a run's overhead.

    A class with a delay target waits for a part of that at most, `overripe`, and only where another one has work to
    do; one with the target 0 never waits.
    """
    waiting = [i for i, queue in enumerate(queues) if queue.pending]
    all_round = _WORTH * sum(costs[i].a for i in waiting)
    green = set()
    for i in waiting:
        cost, queue = costs[i], queues[i]
        target = targets[i]
        if target and _little(cost, queue.pending):
            waited = now - queue.oldest
            if waited < overripe * target and (waited < _RIPE * target or waited < all_round):
                green.add(i)
    return green if len(green) < len(waiting) else set()


class Ripening:
    """Which queues are unripe, as `unripe` has it, where few of them change from one look to the next."""

    def __init__(self, costs: Sequence[Cost], targets: Sequence[float], overripe: float = OVERRIPE) -> None:
        n = len(costs)
        self._costs, self._targets, self.overripe = costs, targets, overripe
        self._overheads = np.array([cost.a for cost in costs])
        self._early, self._late = _RIPE * np.array(targets), overripe * np.array(targets)
        self._waits, self._little = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        self._since = np.zeros(n)
        self._none = np.zeros(n, np.bool_)
        self._candidates: set[int] = set()

    def put(self, unit: int, queue: Queue) -> None:
        """Take the queue of a unit as it is now."""
        pending = queue.pending
        self._waits[unit] = pending > 0
        if pending and self._targets[unit] and _little(self._costs[unit], pending):
            self._candidates.add(unit)
            self._little[unit], self._since[unit] = True, queue.oldest
        elif unit in self._candidates:
            self._candidates.discard(unit)
            self._little[unit] = False

    def green(self, now: float) -> NDArray[np.bool_]:
        """By unit, whether its queue is worth more later."""
        if not self._candidates:
            return self._none
        waited = now - self._since
        green = self._little & (waited < self._late)
        longer = green & (waited >= self._early)
        if longer.any():
            all_round = _WORTH * sum(self._overheads[self._waits].tolist())
            green &= ~longer | (waited < all_round)
        return green if np.count_nonzero(green) < np.count_nonzero(self._waits) else self._none


def _little(cost: Cost, pending: int) -> bool:
    """Whether a run over so many tuples is little work against its overhead."""
    return cost.b * pending < _WORTH * cost.a


def length(train: int, pending: int, cost: Cost, kept: float, most: float) -> int:
    """Tuples of a run: at least as much work as the run's overhead, or a slice shorter than that would stall all.

    Where only a part of the tuples is `kept`, so many more are passed: up to those that wait, or the `most` of a run.
    """
    least = cost.a / cost.b if cost.b else 0.0
    return max(train, int(min(max(train, least) / kept, pending, most)))
