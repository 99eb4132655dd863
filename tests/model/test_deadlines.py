"""Windows, releases and deadlines."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.model.deadlines import Deadline


def test_an_iteration_is_released_when_its_window_has_ended():
    found = Deadline(window=10, stride=5, due=3).iteration(2, origin=100)
    assert (found.index, found.start, found.end, found.release, found.due) == (2, 105, 115, 115, 118)


@given(st.integers(1, 20), st.integers(-50, 50), st.integers(-100, 300))
def test_windows_as_long_as_the_stride_part_the_stream(stride, origin, stamp):
    query = Deadline(stride, stride, stride)
    iterations = [query.iteration(k, origin) for k in range(1, 20)]
    within = origin < stamp <= origin + 19 * stride
    assert sum(each.reads(stamp) for each in iterations) == within


@given(st.integers(1, 5), st.integers(1, 10), st.integers(40, 60))
def test_longer_windows_read_a_tuple_several_times(times, stride, stamp):
    query = Deadline(times * stride, stride, stride)
    assert sum(query.iteration(k, origin=0).reads(stamp) for k in range(-10, 100)) == times


def test_shorter_windows_leave_gaps():
    query = Deadline(window=1, stride=4, due=4)
    read = [t for t in range(1, 13) if any(query.iteration(k, 0).reads(t) for k in range(1, 5))]
    assert read == [1, 5, 9]


def test_the_first_release_can_be_chosen():
    query = Deadline(window=6, stride=2, due=2)
    assert query.iteration(1, query.origin(0)).release == 0


def test_iterations_that_are_released_before_a_time():
    query = Deadline(window=2, stride=2, due=2)
    found = list(query.released(query.origin(0), until=6))
    assert [each.release for each in found] == [0, 2, 4]
    assert [each.index for each in found] == [1, 2, 3]


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"window": 0}, "a window is longer"),
        ({"stride": -1}, "a stride is longer"),
        ({"window": math.inf}, "a window is longer"),
        ({"due": 3}, "at most the stride of 2 s"),
        ({"due": 0}, "longer than 0 s"),
        ({"weight": 0}, "a weight"),
        ({"weight": math.nan}, "a weight"),
    ],
)
def test_what_makes_no_sense_is_refused(options, rule):
    with pytest.raises(InputError, match=rule):
        Deadline(**({"window": 2, "stride": 2, "due": 2} | options))
