"""Problems to freshen: how often copies change and are accessed, how large they are, and how these go together."""

from typing import Literal

import numpy as np

from headgate.freshness.problem import Floats

Alignment = Literal["aligned", "reverse", "shuffled"]
"""The first object has the largest value, the smallest one, or any."""


def change_rates(n: int, mean: float, std: float, rng: np.random.Generator) -> Floats:
    """Changes of copies in a period, gamma distributed."""
    return rng.gamma((mean / std) ** 2, std**2 / mean, n)


def zipf(n: int, theta: float) -> Floats:
    """Access probabilities that fall with the rank as i^−θ; the first object is the hottest."""
    often: Floats = np.arange(1.0, n + 1) ** -theta
    return often / float(often.sum())


def pareto_sizes(n: int, a: float, rng: np.random.Generator) -> Floats:
    """Sizes with a heavy tail, P(S > x) ~ x^−a, and a mean of exactly 1."""
    drawn = 1 + rng.pareto(a, n)
    return drawn / float(drawn.mean())


def ordered(values: Floats, alignment: Alignment, rng: np.random.Generator) -> Floats:
    """Values given to objects from the first to the last."""
    if alignment == "shuffled":
        return rng.permutation(values)
    rising = np.sort(values)
    return rising if alignment == "reverse" else rising[::-1].copy()
