"""Drop rates in whole percent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.shed.drops import CAP, add_drop, remove_drop, set_drop

RATES = st.integers(0, CAP)
PERCENT = st.floats(1.0, 500.0)


@pytest.mark.parametrize(("d", "p", "new"), [(0, 43, 43), (43, 2, 44), (44, 1, 45), (98, 50, 99)])
def test_dropping_more_takes_a_percentage_off_what_is_admitted(d, p, new):
    assert add_drop(d, p) == new


@pytest.mark.parametrize(("d", "p", "new"), [(44, 5, 41), (3, 1, 2), (2, 1, 1), (1, 1, 0), (50, 1, 49)])
def test_dropping_less_adds_a_percentage_to_what_is_admitted(d, p, new):
    assert remove_drop(d, p) == new


@pytest.mark.parametrize(
    ("share", "d"), [(0.0, 0), (0.004, 0), (0.005, 1), (0.4086, 41), (0.995, 99), (2.0, 99), (-0.3, 0)]
)
def test_a_share_is_set_to_the_nearest_percent_within_the_bounds(share, d):
    assert set_drop(share) == d


@given(d=RATES, p=PERCENT, cap=st.integers(1, CAP))
def test_a_rate_moves_by_a_step_at_least_and_stays_within_its_bounds(d, p, cap):
    more, less = add_drop(min(d, cap), p, cap), remove_drop(d, p)
    assert min(d + 1, cap) <= more <= cap
    assert 0 <= less <= max(0, d - 1)


@given(d=RATES, p=PERCENT)
def test_what_is_admitted_changes_by_the_percentage_to_half_a_step_or_by_one_step(d, p):
    less, more = 100 - add_drop(d, p), 100 - remove_drop(d, p)
    assert less == 100 - CAP or abs(less - (100 - d) * max(0, 100 - p) / 100) <= 0.5 or less == 100 - d - 1
    assert more == 100 or abs(more - (100 - d) * (100 + p) / 100) <= 0.5 or more == 100 - d + 1
