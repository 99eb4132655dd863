import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.engine.readable import count, share, size, span, times


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
        (0, "0"),
        (7, "7"),
        (0.25, "0.2"),
        (12.34, "12.3"),
        (999, "999"),
        (999.6, "1.0k"),
        (1000, "1.0k"),
        (12_345, "12.3k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (2.5e9, "2.5G"),
    ],
)
def test_counts(value, text):
    assert count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0 s"),
        (2e-6, "2.0 µs"),
        (0.0012, "1.2 ms"),
        (0.34, "340 ms"),
        (0.9996, "1.0 s"),
        (1.2, "1.2 s"),
        (99.4, "99.4 s"),
        (99.5, "1m 40s"),
        (125.3, "2m 05s"),
        (7200, "2h 00m"),
        (86400 * 30, "30 d"),
        (-2.5, "-2.5 s"),
    ],
)
def test_spans(value, text):
    assert span(value) == text


@pytest.mark.parametrize(("value", "text"), [(0, "0 B"), (999, "999 B"), (12_345_678, "12.3 MB"), (None, "–")])
def test_sizes(value, text):
    assert size(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.453, "45 %"), (0.0, "0 %"), (1.0, "100 %"), (math.nan, "–")])
def test_shares(value, text):
    assert share(value) == text


@pytest.mark.parametrize(("value", "text"), [(1.714, "171 %"), (14.3, "14.3×"), (100.0, "100×"), (math.inf, "–")])
def test_shares_that_are_many_times_the_whole(value, text):
    assert times(value) == text


@given(st.floats(0, 1e14))
def test_a_count_is_six_characters_at_most(value):
    assert len(count(value)) <= 6


@given(st.floats(0, 1e9))
def test_a_span_is_eight_characters_at_most(value):
    assert len(span(value)) <= 8
