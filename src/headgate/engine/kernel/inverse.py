"""Ranges of what is computed as ranges of what it is computed from: `ABS(x - 5) < 1` as a range of x.

So the constants of such an operand are bounds, and queries that differ in them compare the same x.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from headgate.engine.kernel.arrays import Ints
from headgate.engine.kernel.ir import Call, Literal, Node
from headgate.engine.kernel.keys import MOST, NULL, floats

_INFINITE = int(np.array(math.inf).view(np.int64))
"""The key of infinity; only NaN has a greater one."""

Bounds = tuple[Ints, Ints]
Step = Callable[[Ints, Ints], Bounds]
"""From the lowest and the highest key of a result to those of its argument."""


def undone(operand: Node, sign: str) -> tuple[Node, str, list[Step]]:
    """What an operand is computed from, if its ranges are ranges of that: how that is compared, and the way there."""
    steps: list[Step] = []
    if sign.removesuffix("=") not in ("<", ">"):
        return operand, sign, steps
    if isinstance(operand, Call) and (operand.op, operand.type, sign[0]) == ("Abs", "double", "<"):
        operand, sign = operand.args[0], "range"
        steps.append(_of_absolute)
    while True:
        match operand:
            case Call(op="Subtract", args=(inner, Literal(value=float(constant))), type="double"):
                constant = -constant
            case Call(op="Add", args=(inner, Literal(value=float(constant))), type="double"):
                pass
            case _:
                return operand, sign, steps
        if not math.isfinite(constant):
            return operand, sign, steps
        operand = inner
        steps.append(_of_sum(constant))


def _of_absolute(_: Ints, high: Ints) -> Bounds:
    """What is at most so great without its sign. A number and its negative have opposite keys."""
    return np.maximum(~high, NULL + 1), high


def _of_sum(constant: float) -> Step:
    """Sums are rounded, but a greater number never has a lesser one: so the ends are found by trying."""

    def keys(numbers: Ints) -> Ints:
        with np.errstate(over="ignore"):
            return floats(_numbers(numbers) + constant)

    def step(low: Ints, high: Ints) -> Bounds:
        least = np.where(low <= ~_INFINITE, NULL + 1, _first(lambda at: keys(at) >= low, len(low)))
        most = np.where(high > _INFINITE, high, _first(lambda at: keys(at) > high, len(high)) - 1)
        return least, most

    return step


def _first(holds: Callable[[Ints], NDArray[np.bool_]], count: int) -> Ints:
    """The lowest key of a number that something holds for; one beyond all, if it holds for none."""
    low, high = np.full(count, ~_INFINITE), np.full(count, _INFINITE + 1)
    while (low < high).any():
        # Half of each: the sum of both may be too great.
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        there = holds(np.minimum(middle, _INFINITE)) | (middle > _INFINITE)
        low, high = np.where(there, low, np.minimum(middle + 1, high)), np.where(there, middle, high)
    return low


def _numbers(keys: Ints) -> NDArray[np.float64]:
    """The numbers that have these keys."""
    found: NDArray[np.float64] = (keys ^ ((keys >> 63) & MOST)).view(np.float64)
    return found
