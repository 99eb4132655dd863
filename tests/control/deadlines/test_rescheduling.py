"""When there is a new plan, under each policy."""

import math

import pytest

from control.deadlines.sets import PERIODS
from headgate.control.deadlines.rescheduling import (
    TRIGGERS,
    Admitted,
    Attached,
    Due,
    Finished,
    Removed,
    create,
)
from headgate.errors import InputError


def fired(trigger, until):
    """The times of plans by the clock alone, after the first at 0."""
    trigger.fired(0.0)
    found = []
    while (at := trigger.next(found[-1] if found else 0.0)) <= until:
        trigger.fired(at)
        found.append(at)
    return found


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("static", []),
        ("pessimistic", list(range(1, 21))),
        ("optimistic", [6, 12, 18]),
        ("pessimistic-finish", []),
        ("permissive", []),
    ],
)
def test_plans_by_the_clock_for_the_published_mix(name, times):
    assert fired(create(name, PERIODS), 20) == times


@pytest.mark.parametrize("name", TRIGGERS)
def test_without_a_plan_one_is_due_now(name):
    assert create(name, PERIODS).next(3.0) == 3.0


@pytest.mark.parametrize("name", TRIGGERS)
@pytest.mark.parametrize("event", [Admitted((1, 2)), Removed((1,)), Attached()])
def test_who_comes_and_goes_forces_a_plan_under_every_policy(name, event):
    trigger = create(name, PERIODS)
    trigger.fired(0.0)
    assert trigger.on(event, 0.5)


@pytest.mark.parametrize(("name", "asks"), [(name, name == "pessimistic-finish") for name in TRIGGERS])
def test_an_iteration_that_finishes_asks_for_a_plan_under_one_policy_only(name, asks):
    trigger = create(name, PERIODS)
    trigger.fired(0.0)
    assert trigger.on(Finished("a"), 2.0) == asks


def test_a_forced_plan_does_not_shift_the_grid():
    trigger = create("optimistic", PERIODS)
    trigger.fired(0.0)
    assert trigger.on(Attached(), 5.0)
    trigger.fired(5.0)
    assert trigger.next(5.0) == 6.0


def test_the_grid_follows_the_queries_that_are_there():
    trigger = create("optimistic", PERIODS)
    trigger.fired(0.0)
    assert trigger.on(Removed((1, 2, 4)), 5.0)
    trigger.fired(5.0)
    assert trigger.next(5.0) == 8.0
    assert trigger.on(Removed(()), 6.0)
    assert trigger.next(6.0) == math.inf


def test_tenths_of_seconds_do_not_drift_off_the_grid():
    assert fired(create("pessimistic", (0.1,)), 1.0) == pytest.approx([k / 10 for k in range(1, 11)])


def test_a_plan_that_is_overdue_is_told():
    trigger = create("pessimistic", (1.0,))
    trigger.fired(0.0)
    assert trigger.next(7.5) == 1.0
    trigger.fired(7.5)
    assert trigger.next(7.5) == 8.0


# Permissive.


def permissive(threshold=0.1):
    trigger = create("permissive", (1.0, 6.0), threshold)
    trigger.fired(0.0)
    return trigger


def test_little_loss_asks_for_nothing():
    trigger = permissive()
    assert not trigger.on(Finished("a"), 2.0)
    assert not trigger.on(Due("a", whole=100, lost=10), 2.0)


def test_too_much_loss_asks_for_a_plan():
    assert permissive().on(Due("a", whole=100, lost=11), 2.0)


def test_what_was_lost_before_the_last_plan_does_not_count():
    trigger = permissive()
    assert trigger.on(Due("a", whole=100, lost=100), 2.0)
    trigger.fired(2.0)
    assert not trigger.on(Due("a", whole=100, lost=5), 4.0)


def test_between_two_plans_there_is_at_least_the_shortest_period():
    trigger = permissive()
    assert not trigger.on(Due("a", whole=100, lost=100), 0.5)
    assert not trigger.on(Finished("b"), 0.9)
    assert trigger.on(Finished("b"), 1.0)


def test_a_lasting_overload_is_told():
    trigger = permissive()
    for now in (1.0, 2.0, 3.0):
        assert trigger.on(Due("a", whole=100, lost=50), now)
        trigger.fired(now)
    assert trigger.pressed == 3
    assert trigger.on(Attached(), 9.0)
    trigger.fired(9.0)
    assert trigger.pressed == 0


def test_a_threshold_that_makes_no_sense_is_refused():
    with pytest.raises(InputError, match="threshold"):
        create("permissive", (1.0,), 1.5)


def test_an_unknown_policy_is_refused_with_a_hint():
    with pytest.raises(InputError, match="Did you mean 'optimistic'"):
        create("optimist", (1.0,))
