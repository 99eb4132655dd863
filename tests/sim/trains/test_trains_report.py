"""Figures of a report, from results that are given."""

import math

import numpy as np
import pytest

from headgate.sim.trains.accounts import Account
from headgate.sim.trains.report import PERCENTILES, Departures, Report
from sim.trains.beds import chain, network


def report(*results, warm=0.0, **more):
    """A report on one query of the class `lead`, whose results are (arrived, left)."""
    departures = Departures()
    for arrived, left in results:
        departures.add(np.array([arrived]), left)
    return Report(network(chain((0.0, 1.0, 1.0), cls="lead")), {"q": departures}, warm, **more)


def test_response_times_have_their_mean_and_percentiles():
    found = report(*((0.0, float(k)) for k in range(1, 102))).responses("lead")
    assert (found.results, found.mean) == (101, 51.0)
    assert found.percentiles == {p: p + 1.0 for p in PERCENTILES}


def test_results_of_tuples_that_came_while_warming_up_do_not_count():
    found = report((0.0, 9.0), (1.0, 2.0), (2.0, 4.0), warm=1.0)
    assert found.responses("lead").mean == 1.5
    assert found.over_time("lead", width=1.0).results.sum() == 3


def test_without_results_there_is_no_number():
    assert math.isnan(report().responses("lead").mean)
    assert math.isnan(report().violations("lead", 1.0).mean)
    assert report().responses("gold").results == 0


def test_violations_count_over_all_results_and_over_the_late_ones():
    found = report((0.0, 1.0), (0.0, 3.0), (0.0, 6.0)).violations("lead", 2.0)
    assert found == (pytest.approx(5 / 3), 4.0, 2.5, 2)


@pytest.mark.parametrize(
    ("by", "mean", "results"), [("output", [0.5, math.nan, 2.0], [1, 0, 2]), ("input", [1.5], [3])]
)
def test_over_time_results_stand_where_they_left_or_where_they_arrived(by, mean, results):
    found = report((0.0, 0.5), (0.5, 2.0), (0.0, 2.5)).over_time("lead", by, width=1.0)
    assert found.mean == pytest.approx(mean, nan_ok=True)
    assert found.results.tolist() == results
    assert found.start.tolist() == [float(k) for k in range(len(results))]


def test_over_time_goes_to_the_end_whether_there_are_results_or_not():
    found = report((0.0, 0.5), ended=3.2)
    assert found.over_time("lead", width=1.0).results.tolist() == [1, 0, 0, 0]
    assert found.over_time("gold", width=1.0).results.tolist() == [0, 0, 0, 0]


def test_loss_is_what_was_dropped_of_what_was_offered_at_the_entries_of_a_class():
    accounts = [Account("a", "x", "lead", 60, 40, 15, 5), Account("b", "y", "lead", 40, 30, 10, 0)]
    found = report(accounts=accounts)
    assert found.loss("lead") == 0.25
    assert found.loss("gold") == 0


def test_utilisation_is_the_time_spent_on_tuples():
    assert report(busy=[[5.0, 1.0], [2.5]], ended=10.0).utilisation == [[0.5, 0.1], [0.25]]
    assert report(busy=[[0.0]]).utilisation == [[0.0]]
