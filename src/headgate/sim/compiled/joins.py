"""Two-stream join queries: select on each side, a symmetric window join, and a project over the matches.

A query has two queues, one a side. Tuples of a side are processed in the order of arrival, so the hash table of a
side is the part of its stream before the queue's head, less what its select dropped: nothing has to be stored.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numba as nb
import numpy as np

from headgate.model.network import Network
from headgate.model.operator import Kind
from headgate.model.unit import Unit
from headgate.sim.draws import identity, key, pair, uniform
from headgate.sim.metrics import Floats, Ints, Tally, record

SECOND_STREAM = int(identity(1, 0))


class Joins(NamedTuple):
    """Queries as arrays. Index [q, 0] is the left side and [q, 1] the right one."""

    cost: Floats
    passes: Floats
    select: Ints
    join_cost: Floats
    match: Floats
    window: Floats
    join: Ints
    top_cost: Floats
    T: Floats


def is_joins(network: Network) -> bool:
    """Whether every query is two selects of its own on two streams, a window join and a project."""
    if len(network.streams) != 2 or any(network.by_name[name].cost.of(1) > 0 for name in network.streams):
        return False
    if any(len(network.readers[op.name]) != 1 for op in network.operators if op.inputs):
        return False
    for query in network.queries:
        top = network.by_name[query.output]
        join = network.by_name[top.inputs[0]]
        if top.kind not in {Kind.PROJECT, Kind.OUTPUT} or join.kind is not Kind.WINDOW_JOIN:
            return False
        sides = [network.by_name[name] for name in join.inputs]
        if [side.inputs for side in sides] != [(name,) for name in network.streams]:
            return False
        if any(side.kind is not Kind.SELECT for side in sides):
            return False
    return True


def joins(network: Network, units: Sequence[Unit]) -> tuple[Joins, Ints]:
    """The arrays of a network of such queries, and each unit's place: query · 2 + side."""
    rows, place = [], {}
    for q, query in enumerate(network.queries):
        top = network.by_name[query.output]
        join = network.by_name[top.inputs[0]]
        sides = [network.by_name[name] for name in join.inputs]
        rows.append((sides, join, top))
        place.update({side.name: 2 * q + port for port, side in enumerate(sides)})
    T = {s.query: s.T for unit in units for s in unit.segments}
    arrays = Joins(
        np.array([[s.cost.of(1) for s in sides] for sides, _, _ in rows]),
        np.array([[s.selectivity for s in sides] for sides, _, _ in rows]),
        np.array([[network.ids[s.name] for s in sides] for sides, _, _ in rows]),
        np.array([join.cost.of(1) for _, join, _ in rows]),
        np.array([join.selectivity for _, join, _ in rows]),
        np.array([join.window for _, join, _ in rows], np.float64),
        np.array([network.ids[join.name] for _, join, _ in rows]),
        np.array([top.cost.of(1) for _, _, top in rows]),
        np.array([T[q.name] for q in network.queries]),
    )
    return arrays, np.array([place[unit.entry.operator] for unit in units])


@nb.njit(inline="always", cache=True)
def _slowdown(j: Joins, q: int, side: int, mine: float, other: float, end: float) -> float:
    """1 + (D − D_ideal)/T, where alone the earlier tuple goes first and the later one makes the match."""
    early, late = (mine, other) if mine <= other else (other, mine)
    first = side if mine <= other else 1 - side
    ideal = max(late, early + (j.cost[q, first] + j.join_cost[q]))
    ideal += j.cost[q, 1 - first] + j.join_cost[q] + j.top_cost[q]
    return float(1 + (end - ideal) / j.T[q])


