"""Rates and errors from records of iterations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.deadlines.measures import (
    Iterated,
    completion,
    curves,
    errors,
    miss,
    miss_by_query,
    tardiness,
    tardy_now,
    useful,
    weighted_miss,
)

near = pytest.approx


def record(query, index, finish, *, kept=100, weight=1.0, **options):
    """An iteration with a stride of 2 s and 100 tuples, the first of which is released at 0."""
    release = 2.0 * (index - 1)
    return Iterated(query, index, release, release + 2, 100, kept, 1.0, finish=finish, weight=weight, **options)


RUN = [
    record("a", 1, 1.0, weight=3.0),
    record("a", 2, 4.0, weight=3.0, kept=1),
    record("b", 1, 2.5, remaining=0.5),
    record("b", 2, math.inf, remaining=1.0),
    record("b", 3, math.inf),
]


def test_done_at_the_deadline_is_in_time():
    assert not record("a", 1, 2.0).missed
    assert record("a", 1, 2.001).missed
    assert record("a", 1, math.inf).missed


@pytest.mark.parametrize(("t", "expected"), [(1.9, 0), (2, 1 / 2), (4, 2 / 4), (6, 3 / 5)])
def test_missed_of_what_is_due(t, expected):
    assert miss(RUN, t) == near(expected)


def test_missed_with_weights_and_by_query():
    assert weighted_miss(RUN, 4) == near(2 / 8)
    assert miss_by_query(RUN, 4) == {"a": 0, "b": 1}


@pytest.mark.parametrize(("t", "expected"), [(0, 1), (1, 1 / 2), (2, 1 / 2), (3, 2 / 4), (4, 3 / 4), (5, 3 / 5)])
def test_complete_of_what_is_released(t, expected):
    assert completion(RUN, t) == near(expected)


def test_what_was_emptied_or_late_is_of_no_use():
    # In time are both of the first query, and one of them has read a hundredth.
    assert useful(RUN, 5) == near(1 / 5)


def test_how_late():
    assert tardiness(RUN, 4).tolist() == near([0.0, 0.5])
    assert tardiness(RUN, 10).tolist() == near([0.5, 4.0, 6.0])
    assert RUN[2].tardiness == 0.5


@pytest.mark.parametrize(("t", "expected"), [(2.0, 0), (2.2, 1 / 2), (3.0, 0), (4.5, 1 / 2)])
def test_queries_whose_current_iteration_is_late(t, expected):
    assert tardy_now(RUN, t) == near(expected)


@pytest.mark.parametrize(
    ("one", "processing", "output"),
    [
        (record("a", 1, 1.0, kept=60, selectivity=0.5), 40, 20),
        (record("a", 1, 3.0, kept=60, selectivity=0.5, remaining=0.25), 40 + 15, 50),
        (record("a", 1, math.inf, kept=100, selectivity=0.5, remaining=1.0), 100, 50),
        (record("a", 1, 0.0, kept=0, selectivity=0.5), 100, 50),
        (record("a", 1, 1.0, kept=50, results=80, given=20), 50, 60),
        (record("a", 1, 1.0, kept=100, results=80, given=80), 0, 0),
    ],
)
def test_the_errors_of_one_iteration(one, processing, output):
    assert (one.unprocessed, one.lost) == (near(processing), near(output))


def test_errors_count_what_is_due_and_in_percent_of_what_there_was():
    found = errors(RUN, 4)
    assert found.output == near(3 * 99 + 100 + 100)
    assert found.output_percent == near(100 * 497 / 800)
    assert found.processing == near(3 * 99 + 50 + 100)
    assert found.processing_percent == near(100 * 447 / 800)
    assert errors(RUN, 1.0).output_percent == 0


def test_nothing_at_all_is_neither_late_nor_incomplete():
    assert (miss([], 5), weighted_miss([], 5), tardy_now([], 5)) == (0, 0, 0)
    assert (completion([], 5), useful([], 5)) == (1, 1)
    assert curves([], 1.0, 3.0).miss.tolist() == [0, 0, 0]


@st.composite
def runs(draw):
    found = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        stride = draw(st.sampled_from((1.0, 1.5, 2.0)))
        weight = float(draw(st.integers(1, 5)))
        for k in range(draw(st.integers(0, 5))):
            lateness = draw(st.sampled_from((-0.5, 0.0, 0.25, 1.0, math.inf)))
            kept = draw(st.integers(0, 100))
            due = (k + 1) * stride
            found.append(
                Iterated(name, k + 1, k * stride, due, 100, kept, 1.0, 0.0, due + lateness, 0.5, weight, 0.5)
            )
    return found


@given(runs())
def test_curves_are_the_measures_at_every_step(records):
    found = curves(records, 0.5, 12.0)
    assert found.at.tolist() == near([0.5 * k for k in range(1, 25)])
    for k, t in enumerate(found.at):
        assert found.miss[k] == near(miss(records, t))
        assert found.weighted_miss[k] == near(weighted_miss(records, t))
        assert found.completion[k] == near(completion(records, t))
        assert found.useful[k] == near(useful(records, t))
        assert found.tardy[k] == near(tardy_now(records, t))
        assert found.output_percent[k] == near(errors(records, t).output_percent)
        assert found.processing_percent[k] == near(errors(records, t).processing_percent)


@given(runs(), st.floats(0.5, 12))
def test_measures_are_parts_and_what_is_useful_is_complete(records, t):
    assert 0 <= useful(records, t) <= completion(records, t) <= 1
    assert 0 <= miss(records, t) <= 1
    found = errors(records, t)
    assert 0 <= found.output_percent <= 100 + 1e-9
    assert 0 <= found.processing_percent <= 100 + 1e-9
    assert np.all(np.diff(tardiness(records, t)) >= 0)


def test_an_iteration_that_read_nothing_has_lost_all_results_whatever_an_aggregate_gives_for_nothing():
    found = Iterated("q", 1, 0.0, 1.0, tuples=100, kept=0, finish=0.5, results=1.0, given=1.0)
    assert found.lost == 1.0
    assert Iterated("q", 1, 0.0, 1.0, tuples=0, kept=0, finish=0.5, results=1.0, given=1.0).lost == 0.0
