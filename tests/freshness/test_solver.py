"""The exact optimum: the published table, the conditions that make it one, and what follows from them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.freshness.problem import Problem, marginal, perceived, spent
from headgate.freshness.solver import solve

LAM = np.arange(1.0, 6.0)
UNIFORM, ALIGNED, REVERSE = np.full(5, 0.2), LAM / 15, LAM[::-1] / 15


@pytest.mark.parametrize(
    ("p", "f", "seen"),
    [
        (UNIFORM, [1.15, 1.36, 1.35, 1.14, 0.00], 0.3739),
        (ALIGNED, [0.33, 0.67, 1.00, 1.33, 1.67], 0.3167),
        (REVERSE, [1.68, 1.83, 1.49, 0.00, 0.00], 0.4995),
    ],
    ids=["uniform", "aligned", "reverse"],
)
def test_the_published_optimum_of_five_copies(p, f, seen):
    problem = Problem.of(p, LAM, 5)
    found = solve(problem)
    assert found.f == pytest.approx(f, abs=0.01)
    assert perceived(problem, found.f) == pytest.approx(seen, abs=5e-5)


@pytest.mark.parametrize(
    ("p", "lam", "f"),
    [
        (1, [0.25, 0.5, 0.75, 0.9, 1.0, 1.2], [0.260, 0.298, 0.279, 0.231, 0, 0]),
        (2, [0.5, 1.0, 1.2, 1.5, 1.9, 2.0], [0.520, 0.596, 0.593, 0.557, 0.401, 0]),
        (0.5, [0.25, 0.4, 0.5], [0.149, 0.134, 0]),
    ],
)
def test_the_solution_curves_at_a_given_marginal_benefit(p, lam, f):
    # At the optimum with μ = 1, what p times as important a copy gets depends on its own change rate only.
    budget = sum(f)
    found = solve(Problem.of(np.full(len(lam), p), lam, budget))
    assert found.mu == pytest.approx(1, abs=0.02)
    assert found.f == pytest.approx(f, abs=0.005)


@st.composite
def problems(draw, most=30):
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    p = rng.pareto(1.2, n) * (rng.random(n) < 0.9)
    lam = rng.gamma(draw(st.sampled_from([0.3, 1, 4])), 2.0, n) * (rng.random(n) < 0.9)
    sizes = rng.pareto(1.1, n) + 0.1 if draw(st.booleans()) else np.ones(n)
    w = rng.integers(1, 5, n) if draw(st.booleans()) else np.ones(n)
    return Problem.of(p, lam, draw(st.floats(0.01, 10)) * n, sizes, w)


def unit(problem, f):
    """What one more unit of bandwidth would add, copy by copy."""
    return problem.p * marginal(f, problem.lam) / problem.s


@given(problems())
def test_refreshed_copies_have_the_same_marginal_benefit_and_others_no_more(problem):
    found = solve(problem)
    refreshed = found.f > 0
    assert (found.f >= 0).all()
    assert unit(problem, found.f)[refreshed] == pytest.approx(found.mu, rel=1e-6)
    assert (unit(problem, found.f)[~refreshed] <= found.mu * (1 + 1e-9)).all()
    if found.mu:
        assert spent(problem, found.f) == pytest.approx(problem.B, rel=1e-9)


@given(problems(), st.integers(0, 2**32))
def test_no_other_way_to_spend_the_budget_is_better(problem, seed):
    other = np.random.default_rng(seed).exponential(size=len(problem))
    other *= problem.B / spent(problem, other)
    assert perceived(problem, solve(problem).f) >= perceived(problem, other) - 1e-12


@given(problems(most=3))
@settings(max_examples=20)
def test_a_fine_grid_of_three_copies_has_nothing_better(problem):
    steps = np.linspace(0, 1, 41)
    shares = [(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1]
    n = len(problem)
    best = max(
        perceived(problem, np.array(share[:n]) * problem.B / (problem.w * problem.s))
        for share in shares
        if sum(share[:n]) == pytest.approx(1)
    )
    found = perceived(problem, solve(problem).f)
    # One step of the grid away from the optimum along each axis costs a step's worth at most.
    assert best - 1e-12 <= found <= best + 0.2 * float(np.sum(problem.w * problem.p))


@given(problems())
def test_copies_that_stand_for_several_are_refreshed_as_these_would_be(problem):
    count = problem.w.astype(int)
    apart = Problem.of(
        *(np.repeat(each, count) for each in (problem.p, problem.lam)), problem.B, np.repeat(problem.s, count)
    )
    assert solve(apart).f == pytest.approx(np.repeat(solve(problem).f, count), rel=1e-6, abs=1e-12)


@given(st.lists(st.floats(0.01, 50), min_size=1, max_size=20), st.floats(0.1, 10))
def test_accesses_in_proportion_to_changes_ask_for_refreshes_in_proportion(lam, often):
    lam = np.array(lam)
    assert solve(Problem.of(lam / lam.sum(), lam, often * lam.sum())).f == pytest.approx(often * lam, rel=1e-6)


@given(problems(), st.floats(1.01, 3))
def test_the_multiplier_is_what_more_bandwidth_is_worth(problem, more):
    found = solve(problem)
    wider = Problem(problem.p, problem.lam, problem.s, problem.B * more, problem.w)
    gained = perceived(wider, solve(wider).f) - perceived(problem, found.f)
    extra = wider.B - problem.B
    tolerance = 1e-9 * (1 + extra * found.mu)
    assert solve(wider).mu * extra - tolerance <= gained <= found.mu * extra + tolerance


def test_among_equally_volatile_copies_the_more_important_gets_more():
    f = solve(Problem.of([0.1, 0.2, 0.3, 0.4], np.full(4, 2.0), 4)).f
    assert (np.diff(f) > 0).all()


@pytest.mark.parametrize("budget", [1e-9, 1e-3, 1e3, 1e9])
def test_a_budget_is_spent_to_the_last_bit_however_small_or_large(budget):
    problem = Problem.of([0.5, 0.5, 0.1], [3, 3, 1], budget)
    assert spent(problem, solve(problem).f) == pytest.approx(budget, rel=1e-12)


def test_equal_copies_get_equal_shares_of_hardly_anything():
    assert solve(Problem.of(np.ones(3), np.ones(3), 3e-3)).f == pytest.approx([1e-3] * 3)


def test_nothing_is_spent_on_what_nobody_reads_or_never_changes():
    found = solve(Problem.of([0, 1], [2, 0], 5))
    assert found.f.tolist() == [0, 0]
    assert found.mu == 0


def test_without_a_budget_the_first_refresh_would_be_worth_the_most():
    found = solve(Problem.of([1, 1], [2, 4], 0))
    assert found.f.tolist() == [0, 0]
    assert found.mu == pytest.approx(0.5)


@given(problems(), st.integers(0, 2**32), st.floats(0, 1))
def test_floors_are_kept_and_the_rest_is_spent_at_equal_benefit(problem, seed, share):
    floor = np.random.default_rng(seed).exponential(size=len(problem))
    floor *= share * problem.B / spent(problem, floor)
    found = solve(problem, floor)
    above = found.f > floor * (1 + 1e-9)
    assert (found.f >= floor).all()
    assert unit(problem, found.f)[above] == pytest.approx(found.mu, rel=1e-5)
    assert (unit(problem, found.f)[~above] <= found.mu * (1 + 1e-6)).all()
    if found.mu:
        assert spent(problem, found.f) == pytest.approx(problem.B, rel=1e-8)


def test_floors_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="the floors fit in the budget; got 3 of 2"):
        solve(Problem.of([1, 1], [1, 1], 2), np.array([1.5, 1.5]))
