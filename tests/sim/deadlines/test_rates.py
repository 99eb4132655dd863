"""Streams by their rates: levels, windows that share nothing, the same seed the same stream."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.sim.deadlines import rates


def test_a_steady_stream_has_its_rate_at_all_times_also_before_the_start():
    stream = rates.steady(12_000.0)["A"]
    assert stream.count(-6.0, 0.0) == 72_000
    assert stream.count(0.0, 0.5) == 6_000


def test_steps_multiply_and_the_first_level_is_that_of_the_past():
    stream = rates.stepped()["B"]
    assert stream.rate(-3.0) == 10_000
    assert stream.rate(0.5) == 10_000
    assert stream.rate(1.0) == pytest.approx(11_000)
    assert stream.rate(19.5) == pytest.approx(61_159, abs=1)
    assert stream.count(0.0, 2.0) == 21_000


def test_steps_may_also_add():
    stream = rates.stepped(every=0.5, additive=True)["A"]
    assert stream.rate(1.0) == pytest.approx(12_000)
    assert stream.rate(19.9) == pytest.approx(49_000)


def test_a_seed_gives_the_same_rates_and_another_one_others():
    one, same, other = rates.random(1), rates.random(1), rates.random(2)
    assert one == same
    assert one != other
    assert one["A"].rates != one["B"].rates


def test_random_rates_have_the_mean_and_the_memory_that_were_asked_for():
    levels = np.array([s.rates for seed in range(1, 101) for s in rates.random(seed).values()])
    assert levels.mean() == pytest.approx(12_000, rel=0.02)
    logs = np.log(levels / 12_000) + 0.125
    assert logs.std() == pytest.approx(0.5, rel=0.03)
    before, after = logs[:, :-1].ravel(), logs[:, 1:].ravel()
    assert np.corrcoef(before, after)[0, 1] == pytest.approx(0.9, abs=0.01)


def test_poisson_counts_scatter_around_the_rate():
    stream = rates.random(3, sigma=0.0, poisson=True)["A"]
    counts = [stream.count(0.1 * k, 0.1 * (k + 1)) for k in range(200)]
    assert np.mean(counts) == pytest.approx(1200, rel=0.02)
    assert np.var(counts) == pytest.approx(1200, rel=0.3)


@given(st.integers(1, 20), st.lists(st.floats(-9, 20), min_size=2, max_size=8, unique=True))
def test_windows_that_follow_one_another_share_no_tuple_and_lose_none(seed, cuts):
    stream = rates.random(seed)["C"]
    cuts = sorted(cuts)
    assert sum(stream.count(a, b) for a, b in pairwise(cuts)) == stream.count(cuts[0], cuts[-1])
    assert all(stream.count(a, b) >= 0 for a, b in pairwise(cuts))


def test_a_trace_is_cut_into_stretches_and_scaled_to_the_mean():
    rng = np.random.default_rng(1)
    times = np.sort(rng.uniform(5.0, 305.0, 60_000))
    one = rates.traced(times, 1)
    for stream in one.values():
        assert stream.count(-rates.HISTORY, 20.0) == pytest.approx(12_000 * 30, rel=1e-6)
    assert one["A"].rates != one["B"].rates
    assert one["A"].rates != rates.traced(times, 2)["A"].rates
    assert one == rates.traced(times, 1)


def test_a_trace_that_is_too_short_is_refused():
    with pytest.raises(InputError, match="at least 30 s"):
        rates.traced(np.array([0.0, 10.0]))


def test_a_stream_needs_a_rate_for_each_edge():
    with pytest.raises(InputError):
        rates.Stream((0.0, 1.0), (5.0,))
