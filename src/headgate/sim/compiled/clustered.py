"""Clustered BSD over one stream: full or pruned search, one query or the whole cluster at a time."""

import numba as nb
import numpy as np

from headgate.sim.compiled.chains import (
    ARRIVED,
    BUSY,
    DECISIONS,
    JOBS,
    NOW,
    OVERHEAD,
    READS,
    Chains,
    Feed,
    Log,
    Members,
    State,
    depart,
    serve,
)
from headgate.sim.draws import key
from headgate.sim.metrics import Floats, Ints, Tally, record

SEARCH = {"scan": 0, "fagin": 1, "threshold": 2}


@nb.njit(inline="always", cache=True)
def _search(
    how: int, size: int, first: Ints, wait: Floats, pseudo: Floats, by_wait: Ints, seen: Ints, found: Ints
) -> int:
    """The candidate with the largest P·W among the `size` clusters in `first`, which is in order of P descending.

    `found` gets how many clusters were looked at and how many entries were read. See `headgate.policy.pruning`.
    """
    found[0], found[1] = size, size
    limit = size
    if how != 0:
        for x in range(size):
            k = first[x]
            y = x
            while y > 0 and wait[by_wait[y - 1]] < wait[k]:
                by_wait[y] = by_wait[y - 1]
                y -= 1
            by_wait[y] = k
            seen[k] = 0
        limit, count = 0, 0
        best_v = -1.0
        while limit < size:
            a, b = first[limit], by_wait[limit]
            count += (seen[a] == 0) + (seen[b] == 0 and a != b)
            seen[a] |= 1
            seen[b] |= 2
            limit += 1
            best_v = max(best_v, pseudo[a] * wait[a], pseudo[b] * wait[b])
            if how == 1 and (seen[a] == 3 or seen[b] == 3):
                break
            if how == 2 and best_v > pseudo[a] * wait[b]:
                break
        found[0], found[1] = count, 2 * limit
    best, best_v = -1, -1.0
    for x in range(limit):
        a = first[x]
        v = pseudo[a] * wait[a]
        if v > best_v or (v == best_v and pseudo[a] > pseudo[best]):
            best, best_v = a, v
        if how != 0:
            b = by_wait[x]
            v = pseudo[b] * wait[b]
            if v > best_v or (v == best_v and pseudo[b] > pseudo[best]):
                best, best_v = b, v
    return best


@nb.njit(cache=True)
def by_clusters(
    f: Feed, s: State, ch: Chains, c: Members, how: int, whole: bool, price: float, t: Tally, lg: Log
) -> None:
    """Priorities P·W over clusters.

    All queries read every tuple, so a cluster has one queue: head[k] is its oldest tuple and progress[k] the member
    that comes next for it.
    """
    A, head, due, times, counts = f.A, s.head, s.progress, s.times, s.counts
    first_of, queries, pseudo = c
    base, seed = f.base, f.seed
    start, cost, passes, operator, T = ch
    cls, sums, bins = t
    n, m = len(A), len(pseudo)
    now, arrived = times[NOW], counts[ARRIVED]
    first, by_wait, seen = np.empty(m, np.int64), np.empty(m, np.int64), np.zeros(m, np.int64)
    wait, found = np.empty(m), np.zeros(2, np.int64)
    while True:
        while arrived < n and A[arrived] <= now:
            arrived += 1
        if arrived == n and not f.final:
            break
        size = 0
        for k in range(m - 1, -1, -1):
            if head[k] < arrived:
                first[size] = k
                wait[k] = now - A[head[k]]
                size += 1
        if size == 0:
            if arrived == n:
                break
            now = A[arrived]
            continue
        k = _search(how, size, first, wait, pseudo, by_wait, seen, found)
        counts[READS] += found[1]
        overhead = price * (2 * found[0] - 1)
        times[OVERHEAD] += overhead
        now += overhead
        i = head[k]
        while True:
            q = queries[first_of[k] + due[k]]
            elapsed, passed = serve(start, cost, passes, operator, q, key(seed, np.uint64(base + i)), 0.0)
            end = now + elapsed
            if passed:
                r = end - A[i]
                record(cls, sums, bins, q, r, r / T[q])
                depart(lg, q, base + i, end)
            times[BUSY] += end - now
            now = end
            counts[JOBS] += 1
            due[k] += 1
            if first_of[k] + due[k] == first_of[k + 1]:
                due[k] = 0
                head[k] = i + 1
                break
            if not whole:
                break
        counts[DECISIONS] += 1
    times[NOW] = now
    counts[ARRIVED] = arrived
