"""Which tuples of a train go: by chance, in strata, or by what they are worth.

What happens to a tuple depends on its position in the stream, on the seed and on the rate, and on nothing else: a
re-run drops the same tuples, and so does a stream that is cut into other trains. A higher rate drops what a lower one
drops, and more. Workers load this file, so it needs numpy only.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]
Kept = NDArray[np.bool_]
Rates = float | NDArray[np.float64]
"""One rate for all tuples, or one for each."""
Low = Callable[[NDArray[Any]], Kept]
"""Which of these keys are of low utility."""

BLOCK = 100
STRATIFIED = "stratified"


class Drop(NamedTuple):
    """What goes of a part of a stream: so many percent of its tuples.

    `how` is empty where each goes by chance, `stratified`, or a text that says which tuples are worth more.
    """

    percent: int
    how: str = ""


UNSHED = Drop(0)


class Dropper(Protocol):
    """Chooses what to keep."""

    def keep(self, positions: Positions, rate: float, keys: NDArray[Any] | None = None) -> Kept:
        """Which of the tuples at these positions stay when `rate` of all are to go; some ask for their keys."""


@dataclass(frozen=True, slots=True)
class Random:
    """Each tuple for itself, with the probability of the rate."""

    seed: int = 0

    def keep(
        self,
        positions: Positions,
        rate: Rates,
        keys: NDArray[Any] | None = None,  # noqa: ARG002
    ) -> Kept:
        """The tuples whose hash is not below the rate, which may be another one for each of them."""
        kept: Kept = chance(positions, self.seed) >= rate
        return kept


@dataclass(frozen=True, slots=True)
class Stratified:
    """Exactly so many of every hundred consecutive tuples, in an order that differs from one hundred to the next."""

    seed: int = 0

    def keep(self, positions: Positions, rate: Rates, keys: NDArray[Any] | None = None) -> Kept:  # noqa: ARG002
        """The tuples that stand late enough in the order of their hundred."""
        at = np.asarray(positions, dtype=np.int64)
        blocks, of = np.unique(at // BLOCK, return_inverse=True)
        members = blocks[:, None] * BLOCK + np.arange(BLOCK)
        # The place of each member in the order of its block is the inverse of the order.
        places = np.argsort(np.argsort(chance(members, self.seed), axis=1, kind="stable"), axis=1)
        kept: Kept = places[of, at % BLOCK] >= np.floor(rate * BLOCK + 0.5)
        return kept


@dataclass(frozen=True, slots=True)
class Semantic:
    """Tuples with keys of low utility go first; those are the part `mass` of all tuples.

    To drop a share ρ of all, each of low utility goes with probability ρ/m. Where that is not enough all of them go,
    and of the others (ρ − m)/(1 − m).
    """

    low: Low
    mass: float
    seed: int = 0

    def keep(self, positions: Positions, rate: float, keys: NDArray[Any] | None = None) -> Kept:
        """The tuples whose hash is not below the rate of their utility."""
        if keys is None:
            message = "a semantic dropper decides by keys, and was given none"
            raise TypeError(message)
        low, high = by_utility(rate, self.mass)
        return Random(self.seed).keep(positions, np.where(self.low(keys), low, high))


def by_utility(rate: float, mass: float) -> tuple[float, float]:
    """The drop rates of tuples of low utility, which are the part `mass` of all, and of the others."""
    if rate <= mass:
        return (rate / mass if rate else 0.0), 0.0
    return 1.0, (rate - mass) / (1 - mass)


@dataclass(frozen=True, slots=True)
class Unprotected:
    """Of low utility are all keys but the protected ones."""

    protected: Collection[Any]

    def __call__(self, keys: NDArray[Any]) -> Kept:
        """Which of the keys are not protected."""
        return ~np.isin(keys, list(self.protected))


def evenly(index: Positions, of: int, kept: int) -> Kept:
    """Which of the tuples with these numbers stay if `kept` of so many do, evenly: gaps differ by one at most."""
    at = np.asarray(index, dtype=np.int64)
    found: Kept = (at + 1) * kept // of > at * kept // of
    return found


def chance(positions: Positions, seed: int) -> NDArray[np.float64]:
    """A number from 0 to below 1 for each position: the finaliser of splitmix64 over seed and position."""
    z = np.asarray(positions).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = _mixed(z ^ _mixed(np.array([seed & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)))
    found: NDArray[np.float64] = (z >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return found


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
