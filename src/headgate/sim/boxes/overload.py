"""Two kinds of overload, and a shedder that a simulation may be given.

Capacity overload: more work comes in than the processor can do. QoS overload: deadlines cannot be met although all
work can be done, as when a train clears the first box before any of its tuples goes on.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headgate.model.parameters import expected_cost
from headgate.model.qos import combined
from headgate.policy.protocol import Queue
from headgate.sim.boxes.feeds import Feed
from headgate.sim.boxes.lines import SECOND, Line
from headgate.sim.boxes.units import Applications, Plan
from headgate.sim.metrics import Floats


def demand(applications: Applications, feed: Feed, window: float) -> Floats:
    """The part of the processor that the work of each window's arrivals takes; above 1 is capacity overload."""
    boxes = applications.boxes
    work = np.array([expected_cost(boxes.path(leaf)) for leaf in boxes.leaves])
    number = feed.times // round(window * SECOND)
    return np.bincount(number, work[feed.inputs]) / window


def hopeless(plan: Plan, now: float, queues: Sequence[Queue]) -> float:
    """The part of the waiting units that have nothing left to lose: a sign of QoS overload."""
    waiting = [(unit, queue) for unit, queue in zip(plan.units, queues, strict=True) if queue.pending]
    lost = 0
    for unit, queue in waiting:
        latency = now - queue.arrived(queue.pending) / queue.pending + min(s.T for s in unit.segments)
        lost += all(graph.slack(latency) == math.inf for graph in unit.graphs)
    return lost / len(waiting) if waiting else 0.0


@dataclass(frozen=True)
class DropWorthless:
    """Takes the tuples out of the lines of trees whose result would be worth nothing, were it made at once."""

    applications: Applications

    @cached_property
    def _latest(self) -> list[int]:
        """How old a tuple may be at each box, in nanoseconds."""
        boxes, found = self.applications.boxes, []
        for box, readers in enumerate(self.applications.readers):
            graph = combined(self.applications.graphs[app] for app in readers)
            worthless = [x for x, u in graph.points if u <= 0]
            ahead = sum(stage.c for stage in boxes.path(box))
            found.append(round((worthless[0] - ahead) * SECOND) if worthless else -1)
        return found

    def __call__(self, clock: int, lines: Sequence[Line]) -> int:
        """Drop, and say how many."""
        dropped = 0
        for line, latest in zip(lines, self._latest, strict=True):
            if line.pending and latest >= 0:
                late = 0
                for item in line.items:
                    if clock - line.arrivals[item] < latest:
                        break
                    late += 1
                if late:
                    line.take(late)
                    dropped += late
        return dropped
