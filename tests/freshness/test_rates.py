"""Change rates from refreshes that only say whether a copy has changed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from headgate.errors import InputError
from headgate.freshness.rates import ChangeRate, at_intervals, likeliest


def history(lam, polls, seed, mean=0.5):
    rng = np.random.default_rng(seed)
    intervals = rng.exponential(mean, polls)
    return intervals.tolist(), (rng.random(polls) < -np.expm1(-lam * intervals)).tolist()


def learned(intervals, changed, guess=1.0):
    rate = ChangeRate.guess(guess)
    for interval, seen in zip(intervals, changed, strict=True):
        rate = rate.observe(interval, seen)
    return rate


@given(st.floats(0.2, 5), st.floats(0.2, 5), st.floats(0.05, 3))
def test_a_change_seen_gives_the_moments_of_what_is_then_known(a, b, interval):
    def weight(lam, power):
        return lam ** (a - 1 + power) * math.exp(-b * lam) * -math.expm1(-lam * interval)

    none, one, two = (quad(weight, 0, np.inf, args=(k,), limit=200)[0] for k in range(3))
    found = ChangeRate(a, b).observe(interval, changed=True)
    assert found.mean == pytest.approx(one / none, rel=1e-4)
    assert found.a / found.b**2 == pytest.approx(two / none - (one / none) ** 2, rel=1e-3)


def test_no_change_for_a_while_is_that_much_more_time():
    assert ChangeRate(2.0, 3.0).observe(4.0, changed=False) == ChangeRate(2.0, 7.0)


def test_two_refreshes_at_once_say_nothing():
    assert ChangeRate(2.0, 3.0).observe(0.0, changed=True) == ChangeRate(2.0, 3.0)


@pytest.mark.parametrize("lam", [0.2, 1.0, 4.0])
def test_one_by_one_is_close_to_the_likeliest_of_all(lam):
    intervals, changed = history(lam, 500, seed=3)
    assert learned(intervals, changed).mean == pytest.approx(likeliest(intervals, changed), rel=0.05)
    assert likeliest(intervals, changed) == pytest.approx(lam, rel=0.25)


def test_counting_changes_would_underestimate_what_changes_often():
    intervals, changed = history(6.0, 2000, seed=4)
    assert sum(changed) / sum(intervals) < 0.6 * 6
    assert learned(intervals, changed).mean == pytest.approx(6.0, rel=0.15)


@given(st.integers(1, 200), st.data())
def test_the_likeliest_rate_at_equal_intervals_is_the_logarithm(polls, data):
    changed = data.draw(st.integers(1, polls))
    seen = [k < changed for k in range(polls)]
    expected = math.inf if changed == polls else -math.log(1 - changed / polls) / 0.5
    assert likeliest([0.5] * polls, seen) == pytest.approx(expected)


def test_what_was_never_seen_to_change_has_the_rate_0():
    assert likeliest([1.0, 2.0], [False, False]) == 0


def test_the_estimate_at_equal_intervals_is_nearly_without_bias_and_always_finite():
    rng = np.random.default_rng(6)
    lam, interval, polls = 1.5, 1.0, 20
    changed = rng.binomial(polls, -math.expm1(-lam * interval), 20_000)
    assert np.mean([at_intervals(polls, int(x), interval) for x in changed]) == pytest.approx(lam, rel=0.02)
    assert math.isfinite(at_intervals(5, 5, 1.0))
    assert at_intervals(5, 0, 1.0) == 0


def test_forgetting_keeps_the_estimate_and_lets_a_new_rate_be_seen_sooner():
    settled = learned(*history(0.5, 300, seed=7))
    loose = settled.forget(0.05)
    assert loose.mean == pytest.approx(settled.mean)
    for _ in range(10):
        settled, loose = settled.observe(0.5, changed=True), loose.observe(0.5, changed=True)
    assert loose.mean > 1.5 * settled.mean


def test_a_guess_that_is_none_is_refused():
    with pytest.raises(InputError, match="guess of a change rate"):
        ChangeRate(0.0, 1.0)