@nb.njit(cache=True)
def _serve(
    j: Joins, place: int, head: Ints, times: tuple[Floats, Floats], seed: np.uint64, now: float, t: Tally
) -> float:
    """Run the oldest tuple of a side through its query; the time at which that ends."""
    q, side = place >> 1, place & 1
    i = head[place]
    arrival = times[side][i]
    me = np.uint64(i + side * SECOND_STREAM)
    elapsed = j.cost[q, side]
    if uniform(key(seed, me), np.uint64(j.select[q, side])) >= j.passes[q, side]:
        return float(now + elapsed)
    elapsed += j.join_cost[q]
    other = times[1 - side]
    for p in range(head[2 * q + 1 - side] - 1, -1, -1):
        if other[p] < arrival - j.window[q]:
            break
        partner = np.uint64(p + (1 - side) * SECOND_STREAM)
        if (
            other[p] > arrival + j.window[q]
            or uniform(key(seed, partner), np.uint64(j.select[q, 1 - side])) >= j.passes[q, 1 - side]
        ):
            continue
        both = pair(me, partner) if side == 0 else pair(partner, me)
        if uniform(key(seed, both), np.uint64(j.join[q])) < j.match[q]:
            elapsed += j.top_cost[q]
            end = now + elapsed
            H = _slowdown(j, q, side, arrival, other[p], end)
            record(t.cls, t.sums, t.bins, q, end - max(arrival, other[p]), H)
    return float(now + elapsed)


@nb.njit(cache=True)
def by_priority(
    j: Joins, L: Floats, R: Floats, seed: np.uint64, order: Ints, phi: Floats, alpha: int, t: Tally
) -> tuple[int, float, float]:
    """Priorities φ·W^α over the queues, `order` giving each rank's place; the runs, their time, and the end."""
    times, size = (L, R), len(order)
    head, arrived = np.zeros(size, np.int64), np.zeros(2, np.int64)
    now, busy, runs = 0.0, 0.0, 0
    while True:
        _admit(times, arrived, now)
        best, best_v, best_phi = -1, -1.0, 0.0
        for k in range(size):
            place = order[k]
            if head[place] >= arrived[place & 1]:
                continue
            v = phi[k] * (now - times[place & 1][head[place]]) if alpha == 1 else phi[k]
            if v > best_v or (v == best_v and phi[k] == best_phi and _came_first(times, head, place, best)):
                best, best_v, best_phi = place, v, phi[k]
                if alpha == 0:
                    break
        if best < 0:
            soonest = _next(times, arrived)
            if soonest == np.inf:
                return runs, busy, now
            now = soonest
            continue
        end = _serve(j, best, head, times, seed, now, t)
        head[best] += 1
        busy += end - now
        now = end
        runs += 1


@nb.njit(cache=True)
def by_turns(
    j: Joins, L: Floats, R: Floats, seed: np.uint64, most: float, quantum: float, t: Tally
) -> tuple[int, float, float]:
    """Round robin over the queues of all sides; a visit lasts `most` tuples or `quantum` seconds."""
    times, size = (L, R), 2 * len(j.T)
    head, arrived = np.zeros(size, np.int64), np.zeros(2, np.int64)
    now, busy, runs, at = 0.0, 0.0, 0, -1
    runs_left, time_left = 0.0, 0.0
    while True:
        _admit(times, arrived, now)
        if not (at >= 0 and head[at] < arrived[at & 1] and runs_left > 0 and time_left > 0):
            found = False
            for step in range(1, size + 1):
                turn = (at + step) % size
                if head[turn] < arrived[turn & 1]:
                    at, found = turn, True
                    runs_left, time_left = most, quantum
                    break
            if not found:
                runs_left = 0.0
                soonest = _next(times, arrived)
                if soonest == np.inf:
                    return runs, busy, now
                now = soonest
                continue
        end = _serve(j, at, head, times, seed, now, t)
        head[at] += 1
        runs_left -= 1
        time_left -= end - now
        busy += end - now
        now = end
        runs += 1


@nb.njit(inline="always", cache=True)
def _came_first(times: tuple[Floats, Floats], head: Ints, x: int, y: int) -> bool:
    """Whether the oldest tuple at place x came before that at y; at the same time the left stream comes first."""
    a, b = times[x & 1][head[x]], times[y & 1][head[y]]
    if a != b:
        return bool(a < b)
    return bool(x & 1 < y & 1 if x & 1 != y & 1 else head[x] < head[y])


@nb.njit(inline="always", cache=True)
def _admit(times: tuple[Floats, Floats], arrived: Ints, now: float) -> None:
    for side in range(2):
        while arrived[side] < len(times[side]) and times[side][arrived[side]] <= now:
            arrived[side] += 1


@nb.njit(inline="always", cache=True)
def _next(times: tuple[Floats, Floats], arrived: Ints) -> float:
    soonest = np.inf
    for side in range(2):
        if arrived[side] < len(times[side]):
            soonest = min(soonest, times[side][arrived[side]])
    return soonest
