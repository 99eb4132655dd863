"""What comes in: the same tuples whatever is done to their times, in the order of arrival."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.sim.boxes import feeds
from headgate.sim.boxes.lines import SECOND


def rng(seed=1):
    return np.random.default_rng(seed)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 200), st.sampled_from(["even", "poisson"]), st.integers(1, 6), st.integers(1, 5))
def test_ticks_and_bursts_lose_nothing_and_deliver_nothing_early(n, spacing, inputs, size):
    plain = feeds.steady(n, 100.0, inputs, rng(), spacing)
    for made in (feeds.ticked(plain, 0.05), feeds.bursts(plain, size)):
        assert len(made) == n
        assert (np.diff(made.times) >= 0).all()
        assert np.bincount(made.inputs).tolist() == np.bincount(plain.inputs).tolist()
        assert made.times.sum() >= plain.times.sum()


def test_ticks_deliver_at_whole_ticks():
    made = feeds.ticked(feeds.in_turn(10, 100.0, 2), 0.04)
    assert (made.times / SECOND).tolist() == [0.04] * 4 + [0.08] * 4 + [0.12] * 2


def test_bursts_gather_the_tuples_of_each_input():
    made = feeds.bursts(feeds.in_turn(8, 1.0, 2), 2)
    assert (made.times / SECOND).tolist() == [3, 3, 4, 4, 7, 7, 8, 8]
    assert made.inputs.tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert feeds.bursts(made, 1).times.tolist() == made.times.tolist()


def test_load_that_goes_up_and_down_is_tagged_by_its_phase():
    made = feeds.fluctuating(200_000, 2000.0, 20, rng(), spacing="even")
    assert np.bincount(made.phases).tolist() == [155_000, 45_000]
    gaps = np.diff(made.times) / SECOND
    assert gaps[:39_000].mean() == pytest.approx(1 / 1200)
    assert gaps[41_000:54_000].mean() == pytest.approx(1 / 2600)


def test_a_hot_input_has_its_own_rate_and_nothing_from_the_others():
    made = feeds.sustained(20_000, 800.0, (3, 1200.0), 5, rng(), group=10)
    counts = np.bincount(made.inputs, minlength=5)
    assert counts[3] == 12_000
    assert made.phases[made.inputs == 3].all()
    assert not made.phases[made.inputs != 3].any()
    assert len(made) / (made.times[-1] / SECOND) == pytest.approx(2000, rel=0.05)
    times = made.times[made.inputs == 3]
    assert len(np.unique(times)) == 1200


def test_tuples_that_come_together_come_in_turns():
    made = feeds.together([1, 3], at=2.0)
    assert made.inputs.tolist() == [0, 1, 1, 1]
    assert set(made.times.tolist()) == {2 * SECOND}


def test_a_rate_that_is_none_and_a_spacing_that_is_unknown_are_refused():
    with pytest.raises(InputError, match="a rate above 0"):
        feeds.steady(10, 0.0, 1, rng())
    with pytest.raises(InputError, match="a known spacing"):
        feeds.steady(10, 1.0, 1, rng(), "odd")
