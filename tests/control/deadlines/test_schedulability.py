"""The tests of schedulability: against each other, and against a processor that runs the sets."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from control.deadlines.sets import by_due, by_place, in_floats, late, task_sets, tasks, whole, whole_sets
from headgate.control.deadlines import schedulability
from headgate.control.deadlines.exact import at_most, ceil_div, floor_div, over
from headgate.control.deadlines.schedulability import (
    blocking,
    demand,
    edf_level,
    edf_longest_pieces,
    edf_schedulable,
    level,
    levels,
    load,
    longest_pieces,
    points,
    response_time,
    response_time_whole,
    schedulable,
    tolerance,
)
from headgate.control.deadlines.task import Task, by_deadline, by_rate
from headgate.errors import InputError

many = settings(max_examples=150)


def length(given):
    return 2 * math.lcm(*(task.period for task in given))


# Numbers.


@pytest.mark.parametrize(
    ("a", "b", "up", "down"),
    [
        (6, 3, 2, 2),
        (7, 3, 3, 2),
        (Fraction(1, 3), Fraction(1, 6), 2, 2),
        (0.3, 0.1, 3, 3),
        (0.7 + 0.1 + 0.1, 0.3, 3, 3),
        (1e-12, 1.0, 1, 0),
        (2.0001, 1, 3, 2),
        (5, Fraction(5, 2), 2, 2),
    ],
)
def test_quotients_are_rounded_as_if_floats_were_exact(a, b, up, down):
    assert (ceil_div(a, b), floor_div(a, b)) == (up, down)


def test_exact_numbers_stay_exact():
    assert over(1, 3) == Fraction(1, 3)
    assert at_most(Fraction(1, 3), Fraction(1, 3))
    assert not at_most(Fraction(10**12 + 1, 10**12), 1)
    assert at_most(1.0 + 1e-12, 1)


def test_equal_numbers_of_another_kind_do_not_share_what_was_computed():
    floats = levels(tasks((0.5, 1.0), (2.0, 3.0)))
    exact = levels(tasks((Fraction(1, 2), 1), (2, 3)))
    assert all(isinstance(each, float) for each in floats)
    assert exact == (Fraction(1, 4), Fraction(2, 3))
    assert all(isinstance(each, Fraction) for each in exact)


# The order of priority.


def test_priority_is_the_period_and_never_the_weight():
    heavy, quick = Task("heavy", 1, 9, 9, weight=100), Task("quick", 1, 3, 3)
    assert by_rate([heavy, quick]) == (quick, heavy)


def test_equal_periods_keep_the_order_of_admission():
    same = [Task(name, 1, 5, 5) for name in "cab"]
    assert by_rate(same) == tuple(same)
    assert by_deadline(same) == tuple(same)


def test_the_higher_of_two_equal_ones_is_in_the_way_of_the_lower():
    given = tasks((1, 1), (2, 2))
    assert [response_time(given, i) for i in range(2)] == [1, 2]


def test_with_shorter_deadlines_rates_are_the_wrong_order():
    slow, quick = Task("slow", 2, 10, 2), Task("quick", 2, 5, 5)
    assert schedulable(by_deadline([quick, slow])).ok
    assert not schedulable(by_rate([quick, slow])).ok


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"period": 0}, "stride"),
        ({"deadline": 6}, "at most the stride"),
        ({"deadline": 0}, "above 0"),
        ({"weight": 0}, "weight"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused(options, rule):
    with pytest.raises(InputError, match=rule):
        Task(**({"name": "q", "cost": 1, "period": 5, "deadline": 5} | options))


@pytest.mark.parametrize(("selectivity", "ratio"), [(0.5, 1.0), (0.0, 50.0), (1e-9, 50.0)])
def test_a_query_with_hardly_any_results_does_not_pay_for_all(selectivity, ratio):
    assert Task("q", 1, 5, 5, weight=2, selectivity=selectivity).ratio == pytest.approx(ratio)


# The exact test.


@many
@given(task_sets(shorter=True))
def test_the_test_at_points_agrees_with_response_times(given_set):
    for i in range(len(given_set)):
        found = response_time(given_set, i)
        assert (found is not None) == (level(given_set, i) <= 1)
    assert schedulable(given_set).ok == all(response_time(given_set, i) is not None for i in range(len(given_set)))


@many
@given(task_sets(shorter=True, pieces=True))
def test_with_pieces_too(given_set):
    first = [i for i in range(len(given_set)) if response_time(given_set, i) is None]
    assert schedulable(given_set).failing == (first[0] if first else None)


@many
@given(whole_sets(shorter=True))
def test_the_test_agrees_with_a_processor_when_all_are_released_together(given_set):
    assert schedulable(given_set).ok == (not late(given_set, length(given_set), by_place))


@many
@given(task_sets(shorter=True))
def test_sets_of_floats_get_the_verdict_of_the_exact_ones(given_set):
    floats = [replace(t, cost=float(t.cost), period=float(t.period), deadline=float(t.deadline)) for t in given_set]
    exact = schedulable(given_set)
    assume(all(each == 1 or abs(each - 1) > 1e-7 for each in levels(given_set)))
    found = schedulable(floats)
    assert (found.ok, found.failing) == (exact.ok, exact.failing)
    assert found.level == pytest.approx(float(exact.level))


def test_the_few_points_have_the_one_that_a_point_of_another_query_leads_to():
    # It is 10, the last release of the first before 11, which is that of the second before 15.
    given_set = tasks((2, 4, 2), (5, 11, 15))
    assert [t for t in points(given_set, 2) if demand(given_set, 2, t) <= t] == [10]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedulability, "MANY", -1)
        assert 10 in schedulability._points((5, 11, 15), 15)


@given(task_sets(shorter=True, pieces=True))
def test_few_points_decide_as_many_do(given_set):
    periods = tuple(task.period for task in given_set)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedulability, "MANY", -1)
        few = [schedulability._points(periods[: i + 1], task.deadline) for i, task in enumerate(given_set)]
    for i, kept in enumerate(few):
        every = points(given_set, i)
        assert set(kept) <= {*every}
        assert min(over(demand(given_set, i, t), t) for t in kept) == level(given_set, i)
        # Below 0 the task is late as it is.
        assert max(0, *(t - demand(given_set, i, t) for t in kept)) == max(0, tolerance(given_set, i))


def test_very_different_periods_have_few_points():
    given_set = [Task("fast", 0.0005, 0.001, 0.001), Task("slow", 1000.0, 86400.0, 86400.0)]
    assert len(points(given_set, 1)) < 10
    assert schedulable(given_set).ok
    assert response_time(given_set, 1) == pytest.approx(2000, rel=1e-5)


def test_nothing_at_all_is_schedulable():
    assert schedulable([]).ok


def test_the_margin_and_what_is_carried_in_count():
    given_set = tasks((1, 1), (2, 4))
    assert schedulable(given_set).level == Fraction(3, 4)
    assert schedulable(given_set, margin=Fraction(1, 4)).ok
    assert not schedulable(given_set, margin=Fraction(1, 3)).ok
    assert schedulable(given_set, carried=(0, 1)).ok
    assert schedulable(given_set, carried=(1, Fraction(1, 100))).failing == 1
    assert schedulable(given_set, carried=(2, 0)).failing == 0


# Behind what cannot be interrupted.


@many
@given(task_sets(load=(1, 110)))
def test_what_the_blocking_test_accepts_the_exact_analysis_accepts(given_set):
    given_set = whole(given_set)
    if schedulable(given_set).ok:
        assert all(response_time_whole(given_set, i) is not None for i in range(len(given_set)))


@many
@given(whole_sets(shorter=True), st.lists(st.integers(0, 11), min_size=4, max_size=4))
def test_what_the_exact_analysis_accepts_is_never_late(given_set, phases):
    if all(response_time_whole(given_set, i) is not None for i in range(len(given_set))):
        shifts = phases[: len(given_set)]
        assert not late(given_set, length(given_set) + 12, by_place, interrupted=False, phases=shifts)


def test_a_set_that_never_rests_is_looked_at_to_its_end():
    assert response_time_whole(tasks((1, 2), (2, 4)), 1) == 3
    assert response_time_whole(tasks((1.0, 0.5 * math.sqrt(2)), (2.0, math.sqrt(2))), 1) is None


@many
@given(task_sets(shorter=True), st.sampled_from([0, Fraction(1, 20)]))
def test_pieces_as_long_as_all_above_can_wait_pass_the_test(given_set, margin):
    assume(schedulable(given_set, margin=margin).ok)
    longest = longest_pieces(given_set, margin)
    assert longest[0] == math.inf
    cut = [replace(task, piece=q if q < math.inf else task.cost) for task, q in zip(given_set, longest, strict=True)]
    assert schedulable(cut, margin=margin).ok


@given(task_sets(shorter=True), st.integers(1, 5))
def test_a_piece_that_is_longer_than_that_does_not_pass(given_set, more):
    assume(schedulable(given_set).ok and len(given_set) > 1)
    limit = longest_pieces(given_set)[-1]
    last = replace(given_set[-1], cost=limit + more, piece=limit + more)
    assert blocking([*given_set[:-1], last], 0) == limit + more
    assert not schedulable([*given_set[:-1], last]).ok


# The earliest deadline first.


@many
@given(whole_sets(shorter=True))
def test_earliest_deadline_first_agrees_with_a_processor(given_set):
    assert edf_schedulable(given_set) == (not late(given_set, length(given_set), by_due))


@many
@given(task_sets(shorter=True))
def test_what_fixed_priorities_can_do_the_earliest_deadline_can(given_set):
    if schedulable(given_set).ok:
        assert edf_schedulable(given_set)


@given(task_sets())
def test_with_deadlines_at_the_period_only_the_load_counts(given_set):
    assert edf_schedulable(given_set) == (load(given_set) <= 1)
    assert edf_schedulable(given_set, Fraction(1, 10)) == (load(given_set) <= Fraction(9, 10))


@many
@given(whole_sets(shorter=True), st.lists(st.integers(0, 11), min_size=6, max_size=6))
def test_the_earliest_deadline_meets_all_behind_whole_iterations_that_it_accepts(given_set, phases):
    one_piece = [replace(task, piece=task.cost) for task in given_set]
    assume(edf_schedulable(one_piece))
    horizon = length(given_set) + max(phases)
    assert not late(one_piece, horizon, by_due, interrupted=False, phases=phases[: len(one_piece)])


def enumerated(given, margin, blocked):
    """The test of the earliest deadline, at all times at which something is due, as far as it matters."""
    whole = 1 - margin
    if not at_most(load(given), whole):
        return False
    early = sum((task.period - task.deadline) * over(task.cost, task.period) for task in given)
    if load(given) < whole:
        until = over(early + blocked, whole - load(given))
    else:
        if blocked:
            return False
        until = math.lcm(*(int(task.period) for task in given))
    until = max(until, *(task.deadline for task in given))
    dues = {t.deadline + k * t.period for t in given for k in range(int(until / t.period) + 1)}
    for t in dues:
        way = max((min(task.piece, task.cost) for task in given if task.deadline > t), default=0)
        due = sum(task.cost * max(0, floor_div(t - task.deadline, task.period) + 1) for task in given)
        if not at_most(over(blocked + way + due, whole), t):
            return False
    return True


@settings(max_examples=400)
@given(
    task_sets(shorter=True, pieces=True, load=(40, 110)),
    st.sampled_from((0, Fraction(1, 20))),
    st.sampled_from((0, 0, Fraction(1, 2), 3)),
    st.booleans(),
)
def test_the_few_times_that_are_looked_at_say_what_all_say(given_set, margin, blocked, exact):
    used = load(given_set)
    assume(used == 1 - margin or abs(1 - margin - used) > Fraction(1, 1000))
    wanted = enumerated(given_set, margin, blocked)
    tried = given_set if exact else in_floats(given_set)
    assert edf_schedulable(tried, margin if exact else float(margin), blocked if exact else float(blocked)) == wanted


def test_many_queries_near_the_whole_load_are_judged_by_few_times(monkeypatch):
    given_set = [Task(f"q{j}", 0.02497 * (1 + j / 7), 1 + j / 7, (1 + j / 7) * 0.98) for j in range(40)]
    assert 0.998 < load(given_set) < 1
    asked = []
    due = schedulability._due
    monkeypatch.setattr(schedulability, "_due", lambda *args: asked.append(args) or due(*args))
    edf_schedulable(given_set)
    assert 0 < len(asked) < 2000


def test_for_the_earliest_deadline_a_piece_is_in_the_way_of_what_is_due_before_its_task():
    given_set = tasks((1, 3), (4, 12))
    assert edf_schedulable([given_set[0], replace(given_set[1], piece=3)])
    assert not edf_schedulable([replace(given_set[0], cost=2), replace(given_set[1], piece=3)])
    assert edf_schedulable([replace(given_set[0], piece=4), given_set[1]])
    assert edf_schedulable(given_set, blocked=3)
    assert not edf_schedulable(given_set, blocked=4)


@given(task_sets(shorter=True), st.fractions(0, 1, max_denominator=8), st.sampled_from([0, Fraction(1, 2)]))
def test_costs_can_grow_up_to_the_level(given_set, part, blocked):
    with_pieces = [replace(task, piece=part * task.cost) for task in given_set]
    found = edf_level(with_pieces, blocked)
    assume(0 < found < 1)
    grown = [replace(task, cost=Fraction(task.cost) / found) for task in with_pieces]
    assert edf_schedulable(grown, blocked=blocked)


@given(task_sets(shorter=True), st.sampled_from([0, Fraction(1, 20)]))
def test_for_the_earliest_deadline_pieces_as_long_as_all_can_wait_pass_the_test(given_set, margin):
    assume(edf_schedulable(given_set, margin))
    longest = edf_longest_pieces(given_set, margin)
    cut = [replace(task, piece=min(q, task.cost)) for task, q in zip(given_set, longest, strict=True)]
    assert edf_schedulable(cut, margin)


def test_for_the_earliest_deadline_a_piece_may_be_what_those_due_before_it_leave_free():
    # By 4 s there is 1 s to do and by 8 s there are 3 s, before the last task is due.
    given_set = tasks((1, 1, 5), (4, 8, 12))
    assert edf_longest_pieces(given_set) == (math.inf, 3, 3)
    assert edf_longest_pieces(given_set, Fraction(1, 2)) == (math.inf, 1, 1)
    assert not edf_schedulable([*given_set[:2], replace(given_set[2], piece=4)])
