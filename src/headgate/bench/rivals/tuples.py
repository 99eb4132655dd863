"""The tuples that every system gets: a pool of random ones that comes round and round, paced by the clock."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

POOL = 1 << 18
"""Tuples until they repeat."""
_MICROS = 1_000_000

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Pool:
    """The tuples by column, symbols as numbers; `Ticks.java` makes the same."""

    symbol: Ints
    price: Floats
    vol: Ints
    names: NDArray[np.str_]

    @classmethod
    def of(cls, symbols: int) -> "Pool":
        """A pool with so many different symbols: splitmix64 of the position, cut into columns."""
        with np.errstate(over="ignore"):
            z = np.arange(1, POOL + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        symbol = (z & np.uint64(0xFFFFF)) % np.uint64(symbols)
        price = 1 + (z >> np.uint64(20) & np.uint64(0x1FFFFF)) % np.uint64(100_000) / 100.0
        vol = 1 + (z >> np.uint64(42)) % np.uint64(1000)
        names = np.array([f"S{i:04d}" for i in range(symbols)])
        return cls(symbol.astype(np.int64), price, vol.astype(np.int64), names)

    def take(self, where: Ints) -> "Pool":
        """Those at some positions."""
        return Pool(self.symbol[where], self.price[where], self.vol[where], self.names)


@dataclass(frozen=True)
class Round:
    """Tuples `first` to `end` at a rate, the first of them at `began`."""

    first: int
    end: int
    rate: float
    began: float

    def due(self, now: float) -> int:
        """How many have arrived, those of earlier rounds included."""
        return min(self.end, self.first + int((now - self.began) * self.rate))

    def arrived(self, ids: Ints) -> Ints:
        """When tuples arrive, in microseconds since the epoch: when they are due, however late they are taken."""
        return round(self.began * _MICROS) + ((ids - self.first) * (_MICROS / self.rate)).astype(np.int64)


class PythonFeed:
    """Plays rounds for a source that asks what is due. It has taken all of a round before the next begins."""

    def __init__(self) -> None:
        self.round = Round(0, 0, 1.0, time.time())
        self.ended = False

    def play(self, rate: float, seconds: float) -> Round:
        """Begin a round now."""
        first = self.round.end
        self.round = Round(first, first + int(rate * seconds), rate, time.time())
        return self.round
