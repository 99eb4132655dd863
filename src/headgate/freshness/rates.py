"""How often a copy changes at its source, learned from refreshes that only say whether it has changed since the last.

Several changes between two refreshes show as one, so that to count changes would underestimate the rate of all that
change often. With refreshes at intervals τ a copy is seen changed with probability 1 − e^{−λτ}.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.optimize import brentq

from headgate.errors import InputError


@dataclass(frozen=True, slots=True)
class ChangeRate:
    """What is known of a change rate: a gamma distribution with shape a and rate b, so that λ is about a/b.

    It takes refreshes one by one, at whatever intervals. That a copy has not changed for τ is exactly b + τ; that it
    has is replaced by the gamma distribution of the same mean and variance. A guess counts as much as `a` changes.
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        if not (self.a > 0 and self.b > 0):
            raise InputError("a guess of a change rate is a above 0 over b above 0", (self.a, self.b), "Guess wider.")

    @classmethod
    def guess(cls, rate: float, trust: float = 0.5) -> "ChangeRate":
        """A first guess that counts as much as so many changes seen."""
        return cls(trust, trust / rate)

    @property
    def mean(self) -> float:
        """The estimate of λ."""
        return self.a / self.b

    def observe(self, interval: float, changed: bool) -> "ChangeRate":
        """What is known after a refresh that comes so long after the one before."""
        if interval <= 0:
            return self
        if not changed:
            return ChangeRate(self.a, self.b + interval)
        a, b = self.a, self.b
        # The moments are quotients of 1 − x^{a+k}, where x = b/(b + τ) is the chance of a longer interval.
        log_x = -math.log1p(interval / b)
        none, one, two = (-math.expm1((a + k) * log_x) for k in range(3))
        mean = a / b * one / none
        variance = a * (a + 1) / b**2 * two / none - mean**2
        return ChangeRate(mean**2 / variance, mean / variance)

    def forget(self, kept: float) -> "ChangeRate":
        """The same estimate with so much of its weight, for rates that wander."""
        return ChangeRate(self.a * kept, self.b * kept)


def at_intervals(polls: int, changed: int, interval: float) -> float:
    """The estimate from refreshes at equal intervals, corrected for bias and finite where all have seen a change."""
    return -math.log((polls - changed + 0.5) / (polls + 0.5)) / interval


def likeliest(intervals: Sequence[float], changed: Sequence[bool]) -> float:
    """The rate that makes a history of refreshes at any intervals the likeliest; infinite if all saw a change."""
    quiet = sum(tau for tau, seen in zip(intervals, changed, strict=True) if not seen)
    busy = [tau for tau, seen in zip(intervals, changed, strict=True) if seen]
    if not busy:
        return 0.0
    if quiet == 0:
        return math.inf

    def slope(lam: float) -> float:
        # Beyond that the exponential overflows and the term is 0 anyway.
        return sum(tau / math.expm1(min(lam * tau, 700.0)) for tau in busy) - quiet

    # x/(e^x − 1) lies between 1 − x/2 and 1, which bounds the root from both sides.
    high = len(busy) / quiet
    low = len(busy) / (quiet + sum(busy))
    return float(brentq(slope, low * (1 - 1e-9), high * (1 + 1e-9), xtol=1e-14, rtol=1e-12))
