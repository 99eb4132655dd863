"""What a recorded run says of the machine: what units really cost, how fast it was at each moment, and what it lost.

A run takes as long as its unit costs, and as many times longer as the machine was slower at that moment: others were
on it, or it had a rest. Both are found by turns: the machine's part second by second from all units, and from what is
left of its runs what a unit costs, a + b·n. What is then left of a run is the machine's too. So lanes of a kind have
a speed at every moment, the work done in a second, and whoever runs there then has to live with it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from headgate.model.operator import Cost
from headgate.record import Ran, Recorded

Floats = NDArray[np.float64]

_SPAN, _TURNS = 1.0, 30
"""Seconds in which the machine is taken to be as fast for all units, and how often both parts are found anew."""
_FEW = 8
"""Runs of a unit until its a and b are told apart."""


@dataclass(frozen=True)
class Pace:
    """Work that a lane could do up to each of some times, both ascending; before and behind them, as time passes."""

    times: Floats
    done: Floats

    def finish(self, start: float, work: float) -> float:
        """When so many seconds of work are done that begin then."""
        return _through(self.done, self.times, self.by(start) + work)

    def by(self, time: float) -> float:
        """The work up to a time."""
        return _through(self.times, self.done, time)


def _through(x: Floats, y: Floats, at: float) -> float:
    """The value of y at x, on the line through all points; before the first and behind the last, it rises like x."""
    if at <= x[0]:
        return float(y[0] + (at - x[0]))
    return float(y[-1] + (at - x[-1])) if at >= x[-1] else float(np.interp(at, x, y))


@dataclass(frozen=True, slots=True)
class _Work:
    """A run over n tuples that were not dropped: when it was, and whose, by the place of its unit in the record."""

    life: int
    kind: str
    started: float
    finished: float
    n: int

    @property
    def took(self) -> float:
        return self.finished - self.started


@dataclass(frozen=True)
class Paces:
    """What each unit costs, by its place in the record, and how fast lanes were.

    Kinds of lanes that were as fast as expected all the time have no pace. `handover` is the work between two runs.
    """

    costs: tuple[Cost, ...]
    pace: Mapping[str, Pace]
    handover: float


def paces(recorded: Recorded) -> Paces:
    """What the runs say of units and lanes."""
    start, resident = recorded.since, recorded.began.resident
    runs = [
        _Work(
            i, life.latest.kind if resident else "jobs", ran.started - start, ran.finished - start, ran.n - ran.shed
        )
        for i, life in enumerate(recorded.lives)
        for ran in life.ran
        if ran.error is None and ran.n > ran.shed and ran.finished > ran.started
    ]
    believed = [Cost(life.latest.a, life.latest.b) for life in recorded.lives]
    # Not to the last digit: times since the epoch have none to spare.
    if all(round(run.took / believed[run.life].of(run.n), 6) == 1 for run in runs):
        return Paces(tuple(believed), {}, _handover(recorded, {}))
    costs = _costs(runs, believed)
    kinds = dict.fromkeys(run.kind for run in runs)
    mine = {kind: [(run, costs[run.life].of(run.n)) for run in runs if run.kind == kind] for kind in kinds}
    pace = {kind: _pace(some) for kind, some in mine.items()}
    return Paces(tuple(costs), pace, _handover(recorded, pace))


def _costs(runs: Sequence[_Work], believed: Sequence[Cost]) -> list[Cost]:
    """What units cost on a machine that is as fast as this one was on average."""
    life, n = np.array([run.life for run in runs]), np.array([run.n for run in runs], dtype=np.float64)
    took = np.array([run.took for run in runs])
    kinds = list(dict.fromkeys(run.kind for run in runs))
    kind = np.array([kinds.index(run.kind) for run in runs])
    spans = [(kinds.index(run.kind), int(max(0.0, run.started) // _SPAN)) for run in runs]
    span = np.unique(spans, axis=0, return_inverse=True)[1].ravel()
    costs = list(believed)
    for _ in range(_TURNS):
        work = np.array([cost.a for cost in costs])[life] + np.array([cost.b for cost in costs])[life] * n
        speed = np.bincount(span, work) / np.bincount(span, took)
        done = took * speed[span]
        # Lanes of each kind are as fast as they were on average: nothing else says which of two kinds was the faster.
        done /= (np.bincount(kind, done) / np.bincount(kind, took))[kind]
        costs = [_fitted(cost, n[life == i], done[life == i]) for i, cost in enumerate(believed)]
    return costs


def _fitted(believed: Cost, n: Floats, work: Floats) -> Cost:
    """The cost that fits runs best, each by how far it is off in proportion; with few of them, as was believed.

    The more runs vary, the less those of one length tell a from b, and the more counts what a was believed to be.
    """
    if not len(n):
        return believed
    weight = 1 / (believed.a + believed.b * n)
    x, y, z = weight, weight * n, weight * work
    if len(n) < _FEW or not np.ptp(n):
        dearer = float(work.sum() / (believed.a + believed.b * n).sum())
        return Cost(believed.a * dearer, believed.b * dearer)
    (a, b), *_ = np.linalg.lstsq(np.column_stack((x, y)), z, rcond=None)
    if believed.a:
        # It may well be twice as much, or next to nothing.
        varies = math.sqrt(float(((a * x + b * y - z) ** 2).mean()))
        x, y, z = np.append(x, varies / believed.a), np.append(y, 0.0), np.append(z, varies)
        (a, b), *_ = np.linalg.lstsq(np.column_stack((x, y)), z, rcond=None)
    a, b = float(a), float(b)
    if a < 0:
        return Cost(0.0, float(y @ z / (y @ y)))
    return Cost(a, b) if b >= 0 else Cost(float(x @ z / (x @ x)), 0.0)


def _pace(runs: Sequence[tuple[_Work, float]]) -> Pace:
    """The mean speed of all runs that are under way at a time; between them, that of the runs of the same second."""
    edges = np.unique([(run.started, run.finished) for run, _ in runs])
    speed, under_way = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1)
    seconds: dict[int, list[float]] = {}
    for run, work in runs:
        part = slice(*np.searchsorted(edges, (run.started, run.finished)))
        speed[part] += work / run.took
        under_way[part] += 1
        done = seconds.setdefault(int(run.started // _SPAN), [0.0, 0.0])
        done[:] = done[0] + work, done[1] + run.took
    around = [seconds.get(int(at // _SPAN), [1.0, 1.0]) for at in edges[:-1].tolist()]
    idle = np.array([work / took for work, took in around])
    speed = np.where(under_way > 0, speed / np.maximum(under_way, 1), idle)
    return Pace(edges, np.concatenate(([0.0], np.cumsum(speed * np.diff(edges)))))


def _handover(recorded: Recorded, pace: Mapping[str, Pace]) -> float:
    """Work from the end of a run until the next one begins on its lane that could have begun at once: the mean."""
    found: list[float] = []
    lanes: dict[int, Ran] = {}
    units: dict[str, float] = {}
    start = recorded.since
    runs = [(ran, life) for life in recorded.lives for ran in life.ran]
    for ran, life in sorted(runs, key=lambda each: each[0].started):
        before = lanes.get(ran.lane)
        ready = max(_readable(recorded, ran), life.planned[0].time, units.get(ran.unit, -math.inf))
        # The later runs of one decision follow at once.
        if before and ran.time >= before.finished >= ready:
            kind = life.latest.kind if recorded.began.resident else "jobs"
            by = pace[kind].by if kind in pace else float
            found.append(by(ran.started - start) - by(before.finished - start))
        lanes[ran.lane], units[ran.unit] = ran, ran.finished
    return round(fmean(found), 6) if found else 0.0


def _readable(recorded: Recorded, ran: Ran) -> float:
    """When the first tuple of a run could be read."""
    found = math.inf
    for stream, (low, high) in ran.positions.items():
        logged = recorded.streams[stream]
        at = int(np.searchsorted(logged.numbers, low))
        if low < high and at < len(logged.numbers):
            found = min(found, logged.readable.item(at))
    return found
