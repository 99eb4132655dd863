"""Groups of queries behind a shared select: the shared unit, and a unit for each segment that runs on its own.

A segment outside its group's unit reads the tuples that the shared operator has passed. Which ones those are can be
drawn again at any time, so its queue is a position, too.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numba as nb
import numpy as np

from headgate.model.network import Network
from headgate.model.unit import Unit
from headgate.sim.compiled.chains import PLAIN, Chains, serve
from headgate.sim.draws import key, uniform
from headgate.sim.metrics import Floats, Ints, Tally, record


class Groups(NamedTuple):
    """Group g: its shared operator, the segments together[start[g]] … that run with it, and the ones that do not.

    A segment is a query's chain without the shared operator; alone[k] is the segment of the k-th unit of its own, in
    group of[segment].
    """

    cost: Floats
    passes: Floats
    operator: Ints
    start: Ints
    together: Ints
    of: Ints
    alone: Ints


def is_groups(network: Network) -> bool:
    """Whether every reader of the one stream is shared and has chains behind it, one for each query."""
    if len(network.streams) != 1 or network.by_name[network.streams[0]].cost.of(1) > 0:
        return False
    shared = {name for name, _ in network.consumers[network.streams[0]]}
    for op in network.operators:
        if not op.inputs:
            continue
        alone = len(network.readers[op.name]) == 1
        if op.kind not in PLAIN or len(op.inputs) > 1 or op.selectivity > 1 or alone == (op.name in shared):
            return False
    return not any(query.output in shared for query in network.queries)


def groups(network: Network, units: Sequence[Unit]) -> tuple[Groups, Chains]:
    """The arrays of a network in which every leaf is a shared operator with chains behind it."""
    leaves = [unit for unit in units if unit.leaf]
    shared = {unit.entry.operator: g for g, unit in enumerate(leaves)}
    number = {q.name: i for i, q in enumerate(network.queries)}
    T = {s.query: s.T for unit in units for s in unit.segments}
    paths: list[list[str]] = []
    of: list[int] = []
    for query in network.queries:
        path = [query.output]
        while (above := network.by_name[path[0]].inputs[0]) not in shared:
            path.insert(0, above)
        paths.append(path)
        of.append(shared[above])
    start, names = [0], list[str]()
    for path in paths:
        names.extend(path)
        start.append(len(names))
    ops = [network.by_name[name] for name in names]
    chains = Chains(
        np.array(start),
        np.array([op.cost.of(1) for op in ops]),
        np.array([op.selectivity for op in ops]),
        np.array([network.ids[name] for name in names]),
        np.array([T[q.name] for q in network.queries]),
    )
    heads = [network.by_name[unit.entry.operator] for unit in leaves]
    together = [[number[s.query] for s in unit.segments] for unit in leaves]
    entry = {path[0]: q for q, path in enumerate(paths)}
    return (
        Groups(
            np.array([op.cost.of(1) for op in heads]),
            np.array([op.selectivity for op in heads]),
            np.array([network.ids[op.name] for op in heads]),
            np.cumsum([0] + [len(t) for t in together]),
            np.array([q for t in together for q in t], np.int64),
            np.array(of),
            np.array([entry[unit.entry.operator] for unit in units if not unit.leaf], np.int64),
        ),
        chains,
    )


@nb.njit(inline="always", cache=True)
def _passes(g: Groups, group: int, item: np.uint64) -> bool:
    return bool(uniform(item, np.uint64(g.operator[group])) < g.passes[group])


@nb.njit(cache=True)
def by_priority(
    g: Groups, ch: Chains, A: Floats, seed: np.uint64, order: Ints, phi: Floats, alpha: int, t: Tally
) -> tuple[int, float, float]:
    """Priorities φ·W^α over the shared units and then the single ones; the runs, their time, and the end.

    `order` has the units by rank, `phi` is in its order. next_up[u] is the oldest tuple of unit u, or −1.
    """
    start, cost, passes, operator, T = ch
    cls, sums, bins = t
    n, size, shared = len(A), len(order), len(g.cost)
    next_up = np.full(size, -1, np.int64)
    head = np.zeros(shared, np.int64)
    arrived, runs, now, busy = 0, 0, 0.0, 0.0
    # The single units of each group, to tell them of tuples that the shared operator has passed.
    fed = np.argsort(g.of[g.alone], kind="mergesort")
    first = np.searchsorted(g.of[g.alone][fed], np.arange(shared + 1))
    while True:
        while arrived < n and A[arrived] <= now:
            for group in range(shared):
                if next_up[group] < 0:
                    next_up[group] = arrived
            arrived += 1
        best, best_v, best_phi = -1, -1.0, 0.0
        for k in range(size):
            i = next_up[order[k]]
            if i < 0:
                continue
            v = phi[k] * (now - A[i]) if alpha == 1 else phi[k]
            if v > best_v or (v == best_v and phi[k] == best_phi and i < next_up[best]):
                best, best_v, best_phi = order[k], v, phi[k]
                if alpha == 0:
                    break
        if best < 0:
            if arrived == n:
                return runs, busy, now
            now = A[arrived]
            continue
        runs += 1
        i = next_up[best]
        item = key(seed, np.uint64(i))
        elapsed = 0.0
        if best < shared:
            elapsed = g.cost[best]
            head[best] = i + 1
            next_up[best] = i + 1 if i + 1 < arrived else -1
            if _passes(g, best, item):
                for x in range(g.start[best], g.start[best + 1]):
                    q = g.together[x]
                    elapsed, done = serve(start, cost, passes, operator, q, item, elapsed)
                    if done:
                        r = now + elapsed - A[i]
                        record(cls, sums, bins, q, r, r / T[q])
                for x in range(first[best], first[best + 1]):
                    single = shared + fed[x]
                    if next_up[single] < 0:
                        next_up[single] = i
        else:
            q = g.alone[best - shared]
            elapsed, done = serve(start, cost, passes, operator, q, item, 0.0)
            if done:
                r = now + elapsed - A[i]
                record(cls, sums, bins, q, r, r / T[q])
            i += 1
            while i < head[g.of[q]] and not _passes(g, g.of[q], key(seed, np.uint64(i))):
                i += 1
            next_up[best] = i if i < head[g.of[q]] else -1
        now += elapsed
        busy += elapsed
