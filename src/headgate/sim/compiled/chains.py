"""Queries as arrays: chains of operators over one stream, whose queues are positions in one array of arrivals."""

from collections.abc import Sequence
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from headgate.model.network import Network
from headgate.model.operator import Kind
from headgate.model.parameters import ideal_time
from headgate.model.unit import Unit
from headgate.sim.draws import uniform
from headgate.sim.metrics import Floats, Ints

PLAIN = {Kind.SELECT, Kind.PROJECT, Kind.MAP, Kind.JOIN, Kind.OUTPUT}


class Chains(NamedTuple):
    """The operators of query q at start[q] … start[q + 1] − 1: cost of one tuple, selectivity, number; and T."""

    start: Ints
    cost: Floats
    passes: Floats
    operator: Ints
    T: Floats


class Members(NamedTuple):
    """Queries in groups: query[start[k]] … query[start[k + 1] − 1] have the same static priority phi[k]."""

    start: Ints
    query: Ints
    phi: Floats


def members(groups: Sequence[Sequence[int]], phi: Sequence[float]) -> Members:
    """The arrays of groups with a static priority each."""
    return Members(
        np.cumsum([0, *(len(group) for group in groups)]),
        np.array([q for group in groups for q in group], np.int64),
        np.array(phi),
    )


class Feed(NamedTuple):
    """Arrival times, the number of the first one, whether they are the last, and the seed of the draws."""

    A: Floats
    base: int
    final: bool
    seed: np.uint64


NOW, BUSY, OVERHEAD = range(3)
ARRIVED, POINTER, JOBS, DECISIONS, READS = range(5)


class State(NamedTuple):
    """What a kernel keeps between two feeds: each queue's position, what is under way, times and counts by name."""

    head: Ints
    progress: Ints
    times: Floats
    counts: Ints
    left: Floats


def state(queues: int) -> State:
    """The state before the first tuple."""
    counts = np.zeros(5, np.int64)
    counts[POINTER] = -1
    return State(np.zeros(queues, np.int64), np.zeros(queues, np.int64), np.zeros(3), counts, np.zeros(2))


class Log(NamedTuple):
    """Departures in the order in which they happened, where somebody asked for them; else arrays of length 0."""

    query: Ints
    item: NDArray[np.uint64]
    time: Floats
    used: Ints


def log(size: int = 0) -> Log:
    """Room for `size` departures."""
    return Log(np.zeros(size, np.int64), np.zeros(size, np.uint64), np.zeros(size, np.float64), np.zeros(1, np.int64))


def is_chains(network: Network) -> bool:
    """Whether every query is a chain of its own over the one stream, with draws that say yes or no."""
    if len(network.streams) != 1 or network.by_name[network.streams[0]].cost.of(1) > 0:
        return False
    own = all(len(network.readers[op.name]) == 1 for op in network.operators if op.kind is not Kind.SOURCE)
    inner = [op for op in network.operators if op.kind is not Kind.SOURCE]
    return own and all(op.kind in PLAIN and len(op.inputs) == 1 and op.selectivity <= 1 for op in inner)


def chains(network: Network, units: Sequence[Unit]) -> Chains:
    """The arrays of a network of chains, in the order of its query-level units, which is that of its queries."""
    start, names = [0], list[str]()
    for unit in units:
        names.extend(unit.members)
        start.append(len(names))
    ops = [network.by_name[name] for name in names]
    queries = {q.name: q for q in network.queries}
    return Chains(
        np.array(start, np.int64),
        np.array([op.cost.of(1) for op in ops]),
        np.array([op.selectivity for op in ops]),
        np.array([network.ids[name] for name in names], np.int64),
        np.array([ideal_time(network, queries[unit.segments[0].query]) for unit in units]),
    )


@nb.njit(inline="always", cache=True)
def serve(
    start: Ints, cost: Floats, passes: Floats, operator: Ints, q: int, item: np.uint64, elapsed: float
) -> tuple[float, bool]:
    """Run a tuple, given by its key, through a query: the time elapsed then, and whether a result came out.

    Compiled code takes arrays out of their tuple once, before its loop: each time costs as much as an operator.
    """
    for j in range(start[q], start[q + 1]):
        elapsed += cost[j]
        if passes[j] < 1 and uniform(item, np.uint64(operator[j])) >= passes[j]:
            return elapsed, False
    return elapsed, True


@nb.njit(inline="always", cache=True)
def depart(lg: Log, query: int, item: int | np.uint64, time: float) -> None:
    """Write a departure down if there is room for it."""
    if lg.used[0] < len(lg.query):
        lg.query[lg.used[0]] = query
        lg.item[lg.used[0]] = item
        lg.time[lg.used[0]] = time
        lg.used[0] += 1
