"""What to take from whom so that the set becomes schedulable.

The highest task k that can be late overruns at a scheduling point t by `Φ = B_k + b_k + V_k(t) − t·(1 − η)`. That is
taken from k and the tasks above it, which are released N_j = ⌈t/P_j⌉ times up to t: shares x_j that add up to Φ, and
e_j = x_j/N_j of each iteration. None gives more than down to its floor; what it cannot give the others do. Demand
falls with every cost, so tasks that have passed stay so, and one pass down the priorities is enough.

There are choices:

    point    'P' looks at the deadline only, unless there is not enough to give there; 'best' takes the scheduling
             point with the least loss
    split    'seed'   x_j ∝ r_j            the same time from equally important queries, which empties the cheap ones
             'prop'   x_j ∝ r_j·E_j·N_j    the same fraction from equally important queries
             'greedy' all from where a second costs the fewest weighted results, then from the next
    reading  'wf' is what is said above. The others show what becomes of a rule that leaves out a part of it: 'lit'
             takes from the late task only, 'all' knows no floors, 'clamp' stops at floors and leaves the rest undone
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from headgate.control.deadlines.exact import TOLERANCE, Number, at_most, less, over
from headgate.control.deadlines.schedulability import Point, blockings, edf_schedulable, grid, schedulable, summed
from headgate.control.deadlines.task import Task

Reading = Literal["lit", "all", "clamp", "wf"]
At = Literal["P", "best"]
Split = Literal["seed", "prop", "greedy"]

TINY = 1e-12
"""A part of the amount that is left over by rounding."""

HALVINGS = 12
"""Steps of the search for what fits beside pieces."""

CUTS = tuple(Fraction(part, 8) for part in (8, 7, 6, 4, 3, 2, 1))
"""How much of the longest piece that could fit at all is tried where pieces as they are do not fit."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """How to reduce; `margin` (η) is the part of every time that is kept free."""

    reading: Reading = "wf"
    point: At = "P"
    split: Split = "seed"
    margin: Number = 0


SEED = Reduction()


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the pass: the `failing` task overran at the point `at` by `amount`, behind a piece of `blocking`.

    `shares` is what each iteration of that task and of those above it gives.
    """

    failing: int
    at: Number
    amount: Number
    shares: tuple[Number, ...]
    blocking: Number = 0


@dataclass(frozen=True, slots=True)
class Reduced:
    """The costs E' of all tasks and how they came about.

    `cut` is what was taken beforehand from tasks whose pieces no higher task could have waited for, if any were.
    """

    costs: tuple[Number, ...]
    stages: tuple[Stage, ...] = ()
    cut: tuple[Number, ...] = ()


class Infeasible(Exception):  # noqa: N818
    """Even with every task at its floor the task of that index is late, by `lacking` at its best point `at`."""

    def __init__(self, index: int, name: str, at: Number, lacking: Number) -> None:
        self.index = index
        self.name = name
        self.at = at
        self.lacking = lacking
        super().__init__(index, name, at, lacking)

    def __str__(self) -> str:
        """Who is late, and by how much."""
        return f"query '{self.name}' lacks {float(self.lacking):g} s up to {float(self.at):g} s even at the floors"


def waterfill(amount: Number, ratios: Sequence[Number], caps: Sequence[Number]) -> list[Number] | None:
    """Shares in proportion to the ratios, none above its cap, that add up to the amount; None if the caps do not."""
    open_, left = [j for j, (r, cap) in enumerate(zip(ratios, caps, strict=True)) if r > 0 and cap > 0], amount
    if not _enough(amount, (caps[j] for j in open_)):
        return None
    shares: list[Number] = [0] * len(ratios)
    while open_ and _some(left, amount):
        total = sum((ratios[j] for j in open_), start=0)
        portions = {j: over(left * ratios[j], total) for j in open_}
        full = [j for j in open_ if portions[j] >= caps[j]]
        for j in full or open_:
            shares[j] = min(portions[j], caps[j])
        if not full:
            break
        open_ = [j for j in open_ if j not in full]
        left = amount - sum(shares, start=0)
    return shares


