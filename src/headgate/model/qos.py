"""QoS graphs: what a result is worth by how late it is, by how much was delivered, or by its value.

A graph is a line through points; beyond the first and the last it stays level. A latency graph never rises. Its
breakpoints after 0 are its critical points, and the first of them is the deadline. Schedulers look at two things:

    slope   how fast utility falls, as a positive number
    slack   how long until the next critical point

At a critical point slack is 0, and the slope is still that of the segment before it. Past the last one there is
nothing left to lose: slope 0, slack infinite.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from headgate.errors import InputError

DROP = 1e-4
"""Seconds in which utility falls to nothing after a deadline that is given alone."""


@dataclass(frozen=True)
class _Graph:
    """A line through points, level outside of them."""

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        if not self.points:
            raise InputError("a QoS graph has at least one point", "none", "Give points such as (0, 1), (0.5, 0).")
        for point in self.points:
            if not all(math.isfinite(value) for value in point):
                raise InputError("a point of a QoS graph is two finite numbers", point, "Give (0.5, 1).")
        for (x, _), (y, _) in pairwise(self.points):
            if not x < y:
                rule = "the points of a QoS graph go from left to right, no two above each other"
                raise InputError(rule, f"{x:g} before {y:g}", "Sort them, and give a drop a little width.")

    @cached_property
    def _x(self) -> tuple[float, ...]:
        return tuple(x for x, _ in self.points)

    @cached_property
    def _axes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        x, u = zip(*self.points, strict=True)
        return np.array(x, np.float64), np.array(u, np.float64)

    def utility(self, x: float) -> float:
        """What a result there is worth."""
        k = bisect_right(self._x, x)
        if not 0 < k < len(self.points):
            return float(self.points[min(k, len(self.points) - 1)][1])
        (before, u), (after, v) = self.points[k - 1 : k + 1]
        return float((v - u) / (after - before) * (x - before) + u)

    def utilities(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each of many results is worth."""
        return np.interp(x, *self._axes)


@dataclass(frozen=True)
class LatencyGraph(_Graph):
    """Utility over the seconds between a tuple's arrival and its result."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.points[0][0] < 0:
            raise InputError("a latency is 0 s or more", self.points[0][0], "Let the graph begin at 0.")
        for (_, before), (x, after) in pairwise(self.points):
            if after > before:
                rule = "utility never rises with latency"
                raise InputError(
                    rule, f"{before:g} and then {after:g} at {x:g} s", "Let a late result be worth less."
                )
        _refuse_below_zero(self.points[-1][1])

    @classmethod
    def until(cls, d1: float, d2: float | None = None) -> "LatencyGraph":
        """Worth 1 until d1, and nothing from d2 on; without d2 it falls at once."""
        return cls(((0.0, 1.0), (d1, 1.0), (d1 + DROP if d2 is None else d2, 0.0)))

    @cached_property
    def critical(self) -> tuple[float, ...]:
        """The critical points: the latencies after 0 at which the slope changes."""
        return tuple(x for x, _ in self.points if x > 0)

    @cached_property
    def slopes(self) -> tuple[float, ...]:
        """The slope on the way to each critical point."""
        level = (0.0,) if self.points[0][0] > 0 else ()
        # Differences of decimal fractions are exact to about ten digits; more would tell equal slopes apart.
        return level + tuple(float(f"{(u - v) / (y - x):.9g}") for (x, u), (y, v) in pairwise(self.points))

    @property
    def deadline(self) -> float:
        """The first critical point; infinite if there is none."""
        return self.critical[0] if self.critical else math.inf

    @property
    def best(self) -> float:
        """The utility of a result that takes no time."""
        return self.points[0][1]

    def times(self, k: float) -> "LatencyGraph":
        """The graph of k results, each of which is worth as much as this says; or of a part of one."""
        return self if k == 1 else LatencyGraph(tuple((x, k * u) for x, u in self.points))

    def slope(self, latency: float) -> float:
        """How much utility a second takes away."""
        i = bisect_left(self.critical, latency)
        return self.slopes[i] if i < len(self.slopes) else 0.0

    def slack(self, latency: float) -> float:
        """Seconds to the next critical point; infinite past the last."""
        i = bisect_left(self.critical, latency)
        return self.critical[i] - latency if i < len(self.critical) else math.inf


def _refuse_below_zero(least: float) -> None:
    if least < 0:
        raise InputError("a result is worth 0 or more", f"{least:g}", "Let what nobody wants be worth 0.")


INDIFFERENT = LatencyGraph(((0.0, 0.0),))
"""The graph of what nobody waits for: slope 0 and no critical point."""


@dataclass(frozen=True)
class LossGraph(_Graph):
    """Utility over the fraction of results that is delivered, from 0 to 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.points[0][0] < 0 or self.points[-1][0] > 1:
            got = f"{self.points[0][0]:g} to {self.points[-1][0]:g}"
            raise InputError("a delivered fraction is from 0 to 1", got, "Give 0.9 for nine results of ten.")
        for (_, before), (x, after) in pairwise(self.points):
            if after < before:
                rule = "utility never falls with the fraction delivered"
                raise InputError(rule, f"{before:g} and then {after:g} at {x:g}", "Let more results be worth more.")
        _refuse_below_zero(self.points[0][1])


@dataclass(frozen=True)
class ValueGraph(_Graph):
    """Utility over the value of a result, of any shape."""


def gathered(graphs: Iterable[LatencyGraph]) -> tuple[LatencyGraph, ...]:
    """The same in all, with no two alike: several that are alike become one that counts as often."""
    return tuple(graph.times(k) for graph, k in Counter(graphs).items())


def combined(graphs: Iterable[LatencyGraph]) -> LatencyGraph:
    """The graph of results that several queries wait for: utilities add up.

    So its slope is the sum of theirs, and its slack the least.
    """
    different = gathered(graphs)
    if not different:
        return INDIFFERENT
    if len(different) == 1:
        return different[0]
    at = sorted({x for graph in different for x, _ in graph.points})
    return LatencyGraph(tuple((x, sum(graph.utility(x) for graph in different)) for x in at))
