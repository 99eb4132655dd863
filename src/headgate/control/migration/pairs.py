"""Which pairs of a join are the target's: nothing of the overlap of two windows comes from both nodes.

The last window of the originator and the first of the target overlap. A pair of which both tuples are in the overlap
is found by both nodes. The originator leaves it out, if the join is the controlling window operator; otherwise the
next window operator of the originator still needs it, and no pair leaves a node before that.
"""

from collections.abc import Sequence

from headgate.control.migration.windows import Shape


def of_target(times: Sequence[int], activation: int) -> bool:
    """Whether all tuples of a result are in windows of the target."""
    return min(times) >= activation


def suppressed(shape: Shape, times: Sequence[int], activation: int) -> bool:
    """Whether the originator leaves out a result of its join, made of tuples of these times."""
    return shape.controlling.joins and of_target(times, activation)
