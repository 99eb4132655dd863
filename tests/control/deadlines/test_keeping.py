"""From budgets to tuples: fractions, what is held between plans, and which tuples stay."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.deadlines.keeping import Allowance, fraction, kept_count, sample, systematic

near = pytest.approx


@pytest.mark.parametrize(
    ("budget", "cost", "fixed", "k"),
    [
        (5.0, 4.0, 1.0, 1.0),
        (4.0, 4.0, 1.0, 1.0),
        (2.5, 4.0, 1.0, 0.5),
        (1.0, 4.0, 1.0, 0.0),
        (0.5, 4.0, 1.0, 0.0),
        (0.0, 0.0, 0.0, 1.0),
        (0.5, 1.0, 1.0, 0.0),
    ],
)
def test_the_fraction_for_a_budget_has_both_ends(budget, cost, fixed, k):
    assert fraction(budget, cost, fixed) == k


@given(st.floats(0, 1), st.integers(0, 10_000))
def test_a_fraction_leaves_no_more_tuples_than_the_budget_allows(k, w):
    kept = kept_count(k, w)
    assert 0 <= kept <= w
    assert kept <= k * w * (1 + 1e-9)
    assert kept > k * w - 1


@pytest.mark.parametrize(("k", "w", "kept"), [(0.29, 100, 29), (0.57, 100, 57), (0.3, 10, 3), (1.0, 7, 7)])
def test_a_whole_number_of_tuples_is_not_lost_by_rounding(k, w, kept):
    assert kept_count(k, w) == kept


COST = 10.0


def solve(budget):
    return fraction(budget, COST * 1.5, 0.0)


@pytest.mark.parametrize(
    ("hold", "shed", "kept"),
    [
        # Planned: 100 tuples at 10 s, of which 60 fit into 6 s. Then 150 tuples come.
        ("frac", True, 0.6),
        ("count", True, 1 - 40 / 150),
        ("budget", True, 0.4),
        ("budget", False, 1.0),
        ("clamp", True, 0.4),
        ("clamp", False, 0.4),
        ("clampx", False, 0.4),
    ],
)
def test_what_is_held_when_more_comes_than_planned(hold, shed, kept):
    allowance = Allowance(hold, 0.6, 40.0, 6.0, shed)
    assert allowance.keep(150, COST * 1.5, solve) == near(kept)


@pytest.mark.parametrize(("hold", "kept"), [("frac", 0.6), ("count", 0.2), ("budget", 1.0), ("clamp", 1.0)])
def test_what_is_held_when_less_comes(hold, kept):
    assert Allowance(hold, 0.6, 40.0, 6.0, True).keep(50, 5.0, solve) == near(kept)


def test_an_empty_window_is_kept_and_a_small_one_may_go():
    allowance = Allowance("count", 0.6, 40.0, 6.0, True)
    assert allowance.keep(0, 0.0, solve) == 1.0
    assert allowance.keep(30, 3.0, solve) == 0.0


@given(st.integers(0, 500), st.floats(0, 1))
def test_exactly_so_many_tuples_stay_and_evenly(w, part):
    kept = int(part * w)
    mask = systematic(w, kept)
    assert mask.shape == (w,)
    assert mask.sum() == kept
    gaps = np.diff(mask.nonzero()[0])
    if gaps.size:
        assert gaps.max() - gaps.min() <= 1


@given(st.integers(1, 500), st.floats(0, 1))
def test_any_part_of_the_window_has_its_share(w, part):
    kept = int(part * w)
    seen = systematic(w, kept).cumsum()
    assert np.all(np.abs(seen - np.arange(1, w + 1) * kept / w) < 1)


def test_by_chance_the_number_holds_on_average():
    found = sample(20_000, 0.3, np.random.default_rng(1))
    assert found.mean() == near(0.3, abs=0.02)
    assert not sample(100, 0.0, np.random.default_rng(1)).any()
    assert sample(100, 1.0, np.random.default_rng(1)).all()
