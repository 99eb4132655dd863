"""Where to shed: the load-shedding road map, a table from load saved to the cheapest plan that saves it.

Tuples may go at each input stream and on each branch just after a split. Dropping the part x at a point of rate R,
whose tuples cost Lc from there on and Dc to decide about, saves `R·(x·Lc − Dc)` seconds of work per second, and costs
quality of data: as much as the queries behind the point lose together. The steps of all points are taken in the order
of the quality lost per second of work saved, and each step makes a row of the table.

A load manager says how much is to go, and knows nothing of places. If the part d of everything is to go, `spread` has
as much load go where it costs the least.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from math import prod
from typing import Literal

from headgate.errors import InputError
from headgate.model.qos import LossGraph

Placement = Literal["even", "lsrm", "unshared"]
"""Whether the same part goes everywhere, or what costs the least quality for the load that it saves, or first what no
other class shares."""
STEPS = 10
"""Those of a table that is made anew in each control period."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where tuples may be dropped: its rate, what a tuple costs from there on, and what the decision costs.

    `queries` lose what is dropped here. A branch is `under` the point that feeds it, if that is one too.
    """

    name: str
    rate: float
    coefficient: float
    queries: tuple[str, ...]
    decision: float = 0.0
    under: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """The load that a plan saves, the quality that it costs, and the part that is dropped at each point."""

    saved: float
    lost: float
    plan: Mapping[str, float]


class RoadMap:
    """The table for some points. `slopes` gives the quality that a query loses per part dropped, step by step.

    All queries have the same number of equal steps, and the first parts cost the least: slopes never fall.
    """

    def __init__(self, points: Sequence[Point], slopes: Mapping[str, Sequence[float]]) -> None:
        self._points = {point.name: point for point in points}
        self._before = {query: [p.name for p in points if query in p.queries] for query in slopes}
        if len({len(each) for each in slopes.values()}) != 1:
            raise InputError("road map: as many steps for each query", dict(slopes), "Give slopes of one length.")
        for query, each in slopes.items():
            if any(later < earlier for earlier, later in pairwise(each)):
                raise InputError(f"road map: slopes of '{query}' never fall", list(each), "Give the least first.")
        steps = len(next(iter(slopes.values())))
        self.rows = tuple(self._rows(slopes, steps))

    def row(self, excess: float) -> Row:
        """The first row that saves as much as the excess, or else the one that saves the most."""
        found = bisect_left(self.rows, excess, key=lambda row: row.saved)
        return self.rows[min(found, len(self.rows) - 1)]

    def plan(self, excess: float) -> Mapping[str, float]:
        """What saves the excess and no more: of the step that would save too much, a part is taken."""
        found = bisect_left(self.rows, excess, key=lambda row: row.saved)
        if found in (0, len(self.rows)):
            return self.row(excess).plan
        less, more = self.rows[found - 1], self.rows[found]
        part = (excess - less.saved) / (more.saved - less.saved)
        return {name: (1 - part) * less.plan.get(name, 0.0) + part * x for name, x in more.plan.items()}

    def _rows(self, slopes: Mapping[str, Sequence[float]], steps: int) -> Sequence[Row]:
        moves = sorted(
            (sum(slopes[query][k] for query in point.queries) / (point.rate * point.coefficient), k, point.name)
            for point in self._points.values()
            if point.rate * point.coefficient > 0
            for k in range(steps)
        )
        plans = accumulate((name for _, _, name in moves), _further, initial=dict[str, int]())
        rows: list[Row] = []
        for plan in plans:
            parts = {name: k / steps for name, k in plan.items()}
            saved = self._saved(parts)
            # A first step may cost more in decisions than it saves; such a plan is only a way to the next.
            if not rows or saved > rows[-1].saved:
                rows.append(Row(saved, self._lost(slopes, parts), parts))
        return rows

    def _saved(self, parts: Mapping[str, float]) -> float:
        points = (self._points[name] for name in parts)
        return sum(
            (p.rate * self._left(p, parts) * (parts[p.name] * p.coefficient - p.decision) for p in points), 0.0
        )

    def _left(self, point: Point, parts: Mapping[str, float]) -> float:
        """The part of a point's tuples that the points above it leave."""
        if point.under is None:
            return 1.0
        return self._left(self._points[point.under], parts) * (1 - parts.get(point.under, 0.0))

    def _lost(self, slopes: Mapping[str, Sequence[float]], parts: Mapping[str, float]) -> float:
        """The quality that the queries lose together: a query keeps what all its points leave."""
        lost = 0.0
        for query, each in slopes.items():
            kept = prod(1 - parts.get(name, 0.0) for name in self._before[query])
            steps = (1 - kept) * len(each)
            lost += sum(slope * min(1.0, max(0.0, steps - k)) for k, slope in enumerate(each)) / len(each)
        return lost


def spread(points: Sequence[Point], slopes: Mapping[str, Sequence[float]], drop: float) -> Mapping[str, float]:
    """The part to drop at each point so that as much load goes as if the part `drop` of all tuples did."""
    load = sum(point.rate * point.coefficient for point in points if point.under is None)
    return RoadMap(points, slopes).plan(drop * load) if drop and load else {}


@cache
def slopes(graph: LossGraph | None) -> tuple[float, ...]:
    """What a query loses per part dropped, in `STEPS` steps: by its loss graph, or without one the same in all.

    Slopes must not fall. Where those of a graph do, as behind a cliff, the steps before are only the way to what
    follows: they are taken together, each with the mean of all.
    """
    if graph is None:
        return (1.0,) * STEPS
    pooled: list[tuple[float, int]] = []
    for k in range(STEPS):
        total, n = STEPS * (graph.utility(1 - k / STEPS) - graph.utility(1 - (k + 1) / STEPS)), 1
        while pooled and pooled[-1][0] * n > total * pooled[-1][1]:
            before, of = pooled.pop()
            total, n = total + before, n + of
        pooled.append((total, n))
    return tuple(accumulate((total / n for total, n in pooled for _ in range(n)), max))


def _further(plan: Mapping[str, int], name: str) -> dict[str, int]:
    return {**plan, name: plan.get(name, 0) + 1}
