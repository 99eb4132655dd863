"""Plans that are mended are as good as plans made anew."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.freshness.incremental import mend
from headgate.freshness.problem import Problem, perceived, spent
from headgate.freshness.solver import solve


def world(seed, n=40):
    rng = np.random.default_rng(seed)
    return Problem.of(rng.dirichlet(np.ones(n)), rng.gamma(2, 1, n) + 0.01, n / 2, rng.uniform(0.5, 2, n))


@given(st.integers(0, 2**32), st.integers(0, 39), st.floats(0.1, 10), st.floats(0.5, 1.5))
@settings(max_examples=40, deadline=None)
def test_a_mended_plan_is_as_good_as_a_new_one(seed, copy, factor, budget):
    before = world(seed)
    lam = before.lam.copy()
    lam[copy] *= factor
    after = replace(before, lam=lam, B=budget * before.B)
    mended = mend(after, solve(before).f)
    assert spent(after, mended.f) == pytest.approx(after.B)
    assert (mended.f >= 0).all()
    assert perceived(after, mended.f) == pytest.approx(perceived(after, solve(after).f), abs=5e-4)


@given(st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_an_optimal_plan_needs_hardly_a_step(seed):
    problem = world(seed)
    optimum = solve(problem)
    mended = mend(problem, optimum.f)
    assert mended.steps == 0
    assert mended.f == pytest.approx(optimum.f, abs=1e-3)
    assert mended.mu == pytest.approx(optimum.mu, rel=1e-3)


def test_bandwidth_is_freed_where_it_is_missed_least():
    problem = Problem.of([0.9, 0.1], [1, 1], 2)
    mended = mend(replace(problem, B=1.9), solve(problem).f)
    assert mended.f == pytest.approx(solve(replace(problem, B=1.9)).f, abs=0.01)


def test_what_is_no_longer_read_gives_all_it_has():
    mended = mend(Problem.of([1.0, 0.0], [1, 1], 2), np.array([1.0, 1.0]))
    assert mended.f.tolist() == pytest.approx([2, 0])


def test_without_a_budget_nothing_is_refreshed():
    assert mend(Problem.of([1.0], [1], 0), np.array([1.0])).f.tolist() == [0]


def test_what_was_never_refreshed_can_be_planned_too():
    problem = world(1)
    mended = mend(problem, np.zeros(len(problem)))
    assert perceived(problem, mended.f) == pytest.approx(perceived(problem, solve(problem).f), abs=5e-4)


def test_nothing_is_spent_on_what_nobody_reads():
    assert mend(Problem.of([0.0, 0.0], [1, 1], 2), np.array([1.0, 1.0])).f.tolist() == [0, 0]
