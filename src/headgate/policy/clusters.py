"""Clusters of queries with about the same static priority φ, so that one number stands for many."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from headgate.errors import InputError


class Clusters(NamedTuple):
    """The cluster of each φ, and each cluster's pseudo priority: the lower bound of its range."""

    of: tuple[int, ...]
    pseudo: tuple[float, ...]


def logarithmic(phi: Sequence[float], m: int) -> Clusters:
    """Ranges [lo·ε^i, lo·ε^(i+1)) with ε = (hi/lo)^(1/m): inside each, priorities differ by a factor ε at most."""
    lo, hi = _range(phi, m)
    eps = (hi / lo) ** (1 / m)
    if eps == 1:  # equal, or so nearly that no ratio is left
        return Clusters((0,) * len(phi), (lo,))
    # The guard keeps exact powers of ε, which the logarithm may round down, in the cluster that they begin.
    of = tuple(min(math.floor(math.log(p / lo) / math.log(eps) + 1e-9), m - 1) for p in phi)
    return Clusters(of, tuple(lo * eps**i for i in range(m)))


def uniform(phi: Sequence[float], m: int) -> Clusters:
    """Ranges of equal width."""
    lo, hi = _range(phi, m)
    if lo == hi:
        return Clusters((0,) * len(phi), (lo,))
    width = (hi - lo) / m
    return Clusters(tuple(min(int((p - lo) / width), m - 1) for p in phi), tuple(lo + width * i for i in range(m)))


def count_for_ratio(phi: Sequence[float], eps: float) -> int:
    """The number of logarithmic clusters that keeps the ratio inside each at eps or below."""
    if not eps > 1:
        raise InputError("the ratio inside a cluster is above 1", eps, "Give a ratio such as 2.5.")
    lo, hi = _range(phi, 1)
    return max(1, math.ceil(math.log(hi / lo) / math.log(eps) - 1e-9))


def _range(phi: Sequence[float], m: int) -> tuple[float, float]:
    if m < 1:
        raise InputError("there is at least one cluster", m, "Give clusters: 1 or more.")
    return min(phi), max(phi)


KINDS: dict[str, Callable[[Sequence[float], int], Clusters]] = {"log": logarithmic, "uniform": uniform}
