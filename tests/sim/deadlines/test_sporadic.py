"""What is to spare where nobody knows when the next window ends, only that it does no sooner than after a stride."""

from collections import deque
from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headgate.control.deadlines.reduction import Infeasible, Reduction, reduce, reduce_edf
from headgate.control.deadlines.spare import Claim, affordable
from headgate.control.deadlines.task import Task, by_deadline
from headgate.sim.deadlines.processor import EPS, Job, Processor

MARGIN = 0.01


@st.composite
def windows(draw):
    """Tasks by their deadlines; of each, how long after a stride windows end and what part of its cost they take."""
    found, parts = [], st.lists(st.tuples(st.sampled_from([0.0, 0.0, 0.1, 0.7]), st.floats(0.05, 1.0)), min_size=5)
    n = draw(st.integers(2, 5))
    for k in range(n):
        period = float(draw(st.integers(2, 12)))
        cost = period * draw(st.floats(0.1, 2.5)) / n
        due = period * draw(st.sampled_from([0.7, 1.0, 1.0]))
        task = Task(str(k), cost, period, due, float(draw(st.integers(1, 5))), floor=0.05 * cost)
        found.append((task, draw(parts)))
    order = by_deadline(task for task, _ in found)
    return [next(each for each in found if each[0] is task) for task in order]


class Served:
    """One task, and what of it is released and not done."""

    def __init__(self, task, budget, parts):
        self.task, self.budget, self.parts = task, budget, parts
        self.count, self.soonest, self.next, self.open = 0, 0.0, 0.0, deque()

    def release(self, place, now, earliest):
        task, k = self.task, self.count
        due = now + task.deadline
        job = Job((due if earliest else task.deadline, place, k), now, due, self.budget)
        self.open.append(job)
        self.count, self.soonest = k + 1, now + task.period
        self.next = self.soonest + self.parts[k % len(self.parts)][0] * task.period
        return job

    def claim(self, now):
        task = self.task
        begun = [job for job in self.open if job.begin is not None and job.left < job.cost]
        above, shed = self.budget - task.floor, max(0.0, task.cost - self.budget)
        found = Claim(task.period, task.deadline, self.budget, shed, above, max(now, self.soonest), task.worth)
        left, first = sum(job.left for job in begun), min((job.due for job in self.open), default=None)
        return replace(found, waiting=len(self.open) - len(begun), left=left, first=first)


def late(served, horizon, earliest):
    """The jobs that are not done when they are due; and the seconds beyond budgets that were given."""
    processor, found, given_back, begun = Processor(), [], 0.0, set()
    now = 0.0
    while now < horizon:
        now = min(processor.ends(), *(each.next for each in served))
        done = processor.advance(now)
        if done is not None:
            served[done.key[1]].open.popleft()
            found += [done.key] if done.finish > done.due + EPS else []
        for place, each in enumerate(served):
            if each.next <= now + EPS:
                processor.add(each.release(place, now, earliest))
        processor.dispatch()
        job = processor.current
        if job is not None and job.key not in begun:
            begun.add(job.key)
            _, place, k = job.key
            each = served[place]
            claims = [other.claim(now) for other in served]
            most = affordable(now, claims, place, MARGIN, earliest=earliest)
            job.cost = job.left = min(most, each.parts[k % len(each.parts)][1] * each.task.cost)
            given_back += max(0.0, job.cost - each.budget)
    return found, given_back


@settings(max_examples=80)
@given(windows(), st.booleans())
def test_nobody_is_late_where_windows_end_no_sooner_than_after_a_stride(made, earliest):
    tasks = [task for task, _ in made]
    try:
        reduced = (
            reduce_edf(tasks, MARGIN, "prop") if earliest else reduce(tasks, Reduction("wf", "best", "prop", MARGIN))
        )
    except Infeasible:
        assume(False)
    served = [Served(task, float(cost), parts) for (task, parts), cost in zip(made, reduced.costs, strict=True)]
    assert late(served, 60.0, earliest)[0] == []


def test_something_is_given_back():
    tasks = [Task("a", 2.0, 2.0, 2.0, floor=0.1), Task("b", 4.0, 4.0, 4.0, floor=0.2)]
    for earliest in (False, True):
        served = [Served(tasks[0], 0.99, [(0.5, 1.0)]), Served(tasks[1], 1.98, [(0.2, 0.4), (0.2, 1.0)])]
        found, given_back = late(served, 60.0, earliest)
        assert found == []
        assert given_back > 1.0
