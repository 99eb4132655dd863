"""Random sets of tasks: how they are drawn, and what is found of one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from headgate.control.deadlines.reduction import At, Reading, Reduction, Split, reduce
from headgate.control.deadlines.schedulability import load, longest_pieces, response_time_whole, schedulable
from headgate.control.deadlines.task import Task, by_rate
from headgate.sim.deadlines.periodic import late

READINGS: tuple[Reading, ...] = ("lit", "all", "clamp", "wf")
POINTS: tuple[At, ...] = ("P", "best")
SPLITS: tuple[Split, ...] = ("seed", "prop", "greedy")
Way = tuple[At, Split]
WAYS: tuple[Way, ...] = tuple((point, split) for point in POINTS for split in SPLITS)
"""Scheduling points and splits that are compared."""
BELOW = -1e-9
"""A cost below this is negative, and not only by rounding."""
JUST_BEFORE = 1e-6


def drawn(rng: np.random.Generator, most: int, low: float, high: float) -> tuple[list[Task], list[float]]:
    """A set with a load from low to high, in the order of rates, and the time of a tuple in each task.

    There are three tasks or more; periods are whole numbers from 10 to 100, evenly on a logarithmic scale; loads of
    tasks are even over all that add up (UUniFast); weights are 1 to 10 and selectivities 0.05 to 1.
    """
    n = int(rng.integers(3, most + 1))
    left, parts = float(rng.uniform(low, high)), []
    for k in range(1, n):
        rest = left * float(rng.random()) ** (1 / (n - k))
        parts.append(left - rest)
        left = rest
    parts.append(left)
    periods = np.rint(np.exp(rng.uniform(math.log(10), math.log(100), n)))
    weights, selectivities = rng.integers(1, 11, n), rng.uniform(0.05, 1, n)
    each = dict(enumerate(rng.uniform(3.5e-6, 15e-6, n).tolist()))
    tasks = [
        Task(str(k), parts[k] * float(periods[k]), float(periods[k]), float(periods[k]), float(g), float(s))
        for k, (g, s) in enumerate(zip(weights, selectivities, strict=True))
    ]
    ordered = by_rate(tasks)
    return list(ordered), [each[int(task.name)] for task in ordered]


def costing(tasks: Sequence[Task], costs: Sequence[float]) -> list[Task]:
    """The same tasks with other costs."""
    return [replace(task, cost=cost) for task, cost in zip(tasks, costs, strict=True)]


@dataclass(frozen=True)
class Reductions:
    """What became of sets that could not meet their deadlines.

    By reading: in how many the deadlines are met with costs that can be, and in how many a cost is negative. By point
    and split: the weighted results lost in per cent and the load that is left, for each set. `emptied` is the part of
    the tasks that the published split leaves nothing, for each set. `wrong` counts sets for which a simulation shows
    other than the test says: before the reduction, and after it.
    """

    sets: int
    loads: tuple[float, ...]
    fit: dict[Reading, int]
    negative: dict[Reading, int]
    lost: dict[Way, tuple[float, ...]]
    left: dict[Way, tuple[float, ...]]
    emptied: tuple[float, ...]
    tested: int
    wrong_before: int
    simulated: int
    wrong_after: int


def reductions(chunk: int, sets: int, simulated: int) -> Reductions:
    """Draw sets that cannot meet their deadlines and reduce them; so many of the reduced ones are simulated too."""
    rng = np.random.default_rng([chunk, 9])
    loads: list[float] = []
    emptied: list[float] = []
    fit, negative = dict.fromkeys(READINGS, 0), dict.fromkeys(READINGS, 0)
    lost: dict[Way, list[float]] = {way: [] for way in WAYS}
    left: dict[Way, list[float]] = {way: [] for way in WAYS}
    tested = wrong_before = wrong_after = runs = 0
    while len(loads) < sets:
        tasks, each = drawn(rng, 12, 0.75, 2.0)
        ok = schedulable(tasks).ok
        if tested < simulated:
            tested += 1
            wrong_before += ok == bool(late(tasks, float(tasks[-1].period)))
        if ok:
            continue
        loads.append(float(load(tasks)))
        for reading in READINGS:
            costs = [float(cost) for cost in reduce(tasks, Reduction(reading), each).costs]
            negative[reading] += min(costs) < BELOW
            fit[reading] += min(costs) >= BELOW and schedulable(costing(tasks, costs)).ok
        for point, split in WAYS:
            costs = [float(cost) for cost in reduce(tasks, Reduction("wf", point, split), each).costs]
            lost[point, split].append(_lost(tasks, costs, each))
            left[point, split].append(float(load(costing(tasks, costs))))
            if (point, split) == ("P", "seed"):
                emptied.append(sum(cost <= -BELOW for cost in costs) / len(costs))
        if len(loads) <= simulated:
            for how in (Reduction(), Reduction("wf", "best", "prop")):
                runs += 2
                wrong_after += _late_after(tasks, how, each, rng)
    return Reductions(
        len(loads),
        tuple(loads),
        fit,
        negative,
        {way: tuple(values) for way, values in lost.items()},
        {way: tuple(values) for way, values in left.items()},
        tuple(emptied),
        tested,
        wrong_before,
        runs,
        wrong_after,
    )


def _lost(tasks: Sequence[Task], costs: Sequence[float], each: Sequence[float]) -> float:
    worth = [
        float(task.weight) * float(task.selectivity) / (c * float(task.period))
        for task, c in zip(tasks, each, strict=True)
    ]
    whole = sum(w * float(task.cost) for w, task in zip(worth, tasks, strict=True))
    gone = sum(w * (float(task.cost) - cost) for w, task, cost in zip(worth, tasks, costs, strict=True))
    return 100 * gone / whole


def _late_after(tasks: Sequence[Task], how: Reduction, each: Sequence[float], rng: np.random.Generator) -> int:
    """In how many of two runs a reduced set is late: released together, and at random."""
    floored = [replace(task, floor=0.02 * float(task.cost)) for task in tasks]
    after = costing(tasks, [float(cost) for cost in reduce(floored, how, each).costs])
    longest = float(tasks[-1].period)
    phases = [float(task.period) * float(rng.random()) for task in tasks]
    return sum(bool(late(after, 10 * longest, first)) for first in ((), phases))


@dataclass(frozen=True)
class Blocked:
    """What became of sets whose iterations are not interrupted: accepted by each test, and late all the same.

    `pieces` are sets that fit if everything can be interrupted and then run with the longest pieces that are safe.
    """

    sets: int
    accepted: dict[str, int]
    missed: dict[str, int]
    survived: int
    pieces: int
    pieces_missed: int


TESTS = ("interruptible", "with blocking", "exact")


def blocked(chunk: int, sets: int) -> Blocked:
    """Draw sets and run them without interruption, released in the worst way and at random."""
    rng = np.random.default_rng([chunk, 10])
    accepted, missed = dict.fromkeys(TESTS, 0), dict.fromkeys(TESTS, 0)
    survived = pieces = pieces_missed = 0
    for _ in range(sets):
        tasks, _ = drawn(rng, 8, 0.3, 0.9)
        whole = [replace(task, piece=task.cost) for task in tasks]
        verdicts = {
            "interruptible": schedulable(tasks).ok,
            "with blocking": schedulable(whole).ok,
            "exact": all(response_time_whole(whole, i) is not None for i in range(len(whole))),
        }
        misses = _late_in_some_phase([replace(task, piece=math.inf) for task in tasks], rng)
        survived += not misses
        for test, ok in verdicts.items():
            accepted[test] += ok
            missed[test] += ok and misses
        longest = longest_pieces(tasks)
        if verdicts["interruptible"] and min(longest) > 10 * JUST_BEFORE:
            pieces += 1
            cut = [replace(task, piece=float(q) - JUST_BEFORE) for task, q in zip(tasks, longest, strict=True)]
            pieces_missed += _late_in_some_phase(cut, rng)
    return Blocked(sets, accepted, missed, survived, pieces, pieces_missed)


def _late_in_some_phase(tasks: Sequence[Task], rng: np.random.Generator) -> bool:
    horizon = 5 * float(tasks[-1].period)
    # The worst for those above it is that a long piece has begun just before they are released.
    blockers = {
        max(range(i + 1, len(tasks)), key=lambda k: min(tasks[k].piece, tasks[k].cost)) for i in range(len(tasks) - 1)
    }
    phases = [[0.0 if k == blocker else JUST_BEFORE for k in range(len(tasks))] for blocker in sorted(blockers)]
    phases += [[float(task.period) * float(rng.random()) for task in tasks] for _ in range(2)]
    return any(late(tasks, horizon, each) for each in phases)
