"""QoS graphs as a user gives them, whole or by their points; and the graph that a delay target stands for."""

import math
from collections.abc import Iterable, Sequence
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


def distinct(graphs: Iterable[LatencyGraph | None]) -> frozenset[LatencyGraph]:
    """The different ones. Most queries have one and the same object: comparing graphs takes its time."""
    return frozenset({id(graph): graph for graph in graphs if graph is not None}.values())


def _pairs(given: object, such_as: str) -> list[tuple[Any, float]]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError("a QoS graph is a list of points", given, f"Write it like {such_as}.")
    for point in given:
        if not (isinstance(point, Sequence) and len(point) == 2 and isinstance(point[1], int | float)):
            raise InputError("a point of a QoS graph is a pair that ends in a utility", point, f"Write {such_as}.")
    return [(x, float(u)) for x, u in given]
