"""FCFS and LSF: the oldest tuple, and the one that has waited longest for its size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import Waiting, prepared, unit, view

POSITIVE = st.floats(0.01, 100.0)
UNITS = [unit((0.5, c, T), number=k) for k, (c, T) in enumerate([(1.0, 8.0), (9.0, 2.0), (3.0, 4.0)])]


@given(arrivals=st.lists(st.floats(0.0, 90.0), min_size=3, max_size=3))
def test_fcfs_serves_the_oldest_tuple_whatever_it_costs(arrivals):
    places = sorted(range(3), key=lambda k: arrivals[k])
    queues = [Waiting([arrivals[k]], places.index(k)) for k in range(3)]
    [run] = prepared("fcfs", UNITS).choose(view(100.0, *queues)).runs
    assert arrivals[run.unit] == min(arrivals)


def test_fcfs_tells_tuples_of_one_instant_apart_by_their_number():
    [run] = prepared("fcfs", UNITS).choose(view(5.0, Waiting([1.0], 3), Waiting([1.0], 2), Waiting([1.0], 4))).runs
    assert run.unit == 1


@given(waits=st.lists(POSITIVE, min_size=3, max_size=3))
def test_lsf_serves_the_largest_wait_relative_to_the_ideal_time(waits):
    decision = prepared("lsf", UNITS).choose(view(200.0, *([200.0 - w] for w in waits)))
    stretch = [w / u.segments[0].T for w, u in zip(waits, UNITS, strict=True)]
    assert stretch[decision.runs[0].unit] == pytest.approx(max(stretch), rel=1e-9)
    assert decision.why.terms["priority"] == pytest.approx(max(stretch), rel=1e-9)


def test_lsf_needs_no_selectivity():
    rich, poor = unit((1.0, 1.0, 2.0), number=0), unit((0.01, 1.0, 2.0), number=1)
    assert prepared("lsf", [rich, poor]).choose(view(9.0, [2.0], [1.0])).runs[0].unit == 1
