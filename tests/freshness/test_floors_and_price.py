"""Freshness that is promised, and bandwidth that is worth its price."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.freshness.floors import above, affordable, allowed, for_age, for_freshness
from headgate.freshness.price import curve, knee
from headgate.freshness.problem import Problem, freshness, perceived, spent
from headgate.freshness.solver import solve

RNG = np.random.default_rng(5)
WORLD = Problem.of(RNG.dirichlet(np.ones(40)), RNG.gamma(4, 0.5, 40), 30, RNG.uniform(0.5, 2, 40))


@given(st.floats(0.01, 50), st.floats(0.001, 0.999))
def test_a_floor_is_just_enough(lam, phi):
    assert freshness(for_freshness(lam, phi), lam) == pytest.approx(phi, rel=1e-6)


def test_no_floor_and_no_change_need_no_refreshes():
    assert for_freshness([3, 0], [0, 0.5]).tolist() == [0, 0]


@pytest.mark.parametrize("phi", [1.0, -0.1, np.nan])
def test_what_cannot_be_promised_is_refused(phi):
    with pytest.raises(InputError, match="from 0 to below 1"):
        for_freshness(1.0, phi)


def test_a_copy_that_is_never_older_than_five_minutes_is_refreshed_twelve_times_an_hour():
    assert for_age([5.0, 20.0], period=60.0).tolist() == [12, 3]


def test_floors_cost_freshness_and_are_kept():
    floored = solve(WORLD, for_freshness(WORLD.lam, 0.2))
    assert (freshness(floored.f, WORLD.lam) >= 0.2 - 1e-9).all()
    assert perceived(WORLD, floored.f) < perceived(WORLD, solve(WORLD).f)
    assert spent(WORLD, floored.f) == pytest.approx(WORLD.B)


def test_floors_that_the_budget_does_not_allow_are_lowered_together_until_it_just_does():
    phi = np.linspace(0.5, 0.9, len(WORLD))
    lowered = affordable(WORLD, phi)
    assert lowered / phi == pytest.approx(lowered[0] / phi[0])
    assert lowered[0] < phi[0]
    assert spent(WORLD, for_freshness(WORLD.lam, lowered)) == pytest.approx(WORLD.B)
    assert solve(WORLD, for_freshness(WORLD.lam, lowered)).f == pytest.approx(
        for_freshness(WORLD.lam, lowered), rel=1e-6
    )


def test_floors_that_the_budget_allows_stay():
    phi = np.full(len(WORLD), 0.1)
    assert affordable(WORLD, phi) is phi


@given(st.floats(0.1, 10), st.integers(0, 2**16))
def test_refreshes_above_floors_keep_them_and_the_budget_and_are_all_of_it_where_they_would_be_without(times, seed):
    rng = np.random.default_rng(seed)
    least = rng.uniform(0, 1, len(WORLD)) * (rng.random(len(WORLD)) < 0.3)
    least *= allowed(WORLD, least)
    f = np.full(len(WORLD), times * WORLD.B / WORLD.s.sum())
    found = above(WORLD, least, f)
    assert (found >= least * (1 - 1e-9)).all()
    assert (found <= np.maximum(least, f)).all()
    assert spent(WORLD, found) == pytest.approx(min(WORLD.B, spent(WORLD, np.maximum(least, f))))


def test_ages_that_the_budget_does_not_allow_are_all_longer_by_the_same_factor_until_it_just_does():
    least = for_age(np.linspace(0.5, 2, len(WORLD)))
    share = allowed(WORLD, least)
    assert share < 1
    assert spent(WORLD, share * least) == pytest.approx(WORLD.B)
    assert above(WORLD, share * least, least) == pytest.approx(share * least)
    assert allowed(replace(WORLD, B=spent(WORLD, least)), least) == 1


@given(st.floats(1e-4, 0.02))
def test_at_the_knee_one_more_unit_is_worth_its_price(price):
    found = knee(WORLD, price)
    if found.B:
        again = solve(replace(WORLD, B=found.B))
        assert again.mu == pytest.approx(price, rel=1e-6)
        assert perceived(WORLD, again.f) == pytest.approx(found.freshness)


def test_too_dear_a_price_buys_nothing():
    found = knee(WORLD, 1e3)
    assert (found.B, found.freshness) == (0, 0)


def test_the_multiplier_is_the_slope_of_what_budgets_buy():
    a, b, c = curve(WORLD, [29.99, 30.0, 30.01])
    assert b.mu == pytest.approx((c.freshness - a.freshness) / 0.02, rel=1e-4)
    assert a.mu > b.mu > c.mu
