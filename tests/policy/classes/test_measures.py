"""What class scheduling is judged by, against the figures of the literature."""

import math

import pytest

from headgate.policy.classes.measures import inverted, prir, wavg


def test_the_ratio_of_an_inversion():
    assert prir((50, 40), (2.0, 1.0)) == [1.25]
    assert prir((50, 40), (1.0, 2.0)) == [0.0]


def test_equal_response_times_are_no_inversion():
    assert inverted((2, 1), (3.0, 3.0)) == [False]
    assert prir((2, 1), (3.0, 3.0)) == [0.0]


def test_classes_of_equal_priority_do_not_invert():
    assert inverted((30, 30, 10), (5.0, 4.0, 3.0)) == [False, True]
    assert prir((30, 30, 10), (5.0, 4.0, 3.0)) == [0.0, pytest.approx(1.0)]


def test_a_class_without_results_takes_no_part():
    assert inverted((3, 2, 1), (9.0, math.nan, 1.0)) == [False, False]
    assert wavg((3, 2, 1), (9.0, math.nan, 1.0)) == 7.0
    assert math.isnan(wavg((3, 2), (math.nan, math.nan)))


def test_an_instant_class_below_a_slow_one_is_an_inversion_without_bound():
    assert prir((2, 1), (1.0, 0.0)) == [math.inf]


def test_the_weighted_response_time_of_the_middle_of_published_ranges():
    RT = [(1.28 + 1.56) / 2, (1.72 + 1.85) / 2, (2.54 + 2.67) / 2, (3.00 + 3.13) / 2, (3.85 + 4.13) / 2]
    assert wavg((50, 40, 30, 20, 10), RT) == pytest.approx(2.145, abs=1e-12)
