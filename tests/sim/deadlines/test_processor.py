"""One processor: who runs, where it may be interrupted, and what plans take from it."""

import math

import pytest

from headgate.control.deadlines.task import Task
from headgate.sim.deadlines.periodic import late
from headgate.sim.deadlines.processor import Job, Processor


def job(first, cost, *, order=0, index=1, piece=0.0):
    return Job((first, order, index), 0.0, math.inf, cost, piece)


def run(processor, until, arrivals=()):
    """Let jobs come at their times, and time pass."""
    waiting = sorted(arrivals, key=lambda each: each[0])
    while True:
        event = waiting[0][0] if waiting else math.inf
        now = min(event, processor.ends(), until)
        processor.advance(now)
        while waiting and waiting[0][0] <= now:
            processor.add(waiting.pop(0)[1])
        processor.dispatch()
        if now >= until:
            return


def test_a_shorter_period_interrupts_and_what_was_done_is_kept():
    low, high = job(4.0, 3.0), job(1.0, 1.0)
    run(Processor(), 10.0, [(0.0, low), (1.0, high)])
    assert (high.begin, high.finish) == (1.0, 2.0)
    assert (low.begin, low.finish) == (0.0, 4.0)


def test_without_interruption_the_shorter_period_waits():
    low, high = job(4.0, 3.0, piece=math.inf), job(1.0, 1.0, piece=math.inf)
    run(Processor(), 10.0, [(0.0, low), (1.0, high)])
    assert low.finish == 3.0
    assert high.finish == 4.0


def test_between_trains_the_shorter_period_has_its_turn():
    low, high = job(4.0, 3.0, piece=1.25), job(1.0, 1.0, piece=1.25)
    run(Processor(), 10.0, [(0.0, low), (1.0, high)])
    assert high.begin == 1.25
    assert (low.finish, high.finish) == (4.0, 2.25)


def test_what_comes_at_the_end_of_a_train_goes_first():
    low, high = job(4.0, 3.0, piece=1.0), job(1.0, 1.0, piece=1.0)
    run(Processor(), 10.0, [(0.0, low), (1.0, high)])
    assert (high.begin, high.finish) == (1.0, 2.0)


def test_of_one_query_the_older_iteration_runs_first():
    first, second = job(1.0, 2.0, index=1), job(1.0, 1.0, index=2)
    run(Processor(), 10.0, [(0.0, first), (1.0, second)])
    assert (first.finish, second.finish) == (2.0, 3.0)


def test_equal_periods_go_by_the_order_of_admission():
    second, first = job(1.0, 1.0, order=1), job(1.0, 1.0, order=0)
    run(Processor(), 10.0, [(0.0, second), (0.0, first)])
    assert (first.finish, second.finish) == (1.0, 2.0)


@pytest.mark.parametrize("piece", [0.0, math.inf])
def test_a_plan_takes_the_processor_from_whatever_runs(piece):
    processor, each = Processor(), job(1.0, 2.0, piece=piece)
    processor.add(each)
    processor.dispatch()
    processor.advance(1.0)
    processor.take(0.5)
    assert processor.ends() == 2.5
    processor.advance(2.5)
    assert each.finish == 2.5


def test_nothing_begins_while_a_plan_is_made():
    processor, low, high = Processor(), job(4.0, 1.0, piece=math.inf), job(1.0, 1.0)
    processor.take(0.5)
    run(processor, 10.0, [(0.0, low), (0.25, high)])
    assert (high.begin, low.begin) == (0.5, 1.5)


def test_what_is_given_up_neither_runs_nor_waits():
    processor, running, waiting = Processor(), job(1.0, 2.0), job(2.0, 2.0)
    run(processor, 1.0, [(0.0, running), (0.0, waiting)])
    processor.remove(waiting)
    processor.remove(running)
    assert processor.idle
    assert processor.ends() == math.inf
    assert running.finish is None


def task(name, cost, period, piece=0.0):
    return Task(name, cost, period, period, piece=piece)


def test_a_set_on_the_edge_is_in_time_and_beyond_it_is_not():
    tasks = [task("1", 40.0, 100.0), task("2", 40.0, 150.0), task("3", 100.0, 350.0)]
    assert late(tasks, 2100.0) == []
    tasks[-1] = task("3", 101.0, 350.0)
    assert late(tasks, 2100.0)[0] == (2, 0)


def test_the_earliest_deadline_first_meets_what_rates_cannot():
    tasks = [task("1", 2.0, 5.0), task("2", 4.0, 7.0)]
    assert late(tasks, 70.0)
    assert late(tasks, 70.0, earliest=True) == []


def test_the_second_iteration_can_be_the_late_one_if_nothing_is_interrupted():
    tasks = [task(str(k), 1.0, period, math.inf) for k, period in enumerate((2.5, 3.5, 3.5))]
    tight = [*tasks[:2], Task("2", 1.0, 3.5, 3.25, piece=math.inf)]
    found = late(tight, 35.0, (0.0, 0.0, 0.0))
    assert (2, 0) not in found
    assert (2, 1) in found
