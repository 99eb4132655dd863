"""Trains: how many tuples a run takes, and what the policies make of their length."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.policy.bsd import BSD
from headgate.policy.fcfs import FCFS
from headgate.policy.hnr import HNR
from headgate.policy.hr import HR
from headgate.policy.lsf import LSF
from headgate.policy.protocol import Run
from headgate.policy.srpt import SRPT, SRPT_C
from headgate.policy.trains import ONE, Train
from helpers import prepared, segment, unit, view

POSITIVE = st.floats(0.01, 100.0)
SHARES = st.floats(0.01, 1.0)
LENGTHS = st.integers(1, 1000)
NOW = 50.0


def priority(statement, u, n, waits=None):
    """The priority of a train of n tuples with the given waits, or of one second each."""
    given = [1.0] * n if waits is None else waits
    return statement.static(u, n) * statement.urgency(NOW, NOW - given[0], sum(NOW - w for w in given), n)


# The length of a train.


@pytest.mark.parametrize(
    ("train", "pending", "length"),
    [
        (ONE, 7, 1),
        (Train(5), 3, 3),
        (Train(5), 5, 5),
        (Train(5), 9, 5),
        (Train(math.inf), 1000, 1000),
        (Train(math.inf, slice=0.5), 1000, 20),
        (Train(10, slice=0.5), 1000, 10),
        (Train(math.inf, slice=0.1), 1000, 1),
        (Train(math.inf, slice=0.05), 1000, 1),
    ],
)
def test_a_train_takes_what_waits_within_its_bounds_and_at_least_one_tuple(train, pending, length):
    assert train.length(unit((0.5, 0.02, 0.1), a=0.1, b=0.02), pending) == length


@given(most=st.integers(1, 100), limit=POSITIVE, pending=LENGTHS, a=POSITIVE, b=POSITIVE)
def test_a_train_of_more_than_one_tuple_ends_within_its_slice(most, limit, pending, a, b):
    u = unit((0.5, b, b), a=a, b=b)
    n = Train(most, limit).length(u, pending)
    assert 1 <= n <= min(most, pending)
    assert n == 1 or u.cost.of(n) <= limit * (1 + 1e-9)


def test_work_that_costs_nothing_per_tuple_is_bounded_by_the_count_only():
    assert Train(50, slice=0.1).length(unit((0.5, 1.0, 1.0), a=9.0, b=0.0), 80) == 50


@pytest.mark.parametrize("most", [0, 0.5, -3, math.nan])
def test_a_train_without_a_tuple_is_refused(most):
    with pytest.raises(InputError) as caught:
        Train(most)
    assert caught.value.rule == "a train has at least one tuple"


@pytest.mark.parametrize("limit", [0.0, -1.0, math.nan])
def test_a_slice_without_time_is_refused(limit):
    with pytest.raises(InputError) as caught:
        Train(5, limit)
    assert caught.value.rule == "a train's slice is longer than 0 s"


# What the length does to the priority.


@given(S=SHARES, C=POSITIVE, T=POSITIVE, n=LENGTHS)
def test_with_nothing_paid_once_the_rate_of_a_train_is_that_of_a_tuple(S, C, T, n):
    u = unit((S, C, T))
    assert priority(HR, u, n) == pytest.approx(S / C)
    assert priority(HNR, u, n) == pytest.approx(S / (C * T))


@given(S=SHARES, C=POSITIVE, T=POSITIVE, W=POSITIVE)
def test_bsd_of_one_tuple_is_the_tuple_formula_to_the_bit(S, C, T, W):
    u = unit((S, C, T))
    assert BSD.static(u) == S / (T * T) / C
    assert priority(BSD, u, 1, [W]) == BSD.static(u) * (NOW - (NOW - W))


@given(given_segments=st.lists(st.tuples(SHARES, POSITIVE, POSITIVE), min_size=1, max_size=5), W=POSITIVE)
def test_bsd_of_one_tuple_and_many_queries_has_the_sum_of_benefits_over_the_sum_of_costs(given_segments, W):
    u = unit(*given_segments)
    phi = sum(BSD.weight(segment(*g)) for g in given_segments) / sum(segment(*g).C for g in given_segments)
    assert BSD.static(u) == phi
    assert priority(BSD, u, 1, [W]) == phi * (NOW - (NOW - W))


@given(S=SHARES, C=POSITIVE, T=POSITIVE, waits=st.lists(POSITIVE, min_size=1, max_size=20), a=POSITIVE)
def test_bsd_of_a_train_adds_up_the_waits_of_all_its_tuples(S, C, T, waits, a):
    u = unit((S, C, T), a=a)
    n = len(waits)
    assert priority(BSD, u, n, waits) == pytest.approx(sum(waits) * S / (T * T) / (a + C * n))


@pytest.mark.parametrize("statement", [HR, HNR, BSD], ids=lambda s: s.name)
@given(S=SHARES, C=POSITIVE, T=POSITIVE, n=LENGTHS, a=POSITIVE)
def test_where_something_is_paid_once_the_rates_prefer_long_trains(statement, S, C, T, n, a):
    u = unit((S, C, T), a=a)
    assert priority(statement, u, n + 1) > priority(statement, u, n)


@pytest.mark.parametrize("statement", [SRPT, SRPT_C], ids=lambda s: s.name)
@given(S=SHARES, C=POSITIVE, T=POSITIVE, n=LENGTHS, a=POSITIVE)
def test_shortest_processing_time_prefers_short_trains(statement, S, C, T, n, a):
    u = unit((S, C, T), a=a)
    assert priority(statement, u, n + 1) < priority(statement, u, n)


@given(S=SHARES, C=POSITIVE, T=POSITIVE, n=LENGTHS, a=POSITIVE)
def test_shortest_processing_time_is_one_over_the_time_of_the_train(S, C, T, n, a):
    u = unit((S, C, T), a=a)
    assert priority(SRPT, u, n) == pytest.approx(1 / (a + n * T))
    assert priority(SRPT_C, u, n) == pytest.approx(1 / (a + n * C))


@pytest.mark.parametrize("statement", [FCFS, LSF], ids=lambda s: s.name)
@given(S=SHARES, C=POSITIVE, T=POSITIVE, n=LENGTHS, a=POSITIVE, W=POSITIVE)
def test_urgency_looks_at_the_oldest_tuple_whatever_the_length(statement, S, C, T, n, a, W):
    u = unit((S, C, T), a=a)
    waits = [W] + [W / 2] * (n - 1)
    assert priority(statement, u, n, waits) == priority(statement, u, 1, waits[:1])


# Trains in decisions.

SHORT, LONG = unit((0.5, 1.0, 1.0), number=0, a=10.0), unit((0.4, 1.0, 1.0), number=1, a=10.0)


def train_of(policy, *queues, most=100):
    return prepared(policy, [SHORT, LONG], train=Train(most)).choose(view(NOW, *queues)).runs


@pytest.mark.parametrize("policy", ["hr", "hnr", "bsd"])
def test_a_long_train_of_a_poorer_query_goes_before_a_single_tuple_of_a_richer_one(policy):
    assert train_of(policy, [1.0], [1.0] * 30) == (Run(1, 30),)
    assert train_of(policy, [1.0], [1.0] * 30, most=1) == (Run(0, 1),)


@pytest.mark.parametrize("policy", ["srpt", "srpt-c"])
def test_the_shortest_train_goes_first(policy):
    assert train_of(policy, [1.0] * 3, [1.0] * 2) == (Run(1, 2),)


@pytest.mark.parametrize("policy", ["fcfs", "lsf"])
def test_the_oldest_tuple_takes_its_train_along(policy):
    assert train_of(policy, [2.0] * 30, [1.0] * 2) == (Run(1, 2),)


def test_a_decision_over_trains_computes_every_priority_even_of_static_policies():
    decision = prepared("hr", [SHORT, LONG], train=Train(5)).choose(view(NOW, [1.0], [1.0]))
    assert (decision.work.computations, decision.work.comparisons) == (2, 1)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({}, Train(1)),
        ({"most": 5}, Train(5)),
        ({"slice": 0.1}, Train(math.inf, 0.1)),
        ({"most": 5, "slice": 0.1}, Train(5, 0.1)),
    ],
)
def test_with_a_slice_alone_only_the_time_bounds_a_train(given, made):
    assert Train.of(**given) == made
