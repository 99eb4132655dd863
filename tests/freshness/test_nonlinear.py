"""The general solver, which is there to check the exact one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.freshness.nonlinear import solve_generic
from headgate.freshness.problem import Problem, perceived, spent
from headgate.freshness.solver import solve


@given(st.integers(1, 12), st.floats(0.2, 3), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_both_solvers_find_the_same_optimum(n, often, seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n))
    problem = Problem.of(p, rng.gamma(2.0, 1.0, n) + 0.05, often * n, rng.uniform(0.5, 2.0, n), rng.integers(1, 4, n))
    generic, exact = solve_generic(problem), solve(problem)
    assert spent(problem, generic.f) == pytest.approx(problem.B, rel=1e-6)
    assert perceived(problem, generic.f) == pytest.approx(perceived(problem, exact.f), abs=1e-6)
    assert generic.mu == pytest.approx(exact.mu, rel=0.02)


def test_it_finds_the_published_optimum_of_five_copies():
    problem = Problem.of(np.arange(5, 0, -1) / 15, np.arange(1, 6), 5)
    assert solve_generic(problem).f == pytest.approx([1.68, 1.83, 1.49, 0, 0], abs=0.01)
