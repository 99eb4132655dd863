"""The one formula behind the query-level policies: order, ties, and what a decision counts."""

import pytest

from headgate.policy.bsd import BSD
from headgate.policy.fcfs import FCFS
from headgate.policy.hr import HR
from headgate.policy.lsf import LSF
from headgate.policy.protocol import Run, Why, Work
from headgate.policy.srpt import SRPT
from helpers import Waiting, order_of, prepared, unit, view

FAST, SLOW = unit((0.5, 1.0, 2.0), number=0), unit((0.5, 4.0, 8.0), number=1)
STATED = ["fcfs", "srpt", "srpt-c", "hr", "hnr", "lsf", "bsd", "chain", "ml"]


def chosen(policy, units, now, *queues):
    return prepared(policy, units).choose(view(now, *queues)).runs


@pytest.mark.parametrize("policy", STATED)
def test_nothing_pending_means_no_decision(policy):
    assert prepared(policy, [FAST, SLOW]).choose(view(5.0, [], [])) is None


@pytest.mark.parametrize("policy", STATED)
def test_a_unit_without_tuples_is_never_chosen(policy):
    assert chosen(policy, [FAST, SLOW], 5.0, [], [1.0]) == (Run(1, 1),)


@pytest.mark.parametrize("policy", STATED)
def test_of_equal_units_with_the_same_tuple_the_smaller_number_goes_first(policy):
    equals = [unit((0.5, 1.0, 2.0), number=k) for k in range(4)]
    assert order_of(policy, equals) == [0, 1, 2, 3]


@pytest.mark.parametrize("policy", ["fcfs", "lsf", "bsd"])
def test_of_equal_priorities_the_tuple_that_came_first_goes_first(policy):
    equals = [unit((0.5, 1.0, 2.0), number=k) for k in range(2)]
    assert chosen(policy, equals, 5.0, Waiting([1.0], 7), Waiting([1.0], 6)) == (Run(1, 1),)


@pytest.mark.parametrize("policy", ["srpt", "hr", "hnr", "bsd", "lsf"])
def test_of_equal_units_the_one_that_carries_a_tuple_on_goes_before_the_one_that_starts_another(policy):
    start, carry = unit((0.5, 1.0, 2.0), number=0), unit((0.5, 1.0, 2.0), number=1, leaf=False)
    assert chosen(policy, [start, carry], 5.0, [1.0], [1.0]) == (Run(1, 1),)


SLOW_FIRST = [unit((0.5, 4.0, 8.0), number=0), unit((0.5, 1.0, 2.0), number=1)]


@pytest.mark.parametrize("statement", [LSF, BSD], ids=["lsf", "bsd"])
def test_at_the_instant_of_arrival_the_static_part_decides(statement):
    slow, fast = (statement.static(u) for u in SLOW_FIRST)
    assert fast > slow
    assert chosen(statement.name, SLOW_FIRST, 3.0, [3.0], [3.0]) == (Run(1, 1),)


def test_a_tie_of_different_static_parts_goes_to_the_higher_one_even_if_its_tuple_is_newer():
    # W/T is 2 for both: 16/8 and 4/2.
    assert chosen("lsf", SLOW_FIRST, 16.0, [0.0], [12.0]) == (Run(1, 1),)
    assert chosen("lsf", SLOW_FIRST, 16.0, [0.0], [12.1]) == (Run(0, 1),)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("fcfs", Work(reads=1)),
        ("srpt", Work(reads=1)),
        ("hr", Work(reads=1)),
        ("hnr", Work(reads=1)),
        ("lsf", Work(2, 1, 2)),
        ("bsd", Work(2, 1, 2)),
    ],
)
def test_a_static_list_computes_nothing_and_a_scan_each_pending_unit(policy, expected):
    units = [unit((0.5, c, 2 * c), number=k) for k, c in enumerate((1.0, 2.0, 4.0))]
    decision = prepared(policy, units).choose(view(9.0, [1.0], [], [2.0]))
    assert decision.work == expected
    assert expected.operations == expected.computations + expected.comparisons


def test_a_scan_of_equal_static_parts_is_a_plain_queue_and_computes_nothing():
    equals = [unit((0.5, 1.0, 2.0), number=k) for k in range(3)]
    assert prepared("bsd", equals).choose(view(9.0, [1.0], [1.0], [2.0])).work == Work(reads=1)


def test_a_single_pending_unit_is_compared_with_nothing():
    assert prepared("bsd", [FAST, SLOW]).choose(view(9.0, [1.0], [])).work == Work(1, 0, 1)


def test_a_decision_names_the_unit_that_came_second():
    units = [unit((0.5, c, 2 * c), number=k) for k, c in enumerate((4.0, 1.0, 2.0))]
    decision = prepared("lsf", units).choose(view(9.0, [8.9], [1.0], [2.0]))
    assert decision.runs == (Run(1, 1),)
    assert decision.why.over == 2
    assert str(decision.why).endswith("; ahead of unit 2")


def test_a_reason_reads_as_the_formula_with_its_numbers():
    assert str(Why("W/T", {"W": 3.0, "T": 1 / 3})) == "W/T: W = 3, T = 0.3333"


def test_preparing_again_takes_the_new_statistics():
    policy = prepared("hr", [FAST, SLOW])
    assert policy.choose(view(1.0, [0.0], [0.0])).runs[0].unit == 0
    policy.prepare([unit((0.001, 1.0, 2.0), number=0), SLOW])
    assert policy.choose(view(1.0, [0.0], [0.0])).runs[0].unit == 1


def test_a_unit_of_several_queries_adds_their_benefits_or_takes_the_most_urgent():
    both = unit((0.5, 1.0, 2.0), (0.25, 3.0, 4.0))
    assert HR.static(both) == pytest.approx((0.5 + 0.25) / 4.0)
    assert BSD.static(both) == pytest.approx((0.5 / 4 + 0.25 / 16) / 4.0)
    assert LSF.static(both) == pytest.approx(1 / 2.0)
    assert SRPT.static(both) == pytest.approx(1 / 6.0)
    assert FCFS.static(both) == 1.0
