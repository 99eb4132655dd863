import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.monitor.responses import BOUNDS, Responses, quantiles

times = st.lists(st.floats(1e-6, 1e4), min_size=1, max_size=200)


def of(*parts):
    made = Responses()
    for part in parts:
        made.add(np.array(part, dtype=np.float64))
    return made


@given(times, st.floats(0.01, 1.0))
def test_a_quantile_is_that_of_the_sorted_values_to_six_percent(values, share):
    exact = sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
    assert of(values).quantile(share) == pytest.approx(exact, rel=0.0601)


@given(st.lists(times, min_size=1, max_size=4))
def test_count_mean_and_maximum_do_not_depend_on_how_the_values_came(parts):
    whole = [value for part in parts for value in part]
    added = sum((of(part) for part in parts), Responses())
    for made in (of(*parts), of(whole), added):
        assert made.count == len(whole)
        assert made.most == max(whole)
        assert made.mean == pytest.approx(sum(whole) / len(whole))
        assert made.quantile(0.5) == of(whole).quantile(0.5)


def test_without_values_there_is_no_mean_and_no_quantile():
    for none in (Responses(), of([])):
        assert none.count == 0
        assert math.isnan(none.mean)
        assert math.isnan(none.quantile(0.5))


def test_values_of_nothing_are_counted_and_no_quantile_is_above_the_maximum():
    made = of([0.0, 0.0, 1.02])
    assert (made.count, made.most) == (3, 1.02)
    assert made.quantile(0.5) < 1e-8
    assert made.quantile(1.0) <= 1.02


@given(st.lists(times, min_size=1, max_size=5))
def test_several_quantiles_are_those_one_by_one_also_after_more_values_have_come(parts):
    made = Responses()
    for part in parts:
        made.add(np.array(part))
        for _ in range(2):
            assert made.quantiles(0.5, 0.99) == [made.quantile(0.5), made.quantile(0.99)]
    assert made.quantiles(0.1) == [made.quantile(0.1)]


@given(st.dictionaries(st.integers(-20, 20), st.integers(0, 5)), st.floats(0, 1), st.floats(1e-3, 10))
def test_a_quantile_is_the_first_magnitude_that_is_there_and_that_so_many_do_not_exceed(spread, share, most):
    there = [magnitude for magnitude, n in sorted(spread.items()) for _ in range(n)]
    expected = next((each for i, each in enumerate(there) if i + 1 >= share * len(there)), None)
    (found,) = quantiles(spread, (share,), most)
    assert math.isnan(found) if expected is None else found == min(most, 10 ** ((expected + 0.5) / 20))


def test_what_came_of_late_forgets_what_was_before_and_keeps_what_came_last():
    seen = of([9.0] * 10)
    assert seen.recent(0.0) == pytest.approx((9.0, 9.0, 9.0), rel=0.06)
    for now in range(1, 30):
        seen.add(np.array([0.1]))
        recent = seen.recent(float(now))
    assert recent == pytest.approx((0.1, 0.1, 0.1), rel=0.06)
    assert seen.quantile(0.99) == pytest.approx(9.0, rel=0.06)
    for now in range(30, 90):
        assert seen.recent(float(now)) == recent
    seen.add(np.array([4.0]))
    assert [seen.recent(now)[0] for now in (92.0, 95.0)][-1] == pytest.approx(4.0, rel=0.06)


def test_what_came_of_late_is_known_as_soon_as_anything_has_come():
    seen = Responses()
    assert all(map(math.isnan, seen.recent(0.0)))
    seen.add(np.array([2.0]))
    assert seen.recent(0.1) == pytest.approx((2.0, 2.0, 2.0), rel=0.06)


@given(times)
def test_so_many_are_below_each_bound(values):
    for bound, below in zip(BOUNDS, of(values).below(), strict=True):
        assert below == pytest.approx(
            sum(value < bound for value in values), abs=sum(value == bound for value in values)
        )
