"""Many queries over one stream: static list, dynamic scan, turns, operator level.

Every kernel here can be left and entered again. It stops when all arrivals that it was given have come and more may
follow, so that a run of any length needs memory only for the tuples that wait.
"""

import numba as nb
import numpy as np

from headgate.sim.compiled.chains import (
    ARRIVED,
    BUSY,
    DECISIONS,
    JOBS,
    NOW,
    OVERHEAD,
    POINTER,
    Chains,
    Feed,
    Log,
    Members,
    State,
    depart,
    serve,
)
from headgate.sim.draws import key, uniform
from headgate.sim.metrics import Floats, Ints, Tally, record

NOT_YET = 1e300
"""Arrival of the head of an empty queue: so late that no priority is lower."""


@nb.njit(cache=True)
def by_list(f: Feed, s: State, ch: Chains, order: Ints, t: Tally, lg: Log) -> None:
    """Static priorities: the first query in the list that has a tuple. The pointer goes back when tuples arrive."""
    A, base, seed = f.A, f.base, f.seed
    head, times, counts = s.head, s.times, s.counts
    start, cost, passes, operator, T = ch
    cls, sums, bins = t
    n, size = len(A), len(order)
    now, arrived, pointer = times[NOW], counts[ARRIVED], counts[POINTER]
    busy, jobs = times[BUSY], counts[JOBS]
    while True:
        if arrived < n and A[arrived] <= now:
            pointer = 0
            while arrived < n and A[arrived] <= now:
                arrived += 1
        if arrived == n and not f.final:
            break
        while pointer < size and head[order[pointer]] >= arrived:
            pointer += 1
        if pointer == size:
            if arrived == n:
                break
            now = A[arrived]
            continue
        q = order[pointer]
        i = head[q]
        elapsed, passed = serve(start, cost, passes, operator, q, key(seed, np.uint64(base + i)), 0.0)
        end = now + elapsed
        if passed:
            r = end - A[i]
            record(cls, sums, bins, q, r, r / T[q])
            depart(lg, q, base + i, end)
        head[q] = i + 1
        busy += end - now
        now = end
        jobs += 1
    times[NOW], times[BUSY] = now, busy
    counts[ARRIVED], counts[POINTER], counts[JOBS], counts[DECISIONS] = arrived, pointer, jobs, jobs


BLOCK = 16


@nb.njit(inline="always", cache=True)
def _best(phi: Floats, heads: Floats, now: float) -> int:
    """Place of the largest φ·W; of equals the higher φ.

    Places are in order of φ. A query is never ahead of one with a higher φ: at the same tuple that one would have
    been chosen. So the oldest tuple of a block is that of its last place, which bounds the block's priorities, and
    blocks below the best so far are passed over. The answer is that of the full scan.
    """
    best, most = 0, -np.inf
    for start in range(0, len(phi), BLOCK):
        last = min(start + BLOCK, len(phi)) - 1
        if phi[start] * (now - heads[last]) <= most:
            continue
        for k in range(start, last + 1):
            v = phi[k] * (now - heads[k])
            if v > most:
                best, most = k, v
    return best


@nb.njit(cache=True)
def by_scan(f: Feed, s: State, ch: Chains, alike: Members, price: float, t: Tally, lg: Log) -> None:
    """Priorities φ·W, all compared at every decision, each of which costs `price` per operation.

    Queries with the same φ take turns tuple by tuple, so they share a place: its oldest tuple is head[k], and
    progress[k] of its queries are done with that one.
    """
    A, base, seed = f.A, f.base, f.seed
    head, due, times, counts = s.head, s.progress, s.times, s.counts
    start, cost, passes, operator, T = ch
    first_of, queries, phi = alike
    cls, sums, bins = t
    n, size = len(A), len(phi)
    now, arrived = times[NOW], counts[ARRIVED]
    heads = np.empty(size)
    ready = 0
    for k in range(size):
        heads[k] = A[head[k]] if head[k] < arrived else NOT_YET
        ready += head[k] < arrived
    while True:
        if arrived < n and A[arrived] <= now:
            first = arrived
            while arrived < n and A[arrived] <= now:
                arrived += 1
            if ready < size:
                for k in range(size):
                    if heads[k] == NOT_YET:
                        heads[k] = A[first]
                ready = size
        if arrived == n and not f.final:
            break
        if ready == 0:
            if arrived == n:
                break
            now = A[arrived]
            continue
        k = _best(phi, heads, now)
        if price > 0:
            waiting = 0
            for x in range(size):
                if head[x] < arrived:
                    waiting += first_of[x + 1] - first_of[x] - (due[x] if head[x] + 1 == arrived else 0)
            overhead = price * (2 * waiting - 1)
            times[OVERHEAD] += overhead
            now += overhead
        q = queries[first_of[k] + due[k]]
        i = head[k]
        elapsed, passed = serve(start, cost, passes, operator, q, key(seed, np.uint64(base + i)), 0.0)
        end = now + elapsed
        if passed:
            r = end - A[i]
            record(cls, sums, bins, q, r, r / T[q])
            depart(lg, q, base + i, end)
        due[k] += 1
        if first_of[k] + due[k] == first_of[k + 1]:
            due[k] = 0
            head[k] = i + 1
            if i + 1 < arrived:
                heads[k] = A[i + 1]
            else:
                heads[k] = NOT_YET
                ready -= 1
        times[BUSY] += end - now
        now = end
        counts[JOBS] += 1
    times[NOW] = now
    counts[ARRIVED], counts[DECISIONS] = arrived, counts[JOBS]


