"""Cost, selectivity and input rate, control period by control period."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.monitor.operator_statistics import OUTLIER, SMOOTHING, InputRate, OperatorStatistics

COSTS = st.lists(st.floats(0.001, 10), min_size=1, max_size=30)


def fed(costs, read=10):
    found = OperatorStatistics()
    for cost in costs:
        found.add(read, read / 2, cost * read)
        found.close()
    return found


def test_before_the_first_tuple_the_cost_is_unknown():
    found = OperatorStatistics()
    found.close()
    assert math.isnan(found.cost)
    assert found.selectivity == 1.0


def test_the_first_period_is_taken_as_it_is():
    found = fed([2.0])
    assert (found.cost, found.selectivity, found.last) == (2.0, 0.5, 2.0)


def test_the_runs_of_a_period_are_taken_together():
    found = OperatorStatistics()
    found.add(1, 1, 5.0)
    found.add(4, 0, 5.0)
    found.close()
    assert (found.cost, found.selectivity) == (2.0, 0.2)


def test_later_periods_are_smoothed():
    found = fed([1.0, 2.0])
    assert found.cost == pytest.approx(0.825 * 1.0 + 0.175 * 2.0)
    found.add(10, 10, 10.0)
    found.close()
    assert found.selectivity == pytest.approx(0.825 * 0.5 + 0.175 * 1.0)


def test_a_period_without_a_tuple_changes_nothing():
    found = fed([1.0, 2.0])
    before = found.cost
    found.close()
    assert (found.cost, found.last) == (before, 2.0)


def test_a_spike_upwards_is_not_taken_and_one_downwards_is():
    steady = [1.0, 1.1] * 10
    assert fed([*steady, 50.0]).cost == fed(steady).cost
    assert fed([*steady, 50.0]).last == 50.0
    assert fed([*steady, 0.01]).cost == pytest.approx(0.825 * fed(steady).cost + 0.175 * 0.01)


def test_a_lasting_rise_is_taken_in_the_end():
    assert fed([1.0] * 20 + [3.0] * 40).cost == pytest.approx(3.0, rel=0.01)


@given(COSTS)
def test_the_gate_is_the_average_and_the_deviation_of_all_periods_so_far(costs):
    cost = average = costs[0]
    for k, x in enumerate(costs[1:], 2):
        average = (1 - SMOOTHING) * average + SMOOTHING * x
        limit = OUTLIER * statistics.stdev(costs[:k])
        if x - average <= limit - 1e-9:
            cost = (1 - SMOOTHING) * cost + SMOOTHING * x
        elif x - average <= limit + 1e-9:
            return  # on the edge, rounding decides
    assert fed(costs).cost == pytest.approx(cost)


@given(COSTS)
def test_the_cost_stays_among_the_costs_seen(costs):
    assert min(costs) * (1 - 1e-9) <= fed(costs).cost <= max(costs) * (1 + 1e-9)


# The input rate.


def test_the_rate_goes_by_arrival_times_however_late_tuples_are_read():
    rate = InputRate()
    for _ in range(4):
        # A hundred tuples a second come, and in a second only sixty are read.
        rate.add(60)
        rate.close(rate.upto + 0.6)
        assert rate.rate == pytest.approx(100)


def test_an_idle_stream_comes_to_nothing():
    rate = InputRate()
    rate.add(100)
    rate.close(1.0)
    rate.close(2.0)
    assert rate.rate == 0


def test_a_period_in_which_nothing_could_be_read_keeps_the_rate():
    rate = InputRate()
    rate.add(100)
    rate.close(1.0)
    rate.close(1.0)
    assert rate.rate == 100


def test_tuples_of_one_instant_are_counted_once_time_goes_on():
    rate = InputRate(5.0)
    rate.add(10)
    rate.close(5.0)
    assert rate.rate == 0
    rate.add(10)
    rate.close(7.0)
    assert rate.rate == 10