def cheapest(amount: Number, prices: Sequence[Number], caps: Sequence[Number]) -> list[Number] | None:
    """Shares that add up to the amount, from the lowest price up, each to its cap; None if the caps do not."""
    if not _enough(amount, caps):
        return None
    shares: list[Number] = [0] * len(prices)
    left = amount
    for j in sorted(range(len(prices)), key=lambda j: prices[j]):
        shares[j] = max(0, min(caps[j], left))
        left -= shares[j]
    return shares


def reduce(
    tasks: Sequence[Task],
    how: Reduction = SEED,
    per_tuple: Sequence[Number] | None = None,
    carried: Sequence[Number] = (),
) -> Reduced:
    """The costs at which all deadlines are met, from costs with nothing shed; raises Infeasible if there are none.

    `per_tuple` is the time that a source tuple takes in each task, which says how many results a second is worth;
    without it the same for all. `carried` is unfinished work of each task.
    """
    found = _Problem(tasks, how, per_tuple, carried).solved()
    if how.reading == "wf":
        after = [
            replace(task, cost=cost, piece=min(task.piece, cost))
            for task, cost in zip(tasks, found.costs, strict=True)
        ]
        if not schedulable(after, margin=how.margin, carried=carried).ok:
            message = f"a reduced set has to pass the test: {after}"
            raise RuntimeError(message)
    return found


def reduce_edf(
    tasks: Sequence[Task],
    margin: Number = 0,
    split: Split = "seed",
    per_tuple: Sequence[Number] | None = None,
    blocked: Number = 0,
) -> Reduced:
    """The costs at which all deadlines are met if the earliest one goes first.

    One constraint is enough, `Σ E'/d ≤ 1 − η`, which is the load where the deadline is the period. Where pieces that
    cannot be interrupted are in the way, or something else is for as long as `blocked`, a tighter one is looked for.
    A set that passes the test stays as it is.
    """
    costs = tuple(task.cost for task in tasks)
    if edf_schedulable(tasks, margin, blocked):
        return Reduced(costs)
    found = _Earliest(tasks, split, per_tuple)
    most = min(less(1, margin), found.total(costs))
    first = found.at(most)
    if first is None:
        last = tasks[-1]
        raise Infeasible(len(tasks) - 1, last.name, 1, found.total([task.floor for task in tasks]) - less(1, margin))

    def passes(reduced: Reduced) -> bool:
        after = [
            replace(task, cost=cost, piece=min(task.piece, cost))
            for task, cost in zip(tasks, reduced.costs, strict=True)
        ]
        return edf_schedulable(after, margin, blocked)

    if passes(first):
        return first
    low = found.total([min(task.floor, task.cost) for task in tasks])
    best = found.at(low)
    if best is None or not passes(best):
        longest = max(min(task.piece, task.floor) for task in tasks)
        soonest = min(range(len(tasks)), key=lambda i: tasks[i].deadline)
        raise Infeasible(soonest, tasks[soonest].name, tasks[soonest].deadline, blocked + longest)
    for _ in range(HALVINGS):
        middle = over(low + most, 2)
        tried = found.at(middle)
        if tried is not None and passes(tried):
            low, best = middle, tried
        else:
            most = middle
    return best


@dataclass
class _Earliest:
    """Costs by what they come to in all, each as a part of its deadline."""

    tasks: Sequence[Task]
    split: Split
    per_tuple: Sequence[Number] | None

    def total(self, costs: Sequence[Number]) -> Number:
        return sum((over(cost, task.deadline) for cost, task in zip(costs, self.tasks, strict=True)), start=0)

    def at(self, total: Number) -> Reduced | None:
        """The costs that come to such a total; None if the floors come to more."""
        tasks = self.tasks
        amount = self.total([task.cost for task in tasks]) - total
        caps = [over(task.cost - task.floor, task.deadline) for task in tasks]
        prices = [
            over(price * task.deadline, task.period)
            for price, task in zip(_worths(tasks, self.per_tuple), tasks, strict=True)
        ]
        weights = [over(task.cost, task.deadline) for task in tasks]
        shares = _split(self.split, amount, [task.ratio for task in tasks], weights, prices, caps)
        if shares is None:
            return None
        given = tuple(share * task.deadline for share, task in zip(shares, tasks, strict=True))
        left = tuple(_taken(task.cost, e, min(task.floor, task.cost)) for e, task in zip(given, tasks, strict=True))
        return Reduced(left, (Stage(len(tasks) - 1, 1, amount, given),))


