"""The numbers of the analysis: floats as they are measured, or ints and Fractions, for which every answer is exact.

Nothing here turns an exact number into a float. Where a float takes part, what differs by a billionth is the same:
scheduling points are multiples of periods, and a sum that should be one of them is so only up to rounding.
"""

import math
from fractions import Fraction

Number = int | float | Fraction
TOLERANCE = 1e-9


def ceil_div(a: Number, b: Number) -> int:
    """The least whole number that is a/b or more."""
    if isinstance(a, float) or isinstance(b, float):
        return math.ceil(a / b * (1 - TOLERANCE))
    return -int(-a // b)


def floor_div(a: Number, b: Number) -> int:
    """The greatest whole number that is a/b or less."""
    if isinstance(a, float) or isinstance(b, float):
        q = float(a / b)
        return math.floor(q + TOLERANCE * max(1.0, abs(q)))
    return int(a // b)


def over(a: Number, b: Number) -> Number:
    """The quotient; of ints too it is exact."""
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    return Fraction(a) / b


def at_most(a: Number, b: Number) -> bool:
    """Whether a ≤ b."""
    if a <= b:
        return True
    return (isinstance(a, float) or isinstance(b, float)) and a <= b + TOLERANCE * abs(float(b))


def less(t: Number, margin: Number) -> Number:
    """What is left of a time when a part of it is kept free."""
    return t * (1 - margin) if margin else t
