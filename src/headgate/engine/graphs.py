"""QoS graphs as a user gives them, whole or by their points; and the graph that a delay target stands for."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from headgate.engine.spans import seconds
from headgate.errors import InputError
from headgate.model.qos import LatencyGraph, LossGraph

Latencies = LatencyGraph | Sequence[tuple[str | float, float]]
"""What results are worth by how long they take; points are a time and a utility."""

Losses = LossGraph | Sequence[tuple[float, float]]
"""What they are worth by the share of the tuples that was kept for them; points are a share and a utility."""

_GONE = 2.0
"""So many delay targets after its tuple, a result is worth nothing, unless a graph says other."""


def latency_graph(given: Latencies) -> LatencyGraph:
    """The graph that is given, or drawn through the points that are."""
    if isinstance(given, LatencyGraph):
        return given
    points = _pairs(given, "qos=[(0, 1), ('500ms', 1), ('2s', 0)]")
    return LatencyGraph(tuple((seconds(x, "a latency of a QoS graph"), u) for x, u in points))


def loss_graph(given: Losses) -> LossGraph:
    """The graph that is given, or drawn through the points that are."""
    return given if isinstance(given, LossGraph) else LossGraph(tuple(_pairs(given, "loss=[(0, 0), (1, 1)]")))


def of_target(delay_target: float) -> LatencyGraph | None:
    """Results are worth all up to the delay target, and nothing from twice of it on. None without a target."""
    return LatencyGraph.until(delay_target, _GONE * delay_target) if math.isfinite(delay_target) else None


def counted(graphs: Iterable[LatencyGraph | None]) -> Counter[LatencyGraph]:
    """How many there are of each. Most queries have one and the same object: comparing graphs takes its time."""
    given = [graph for graph in graphs if graph is not None]
    objects, found = {id(graph): graph for graph in given}, Counter[LatencyGraph]()
    for i, times in Counter(map(id, given)).items():
        found[objects[i]] += times
    return found


def fewer(graphs: Mapping[LatencyGraph, int], most: int) -> tuple[LatencyGraph, ...]:
    """At most so many graphs that stand for all, each for as many as are there; first critical points come first.

    Where there are more, those next to each other go together, under the one that falls first.
    """
    order = sorted(graphs, key=lambda graph: graph.critical)
    bounds = [len(order) * k // most for k in range(most + 1)] if len(order) > most else range(len(order) + 1)
    groups = [order[i:j] for i, j in pairwise(bounds)]
    return tuple(group[0].times(sum(graphs[graph] for graph in group)) for group in groups)


def _pairs(given: object, such_as: str) -> list[tuple[Any, float]]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError("a QoS graph is a list of points", given, f"Write it like {such_as}.")
    for point in given:
        if not (isinstance(point, Sequence) and len(point) == 2 and isinstance(point[1], int | float)):
            raise InputError("a point of a QoS graph is a pair that ends in a utility", point, f"Write {such_as}.")
    return [(x, float(u)) for x, u in given]
