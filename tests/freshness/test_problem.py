"""The formulas of freshness, against finite differences and in the limit, and problems that are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.freshness.problem import Problem, freshness, gain, marginal, perceived, spent

rates = st.floats(0.01, 100.0)


@given(f=rates, lam=rates)
def test_the_marginal_benefit_is_the_slope_of_freshness(f, lam):
    h = 1e-5 * f
    slope = (freshness(f + h, lam) - freshness(f - h, lam)) / (2 * h)
    assert marginal(f, lam) == pytest.approx(slope, rel=1e-4, abs=1e-9)


@given(f=rates, lam=rates)
def test_the_marginal_benefit_is_the_printed_formula_with_a_minus(f, lam):
    r = lam / f
    assert marginal(f, lam) == pytest.approx((1 - np.exp(-r)) / lam - np.exp(-r) / f, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    ("f", "lam", "share"),
    [(0, 3, 0), (1, 0, 1), (0, 0, 1), (1e300, 1, 1), (1, 1e-300, 1), (1e-300, 1e300, 0), (1, 1, 1 - np.exp(-1))],
)
def test_freshness_has_its_limits(f, lam, share):
    assert freshness(f, lam) == pytest.approx(share, abs=1e-15)


def test_a_first_refresh_is_worth_the_time_between_changes_and_nothing_where_nothing_changes():
    assert marginal([0, 0, 2], [4, 0, 0]).tolist() == [0.25, 0, 0]


def test_the_gain_rises_from_0_to_1():
    r = np.linspace(0, 40, 1000)
    assert gain(0) == 0
    assert (np.diff(gain(r)) >= 0).all()
    assert gain(40) == pytest.approx(1)
    assert gain(2.0) == pytest.approx(1 - 3 * np.exp(-2))


def test_perceived_freshness_counts_every_copy_that_an_element_stands_for():
    single = Problem.of([0.5, 0.25, 0.25], [1, 2, 2], 3)
    grouped = Problem.of([0.5, 0.25], [1, 2], 3, w=[1, 2])
    assert perceived(single, [1, 1, 1]) == pytest.approx(perceived(grouped, [1, 1]))
    assert spent(single, [1, 1, 1]) == spent(grouped, [1, 1]) == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"p": []}, "there is a copy"),
        ({"p": [1, 2, 3]}, "every copy has"),
        ({"p": [-1, 2]}, "access frequency .* got -1 for copy 0"),
        ({"lam": [1, np.nan]}, "change rate .* got nan for copy 1"),
        ({"s": [0, 1]}, "size of a copy"),
        ({"w": [1, -2]}, "count of equal copies"),
        ({"B": -1}, "a budget"),
        ({"B": np.inf}, "a budget"),
    ],
)
def test_what_is_no_problem_is_refused(given, said):
    with pytest.raises(InputError, match=said):
        Problem.of(**{"p": [0.5, 0.5], "lam": [1, 2], "B": 1} | given)
