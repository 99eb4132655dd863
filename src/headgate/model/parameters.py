"""S, C, T and load: what a segment of a query yields and costs. Computed here and nowhere else.

For the path x, x+1, …, r from an operator to the root of its query, with costs c and selectivities s:

    S = Π s_j                                    expected results per tuple that enters x
    C = c_x + s_x·c_{x+1} + s_x·s_{x+1}·c_{x+2} …  expected time the server spends on it (C̄ in the literature)
    T = Σ c over the whole query                  time that an emitted tuple needs when it is alone

C contains selectivities and T never does; they agree only where every selectivity is 1. A window join enters a
path with the expected number of matches of one tuple, S_J · window · rate of the other side.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import mul
from typing import NamedTuple

from headgate.errors import InputError
from headgate.model.network import Network, Port, Query
from headgate.model.operator import FREE, Kind


class Stage(NamedTuple):
    """One operator as a tuple on a path meets it: time c per tuple, s tuples passed on per tuple."""

    c: float
    s: float


def selectivity(path: Iterable[Stage]) -> float:
    """S, by `S_x = s_x · S_{x+1}`."""
    return math.prod(stage.s for stage in path)


def expected_cost(path: Sequence[Stage]) -> float:
    """C, by `C_x = c_x + s_x · C_{x+1}`."""
    total = 0.0
    for stage in reversed(path):
        total = stage.c + stage.s * total
    return total


def output_cost(path: Sequence[Stage]) -> float:
    """Aurora's Min-Latency cost of a result, `Σ c_d / S_d` over the path; equal to C/S."""
    total, S = 0.0, 1.0
    for stage in reversed(path):
        S *= stage.s
        total += stage.c / S
    return total


def envelope(path: Sequence[Stage]) -> tuple[float, ...]:
    """Chain's priority of each operator: the slope of the progress chart's steepest lower envelope.

    The chart runs from (0, 1) through (expected time spent, share of the tuple left); at the root the result
    leaves the system, so nothing is left there.
    """
    left = [1.0, *accumulate((stage.s for stage in path), mul)]
    spent = [0.0, *accumulate(stage.c * share for stage, share in zip(path, left, strict=False))]
    left[-1] = 0.0
    slopes: list[float] = []
    i = 0
    while i < len(path):
        slope, j = max(
            (((left[i] - left[j]) / (spent[j] - spent[i]) if spent[j] > spent[i] else math.inf), j)
            for j in range(i + 1, len(left))
        )
        slopes.extend([slope] * (j - i))
        i = j
    return tuple(slopes)


@dataclass(frozen=True)
class Segment:
    """What is left of one query from one operator to its root: the path, and the ideal time T of the query.

    `before` is the way from a leaf to the segment, which Chain looks at.
    """

    query: str
    path: tuple[Stage, ...]
    T: float
    before: tuple[Stage, ...] = ()

    @cached_property
    def S(self) -> float:
        """Expected results per tuple that enters the segment."""
        return selectivity(self.path)

    @cached_property
    def C(self) -> float:
        """Expected time spent on a tuple that enters the segment."""
        return expected_cost(self.path)

    @cached_property
    def output_cost(self) -> float:
        """Min-Latency's cost of one result."""
        return output_cost(self.path)

    @cached_property
    def slope(self) -> float:
        """Chain's slope at the first operator of the segment."""
        return envelope((*self.before, *self.path))[len(self.before)]

    def after(self, stage: Stage) -> "Segment":
        """The segment seen from an operator that feeds it."""
        return Segment(self.query, (stage, *self.path), self.T, self.before[:-1])


def rates(network: Network, streams: Mapping[str, float]) -> dict[str, float]:
    """Tuples per second that leave each operator, given those of the streams."""
    out: dict[str, float] = {}
    for name in network.order:
        op = network.by_name[name]
        if op.kind is Kind.SOURCE:
            if name not in streams:
                raise InputError(f"stream '{name}': every stream has a rate", "none", "Give its arrivals.")
            out[name] = streams[name]
        elif op.kind is Kind.WINDOW_JOIN:
            left, right = (out[i] for i in op.inputs)
            out[name] = 2 * op.selectivity * (op.window or 0.0) * left * right
        else:
            out[name] = op.selectivity * sum(out[i] for i in op.inputs)
    return out


def load(network: Network, streams: Mapping[str, float]) -> float:
    """Expected seconds of work per second, the cost of a shared operator counted once."""
    out = rates(network, streams)
    total = 0.0
    for op in network.operators:
        if network.readers[op.name]:
            total += op.cost.b * (sum(out[i] for i in op.inputs) if op.inputs else out[op.name])
    return total


def load_coefficients(network: Network, streams: Mapping[str, float]) -> dict[str, float]:
    """Expected work that one tuple of each stream brings, the cost of a shared operator counted once."""
    out = rates(network, streams)
    work: dict[Port, float] = {}
    for name in reversed(network.order):
        op = network.by_name[name]
        downstream = sum(work[port] for port in network.consumers[name] if network.readers[port[0]])
        for port in range(max(1, len(op.inputs))):
            work[name, port] = op.cost.b + stage(network, out, (name, port)).s * downstream
    return {name: work[name, 0] if network.readers[name] else 0.0 for name in network.streams}


def stage(network: Network, out: Mapping[str, float], port: Port) -> Stage:
    """An operator as a tuple that enters by the port meets it, given the operators' output rates."""
    name, number = port
    op = network.by_name[name]
    if op.kind is Kind.WINDOW_JOIN:
        return Stage(op.cost.b, op.selectivity * (op.window or 0.0) * out[op.inputs[1 - number]])
    return Stage(op.cost.b, op.selectivity)


def ideal_time(network: Network, query: Query) -> float:
    """T: the time of one result alone in the system. Both partners of a match go through their join."""

    def of(name: str) -> float:
        op = network.by_name[name]
        visits = len(op.inputs) if op.kind is Kind.WINDOW_JOIN else 1
        fed = [of(i) for i in op.inputs]
        return visits * op.cost.of(1) + (max(fed, default=0.0) if op.kind in (Kind.UNION, Kind.JOIN) else sum(fed))

    return of(query.output)


def segment(network: Network, out: Mapping[str, float], query: Query, start: Port) -> Segment:
    """The segment of a query that begins where a tuple enters an operator by the given input."""
    tree = network.members[query.name]
    path = [stage(network, out, start)]
    name = start[0]
    while name != query.output:
        port = next(port for port in network.consumers[name] if port[0] in tree)
        path.append(stage(network, out, port))
        name = port[0]
    return Segment(query.name, tuple(path), ideal_time(network, query), _before(network, out, start))


def _before(network: Network, out: Mapping[str, float], port: Port) -> tuple[Stage, ...]:
    """The stages from a leaf to a port; behind a join those of its left side."""
    name = network.by_name[port[0]].inputs[port[1]] if network.by_name[port[0]].inputs else None
    if name is None or (network.by_name[name].cost == FREE and network.by_name[name].kind is Kind.SOURCE):
        return ()
    return (*_before(network, out, (name, 0)), stage(network, out, (name, 0)))
