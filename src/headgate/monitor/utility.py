"""Average QoS: what results were worth to their users, by the QoS graphs of their queries.

    of a query   mean utility of its results
    average      mean of that over the queries, so that a busy one counts no more than another
    per tuple    mean over all results, of whichever query
    recent       the same over the last full block of 1000 results

A result that comes after the first critical point has missed its deadline. What is kept does not grow with results.
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.model.qos import LatencyGraph, combined

BLOCK = 1000
"""Results of a block."""
_KEPT = 1000
"""Blocks of which figures are kept, the last ones."""


@dataclass
class Worth:
    """What results were worth under one graph: how many there were, their utility, and how many came too late."""

    graph: LatencyGraph
    results: int = 0
    total: float = 0.0
    missed: int = 0
    recent: float = math.nan
    _block: float = field(default=0.0, init=False)

    def add(self, latencies: NDArray[np.float64]) -> float:
        """Take results by how late they were; their utility in all."""
        utilities = self.graph.utilities(latencies)
        self.missed += int((latencies > self.graph.deadline).sum())
        done = 0
        while done < len(utilities):
            part = utilities[done : done + BLOCK - self.results % BLOCK]
            done += len(part)
            self.results += len(part)
            self._block += float(part.sum())
            if self.results % BLOCK == 0:
                self.recent, self._block = self._block / BLOCK, 0.0
        worth = float(utilities.sum())
        self.total += worth
        return worth

    @property
    def mean(self) -> float:
        """The utility of a result, on average; not a number while there is none."""
        return self.total / self.results if self.results else math.nan


class Block(NamedTuple):
    """How things stood after so many results: average QoS since the start, and per tuple over the last block."""

    results: int
    running: float
    recent: float


@dataclass
class AverageQos:
    """The utility of the results of queries that have a graph."""

    queries: dict[str, Worth] = field(default_factory=dict)
    blocks: deque[Block] = field(default_factory=lambda: deque(maxlen=_KEPT), init=False)
    _results: int = field(default=0, init=False)
    _block: float = field(default=0.0, init=False)

    @classmethod
    def of(cls, graphs: Mapping[str, LatencyGraph]) -> "AverageQos":
        """For queries by their graphs."""
        return cls({name: Worth(graph) for name, graph in graphs.items()})

    def add(self, query: str, latencies: NDArray[np.float64]) -> None:
        """Take results of a query by how late they were. What has no graph has no worth, and is passed over."""
        if query not in self.queries:
            return
        while len(latencies):
            part, latencies = np.split(latencies, [BLOCK - self._results % BLOCK])
            self._block += self.queries[query].add(part)
            self._results += len(part)
            if self._results % BLOCK == 0:
                self.blocks.append(Block(self._results, self.average, self._block / BLOCK))
                self._block = 0.0

    @property
    def average(self) -> float:
        """The mean over queries that had results; not a number while none had."""
        means = [worth.mean for worth in self.queries.values() if worth.results]
        return sum(means) / len(means) if means else math.nan

    @property
    def per_tuple(self) -> float:
        """The mean over all results."""
        results = sum(worth.results for worth in self.queries.values())
        return sum(worth.total for worth in self.queries.values()) / results if results else math.nan

    @property
    def recent(self) -> float:
        """The mean over the last full block; not a number before the first."""
        return self.blocks[-1].recent if self.blocks else math.nan

    @property
    def missed(self) -> int:
        """Results that came after the first critical point of their graph."""
        return sum(worth.missed for worth in self.queries.values())


@dataclass(slots=True)
class Shared:
    """What the results of a unit were worth to its queries, so many of which are `valued`: by the `graph` of all.

    Whose a result was is not known: each query is taken to have an equal part of them, as late as all are.
    """

    queries: tuple[str, ...]
    valued: int
    graph: LatencyGraph
    results: float = 0.0
    total: float = 0.0

    @classmethod
    def of(cls, queries: tuple[str, ...], valued: int | None, graphs: Iterable[LatencyGraph]) -> "Shared | None":
        """By graphs for as many queries as are valued; None if that is not known, or none is."""
        return cls(queries, valued, combined(graphs)) if valued else None

    def add(self, latencies: NDArray[np.float64], many: NDArray[np.float64]) -> None:
        """Take results by how late they were, and how many were that late."""
        self.results += float(many.sum())
        self.total += float(self.graph.utilities(latencies) @ many) / self.valued


def average(units: Iterable[Shared]) -> float:
    """The mean over queries that had results; not a number while none had.

    Of a query that was in several units, one after the other, all results count.
    """
    found: dict[str, tuple[float, float, float]] = {}
    for unit in units:
        parts = len(unit.queries)
        for name in unit.queries if unit.results else ():
            _, results, total = found.get(name, (0.0, 0.0, 0.0))
            found[name] = unit.valued / parts, results + unit.results / parts, total + unit.total / parts
    queries = sum(weight for weight, _, _ in found.values())
    return sum(weight * total / results for weight, results, total in found.values()) / queries if found else math.nan
