"""Ways to spend a budget that look at less."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.freshness.baselines import by_change, general, time_to_live, uniform
from headgate.freshness.problem import Problem, perceived, spent
from headgate.freshness.solver import solve

LAM = np.arange(1.0, 6.0)
P1, P2, P3 = np.full(5, 0.2), LAM / 15, LAM[::-1] / 15


@pytest.mark.parametrize(
    ("p", "equally", "generally"), [(P1, 0.3651, 0.3739), (P2, 0.2948, 0.2683), (P3, 0.4353, 0.4794)]
)
def test_five_copies_without_a_look_at_accesses(p, equally, generally):
    problem = Problem.of(p, LAM, 5)
    assert perceived(problem, uniform(problem)) == pytest.approx(equally, abs=5e-5)
    assert perceived(problem, general(problem)) == pytest.approx(generally, abs=5e-5)


def test_equal_accesses_make_the_optimum_the_general_one():
    rng = np.random.default_rng(1)
    problem = Problem.of(np.full(100, 0.01), rng.gamma(4, 0.5, 100), 50, rng.uniform(0.5, 2, 100))
    assert general(problem) == pytest.approx(solve(problem).f)


@given(st.integers(0, 2**32), st.floats(0.05, 0.99))
def test_all_of_them_spend_the_budget(seed, share):
    rng = np.random.default_rng(seed)
    lam, s = rng.gamma(1, 2, 20), rng.uniform(0.5, 2, 20)
    problem = Problem.of(rng.dirichlet(np.ones(20)), lam, share * float(lam @ s), s)
    for way in (uniform, by_change, general, time_to_live):
        f = way(problem)
        assert spent(problem, f) == pytest.approx(problem.B)
        assert perceived(problem, f) <= perceived(problem, solve(problem).f) + 1e-12


def test_with_enough_bandwidth_copies_are_refreshed_as_soon_as_they_expire():
    assert time_to_live(Problem.of([1, 1], [2, 3], 10)).tolist() == [2, 3]


def test_without_it_all_intervals_are_longer_by_the_same_wait():
    waits = 1 / time_to_live(Problem.of([1, 1, 1], [1, 2, 4], 3)) - 1 / np.array([1, 2, 4])
    assert waits == pytest.approx(waits[0])
    assert waits[0] > 0


def test_nothing_that_changes_asks_for_nothing():
    assert by_change(Problem.of([1], [0], 1)).tolist() == [0]
