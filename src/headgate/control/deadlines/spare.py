"""What an iteration may take when it begins: the test is for the worst case, and the processor is seldom in it.

Budgets are such that nobody is late if all queries are released together, behind the longest piece. Mostly they are
not: some are done for now, some took less than they may. How much the iteration that begins can take is known from
what is there ('slack stealing', Davis, Tindell and Burns 1993). Query j is in time if all that goes before it, and it
itself, is done at some time t up to its next deadline:

    Σ_{h≤j} b_h + n_h(t)·(C_h + z·S_h) ≤ (t − now)·(1 − η)     for some such t, for every j from its own place on

with b the rest of what has begun, C the budgets, S what they leave out of whole windows, and n the iterations that
are released before t and have not begun. At t neither j nor anybody before it has anything to do, so that from there
on the test holds again.

z is the greatest that fits. It is that of all who are worth as much as the one that begins, or more: what these shed
is left for them, and what lighter ones do is not. Where even budgets do not fit, as those
before took longer or the plan has changed meanwhile, each gives the same part of what it has above its least, rather
than that the last one is late.

Where the earliest deadline goes first, what is due by t has to fit for every t at which something is due, from the
deadline of the one that begins on; at none of them is something in the way that has begun before and is due later.
Behind the last t that is looked at, what is due grows by the load of the budgets and no faster than time:

    Σ_h [b_h due by t] + m_h(t)·(C_h + z·S_h) ≤ (t − now)·(1 − η)     for every such t

with m the iterations that have not begun and are due by t.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.control.deadlines.exact import TOLERANCE
from headgate.control.deadlines.feedback import Estimate
from headgate.control.deadlines.task import LEAST_SELECTIVITY

FEW = 64
"""Of more releases than these only the last of each query is looked at, and of more deadlines of a query the first of
them; both err on the safe side."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Claim:
    """What a query may still ask for, in seconds and points in time.

    An iteration every `period`, the next of them released at `next` and due `due` later, may take its `budget`, which
    leaves out `shed` of a whole window and can give as much as `above` of it. So many are `waiting` that were
    released and have not begun; `left` is the rest of one that has. The oldest of them is to be done at `first`. What
    a tuple is worth, `worth`, says who gets back more. Nobody gets anything back of the `reserve` before a deadline.
    """

    period: float
    due: float
    budget: float
    shed: float
    above: float
    next: float
    worth: float = 1.0
    waiting: int = 0
    left: float = 0.0
    first: float | None = None
    reserve: float = 0.0

    @classmethod
    def of(cls, asked: Estimate, budget: float, floor: float, released: float) -> "Claim":
        """That of a query of which nothing is released, with a plan's budget; at least it keeps such a fraction."""
        above = max(0.0, budget - asked.at(floor))
        worth = max(asked.selectivity, LEAST_SELECTIVITY) * asked.weight
        return cls(asked.period, asked.due, budget, max(0.0, asked.cost - budget), above, released, worth)

    @property
    def until(self) -> float:
        """The next deadline."""
        return self.next + self.due if self.first is None else self.first


def affordable(
    now: float, claims: Sequence[Claim], place: int, margin: float = 0.0, *, earliest: bool = False
) -> float:
    """The seconds that the iteration may take which begins now: the one that waits of the query at that place.

    The claims are in the order of priority, or with `earliest` the deadline that comes first goes first.
    """
    found = spare_by_deadline if earliest else spare
    part, claim = found(now, claims, place, margin), claims[place]
    return claim.budget + part * (claim.shed if part > 0 else claim.above)


def spare(now: float, claims: Sequence[Claim], place: int, margin: float = 0.0) -> float:
    """z: the part of what it sheds that it can have back; below 0, of what all have above their least to give."""
    period, after, budget, above, waiting, left = _columns(
        claims, "period", "next", "budget", "above", "waiting", "left"
    )
    shed, found = _shed(claims, place), 1.0
    for j in range(place, len(claims)):
        upper = slice(0, j + 1)
        at = _times(now, claims[j].until, after[upper], period[upper])
        come = np.ceil((at[:, None] - after[upper]) / period[upper] - TOLERANCE)
        counts = waiting[upper] + np.maximum(0.0, come)
        room = (at - now) * (1 - margin) - left[upper].sum() - counts @ budget[upper]
        less = counts @ above[upper]
        free = np.maximum(0.0, room - claims[j].reserve)
        parts = np.where(room >= 0, _part(free, counts @ shed[upper]), -_part(-room, less))
        possible = parts[(at > now) & (room >= -less)]
        # Who is late whatever others do gets nothing from them.
        found = min(found, float(possible.max()) if possible.size else 0.0)
    return found