@nb.njit(cache=True)
def by_turns(f: Feed, s: State, ch: Chains, runs: float, quantum: float, t: Tally, lg: Log) -> None:
    """Round robin: a visit lasts `runs` tuples or `quantum` seconds."""
    A, base, seed = f.A, f.base, f.seed
    head, times, counts, left = s.head, s.times, s.counts, s.left
    start, cost, passes, operator, T = ch
    cls, sums, bins = t
    n, size = len(A), len(head)
    now, arrived, q = times[NOW], counts[ARRIVED], counts[POINTER]
    while True:
        while arrived < n and A[arrived] <= now:
            arrived += 1
        if arrived == n and not f.final:
            break
        if not (q >= 0 and head[q] < arrived and left[0] > 0 and left[1] > 0):
            found = False
            for step in range(1, size + 1):
                turn = (q + step) % size
                if head[turn] < arrived:
                    q, found = turn, True
                    left[0], left[1] = runs, quantum
                    break
            if not found:
                left[0] = 0.0
                if arrived == n:
                    break
                now = A[arrived]
                continue
        i = head[q]
        elapsed, passed = serve(start, cost, passes, operator, q, key(seed, np.uint64(base + i)), 0.0)
        end = now + elapsed
        if passed:
            r = end - A[i]
            record(cls, sums, bins, q, r, r / T[q])
            depart(lg, q, base + i, end)
        head[q] = i + 1
        left[0] -= 1
        left[1] -= end - now
        times[BUSY] += end - now
        now = end
        counts[JOBS] += 1
    times[NOW] = now
    counts[ARRIVED], counts[POINTER], counts[DECISIONS] = arrived, q, counts[JOBS]


@nb.njit(cache=True)
def by_operator(f: Feed, s: State, ch: Chains, phi: Floats, rank: Ints, alpha: int, t: Tally, lg: Log) -> None:
    """Operator level: a scheduling point after every operator; `phi` and `rank` by operator.

    A query has at most one tuple under way, since a segment's rate grows towards its root: progress[q] says how far.
    """
    A, base, seed = f.A, f.base, f.seed
    head, stage, times, counts = s.head, s.progress, s.times, s.counts
    start, cost, passes, operator, T = ch
    cls, sums, bins = t
    n, size = len(A), len(head)
    now, arrived = times[NOW], counts[ARRIVED]
    while True:
        while arrived < n and A[arrived] <= now:
            arrived += 1
        if arrived == n and not f.final:
            break
        best, best_v = -1, -np.inf
        for q in range(size):
            if head[q] >= arrived:
                continue
            j = start[q] + stage[q]
            v = phi[j] * (now - A[head[q]]) if alpha == 1 else phi[j]
            if best < 0 or v > best_v:
                best, best_v = q, v
            elif v == best_v:
                k = start[best] + stage[best]
                older = alpha == 1 and phi[j] == phi[k] and head[q] < head[best]
                newer = alpha == 1 and phi[j] == phi[k] and head[q] > head[best]
                if older or (rank[j] < rank[k] and not newer):
                    best, best_v = q, v
        if best < 0:
            if arrived == n:
                break
            now = A[arrived]
            continue
        j = start[best] + stage[best]
        i = head[best]
        end = now + cost[j]
        times[BUSY] += cost[j]
        counts[JOBS] += 1
        passed = uniform(key(seed, np.uint64(base + i)), np.uint64(operator[j])) < passes[j]
        if passed and j + 1 < start[best + 1]:
            stage[best] += 1
        else:
            if passed:
                r = end - A[i]
                record(cls, sums, bins, best, r, r / T[best])
                depart(lg, best, base + i, end)
            stage[best] = 0
            head[best] = i + 1
        now = end
    times[NOW] = now
    counts[ARRIVED], counts[DECISIONS] = arrived, counts[JOBS]
