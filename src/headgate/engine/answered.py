"""Results that went out, and how late: what queries, their classes and their QoS graphs are told of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.engine.query import Floats, LiveQuery
from headgate.model.qos import LatencyGraph
from headgate.monitor.figures import Response
from headgate.monitor.responses import magnitudes


@dataclass(frozen=True, slots=True)
class Answered:
    """The response times of results that went out, those of a query one after the other: so many of each."""

    queries: Sequence[LiveQuery]
    counts: NDArray[np.int64]
    times: Floats

    @classmethod
    def of(cls, query: LiveQuery, times: Floats) -> "Answered":
        """Those of one query."""
        return cls((query,), np.array([times.size]), times)

    @classmethod
    def together(cls, some: Sequence["Answered"]) -> "Answered":
        """Those of several, which need not be of different queries."""
        queries = [query for each in some for query in each.queries]
        counts, times = (np.concatenate([getattr(each, name) for each in some]) for name in ("counts", "times"))
        return cls(queries, counts, times)

    def by_class(self) -> dict[str, Floats]:
        """The response times of each class."""
        of = np.repeat([query.cls for query in self.queries], self.counts)
        return {str(cls): self.times[of == cls] for cls in np.unique(of)}

    def valued(self) -> Iterator[tuple[LiveQuery, LatencyGraph, Floats]]:
        """The response times of each query that has a QoS graph."""
        end = 0
        for query, count in zip(self.queries, self.counts.tolist(), strict=True):
            end += count
            if query.qos:
                yield query, query.qos, self.times[end - count : end]

    def note(self) -> None:
        """Let each query take note of its own."""
        ends = np.cumsum(self.counts)
        starts = ends - self.counts
        sums = np.add.reduceat(self.times, starts).tolist()
        longest = np.maximum.reduceat(self.times, starts).tolist()
        squares = np.add.reduceat(self.times**2, starts).tolist()
        classes = magnitudes(self.times).tolist()
        for query, count, first, end, *found in zip(
            self.queries, self.counts.tolist(), starts.tolist(), ends.tolist(), sums, longest, squares, strict=True
        ):
            response = Response(*found)
            query.responses.take(response.total, response.longest, classes[first:end])
            query.served.answer(count, response)
