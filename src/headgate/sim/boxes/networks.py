"""Networks of boxes as the published experiments have them, and the rate of tuples that loads them so much."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from headgate.errors import InputError
from headgate.model.boxes import Box, Boxes
from headgate.model.parameters import expected_cost
from headgate.model.qos import LatencyGraph
from headgate.sim.boxes.units import Applications

Draw = Callable[[], float]
ANY = LatencyGraph(((0.0, 1.0),))
"""For experiments that do not look at QoS: every result is worth the same."""


def constant(value: float) -> Draw:
    """Always the same."""
    return lambda: value


def uniform(low: float, high: float, rng: np.random.Generator) -> Draw:
    """Any value between two, all as likely."""
    return lambda: float(rng.uniform(low, high))


def tree(fanout: float, depth: int, cost: Draw, sel: Draw, rng: np.random.Generator) -> Boxes:
    """A tree of `depth` levels in which boxes have `fanout` inputs on average, at least one; the output is box 0."""
    if not (fanout >= 1 and depth >= 1):
        raise InputError("a tree has a fanout and a depth of 1 or more", f"{fanout:g}, {depth}", "Give larger ones.")
    inputs: list[tuple[int, ...]] = [()]
    level = [0]
    for _ in range(depth - 1):
        below: list[int] = []
        for box in level:
            many = int(fanout) + (rng.random() < fanout % 1)
            first = len(inputs)
            inputs[box] = tuple(range(first, first + many))
            inputs.extend([()] * many)
            below.extend(inputs[box])
        level = below
    return Boxes(tuple(Box(each, cost(), sel()) for each in inputs))


def side_by_side(trees: Sequence[Boxes]) -> Boxes:
    """Networks next to each other, as one."""
    found: list[Box] = []
    for each in trees:
        start = len(found)
        found.extend(replace(box, inputs=tuple(i + start for i in box.inputs)) for box in each.boxes)
    return Boxes(tuple(found))


def chains(apps: int, depth: int, cost: float, graphs: Sequence[LatencyGraph]) -> Applications:
    """Applications of one chain each, whose graphs alternate."""
    rng = np.random.default_rng(0)
    made = [tree(1, depth, constant(cost), constant(1.0), rng) for _ in range(apps)]
    return alternating(made, graphs)


def alternating(trees: Sequence[Boxes], graphs: Sequence[LatencyGraph]) -> Applications:
    """Trees whose graphs alternate."""
    return Applications(side_by_side(trees), tuple(graphs[i % len(graphs)] for i in range(len(trees))))


def overlapping(
    apps: int, depth: int, overlap: float, cost: Draw, rng: np.random.Generator, graphs: Sequence[LatencyGraph]
) -> Applications:
    """Chains of which each begins, with the chance `overlap`, behind a box in the upper half of an earlier one.

    So applications share boxes, and a box may feed several others.
    """
    boxes: list[Box] = []
    shared: list[int] = []
    for _ in range(apps):
        own = depth
        at: tuple[int, ...] = ()
        if shared and rng.random() < overlap:
            at, own = (shared[int(rng.integers(len(shared)))],), depth - depth // 2
        for level in range(own):
            boxes.append(Box(at, cost()))
            at = (len(boxes) - 1,)
            if own == depth and level == depth // 2 - 1:
                shared.append(at[0])
    return Applications(Boxes(tuple(boxes)), tuple(graphs[i % len(graphs)] for i in range(apps)))


def work_per_round(boxes: Boxes) -> float:
    """Seconds of work that one tuple at each leaf brings, of trees."""
    return sum(expected_cost(boxes.path(leaf)) for leaf in boxes.leaves)


def rate_for(boxes: Boxes, capacity: float) -> float:
    """Tuples per second, over all leaves alike, whose work alone takes this part of the processor."""
    return capacity * len(boxes.leaves) / work_per_round(boxes)
