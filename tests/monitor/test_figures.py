"""Figures of units and of their classes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.operator import Cost
from headgate.monitor.figures import Response, Served, figures, slowdowns

TIMES = st.lists(st.floats(0.001, 1e4), min_size=1, max_size=20)


@given(TIMES, st.floats(1e-4, 10))
def test_the_slowdowns_of_a_unit_are_those_of_its_figures(times, T):
    one = Served("u", "c", Cost(0.0, T), results=len(times))
    one.answer(0, Response(sum(times), max(times), sum(t * t for t in times)))
    found = figures([one], 1.0)
    assert slowdowns(one, T) == pytest.approx((found.avg_slowdown, found.rms_slowdown, found.max_slowdown))


@pytest.mark.parametrize(("results", "T"), [(0, 1.0), (3, 0.0)])
def test_without_results_or_an_ideal_time_there_is_no_slowdown(results, T):
    assert all(math.isnan(each) for each in slowdowns(Served("u", "c", Cost(0.0, 1.0), results=results), T))
