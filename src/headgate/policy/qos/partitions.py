"""Partitions of slope and slack into cells, and for each QoS graph the cell of every latency, known beforehand.

With g ranges of slope and s of slack, cells are numbered in the order in which they are served: row by row, the
steepest slopes first, and in a row the least slack first. Past the last critical point is one cell more, the last.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from headgate.model.qos import LatencyGraph

Widths = Literal["equal", "quantile"]
_SAMPLES = 100
"""Of the slack before each critical point, for its quantiles."""


@dataclass(frozen=True, slots=True)
class Partition:
    """The inner bounds of the ranges; a bound belongs to the range above it."""

    slopes: tuple[float, ...]
    slacks: tuple[float, ...]

    @classmethod
    def of(cls, graphs: Sequence[LatencyGraph], parts: int, widths: Widths = "equal") -> "Partition":
        """So many ranges of the slopes and deadlines that graphs have: of equal width, or equally often met."""
        slopes = [slope for graph in graphs for slope in graph.slopes]
        if widths == "equal":
            deadlines = [graph.deadline for graph in graphs if graph.critical]
            return cls(_equal(max(slopes, default=0.0), parts), _equal(max(deadlines, default=0.0), parts))
        spans = [b - a for graph in graphs for a, b in pairwise((0.0, *graph.critical))]
        slacks = [span * (k + 0.5) / _SAMPLES for span in spans for k in range(_SAMPLES)]
        return cls(_quantiles(slopes, parts), _quantiles(slacks, parts))

    @property
    def cells(self) -> int:
        """All cells, the last included."""
        return (len(self.slopes) + 1) * self.columns + 1

    @property
    def columns(self) -> int:
        """Cells of a row."""
        return len(self.slacks) + 1

    def cell(self, slope: float, slack: float) -> int:
        """The cell of a slope and a slack."""
        if slack == math.inf:
            return self.cells - 1
        row = len(self.slopes) - bisect_right(self.slopes, slope)
        return row * self.columns + bisect_right(self.slacks, slack)


@dataclass(frozen=True, slots=True)
class Table:
    """The cells of a graph: `cells[k]` up to and with the latency `ends[k]`, and the last cell beyond."""

    ends: tuple[float, ...]
    cells: tuple[int, ...]
    last: int

    @classmethod
    def of(cls, graph: LatencyGraph, partition: Partition) -> "Table":
        """A new cell begins where the slope changes, and where slack falls below a bound."""
        ends: list[float] = []
        cells: list[int] = []
        before = 0.0
        for end, slope in zip(graph.critical, graph.slopes, strict=True):
            # Slack is a bound at the end of its cell, except in the last, which ends at the critical point.
            bounds = [bound for bound in reversed(partition.slacks) if end - bound >= before]
            ends += [*(end - bound for bound in bounds), end]
            cells += [partition.cell(slope, bound) for bound in (*bounds, 0.0)]
            before = end
        return cls(tuple(ends), tuple(cells), partition.cells - 1)

    def look(self, latency: float) -> tuple[int, float]:
        """The cell of a latency, and up to which latency it lasts."""
        k = bisect_left(self.ends, latency)
        return (self.cells[k], self.ends[k]) if k < len(self.ends) else (self.last, math.inf)


def _equal(most: float, parts: int) -> tuple[float, ...]:
    return tuple(most * k / parts for k in range(1, parts)) if most else ()


def _quantiles(values: Sequence[float], parts: int) -> tuple[float, ...]:
    if not values:
        return ()
    bounds = np.quantile(values, [k / parts for k in range(1, parts)], method="higher").tolist()
    return tuple(dict.fromkeys(bound for bound in bounds if bound > 0))
