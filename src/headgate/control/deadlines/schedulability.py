"""Whether every iteration is done by its deadline: tests that are exact, and what they leave.

All functions take the tasks in the order of priority, the highest first. With E the cost, P the period and d ≤ P the
deadline of a task, the worst case is that all are released together. Up to t after that, task i and those above it
ask for `V_i(t) = Σ_{j≤i} E_j·⌈t/P_j⌉`. Task i meets its deadlines if and only if that fits at some scheduling point,
a multiple of a period up to its deadline or the deadline itself:

    B_i + b_i + V_i(t) ≤ t·(1 − η)     for some t in τ_i = {l·P_j ≤ d_i : j ≤ i} ∪ {d_i}

B is the longest piece of a lower task, which cannot be interrupted once it has begun; b is work carried in from
before; η is a margin. Without these three the test is exact; with them it is safe.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul

from headgate.control.deadlines.exact import Number, at_most, ceil_div, floor_div, less, over
from headgate.control.deadlines.task import Task

Tasks = Sequence[Task]
Point = tuple[Number, tuple[int, ...]]
"""A scheduling point t, and ⌈t/P_j⌉ of the task in question and of those above it."""

MANY = 2000
"""Beyond so many scheduling points only those are kept that can decide."""

LONG = 10_000
"""A busy period of more iterations than that is taken to have no end, which is on the safe side."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the test has found.

    `failing` is the first task, in the order of priority, that can be late. `level` is its demand per time at its
    best point `at`, with what blocks it; if none can be late these are those of the tightest task, `tightest`.
    """

    ok: bool
    failing: int | None
    level: Number
    at: Number
    blocking: Number
    tightest: int


@lru_cache(maxsize=512)
def _grid(periods: tuple[Number, ...], deadlines: tuple[Number, ...], exact: bool) -> tuple[tuple[Point, ...], ...]:  # noqa: ARG001
    # `exact` keeps apart what is equal but not the same: 1, 1.0 and Fraction(1) have one hash.
    found = []
    for i, due in enumerate(deadlines):
        above = periods[: i + 1]
        found.append(tuple((t, tuple(ceil_div(t, p) for p in above)) for t in _points(above, due)))
    return tuple(found)


def _points(periods: tuple[Number, ...], due: Number) -> list[Number]:
    often = [floor_div(due, p) for p in periods]
    if sum(often) <= MANY:
        # A multiple that is the deadline up to rounding is the deadline.
        return sorted({due, *(min(k * p, due) for p, n in zip(periods, often, strict=True) for k in range(1, n + 1))})
    # Between the last release of a task before t and t the demand does not change unless a task further up has
    # releases there: it is enough to go down from the deadline (Bini and Buttazzo 2004).
    kept = {due}
    for p in reversed(periods):
        kept |= {min(floor_div(t, p) * p, t) for t in kept if floor_div(t, p)}
    return sorted(kept)


def grid(tasks: Tasks) -> tuple[tuple[Point, ...], ...]:
    """The scheduling points of every task, with how often each task is released before them."""
    periods, deadlines = tuple(task.period for task in tasks), tuple(task.deadline for task in tasks)
    return _grid(periods, deadlines, not any(isinstance(each, float) for each in (*periods, *deadlines)))


def points(tasks: Tasks, i: int) -> list[Number]:
    """The scheduling points of task i."""
    return _points(tuple(task.period for task in tasks[: i + 1]), tasks[i].deadline)


def demand(tasks: Tasks, i: int, t: Number) -> Number:
    """What task i and those above it ask for up to t, V_i(t)."""
    return sum((task.cost * ceil_div(t, task.period) for task in tasks[: i + 1]), start=0)


def summed(costs: Sequence[Number], counts: Sequence[int]) -> Number:
    """The demand at a point, from the costs of all tasks and the counts of that point."""
    total: Number = sum(map(mul, costs, counts))
    return total


def level(tasks: Tasks, i: int) -> Number:
    """The least demand of task i per time, L_i; it meets its deadlines if that is at most 1."""
    costs = [task.cost for task in tasks]
    return min(over(summed(costs, counts), t) for t, counts in grid(tasks[: i + 1])[i])


def levels(tasks: Tasks) -> tuple[Number, ...]:
    """L_i of every task."""
    return tuple(level(tasks, i) for i in range(len(tasks)))


def load(tasks: Tasks) -> Number:
    """The part of the processor that all tasks need together, U = ΣE/P."""
    return sum((over(task.cost, task.period) for task in tasks), start=0)


def bound(n: int) -> float:
    """The load up to which any n tasks meet their deadlines, n·(2^(1/n) − 1)."""
    return float(n * (2 ** (1 / n) - 1))


def blocking(tasks: Tasks, i: int) -> Number:
    """For how long a lower task may keep task i waiting, B_i: a piece is at most what its task costs."""
    return max((min(task.piece, task.cost) for task in tasks[i + 1 :]), default=0)


def schedulable(tasks: Tasks, *, margin: Number = 0, carried: Sequence[Number] = ()) -> Verdict:
    """Whether all tasks meet all deadlines; `carried` is the unfinished work of each task."""
    costs = [task.cost for task in tasks]
    blocked = blockings(costs, [task.piece for task in tasks])
    verdict = Verdict(True, None, 0, 0, 0, 0)
    for i, grid_i in enumerate(grid(tasks)):
        extra = blocked[i] + sum(carried[: i + 1], start=0)
        found, at = min((over(extra + summed(costs, counts), t), t) for t, counts in grid_i)
        if not at_most(found, less(1, margin)):
            return Verdict(False, i, found, at, blocked[i], i)
        if i == 0 or found > verdict.level:
            verdict = Verdict(True, None, found, at, blocked[i], i)
    return verdict


def blockings(costs: Sequence[Number], pieces: Sequence[Number]) -> list[Number]:
    """B of every task, for such costs."""
    found: list[Number] = []
    longest: Number = 0
    for cost, piece in zip(reversed(costs), reversed(pieces), strict=True):
        found.append(longest)
        longest = max(longest, min(piece, cost))
    return found[::-1]


def response_time(tasks: Tasks, i: int, until: Number | None = None, blocked: Number = 0) -> Number | None:
    """When task i is done if all are released together; None if after `until`, by default its deadline.

    Something else may be in its way for as long as `blocked`.
    """
    limit = tasks[i].deadline if until is None else until
    before = blocked + blocking(tasks, i) + tasks[i].cost
    found = before + sum(task.cost for task in tasks[:i])
    while at_most(found, limit):
        longer = before + demand(tasks, i - 1, found) if i else before
        if at_most(longer, found):
            return found
        found = longer
    return None


def response_time_whole(tasks: Tasks, i: int) -> Number | None:
    """The longest time in which task i is done if no iteration is ever interrupted; None if past its deadline.

    An iteration may be put off by what came while the one before it could not be interrupted, so all iterations of
    the busy period are looked at and not the first one alone (Davis, Burns, Bril and Lukkien 2007).
    """
    task, above = tasks[i], tasks[:i]
    lower = max((each.cost for each in tasks[i + 1 :]), default=0)
    worst: Number = 0
    busy = lower + sum(each.cost for each in tasks[: i + 1])
    for index in range(LONG):
        begun = _begun(lower + index * task.cost, above, index * task.period + task.deadline)
        if begun is None:
            return None
        worst = max(worst, begun + task.cost - index * task.period)
        if not at_most(worst, task.deadline):
            return None
        while at_most(busy, (index + 1) * task.period):
            longer = lower + demand(tasks, i, busy)
            if at_most(longer, busy):
                return worst
            busy = longer
    return None


def _begun(before: Number, above: Tasks, limit: Number) -> Number | None:
    found: Number = before
    while at_most(found, limit):
        longer: Number = before + sum(each.cost * (floor_div(found, each.period) + 1) for each in above)
        if at_most(longer, found):
            return longer
        found = longer
    return None


def tolerance(tasks: Tasks, i: int, margin: Number = 0) -> Number:
    """For how long task i can be kept waiting by a lower one, β_i."""
    costs = [task.cost for task in tasks]
    return max(less(t, margin) - summed(costs, counts) for t, counts in grid(tasks[: i + 1])[i])


def longest_pieces(tasks: Tasks, margin: Number = 0) -> tuple[Number, ...]:
    """How long a piece of each task may be so that all above it can wait for it; without limit for the first."""
    found: list[Number] = []
    limit: Number = math.inf
    for i in range(len(tasks)):
        found.append(limit)
        limit = min(limit, tolerance(tasks, i, margin))
    return tuple(found)


def edf_schedulable(tasks: Tasks, margin: Number = 0, blocked: Number = 0) -> bool:
    """Whether all deadlines are met if the earliest one goes first.

    Where everything can be interrupted and d = P, that is U ≤ 1. Otherwise what is due up to t has to fit, for every
    t at which something is due, as long as the processor is busy without a break; with U < 1 also no further than
    Σ(P − d)·E/P / (1 − U). Pieces that cannot be interrupted are in the way of what is due up to t if their task has
    a longer deadline (George, Rivierre and Spuri 1996), and something else may be for as long as `blocked`. Without
    these two the test is exact; with them it is safe.

    Near U = 1 there may be very many such t. Few of them are looked at: none where a bound shows already that all
    fits, and otherwise those to which the demand of the last one leads (Zhang and Burns 2009).
    """
    used = load(tasks)
    whole = less(1, margin)
    if not at_most(used, whole):
        return False
    if not tasks or _rough_level(tasks, blocked) <= whole:
        return True
    pieces = _pieces(tasks)
    in_the_way = blocked > 0 or any(piece > 0 for due, piece in pieces if due > pieces[0][0])
    longest = pieces[-1][0]
    if all(task.deadline == task.period for task in tasks) and not blocked:
        # What is due up to t is at most U·t, so only pieces can make any difference.
        return not in_the_way or _fits(tasks, pieces, longest, margin)
    if blocked and not used < whole:
        return False
    far: Number = LONG * max(task.period for task in tasks)
    if used < whole:
        early: Number = sum(over((task.period - task.deadline) * task.cost, task.period) for task in tasks)
        far = min(far, max(longest, over(early + blocked, whole - used)))
    # With U < 1 it only saves looking further.
    steps = MANY if used < whole else LONG
    limit = _busy([over(task.cost, whole) for task in tasks], tasks, far, over(blocked, whole), steps)
    if limit > far and not used < whole:
        return False
    # A piece may be in the way also when the processor was idle before, up to the longest deadline.
    limit = max(limit, longest) if in_the_way else limit
    return _fits(tasks, pieces, min(limit, far), margin, blocked)


def edf_level(tasks: Tasks, blocked: Number = 0) -> Number:
    """The most demand per time if the earliest deadline goes first: with costs of up to 1/L as much a set passes.

    What is due up to t is at most t·ΣE/d, and pieces are in nobody's way after the longest deadline.
    """
    if not tasks:
        return 0
    pieces = _pieces(tasks)
    longest = pieces[-1][0]
    if sum(floor_div(longest, task.period) for task in tasks) > MANY:
        return _rough_level(tasks, blocked)
    dues = {t for task in tasks for t in _dues(task, longest) if at_most(t, longest)}
    early = max(over(blocked + _in_the_way(pieces, t) + _due(tasks, t), t) for t in dues)
    later: Number = sum((over(task.cost, task.deadline) for task in tasks), start=over(blocked, longest))
    return max(early, later)


def edf_longest_pieces(tasks: Tasks, margin: Number = 0) -> tuple[Number, ...]:
    """How long a piece of each task may be so that all that may be due before it can wait for it."""
    longest: Number = max((task.deadline for task in tasks), default=0)
    if sum(floor_div(longest, task.period) for task in tasks) > MANY:
        return (0,) * len(tasks)
    dues = sorted({t for task in tasks for t in _dues(task, longest)})
    rooms = [(t, less(t, margin) - _due(tasks, t)) for t in dues]
    return tuple(min((room for t, room in rooms if t < task.deadline), default=math.inf) for task in tasks)


def _rough_level(tasks: Tasks, blocked: Number) -> Number:
    """As much as the level or more: what is in the way of anybody is in the way of the first."""
    pieces = _pieces(tasks)
    first = pieces[0][0]
    way = over(blocked + _in_the_way(pieces, first), first)
    return sum((over(task.cost, task.deadline) for task in tasks), start=way)


def _fits(
    tasks: Tasks, pieces: Sequence[tuple[Number, Number]], until: Number, margin: Number, blocked: Number = 0
) -> bool:
    """Whether what is due up to each time fits that time, behind what is in its way.

    Where the same is in the way, less is needed before t than up to t: all times from what is needed up to t on are
    well then, and the next one to look at is that. As less is in the way of what is due later, times from each
    deadline of a task up to the next longer one are looked at on their own. What needs very many looks, less than a
    thousandth below the whole load, is taken not to fit, which is on the safe side.
    """
    t: Number | None = until
    steps = 0
    for low in sorted({due for due, _ in pieces}, reverse=True):
        # From here up to the next longer deadline, the same is in the way.
        way = blocked + _in_the_way(pieces, low)
        while t is not None and not t < low:
            steps += 1
            if steps > MANY:
                return False
            needed = over(way + _due(tasks, t), less(1, margin))
            if not at_most(needed, t):
                return False
            t = needed if needed < t else _before(tasks, t)
        t = _before(tasks, low)
    return True


def _pieces(tasks: Tasks) -> list[tuple[Number, Number]]:
    """The deadline of every task, in their order, and the longest stretch of it that cannot be interrupted."""
    return sorted((task.deadline, min(task.piece, task.cost)) for task in tasks)


def _in_the_way(pieces: Sequence[tuple[Number, Number]], t: Number) -> Number:
    """The longest piece of a task that may begin although something else is due up to t."""
    return max((piece for due, piece in pieces if due > t), default=0)


def _busy(costs: Sequence[Number], tasks: Tasks, limit: Number, blocked: Number, steps: int) -> Number:
    """How long the processor is busy without a break; beyond all limits if that takes too many steps to find."""
    found: Number = blocked + sum(costs)
    for _ in range(steps):
        longer: Number = blocked + sum(
            cost * ceil_div(found, task.period) for cost, task in zip(costs, tasks, strict=True)
        )
        if at_most(longer, found) or longer > limit:
            return longer
        found = longer
    return math.inf


def _dues(task: Task, limit: Number) -> list[Number]:
    # One more than fits: of a float it is not known on which side of the limit it is.
    count = max(0, floor_div(limit - task.deadline, task.period) + 1)
    return [task.deadline + k * task.period for k in range(count + 1)]


def _before(tasks: Tasks, t: Number) -> Number | None:
    """The last time before t at which something is due."""
    times = ((task, ceil_div(t - task.deadline, task.period) - 1) for task in tasks if t > task.deadline)
    return max((task.deadline + k * task.period for task, k in times if k >= 0), default=None)


def _due(tasks: Tasks, t: Number) -> Number:
    """What is due up to t."""
    return sum(task.cost * max(0, floor_div(t - task.deadline, task.period) + 1) for task in tasks)