def _split(
    split: Split,
    amount: Number,
    ratios: Sequence[Number],
    demands: Sequence[Number],
    prices: Sequence[Number],
    caps: Sequence[Number],
) -> list[Number] | None:
    if split == "greedy":
        return cheapest(amount, prices, caps)
    if split == "prop":
        # What asks for nothing has nothing to give.
        return waterfill(amount, [r * x for r, x in zip(ratios, demands, strict=True)], caps)
    return waterfill(amount, ratios, caps)


def _worths(tasks: Sequence[Task], per_tuple: Sequence[Number] | None) -> list[Number]:
    """What a second of each task is worth: weighted results per second of its cost."""
    each = per_tuple if per_tuple is not None else [1] * len(tasks)
    return [over(task.worth, c) if c else task.worth for task, c in zip(tasks, each, strict=True)]


def _enough(amount: Number, caps: Iterable[Number]) -> bool:
    total = sum((cap for cap in caps if cap > 0), start=0)
    return total >= amount or (isinstance(total, float) and total >= amount * (1 - TINY))


def _rounded(amount: Number, most: Number, t: Number) -> Number:
    # Floors that just fit are not to fail by the rounding of a difference of greater numbers.
    return most if isinstance(amount, float) and most < amount <= most + TOLERANCE / 2 * float(t) else amount


def _some(left: Number, amount: Number) -> bool:
    return left > (TINY * amount if isinstance(left, float) else 0)


def _taken(cost: Number, share: Number, floor: Number) -> Number:
    # A share that is all there was to give leaves the floor, and not a little more or less by rounding.
    left = cost - share
    return left if left - floor > (TINY * cost if isinstance(left, float) else 0) else floor


