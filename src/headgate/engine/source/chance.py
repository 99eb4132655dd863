"""Chance as a function of a number: the same seed, purpose and number always give the same draw.

So a generator has no state to carry over a restart, and any part of a stream can be made without what is before.
"""

import zlib

import numpy as np
from numpy.typing import NDArray

from headgate.engine.source.pump import Floats, Numbers

Bits = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))


def _mixed(bits: Bits) -> Bits:
    """The finaliser of SplitMix64: every bit of the input moves half of the bits of the output."""
    for shift, factor in _MIX:
        bits = (bits ^ (bits >> np.uint64(shift))) * factor
    return bits ^ (bits >> np.uint64(31))


def uniform(seed: int, purpose: str, numbers: Numbers) -> Floats:
    """Numbers from 0 to below 1, one for each number."""
    key = np.array([(seed + zlib.crc32(purpose.encode()) * int(_STEP)) % 2**64], np.uint64)
    bits = _mixed(_mixed(key) + numbers.astype(np.uint64) * _STEP) >> np.uint64(11)
    return bits.astype(np.float64) * 2.0**-53


def below(seed: int, purpose: str, numbers: Numbers, limit: int | Numbers) -> Numbers:
    """Whole numbers from 0 to below a limit, which may be another one for each."""
    found: Numbers = (uniform(seed, purpose, numbers) * limit).astype(np.int64)
    return found
