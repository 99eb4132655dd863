"""CQC: slices, credit, sources, a policy inside each class, and visits that lanes share."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.policy.classes.registry import create
from headgate.policy.protocol import Outcome, Run
from policy.classes.bed import Bed, classes, looked_at, prepared, unit, units


def ran(scheduler, i, seconds, n=1):
    scheduler.observe(Outcome(Run(i, n), 0.0, seconds, (n,)))


def rounded(credit):
    return {name: round(value, 9) for name, value in credit.items()}


def test_a_round_is_divided_by_priority():
    scheduler = create("cqc", classes(6, 3, 1), {"period": 20})
    assert [scheduler.T(name) for name in "ABC"] == [12, 6, 2]
    assert scheduler.credit == {"A": 12, "B": 6, "C": 2}


@pytest.mark.parametrize(
    ("priorities", "period", "slices"),
    [
        ((6, 3, 1), 0.001, (600, 300, 100)),
        ((3, 2, 1), 0.001, (500, 333.333333, 166.666667)),
        ((30, 20, 10), 0.03, (15_000, 10_000, 5_000)),
        ((60, 30, 10), 0.03, (18_000, 9_000, 3_000)),
        ((50, 40, 30, 20, 10), 0.03, (10_000, 8_000, 6_000, 4_000, 2_000)),
    ],
)
def test_the_slices_of_the_workloads_in_microseconds(priorities, period, slices):
    scheduler = create("cqc", classes(*priorities), {"period": period})
    assert [scheduler.T(each.name) * 1e6 for each in scheduler.order] == pytest.approx(slices)


def test_an_excess_is_owed_and_paid_while_the_class_is_passed_over():
    scheduler = prepared("cqc", (1, 1), units(A=[25.0], B=[10.0]), period=20)
    both = looked_at(1, 1)
    assert scheduler.choose(both).runs == ((0, 1),)
    ran(scheduler, 0, 25)
    assert scheduler.choose(both).runs == ((1, 1),)
    assert scheduler.credit["A"] == -5
    ran(scheduler, 1, 10)
    decision = scheduler.choose(both)
    assert decision.runs == ((1, 1),)
    assert scheduler.credit["A"] == 5
    ran(scheduler, 1, 10)
    decision = scheduler.choose(both)
    assert decision.runs == ((0, 1),)
    assert decision.why.terms["credit"] == 5


@pytest.mark.parametrize(("literal", "after"), [(False, 9), (True, 19)])
def test_the_printed_update_rewards_an_excess_on_a_small_credit(literal, after):
    scheduler = prepared("cqc", (6, 3, 1), units(A=[1.0], B=[1.0], C=[1.0]), period=20, literal=literal)
    everything = looked_at(1, 1, 1)
    scheduler.choose(everything)
    ran(scheduler, 0, 12 + 22)
    for i, seconds in ((1, 6), (2, 2), (1, 6), (2, 2)):
        assert scheduler.choose(everything).runs == ((i, 1),)
        ran(scheduler, i, seconds)
    decision = scheduler.choose(everything)
    assert decision.runs == ((0, 1),)
    assert decision.why.terms["credit"] == 2
    ran(scheduler, 0, 5)
    scheduler.choose(everything)
    assert scheduler.credit["A"] == after


def test_time_that_is_left_over_is_lost_and_the_next_class_has_it():
    scheduler = prepared("cqc", (6, 3, 1), units(A=[1.0], B=[1.0], C=[1.0]), period=20)
    scheduler.choose(looked_at(1, 1, 1))
    ran(scheduler, 0, 1)
    assert scheduler.choose(looked_at(0, 1, 1)).runs == ((1, 1),)
    assert scheduler.credit["A"] == 12


def test_a_visit_lasts_while_there_is_time_and_runs_the_policy_inside():
    made = [unit(0, "A", S=0.1), unit(1, "A", S=0.9), unit(2, "B")]
    bed = Bed(prepared("cqc", (3, 1), made, period=4, train={"most": 1}), made, [2, 2, 3])
    assert bed.go(7) == [1, 1, 0, 2, 0, 2, 2]


def test_another_policy_may_order_the_queries_of_a_class():
    made = units(A=[1.0, 1.0, 1.0], B=[1.0])
    bed = Bed(prepared("cqc", (3, 1), made, period=4, inner="rr", train={"most": 1}), made, [2, 2, 2, 2])
    assert bed.go(8) == [0, 1, 2, 3, 0, 1, 2, 3]


def test_units_run_on_all_that_waits_in_the_order_of_single_tuples():
    made = [unit(0, "A", b=1.0, a=8.0), unit(1, "A", b=4.0)]
    assert prepared("cqc", (1,), made).choose(looked_at(9, 2)).runs == ((1, 2),)


def test_with_a_bound_they_run_in_the_order_of_what_such_trains_are_worth():
    made = [unit(0, "A", b=1.0, a=8.0), unit(1, "A", b=4.0)]
    assert prepared("cqc", (1,), made, train={"most": 8}).choose(looked_at(9, 2)).runs == ((0, 8),)


def test_a_reason_has_the_terms_of_both_levels_and_names_the_unit_that_came_second():
    made = units(B=[1.0], A=[4.0, 2.0])
    decision = prepared("cqc", (3, 1), made, period=4).choose(looked_at(1, 1, 1))
    assert decision.runs == ((2, 1),)
    assert decision.why.formula == "the class has credit; inside S/C"
    assert {name: decision.why.terms[name] for name in ("class", "credit", "slice", "S", "T")} == {
        "class": 1.0,
        "credit": 3.0,
        "slice": 3.0,
        "S": 1.0,
        "T": 2.0,
    }
    assert decision.why.over is None
    decision = prepared("cqc", (3, 1), made, period=4, inner="bsd").choose(looked_at(1, 1, 1, now=2.0))
    assert (decision.runs, decision.why.over) == (((2, 1),), 1)


# Sources.


def with_sources():
    """A class with two sources and an operator, and one with an operator alone."""
    return [unit(0, "A", source=True), unit(1, "A", source=True), unit(2, "A"), unit(3, "B")]


def test_sources_are_read_together_and_only_when_nothing_else_of_the_class_waits():
    scheduler = prepared("cqc", (1, 1), with_sources(), period=20)
    assert scheduler.choose(looked_at(4, 2, 5, 1)).runs == ((2, 5),)
    ran(scheduler, 2, 5, 5)
    decision = scheduler.choose(looked_at(4, 2, 0, 1))
    assert decision.runs == ((0, 4), (1, 2))
    assert decision.why.formula == "the class has credit; its sources are read"


def test_a_class_yields_when_its_sources_have_nothing():
    scheduler = prepared("cqc", (1, 1), with_sources(), period=20)
    assert scheduler.choose(looked_at(0, 0, 0, 1)).runs == ((3, 1),)


def test_a_class_yields_after_two_readings_that_brought_it_nothing_to_work_on():
    scheduler = prepared("cqc", (1, 1), with_sources(), period=20)
    for _ in range(2):
        assert scheduler.choose(looked_at(1, 0, 0, 1)).runs == ((0, 1),)
        ran(scheduler, 0, 1)
    assert scheduler.choose(looked_at(1, 0, 0, 1)).runs == ((3, 1),)


def test_work_between_two_readings_starts_the_count_again():
    scheduler = prepared("cqc", (1, 1), with_sources(), period=200)
    for pending in [(1, 0, 0, 1), (1, 0, 0, 1), (1, 0, 1, 1), (1, 0, 0, 1), (1, 0, 0, 1)]:
        assert scheduler.choose(looked_at(*pending)).why.terms["class"] == 1


def test_what_a_source_brings_in_is_worked_off_before_more_is_read():
    made = [unit(0, "A", source=True), unit(1, "A")]
    bed = Bed(prepared("cqc", (1,), made, period=5, train={"most": 2}), made, [5, 1], feeds={0: 1})
    assert bed.go(99) == [1, 0, 1, 0, 1, 0, 1]


# Rounds.


def test_with_nothing_to_do_there_is_no_decision():
    scheduler = prepared("cqc", (2, 1), units(A=[1.0], B=[1.0]))
    assert scheduler.choose(looked_at(0, 0)) is None


def test_a_class_that_is_alone_with_its_debt_goes_on():
    scheduler = prepared("cqc", (1, 1), units(A=[1.0], B=[1.0]), period=1e-6)
    for _ in range(3):
        assert scheduler.choose(looked_at(1, 0)).runs == ((0, 1),)
        ran(scheduler, 0, 1000.0)


def test_debts_shrink_alike_while_rounds_are_passed():
    scheduler = prepared("cqc", (1, 1), units(A=[1.0], B=[1.0]), period=2)
    scheduler.choose(looked_at(1, 1))
    ran(scheduler, 0, 11)
    scheduler.choose(looked_at(1, 1))
    ran(scheduler, 1, 6)
    assert scheduler.choose(looked_at(1, 1)).runs == ((1, 1),)
    assert rounded(scheduler.credit) == {"A": -3, "B": 1}


# Shares.


def test_a_class_may_be_given_more_time():
    scheduler = prepared("cqc", (1, 1), units(A=[1.0], B=[1.0]), period=10)
    scheduler.share({"A": 0.2, "B": 0.8})
    assert (scheduler.T("A"), scheduler.T("B")) == (2, 8)
    assert scheduler.credit["A"] == 2


def test_other_priorities_change_order_and_slices():
    made = units(A=[1.0], B=[1.0])
    scheduler = prepared("cqc", (3, 1), made, period=4)
    scheduler.prioritise({"B": 9})
    assert (scheduler.T("A"), scheduler.T("B")) == (1, 3)
    assert scheduler.choose(looked_at(1, 1)).runs == ((1, 1),)
    assert scheduler.choose(looked_at(1, 1)).why.terms["class"] == 1


@settings(max_examples=25)
@given(
    weights=st.lists(st.integers(1, 9), min_size=2, max_size=4),
    period=st.floats(0.1, 50.0),
    seed=st.integers(0, 99),
    lanes=st.integers(1, 3),
)
def test_busy_classes_get_their_shares_of_the_time(weights, period, seed, lanes):
    made = [unit(i, "ABCD"[i % len(weights)], 1.0 + (i * 7 + seed) % 5) for i in range(4 * lanes * len(weights))]
    bed = Bed(prepared("cqc", weights, made, period=period), made, [1] * len(made), lanes, refill=True)
    bed.go(600)
    used = [0.0] * len(weights)
    for _, _, i, n in bed.trace:
        used[i % len(weights)] += made[i].cost.of(n)
    # A class is off by a visit and the runs that go over it, on every lane.
    off = lanes * (period + 5.0 * (lanes + 1)) * 2
    for got, weight in zip(used, weights, strict=True):
        assert got == pytest.approx(sum(used) * weight / sum(weights), abs=off)


# Lanes.


def test_lanes_share_a_visit_and_the_time_is_that_of_all():
    made = units(A=[1.0, 1.0, 1.0], B=[1.0, 1.0])
    bed = Bed(prepared("cqc", (2, 1), made, period=3), made, [1] * 5, lanes=2, refill=True)
    assert [bed.scheduler.T(name) for name in "AB"] == [2, 1]
    assert bed.go(6)[:2] == [0, 1]
    assert [bed.scheduler.T(name) for name in "AB"] == [4, 2]


def test_a_class_whose_units_all_run_elsewhere_has_nothing_ready():
    scheduler = prepared("cqc", (2, 1), units(A=[1.0], B=[1.0]), period=3)
    assert scheduler.choose(looked_at(1, 1, lanes=2)).runs == ((0, 1),)
    second = looked_at(0, 1, lane=1, lanes=2, running={0})
    assert scheduler.choose(second).runs == ((1, 1),)
    assert scheduler.choose(looked_at(0, 0, lane=2, lanes=3, running={0, 1})) is None


def test_a_run_that_outlasts_its_visit_is_charged_all_the_same():
    scheduler = prepared("cqc", (1, 1), units(A=[1.0], B=[1.0]), period=10)
    scheduler.choose(looked_at(1, 1, lanes=2))
    scheduler.choose(looked_at(0, 1, lane=1, lanes=2, running={0}))
    assert scheduler.T("A") == 10
    ran(scheduler, 0, 4)
    assert scheduler.credit["A"] == 10
    ran(scheduler, 0, 30)
    assert scheduler.credit["A"] == 10 - (34 - 5)


# Mistakes.


@pytest.mark.parametrize("period", [0, -1.0, math.inf, math.nan])
def test_a_round_without_length_is_refused(period):
    with pytest.raises(InputError) as caught:
        create("cqc", classes(1), {"period": period})
    assert caught.value.rule == "cqc: a round is longer than 0 s"


def test_an_unknown_policy_inside_is_refused():
    with pytest.raises(InputError) as caught:
        create("cqc", classes(1), {"inner": "hrr"})
    assert caught.value.rule == "a known policy"
