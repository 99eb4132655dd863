"""How a query with a deadline stands, by its windows and the clock, and what it can read in a time."""

import math
from types import SimpleNamespace

import pytest

from headgate.engine.evaluation.closed import Closed
from headgate.engine.iterations import DeadlineUnit, Iterating, Standing
from headgate.engine.windows import Window
from headgate.model.deadlines import Deadline
from headgate.model.operator import Cost
from headgate.monitor.estimators import RecentCost

near = pytest.approx
MICROS = 1_000_000
SIZE = 10 * MICROS


class Evaluation:
    """Windows of 10 s by the clock; those that end at `ends`, in seconds, have closed."""

    streams, divided, by_tuple = ("s",), "s", True

    def __init__(self, *ends, time="arrival"):
        self.plan = SimpleNamespace(window=Window(SIZE, SIZE, time))
        self.ends = ends

    def released(self, progress, after):
        closed = (Closed((end - 10) * MICROS, end * MICROS, end + 0.3) for end in self.ends)
        return [each for each in closed if each.end > max(progress.closed, after)]


def unit(evaluation, done=0, status="running"):
    progress = SimpleNamespace(closed=done * MICROS)
    query = SimpleNamespace(
        name="q", cls="default", qos=None, empty_job=0.1, tried=None, status=status, progress=progress, most=100
    )
    made = DeadlineUnit(query, Deadline(10.0, 10.0, 8.0), evaluation, lambda *_: 1.0)
    made.cost = SimpleNamespace(cost=Cost(0.1, 0.001))
    return made


def test_a_query_that_has_nothing_to_do_waits_for_the_end_of_its_window():
    found = unit(Evaluation(), done=100).standing(103.0)
    assert (found.waiting, found.left, found.first, found.next) == (0, 0.0, None, 110.0)


def test_what_is_released_waits_from_the_end_of_its_window_on():
    found = unit(Evaluation(110, 120), done=100).standing(121.0)
    assert (found.waiting, found.first, found.next) == (2, 118.0, 130.0)


def test_a_window_that_has_ended_just_now_is_the_next_one_although_nobody_has_seen_it_close():
    assert unit(Evaluation(), done=100).standing(110.1).next == 110.0
    # Later than that it is known to have had no tuples.
    assert unit(Evaluation(), done=100).standing(110.5).next == 120.0


def test_of_what_has_begun_the_rest_counts():
    made = unit(Evaluation(110, 120), done=100)
    opened = SimpleNamespace(closed=Closed(100 * MICROS, 110 * MICROS, 110.3), counts={"s": 1000}, kept=0.5)
    made.current = Iterating(opened, 110.0, 118.0, 0.6, 1000, worked=0.2)
    found = made.standing(121.0)
    # 500 tuples take 0.6 s, of which 0.2 s are done.
    assert (found.waiting, found.left, found.first) == (1, near(0.4), 118.0)
    made.current.worked = 3.0
    assert made.standing(121.0).left == near(0.1)


def test_who_is_paused_does_not_stand_anywhere():
    assert unit(Evaluation(110), status="paused").standing(111.0) is None


def test_over_event_time_the_next_window_is_released_a_stride_after_the_last_one_or_at_any_moment():
    made = unit(Evaluation(110, 120, time="event"), done=100)
    # The second of them closed at 120.3 s.
    assert made.standing(121.0) == Standing(2, 0.0, near(118.3), near(130.3))
    opened = SimpleNamespace(closed=Closed(100 * MICROS, 110 * MICROS, 110.3), counts={"s": 1000}, kept=0.5)
    made.current = Iterating(opened, 110.3, 118.3, 0.6, 1000)
    assert made.standing(121.0).waiting == 1
    made = unit(Evaluation(time="event"), done=120)
    assert made.standing(121.0) == Standing(0, 0.0, None, 121.0)
    made._released = 120.3
    assert made.standing(121.0).next == near(130.3)
    assert made.standing(140.0).next == 140.0


def test_what_can_be_read_is_bounded_by_the_time_and_by_the_longest_piece():
    made = unit(Evaluation())
    assert made.affordable({"s": 1000}, 1.1) == 1.0
    assert made.affordable({"s": 1000}, 0.6) == near(0.5, abs=1e-4)
    assert made.affordable({"s": 1000}, 1.1, 0.3) == near(0.2, abs=1e-4)
    # In pieces of 0.3 s all of it can be read.
    made.slice = 0.3
    assert made.affordable({"s": 1000}, math.inf, 0.3) == near(1.0, abs=1e-4)


class LeftOut(Evaluation):
    """A window of which nothing is kept; runs over nothing take so many seconds."""

    def __init__(self, took):
        super().__init__(110)
        self.took, self.timed = took, 0

    def opened(self, progress):
        return SimpleNamespace(kept=0.0, taken=0, beside=0, counts={"s": 100}, tuples=100)

    def empty(self, executor):
        self.timed += 1
        return self.took

    def step(self, progress, n, executor):
        return SimpleNamespace(read=0)


def test_for_a_window_that_is_left_out_a_run_over_nothing_tells_what_all_runs_take_if_that_is_asked_for():
    evaluation = LeftOut(0.5)
    made = unit(evaluation, done=100)
    made.cost = RecentCost(Cost(0.05, 0.001))
    made._runs = 3
    for _ in range(16):
        made.cost.observe(5, 0.5)
    assert made.cost.cost.a == near(0.05, abs=0.01)
    made.evaluate(1, None)
    assert evaluation.timed == 0
    made.unsure = True
    made.evaluate(1, None)
    made.evaluate(1, None)
    assert evaluation.timed == 1
    assert made.cost.cost.a == near(0.5, abs=0.05)
