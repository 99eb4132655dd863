"""PCT and PCT_S: threads of classes on lanes."""

import pytest

from policy.classes.bed import Bed, looked_at, prepared, units

MADE = units(A=[1.0, 1.0, 1.0], B=[1.0, 1.0], C=[1.0])


def test_on_one_lane_threads_take_turns_with_one_query_each():
    bed = Bed(prepared("pct", (6, 3, 1), MADE), MADE, [1] * 6, refill=True)
    assert bed.go(9) == [0, 3, 5, 1, 4, 5, 2, 3, 5]


def test_threads_that_wait_are_served_first_come_first_served():
    made = units(A=[3.0], B=[1.0], C=[1.0])
    bed = Bed(prepared("pct", (3, 2, 1), made), made, [1] * 3, lanes=2, refill=True)
    assert bed.go(6) == [0, 1, 2, 1, 2, 0]


def test_a_thread_is_on_one_lane_at_a_time_and_lanes_beyond_stand_idle():
    scheduler = prepared("pct", (6, 3, 1), MADE)
    running = set()
    for lane in range(3):
        pending = [int(i not in running) for i in range(6)]
        decision = scheduler.choose(looked_at(*pending, lane=lane, lanes=5, running=running))
        running.add(decision.runs[0].unit)
    assert {MADE[i].cls for i in running} == {"A", "B", "C"}
    pending = [int(i not in running) for i in range(6)]
    assert scheduler.choose(looked_at(*pending, lane=3, lanes=5, running=running)) is None


@pytest.mark.parametrize(("lanes", "threads"), [(2, 3), (3, 3), (4, 4), (5, 5), (9, 5)])
def test_classes_are_split_while_lanes_are_left_each_once(lanes, threads):
    bed = Bed(prepared("pct-s", (6, 3, 1), MADE), MADE, [1] * 6, lanes=lanes, refill=True)
    bed.go(60)
    assert max(map(len, at_once(bed))) == min(lanes, threads)


def at_once(bed):
    """The units that began together."""
    found = {}
    for at, _, i, _ in bed.trace:
        found.setdefault(at, []).append(i)
    return found.values()


def test_the_most_important_class_is_split_first_into_halves_of_its_queries():
    bed = Bed(prepared("pct-s", (6, 3, 1), MADE), MADE, [1] * 6, lanes=4, refill=True)
    assert bed.go(8) == [0, 2, 3, 5, 1, 2, 4, 5]


def test_an_idle_thread_lets_the_next_one_pass():
    decision = prepared("pct", (6, 3, 1), MADE).choose(looked_at(0, 0, 0, 0, 0, 2))
    assert decision.runs == ((5, 2),)
    assert decision.why.terms == {"class": 3.0, "thread": 2.0, "skipped": 2.0, "n": 2.0}


def test_threads_survive_fresh_statistics_and_not_other_units():
    scheduler = prepared("pct", (6, 3, 1), MADE)
    assert scheduler.choose(looked_at(1, 1, 1, 1, 1, 1)).runs[0].unit == 0
    scheduler.prepare(units(A=[2.0, 2.0, 2.0], B=[2.0, 2.0], C=[2.0]))
    assert scheduler.choose(looked_at(1, 1, 1, 1, 1, 1)).runs[0].unit == 3
    scheduler.prepare(units(A=[1.0], C=[1.0]))
    assert scheduler.choose(looked_at(1, 1)).runs[0].unit == 0
