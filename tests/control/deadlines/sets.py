"""Sets of tasks for the tests: from plain numbers, from Hypothesis, and a processor that runs them step by step."""

from dataclasses import replace
from fractions import Fraction

from hypothesis import strategies as st

from headgate.control.deadlines.task import Task, by_deadline, by_rate

KAPPA = ("4", "3.8", "6.5", "5.5", "14", "13.6", "27.8", "17", "22", "4")
PERIODS = (1, 2, 2, 3, 4, 5, 5, 6, 6, 6)
WEIGHTS = (5, 6, 3, 2, 1, 7, 8, 9, 10, 4)
SELECTIVITIES = (0.5, 0.3, 0.6, 0.4, 0.5, 0.3, 0.8 / 3, 0.4, 0.5, 0.05)


def tasks(costs, periods, ratios=None, deadlines=None, **options):
    """Tasks in the order given, with exact numbers where these are exact."""
    n = len(costs)
    ratios, deadlines = ratios or (1,) * n, deadlines or periods
    return [
        Task(f"q{j}", cost, period, due, weight=1 / Fraction(r), **{name: each[j] for name, each in options.items()})
        for j, (cost, period, due, r) in enumerate(zip(costs, periods, deadlines, ratios, strict=True))
    ]


def whole(given):
    """The same tasks, none of which can be interrupted."""
    return [replace(task, piece=task.cost) for task in given]


def at_costs(given, costs):
    """The same tasks at other costs; a piece is at most the cost."""
    return [replace(task, cost=c, piece=min(task.piece, c)) for task, c in zip(given, costs, strict=True)]


def in_floats(given):
    """The same tasks as they would be measured."""
    numbers = ("cost", "period", "deadline", "selectivity", "floor", "piece")
    return [replace(task, **{name: float(getattr(task, name)) for name in numbers}) for task in given]


def mix(rate, floor=0.0):
    """The ten published queries at a rate in tuples per second, costs in seconds."""
    costs = [float(kappa) * 1e-6 * rate * period for kappa, period in zip(KAPPA, PERIODS, strict=True)]
    parts = zip(costs, PERIODS, WEIGHTS, SELECTIVITIES, strict=True)
    return [Task(f"Q{j}", c, p, p, w, s, floor=floor * c) for j, (c, p, w, s) in enumerate(parts, 1)]


@st.composite
def task_sets(draw, most=6, shorter=False, pieces=False, floors=False, load=(1, 200)):
    """Exact sets by priority, from light to far too heavy; deadlines, pieces and floors where asked for."""
    n = draw(st.integers(1, most))
    made = []
    for j in range(n):
        period = draw(st.integers(2, 40))
        cost = Fraction(draw(st.integers(*load)) * period, 100 * n)
        due = draw(st.integers(max(1, period // 2), period)) if shorter else period
        made.append(
            Task(
                f"q{j}",
                cost,
                period,
                due,
                weight=draw(st.integers(1, 10)),
                selectivity=Fraction(draw(st.integers(1, 20)), 20),
                floor=cost * Fraction(draw(st.integers(0, 20)), 100) if floors else 0,
                piece=cost * Fraction(draw(st.integers(0, 100)), 100) if pieces else 0,
            )
        )
    return list(by_deadline(made) if shorter else by_rate(made))


def late(given, horizon, pick, *, interrupted=True, phases=None):
    """Whether anything is late on a processor that goes through whole steps of time; costs and times are whole.

    `pick` is the key of the job that goes first, from its task's place, its deadline and its release.
    """
    phases = phases or [0] * len(given)
    jobs, current = [], None
    for now in range(horizon):
        for place, task in enumerate(given):
            if now >= phases[place] and (now - phases[place]) % task.period == 0 and task.cost:
                jobs.append([pick(place, now + task.deadline, now), now + task.deadline, task.cost])
        if any(due <= now for _, due, _ in jobs):
            return True
        if interrupted or current is None or current not in jobs:
            current = min(jobs, default=None)
        if current is not None:
            current[2] -= 1
            if not current[2]:
                jobs.remove(current)
                current = None
    return any(due <= horizon for _, due, _ in jobs)


def by_place(place, due, release):
    return place, release


def by_due(place, due, release):
    return due, place, release


@st.composite
def whole_sets(draw, most=4, shorter=False):
    """Sets in whole steps of time, small enough to be run through."""
    n = draw(st.integers(1, most))
    made = []
    for j in range(n):
        period = draw(st.sampled_from((2, 3, 4, 5, 6, 8, 10, 12)))
        cost = draw(st.integers(1, max(1, period // 2)))
        due = draw(st.integers(max(1, period // 2), period)) if shorter else period
        made.append(Task(f"q{j}", cost, period, due))
    return list(by_deadline(made))
