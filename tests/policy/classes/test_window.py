"""Response times since a program was built."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.policy.classes.window import Window, Windows


@given(times=st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=60), level=st.sampled_from([10.0, 50.0, 75, 95]))
def test_the_mean_is_exact_and_a_percentile_within_a_percent(times, level):
    window = Window()
    for part in np.array_split(times, 3):
        window.add(part)
    assert window.at("mean") == pytest.approx(np.mean(times))
    exact = np.quantile(times, level / 100, method="inverted_cdf")
    assert window.at(level) == pytest.approx(exact, rel=0.01)


def test_a_class_counts_once_it_has_enough_samples_and_until_they_are_forgotten():
    windows = Windows(samples=2)
    windows.add("A", [1.0, 3.0])
    windows.add("B", 5.0)
    assert windows.at_level(["A"]) == [2.0]
    assert math.isnan(windows.at_level(["B"])[0])
    assert math.isnan(windows.at_level(["C"])[0])
    windows.reset()
    assert math.isnan(windows.at_level(["A"])[0])


@pytest.mark.parametrize("level", [0, 100, -1, "median", math.nan])
def test_an_unknown_level_is_refused(level):
    with pytest.raises(InputError) as caught:
        Windows(level)
    assert caught.value.remedy == "Write level: mean or level: 75."


def test_no_sample_at_all_is_refused():
    with pytest.raises(InputError):
        Windows(samples=0)
