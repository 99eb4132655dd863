"""Whether a tuple passes an operator, decided by a hash and not by a generator.

The outcome of (tuple, operator) is the same under every policy, in every kernel and in every order of execution,
and needs no storage; so policies are compared on identical work.
"""

from typing import TypeAlias

import numba as nb
import numpy as np

Word: TypeAlias = np.uint64
"""64 bits. Plain integers would become floats where compiled code mixes them with unsigned ones."""

_GOLDEN = Word(0x9E3779B97F4A7C15)
_ODD = Word(0xD1342543DE82EF95)
_STREAM_BITS = 40


@nb.njit("uint64(uint64)", inline="always", cache=True)
def mix(x: Word) -> Word:
    """Spread 64 bits (the finaliser of SplitMix64)."""
    x = (x ^ (x >> Word(30))) * Word(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> Word(27))) * Word(0x94D049BB133111EB)
    return x ^ (x >> Word(31))


@nb.njit("uint64(uint64, uint64)", inline="always", cache=True)
def key(seed: Word, item: Word) -> Word:
    """The hash of a tuple, from which the draws at all its operators follow."""
    return mix(seed * _ODD + (item + Word(1)) * _GOLDEN)


@nb.njit("float64(uint64, uint64)", inline="always", cache=True)
def uniform(item_key: Word, operator: Word) -> float:
    """A number in [0, 1) for a tuple, given by its key, at an operator."""
    return (mix(item_key + (operator + Word(1)) * _ODD) >> Word(11)) * (1.0 / (1 << 53))


@nb.njit("uint64(uint64, uint64)", inline="always", cache=True)
def pair(left: Word, right: Word) -> Word:
    """The identity of a match, or of a copy, made of two identities."""
    return mix(mix(left + _GOLDEN) ^ (right * _ODD))


@nb.njit("float64(uint64, uint64, uint64)", cache=True)
def draw(seed: Word, item: Word, operator: Word) -> float:
    """A number in [0, 1) for a tuple at an operator."""
    return uniform(key(seed, item), operator)


def identity(stream: int, index: int) -> Word:
    """The identity of the index-th tuple of a stream; streams are numbered from 0."""
    return Word((stream << _STREAM_BITS) + index)
