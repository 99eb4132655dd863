"""When copies are refreshed."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.freshness.fixed_order import FixedOrder

plans = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0]), min_size=1, max_size=8).filter(any)


@given(plans)
def test_every_copy_is_refreshed_at_equal_intervals_as_often_as_planned(f):
    period = 10.0
    done = list(islice(FixedOrder(np.array(f), period), 400))
    assert [each.at for each in done] == sorted(each.at for each in done)
    for copy, often in enumerate(f):
        times = [each.at for each in done if each.copy == copy]
        if often == 0:
            assert times == []
        elif len(times) > 1:
            assert np.diff(times) == pytest.approx(period / often)
            assert times[0] < period / often


def test_first_refreshes_are_spread():
    assert [tuple(each) for each in islice(FixedOrder(np.array([1.0, 0, 1.0])), 4)] == [
        (0.0, 0), (0.5, 2), (1.0, 0), (1.5, 2),
    ]  # fmt: skip


def test_a_new_plan_goes_on_from_the_last_refreshes_and_what_is_overdue_is_first():
    order = FixedOrder(np.array([1.0, 2.0]), start=10.0, last=np.array([9.25, 3.0]))
    assert [tuple(next(order)) for _ in range(3)] == [(10.0, 1), (10.25, 0), (10.5, 1)]


def test_the_head_is_what_comes_next():
    order = FixedOrder(np.array([2.0]))
    assert order.head == next(order)
    assert order.head.at == 0.5


def test_a_plan_without_refreshes_has_none():
    order = FixedOrder(np.zeros(3))
    assert order.head is None
    assert list(order) == []