@dataclass
class _Problem:
    tasks: Sequence[Task]
    how: Reduction
    per_tuple: Sequence[Number] | None
    carried: Sequence[Number]
    points: tuple[tuple[Point, ...], ...] = field(init=False)
    before: list[Number] = field(init=False)
    ratios: list[Number] = field(init=False)
    worths: list[Number] = field(init=False)
    floors: list[Number] = field(init=False)
    pieces: list[Number] = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.tasks)
        self.points = grid(self.tasks)
        self.before = [sum(self.carried[: k + 1], start=0) for k in range(n)]
        self.ratios = [task.ratio for task in self.tasks]
        worths = _worths(self.tasks, self.per_tuple)
        self.worths = [over(worth, task.period) for worth, task in zip(worths, self.tasks, strict=True)]
        # Where the floor is above the cost itself there is nothing to take.
        self.floors = [min(task.floor, task.cost) for task in self.tasks]
        self.pieces = [task.piece for task in self.tasks]

    def solved(self) -> Reduced:
        costs = [task.cost for task in self.tasks]
        if self.how.reading != "wf":
            return self.one_pass(costs, blockings(costs, self.pieces))
        try:
            return self.stable(costs)
        except Infeasible as none:
            found = [each for part in CUTS if (each := self.shortened(costs, part)) is not None]
            if not found:
                raise none from None
            return min(found, key=self.loss)

    def stable(self, costs: Sequence[Number]) -> Reduced:
        """Repeat the pass with the pieces as short as the last one has made them.

        With less in the way less has to be taken, which may make pieces longer again: a pass counts if it ends with
        pieces no longer than those it went by.
        """
        assumed = blockings(costs, self.pieces)
        best = self.one_pass(costs, assumed)
        wanted = blockings(best.costs, self.pieces)
        for _ in self.tasks:
            if wanted == assumed:
                break
            found = self.one_pass(costs, wanted)
            left = blockings(found.costs, self.pieces)
            if all(map(at_most, left, wanted)):
                best = min(best, found, key=self.loss)
                assumed, wanted = wanted, left
            else:
                wanted = [max(pair) for pair in zip(wanted, left, strict=True)]
        return best

    def shortened(self, costs: Sequence[Number], part: Fraction) -> Reduced | None:
        """Cut tasks with pieces that nobody above could wait for, to such a part of what could be waited for."""
        limit: Number | None = None
        shorter: list[Number] = []
        for k, cost in enumerate(costs):
            fits = limit is None or min(self.pieces[k], cost) <= limit * part
            shorter.append(cost if limit is None or fits else max(self.floors[k], limit * part))
            room = max(self.room(k, t, counts) for t, counts in self.points[k])
            limit = room if limit is None else min(limit, room)
        if tuple(shorter) == tuple(costs):
            return None
        try:
            found = self.stable(shorter)
        except Infeasible:
            return None
        return replace(found, cut=tuple(cost - less_ for cost, less_ in zip(costs, shorter, strict=True)))

    def one_pass(self, costs: Sequence[Number], blocked: Sequence[Number]) -> Reduced:
        now = list(costs)
        stages = []
        for k in range(len(now)):
            extra = blocked[k] + self.before[k]
            if any(at_most(extra + summed(now, counts), less(t, self.how.margin)) for t, counts in self.points[k]):
                continue
            found = self.found(k, self.points[k][-1:], now, blocked[k]) if self.how.point == "P" else []
            found = found or self.found(k, self.points[k], now, blocked[k])
            if not found:
                raise self.infeasible(k, extra)
            best = min(found, key=self.price)
            stages.append(best)
            self.take(now, best)
        return Reduced(tuple(now), tuple(stages))

    def found(self, k: int, points: Iterable[Point], costs: Sequence[Number], blocked: Number) -> list[Stage]:
        tried = (self.stage(k, t, counts, costs, blocked) for t, counts in points)
        return [stage for stage in tried if stage is not None]

    def stage(
        self, k: int, t: Number, counts: Sequence[int], costs: Sequence[Number], blocked: Number
    ) -> Stage | None:
        amount = blocked + self.before[k] + summed(costs, counts) - less(t, self.how.margin)
        demands = [cost * n for cost, n in zip(costs, counts, strict=False)]
        prices = [over(worth, n) for worth, n in zip(self.worths, counts, strict=False)]
        caps: list[Number] = [amount] * len(counts)
        if self.how.reading == "wf":
            caps = [(cost - floor) * n for cost, floor, n in zip(costs, self.floors, counts, strict=False)]
            amount = _rounded(amount, sum(caps, start=0), t)
        shares = _split(self.how.split, amount, self.ratios[: k + 1], demands, prices, caps)
        if shares is None:
            return None
        given = tuple(over(share, n) for share, n in zip(shares, counts, strict=True))
        return Stage(k, t, amount, given, blocked)

    def take(self, costs: list[Number], stage: Stage) -> None:
        who = [stage.failing] if self.how.reading == "lit" else range(stage.failing + 1)
        for j in who:
            bounded = self.how.reading not in {"lit", "all"}
            share = stage.shares[j]
            costs[j] = _taken(costs[j], share, self.floors[j]) if bounded else costs[j] - share

    def price(self, stage: Stage) -> Number:
        """The weighted results per second that a stage costs."""
        return sum((worth * e for worth, e in zip(self.worths, stage.shares, strict=False)), start=0)

    def loss(self, found: Reduced) -> Number:
        """The weighted results per second that such costs leave out."""
        lost = (
            worth * (task.cost - cost) for worth, task, cost in zip(self.worths, self.tasks, found.costs, strict=True)
        )
        return sum(lost, start=0)

    def room(self, k: int, t: Number, counts: Sequence[int]) -> Number:
        """What is left at a point for a piece in the way when all are at their floors."""
        return less(t, self.how.margin) - self.before[k] - summed(self.floors, counts)

    def infeasible(self, k: int, extra: Number) -> Infeasible:
        blocked = extra - self.before[k]
        room, at = max((self.room(k, t, counts), t) for t, counts in self.points[k])
        return Infeasible(k, self.tasks[k].name, at, blocked - room)
