"""When a run is worth its overhead: which queues had better wait a little, and how long a run should be at least."""

import math
from collections.abc import Iterable, Sequence

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
        if cost.b * queue.pending < _WORTH * cost.a:
            target, waited = targets[i], now - queue.oldest
            if waited < overripe * target and (waited < _RIPE * target or waited < all_round):
                green.add(i)
    return green if len(green) < len(waiting) else set()


def length(train: int, pending: int, cost: Cost, kept: float, most: float) -> int:
    """Tuples of a run: at least as much work as the run's overhead, or a slice shorter than that would stall all.

    Where only a part of the tuples is `kept`, so many more are passed: up to those that wait, or the `most` of a run.
    """
    least = cost.a / cost.b if cost.b else 0.0
    return max(train, int(min(max(train, least) / kept, pending, most)))
