"""Partitions of slope and slack into cells, and for each QoS graph the cell of every latency, known beforehand.

With g ranges of slope and s of slack, cells are numbered in the order in which they are served: row by row, the
steepest slopes first, and in a row the least slack first. Past the last critical point is one cell more, the last.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from headgate.model.qos import LatencyGraph


@dataclass(frozen=True, slots=True)
class Partition:
    """The inner bounds of the ranges; a bound belongs to the range above it."""

    slopes: tuple[float, ...]
    slacks: tuple[float, ...]

    @classmethod
    def of(cls, graphs: Sequence[LatencyGraph], parts: int) -> "Partition":
        """So many ranges of equal width, of the slopes and of the deadlines that graphs have."""
        slopes = [slope for graph in graphs for slope in graph.slopes]
        deadlines = [graph.deadline for graph in graphs if graph.critical]
        return cls(_equal(max(slopes, default=0.0), parts), _equal(max(deadlines, default=0.0), parts))

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

    def look(self, latency: float) -> tuple[int, float, float]:
        """The cell of a latency, beyond which latency it begins, and up to and with which it lasts."""
        k = bisect_left(self.ends, latency)
        low = self.ends[k - 1] if k else -math.inf
        return (self.cells[k], low, self.ends[k]) if k < len(self.ends) else (self.last, low, math.inf)


def _equal(most: float, parts: int) -> tuple[float, ...]:
    return tuple(most * k / parts for k in range(1, parts)) if most else ()
