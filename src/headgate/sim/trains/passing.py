"""What operators do to a train, compiled. Draws are those of every kernel, so the same tuples pass."""

import math
from typing import Any

import numba as nb
import numpy as np

from headgate.sim.draws import Word, key, pair, uniform
from headgate.sim.metrics import Floats, Ints
from headgate.sim.trains.train import Words

Made = tuple[Floats, Words]


@nb.njit(cache=True)
def passed(times: Floats, ids: Words, s: float, operator: Word, seed: Word) -> Made:
    """The tuples of an operator that gives s results for one: the whole part of s always, the rest by chance."""
    whole = math.floor(s)
    part = s - whole
    out_times = np.empty(len(times) * (whole + (part > 0)))
    out_ids = np.empty(len(out_times), np.uint64)
    n = 0
    for i in range(len(times)):
        copies = whole
        if part > 0 and uniform(key(seed, ids[i]), operator) < part:
            copies += 1
        for k in range(copies):
            out_times[n] = times[i]
            out_ids[n] = ids[i] if copies == 1 else pair(ids[i], Word(k))
            n += 1
    return out_times[:n], out_ids[:n]


@nb.njit(cache=True)
def counted(times: Floats, ids: Words, s: float, seen: int) -> Made:
    """The results of an aggregate that gives one for every 1/s tuples, `seen` of which came before."""
    out_times = np.empty(len(times))
    out_ids = np.empty(len(times), np.uint64)
    n = 0
    for i in range(len(times)):
        if math.floor((seen + i + 1) * s) > math.floor((seen + i) * s):
            out_times[n], out_ids[n] = times[i], ids[i]
            n += 1
    return out_times[:n], out_ids[:n]


@nb.njit(cache=True)
def merged(left_times: Floats, left_ids: Words, right_times: Floats, right_ids: Words) -> Made:
    """Two trains in the order of their arrival times; of equal ones the left first."""
    n, i, j = len(left_times) + len(right_times), 0, 0
    times, ids = np.empty(n), np.empty(n, np.uint64)
    for k in range(n):
        if j == len(right_times) or (i < len(left_times) and left_times[i] <= right_times[j]):
            times[k], ids[k] = left_times[i], left_ids[i]
            i += 1
        else:
            times[k], ids[k] = right_times[j], right_ids[j]
            j += 1
    return times, ids


@nb.njit(cache=True)
def _probe(side: Floats, held: int, time: float, window: float) -> int:
    """How many of the first `held` times of a side lie within the window around a time."""
    lo, hi = np.searchsorted(side[:held], time - window), np.searchsorted(side[:held], time + window, side="right")
    return int(hi - lo)


@nb.njit(cache=True)
def matched(
    left: Made, right: Made, sides: Floats, held: Ints, window: float, s: float, operator: Word, seed: Word
) -> Made:
    """The results of a window join over a train on each side, in the order of arrival times.

    A tuple gives s results for each tuple of the other side within the window, the fraction of one by chance. Each
    row of `sides` holds the arrival times of a side in order, `held` how many; there is room for the trains.
    """
    total, i, j, n = len(left[0]) + len(right[0]), 0, 0, 0
    out_times, out_ids = np.empty(2 * total + 16), np.empty(2 * total + 16, np.uint64)
    for _ in range(total):
        if j == len(right[0]) or (i < len(left[0]) and left[0][i] <= right[0][j]):
            time, item, mine = left[0][i], left[1][i], 0
            i += 1
        else:
            time, item, mine = right[0][j], right[1][j], 1
            j += 1
        # A tuple that comes out of order counts as of the time of the one before, which keeps the side sorted.
        last = sides[mine, held[mine] - 1] if held[mine] else time
        sides[mine, held[mine]] = max(time, last)
        held[mine] += 1
        matches = s * _probe(sides[1 - mine], held[1 - mine], time, window)
        copies = math.floor(matches)
        if uniform(key(seed, item), operator) < matches - copies:
            copies += 1
        while n + copies > len(out_times):
            out_times = np.concatenate((out_times, np.empty(len(out_times))))
            out_ids = np.concatenate((out_ids, np.empty(len(out_ids), np.uint64)))
        for k in range(copies):
            out_times[n], out_ids[n] = time, pair(item, Word(k))
            n += 1
    return out_times[:n], out_ids[:n]


class Sides:
    """What a window join remembers: the arrival times of either side that later tuples of the other may match."""

    def __init__(self, window: float) -> None:
        self.window = window
        self._times: Any = np.empty((2, 1024))
        self._held = np.zeros(2, np.int64)

    def match(self, left: Made, right: Made, s: float, operator: Word, seed: Word) -> Made:
        """Take a train on each side and give the results."""
        most = max(len(left[0]), len(right[0]))
        if self._held.max() + most > self._times.shape[1]:
            self._forget(most)
        return matched(left, right, self._times, self._held, self.window, s, operator, seed)

    def _forget(self, more: int) -> None:
        """Drop what is too old for the other side, and take more room where that is not enough."""
        last = [self._times[k, self._held[k] - 1] if self._held[k] else -math.inf for k in range(2)]
        old = [np.searchsorted(self._times[k, : self._held[k]], last[1 - k] - self.window) for k in range(2)]
        kept = [self._times[k, old[k] : self._held[k]].copy() for k in range(2)]
        self._times = np.empty((2, max(1024, 2 * (max(map(len, kept)) + more))))
        for k in range(2):
            self._times[k, : len(kept[k])] = kept[k]
            self._held[k] = len(kept[k])
