"""A thread for each box, and the operating system to share the processor: what a scheduler of boxes is compared with.

Threads that have something to do take turns of a quantum. Each turn begins with a switch, which takes longer the more
threads there are: caches are cold and locks are contended. A box hands each tuple on as soon as it is done.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from headgate.sim.boxes.feeds import Feed
from headgate.sim.boxes.lines import SECOND
from headgate.sim.boxes.report import Memory, Report, Spent
from headgate.sim.boxes.units import Applications


@dataclass(frozen=True, slots=True)
class Threads:
    """Seconds of a turn and of a switch, and by which part of itself each further thread makes a switch longer."""

    quantum: float = 0.001
    switch: float = 5e-6
    growth: float = 0.02

    def switching(self, threads: int) -> int:
        """Nanoseconds of a switch among so many threads."""
        return round(self.switch * (1 + self.growth * threads) * SECOND)


def run_threads(applications: Applications, feed: Feed, threads: Threads) -> Report:
    """Simulate until all that arrived is out. Boxes pass everything on."""
    boxes = applications.boxes
    costs = [round(box.cost * SECOND) for box in boxes.boxes]
    times: list[int] = feed.times.tolist()
    entries = [boxes.leaves[i] for i in feed.inputs.tolist()]
    waiting: list[deque[int]] = [deque() for _ in costs]
    left = list(costs)
    ready: deque[int] = deque()
    is_ready = [False] * len(costs)
    quantum, switch = round(threads.quantum * SECOND), threads.switching(len(costs))
    outputs: list[tuple[int, int, int]] = []
    spent, clock, following = Spent(), 0, 0

    def put(box: int, item: int) -> None:
        waiting[box].append(item)
        if not is_ready[box]:
            is_ready[box] = True
            ready.append(box)

    while following < len(times) or ready:
        while following < len(times) and times[following] <= clock:
            put(entries[following], following)
            following += 1
        if not ready:
            spent.idle += times[following] - clock
            clock = times[following]
            continue
        box = ready.popleft()
        clock += switch
        spent.worker += switch
        spent.calls += 1
        turn = quantum
        while waiting[box] and turn:
            step = min(turn, left[box])
            clock, turn, left[box] = clock + step, turn - step, left[box] - step
            spent.work += step
            if left[box] == 0:
                left[box] = costs[box]
                item = waiting[box].popleft()
                for consumer in boxes.feeds[box]:
                    put(consumer, item)
                if not boxes.feeds[box]:
                    outputs.append((applications.numbers[box], item, clock))
        is_ready[box] = bool(waiting[box])
        if waiting[box]:
            ready.append(box)
    apps, items, at = np.array(outputs, np.int64).reshape(-1, 3).T
    nothing = np.empty(0)
    return Report(feed, applications.graphs, apps, items, at, clock, spent, Memory(nothing, nothing))
