"""Balanced slowdown: HNR's rate times the slowdown so far, between the best average and the best maximum.

It comes from comparing the sums of squared slowdowns of both orders of two segments, without the terms 2T and C
of the rival, which would make the comparison pairwise instead of an order (`exact_prefers`).
"""

from headgate.model.parameters import Segment
from headgate.policy.statement import Per, Statement

BSD = Statement(
    name="bsd",
    weight=lambda s: s.S / (s.T * s.T),
    alpha=1,
    per=Per.COST,
    formula="S·W/(C·T²)",
    optimises="l2 norm of slowdowns",
)


def exact_prefers(x: Segment, W_x: float, y: Segment, W_y: float) -> bool:
    """Whether x before y gives the smaller sum of squared slowdowns, with no term dropped; a diagnostic.

    It is not an order: the rival's cost is in it, so three segments can prefer one another in a circle.
    """
    worth_x = x.S / (x.C * x.T**2) * (2 * W_x + 2 * x.T + y.C)
    worth_y = y.S / (y.C * y.T**2) * (2 * W_y + 2 * y.T + x.C)
    return worth_x > worth_y
