"""Deadlines first: released iterations by their rank, one at a time, and then what another policy chooses."""

from dataclasses import replace

import pytest

from headgate.errors import InputError
from headgate.model.deadlines import Deadline
from headgate.policy.deadlines import DeadlinesFirst
from headgate.policy.protocol import Outcome, Run
from headgate.policy.registry import create
from helpers import unit, view

SLOW = Deadline(6.0, 6.0, 1.0)
FAST = Deadline(2.0, 2.0, 2.0)


def made(order="rate", inner="fcfs"):
    """Four units: a, without a deadline; slow; b, without a deadline; fast."""
    units = [unit((0.5, 1.0, 2.0), number=k) for k in range(4)]
    units[1], units[3] = replace(units[1], deadline=SLOW), replace(units[3], deadline=FAST)
    policy = DeadlinesFirst(create(inner), order)
    policy.prepare(units)
    return policy


def chosen(policy, *queues, running=()):
    found = policy.choose(replace(view(10.0, *queues), running=frozenset(running)))
    return found and found.runs[0].unit


@pytest.mark.parametrize(("order", "first"), [("rate", 3), ("deadline", 1), ("edf", 1)])
def test_a_released_iteration_goes_before_all_others_by_its_rank(order, first):
    assert chosen(made(order), [1.0], [9.9], [1.0], [9.5]) == first


def test_windows_of_suspended_queries_wait_for_all_others_and_then_for_their_turn():
    out = set()
    units = [replace(unit((0.5, 1.0, 2.0), number=k), members=(f"q{k}",), deadline=SLOW) for k in range(3)]
    units[2] = replace(units[2], deadline=FAST)
    policy = DeadlinesFirst(create("fcfs"), "rate", lambda: out)
    policy.prepare(units)
    waiting = [8.0], [9.0], [9.5]
    assert chosen(policy, *waiting) == 2
    out.add("q2")
    assert chosen(policy, *waiting) == 0
    assert chosen(policy, [], [], [9.5]) == 2
    out.update(("q0", "q1"))
    # Among these it does not count whose strides are shortest.
    assert [chosen(policy, *waiting), chosen(policy, [], *waiting[1:]), chosen(policy, [], [], [9.5])] == [0, 1, 2]


def test_the_earliest_deadline_is_that_of_the_iteration_not_of_the_query():
    assert chosen(made("edf"), [], [9.9], [], [8.0]) == 3


def test_without_a_released_iteration_the_other_policy_decides_and_says_why_by_the_numbers_of_all():
    policy = made()
    assert chosen(policy, [2.0], [], [1.0], []) == 2
    decision = policy.choose(view(10.0, [2.0], [], [1.0], []))
    assert decision.why.over == 0


def test_one_iteration_runs_at_a_time_and_the_other_lanes_have_the_rest():
    assert chosen(made(), [2.0], [9.0], [3.0], [], running=[3]) == 0
    assert chosen(made(), [], [9.0], [], [], running=[3]) is None


def test_only_units_alone_leave_the_other_policy_out():
    units = [replace(unit((0.5, 1.0, 2.0), number=0), deadline=FAST)]
    policy = DeadlinesFirst(create("bsd"))
    policy.prepare(units)
    assert chosen(policy, []) is None
    assert chosen(policy, [1.0]) == 0


def test_without_deadlines_nothing_is_different():
    units = [unit((0.5, 1.0, 2.0), number=k) for k in range(2)]
    policy, plain = DeadlinesFirst(create("hnr")), create("hnr")
    for each in (policy, plain):
        each.prepare(units)
    at = view(10.0, [2.0], [1.0])
    assert policy.choose(at) == plain.choose(at)


def test_the_other_policy_learns_of_its_own_units_only():
    policy, seen = made(), []
    policy.inner.observe = seen.append
    for number in range(4):
        policy.observe(Outcome(Run(number, 1), 0.0, 1.0))
    assert [outcome.run.unit for outcome in seen] == [0, 1]


def test_an_unknown_order_is_refused():
    with pytest.raises(InputError, match="a known order"):
        DeadlinesFirst(create("fcfs"), "luck")
