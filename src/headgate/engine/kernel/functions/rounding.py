"""Doubles, rounded as the decimal numbers that they are shown as: 2.675 is a tie, though as a double it is less."""

from decimal import Context, Decimal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LARGEST = 2.0**53
"""Up to here doubles hold every whole number."""

_NEAR = 1e-4
"""So near to a tie, the product with a power of ten does not tell on which side of it a number is."""


def nearest(values: Floats, places: int, way: str) -> Floats:
    """The nearest multiples of a power of ten, in units of it, which are less than LARGEST.

    `way` is decimal's name for what becomes of ties.
    """
    scaled = values * 10.0**places
    size = np.abs(scaled)
    found = np.copysign(np.floor(size + 0.5), scaled)
    unsure = (np.abs(size - np.floor(size) - 0.5) < _NEAR) | (size >= LARGEST / 2)
    context = Context(prec=400, rounding=way)
    for at in np.flatnonzero(unsure):
        units = Decimal(repr(float(values[at]))).scaleb(places, context)
        found[at] = float(units.quantize(Decimal(1), context=context))
    # A decimal number has no negative zero.
    return found + 0.0
