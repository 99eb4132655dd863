import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.monitor.responses import Responses

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
