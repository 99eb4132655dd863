"""Lottery and stride: parts of the turns by tickets."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.policy.protocol import Outcome
from headgate.policy.qos.tickets import Lottery, Stride
from headgate.policy.trains import ONE, Train
from helpers import prepared, view
from policy.qos.bed import box_units, path_units

TICKETS = {"app0": 1.0, "app1": 2.0, "app2": 5.0}
UNITS = path_units((1, None), (3, None), (2, None))


def busy(policy, units, runs, waiting=None):
    """So many runs of queues that are never empty: the seconds that each unit got."""
    policy.prepare(units)
    now, used = 0.0, Counter()
    for _ in range(runs):
        [run] = policy.choose(view(now, *(waiting or [[0.0] * 100] * len(units)))).runs
        seconds = units[run.unit].cost.of(run.train)
        policy.observe(Outcome(run, now, now + seconds))
        now += seconds
        used[run.unit] += seconds
    return used


@given(st.lists(st.integers(1, 9), min_size=2, max_size=5))
def test_by_stride_the_time_of_each_is_its_part_to_within_a_run(held):
    units = path_units(*((1 + k % 3, None) for k in range(len(held))))
    tickets = {f"app{k}": float(n) for k, n in enumerate(held)}
    used = busy(Stride(tickets, train=ONE), units, 300)
    passes = [used[k] / n for k, n in enumerate(held)]
    # The one that is furthest ahead has run once more than it should, at most.
    assert max(passes) - min(passes) <= max(u.cost.of(1) / n for u, n in zip(units, held, strict=True)) + 1e-9


def test_by_stride_per_tuple_long_work_does_not_count_more():
    used = busy(Stride(TICKETS, train=ONE, per="tuples"), UNITS, 800)
    assert [used[k] / UNITS[k].cost.b for k in range(3)] == [100, 200, 500]


def test_who_had_nothing_to_do_has_no_claim_on_the_past():
    policy = Stride(train=ONE)
    busy(policy, UNITS, 50, waiting=[[], [0.0] * 9, [0.0] * 9])
    again = Counter()
    now = 1000.0
    for _ in range(12):
        [run] = policy.choose(view(now, *[[0.0]] * 3)).runs
        policy.observe(Outcome(run, now, now + 1.0))
        again[run.unit] += 1
        now += 1.0
    assert max(again.values()) - min(again.values()) <= 3


def test_the_lottery_gives_turns_by_tickets():
    used = busy(Lottery(TICKETS, train=ONE), UNITS, 4000)
    turns = [used[k] / UNITS[k].cost.b / 4000 for k in range(3)]
    assert turns == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.03)
    assert busy(Lottery(TICKETS, train=ONE), UNITS, 50) == busy(Lottery(TICKETS, train=ONE), UNITS, 50)


def test_tickets_of_a_class_are_those_of_its_queries():
    policy = prepared("lottery", UNITS, tickets={"default": 4.0, "app1": 1.0})
    assert policy.choose(view(1.0, [0.0], [], [])).why.terms == {"tickets": 4.0, "of": 4.0, "n": 1.0}
    assert policy.choose(view(1.0, [], [0.0], [])).why.terms["tickets"] == 1.0


@pytest.mark.parametrize("name", ["lottery", "stride"])
def test_inside_a_query_what_is_nearest_to_the_output_runs_first(name):
    units = box_units((3, None))
    assert prepared(name, units, train=Train(5)).choose(view(1.0, [0.0], [0.0] * 7, [])).runs == ((1, 5),)
    assert prepared(name, units).choose(view(1.0, [], [], [])) is None


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: Lottery({"app0": 0.0}), "'app0' holds tickets"),
        (lambda: Stride(per="moon"), "strides per known thing"),
    ],
)
def test_what_is_no_option_is_refused(make, rule):
    with pytest.raises(InputError) as caught:
        make()
    assert caught.value.rule == rule
