"""Response times per output and control period."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.monitor.outputs import Output, OutputMonitor


def fed(monitor, *periods):
    """What is seen after periods of given response times."""
    for times in periods:
        monitor.add(sum(times), len(times))
        found = monitor.close()
    return found


def test_before_the_first_result_there_is_nothing():
    assert OutputMonitor(2.0).close() is None


def test_an_output_has_the_mean_of_the_last_period_of_the_one_before_and_the_least():
    monitor = OutputMonitor(2.0, fewest=1)
    assert fed(monitor, [1.0, 3.0]) == Output(2.0, 2.0, 2.0, 2.0)
    assert fed(monitor, [0.5]) == Output(0.5, 2.0, 0.5, 2.0)
    assert fed(monitor, [4.0]) == Output(4.0, 0.5, 0.5, 2.0)


def test_a_period_without_results_keeps_what_was_seen():
    monitor = OutputMonitor(2.0, fewest=1)
    before = fed(monitor, [1.0], [2.0])
    assert fed(monitor, [], []) == before


def test_a_few_results_wait_for_more_before_they_make_a_mean():
    monitor = OutputMonitor(2.0, fewest=3)
    assert fed(monitor, [1.0], [2.0]) is None
    assert fed(monitor, [6.0]).rt == 3.0
    assert fed(monitor, [9.0]).rt == 3.0


def test_a_refresh_doubles_the_least_once_in_so_many_periods():
    monitor = OutputMonitor(2.0, fewest=1, refresh=3)
    leasts = [fed(monitor, times).least for times in ([1.0], [5.0], [5.0], [5.0], [1.5], [], [5.0])]
    assert leasts == [1.0, 1.0, 2.0, 2.0, 1.5, 3.0, 3.0]


@given(st.lists(st.lists(st.floats(0.001, 100), min_size=5, max_size=8), min_size=1, max_size=10))
def test_without_a_refresh_the_least_is_the_least_mean_so_far(periods):
    found = fed(OutputMonitor(2.0), *periods)
    means = [sum(times) / len(times) for times in periods]
    assert found.least == min(means)
    assert found.rt == means[-1]
    assert found.before == means[max(0, len(means) - 2)]
    assert math.isfinite(found.least)
    assert found.rt == pytest.approx(means[-1])