def spare_by_deadline(now: float, claims: Sequence[Claim], place: int, margin: float = 0.0) -> float:
    """The same where the earliest deadline goes first."""
    period, after, due, budget, above, waiting, left, reserve = _columns(
        claims, "period", "next", "due", "budget", "above", "waiting", "left", "reserve"
    )
    shed = _shed(claims, place)
    first = np.array([claim.until for claim in claims])
    # Those that wait are due one after the other, behind the one that has begun.
    begun, waits = left > 0, first + np.where(left > 0, period, 0.0)
    times, owners = _dues(place, first, after + due, period, waiting)

    def due_by(at: Floats, following: Floats) -> Floats:
        """How many that have not begun are due by then, of each."""
        before: Floats = np.clip(np.floor((at[:, None] - waits) / period + TOLERANCE) + 1, 0.0, waiting)
        return before + np.maximum(0.0, following)

    def room(at: Floats, counts: Floats) -> Floats:
        rest = ((at[:, None] >= first - TOLERANCE) & begun) @ left
        found: Floats = (at - now) * (1 - margin) - rest - counts @ budget
        return found

    passed = (times[:, None] - after - due) / period + 1
    counts = due_by(times, np.where(passed > FEW, passed, np.floor(passed + TOLERANCE)))
    free, less = room(times, counts), counts @ above
    parts = np.where(free >= 0, _part(np.maximum(0.0, free - reserve[owners]), counts @ shed), -_part(-free, less))
    # What is late whatever others do gets nothing from them.
    found = min(1.0, float(np.where((times > now) & (free >= -less), parts, 0.0).min()))
    last = times[-1:]
    counts = due_by(last, passed[-1:])
    beyond = float((room(last, counts) - reserve.max())[0])
    if (budget / period).sum() > (1 - margin) * (1 + TOLERANCE):
        # Who has more than there is to be had gets nothing on top of it.
        beyond = 0.0
    return min(found, float(_part(np.maximum(0.0, np.array([beyond])), counts @ shed)[0]))


def _dues(
    place: int, first: Floats, following: Floats, period: Floats, waiting: Floats
) -> tuple[Floats, NDArray[np.int_]]:
    """When something is due, and whose it is, from the deadline of the one at that place until each is due once more.

    Of queries that are due very often only the first times are looked at.
    """
    own = float(first[place])
    until = max(own, float(following.max()))
    found = [(own, place)]
    for i, (at, then, step, n) in enumerate(zip(first, following, period, waiting, strict=True)):
        found += [(at + k * step, i) for k in range(int(n) + 1)]
        found += [(then + k * step, i) for k in range(min(FEW, math.floor((until - then) / step + TOLERANCE) + 1))]
    kept = sorted((t, i) for t, i in found if own <= t <= until)
    return np.array([t for t, _ in kept]), np.array([i for _, i in kept])


def _columns(claims: Sequence[Claim], *names: str) -> list[Floats]:
    return [np.array([getattr(claim, name) for claim in claims], dtype=np.float64) for name in names]


def _shed(claims: Sequence[Claim], place: int) -> Floats:
    """What all leave out of whole windows who get back as much as the one at that place."""
    heavy = [claim.worth >= claims[place].worth * (1 - TOLERANCE) for claim in claims]
    return np.array([claim.shed if back else 0.0 for claim, back in zip(claims, heavy, strict=True)])


def _part(some: Floats, whole: Floats) -> Floats:
    """The part of a whole that is there, at most all of it."""
    return np.where(some >= whole, 1.0, some / np.where(whole > 0, whole, 1.0))


def _times(now: float, until: float, after: Floats, period: Floats) -> Floats:
    """The releases up to a deadline, and that."""
    often = np.floor((until - after) / period)
    releases = [after + often * period]
    if (often + 1)[often >= 0].sum() <= FEW:
        releases = [at + np.arange(n + 1) * p for at, n, p in zip(after, often, period, strict=True) if n >= 0]
    every: Floats = np.concatenate([[until], *releases])
    within: Floats = every[((every > now) & (every < until)) | (every == until)]
    return within
