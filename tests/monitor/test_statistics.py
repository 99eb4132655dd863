from dataclasses import replace

import numpy as np
import pytest

from headgate.model.operator import Cost
from headgate.monitor.statistics import Measured, unknown
from headgate.policy.protocol import Outcome, Run
from headgate.sim import testbed
from headgate.sim.arrivals import OnOff, take
from headgate.sim.metrics import summarise
from headgate.sim.run import Setting, simulate

RATE = {testbed.STREAM: 1.0}


@pytest.fixture
def units():
    return Setting("hnr").plan(testbed.single_stream(1, 5), RATE)


def test_whoever_knows_nothing_sees_units_that_are_all_alike_and_cost_the_same_in_all(units):
    blank = unknown(units)
    assert len({(u.cost, u.segments[0].S, u.segments[0].T) for u in blank}) == 1
    assert sum(u.cost.b for u in blank) == pytest.approx(sum(u.cost.b for u in units))
    assert [u.members for u in blank] == [u.members for u in units]


def test_units_stay_the_same_object_until_something_moves(units):
    monitor = Measured(units)
    assert monitor.units() is monitor.units()
    before = monitor.units()
    for k in range(50):
        monitor.observe(Outcome(Run(0, 1), k, k + 100.0, (1,)))
    after = monitor.units()
    assert after is not before
    assert after[1:] == before[1:]
    assert after[0].cost.b == pytest.approx(100.0, rel=0.05)
    assert pytest.approx(100.0, rel=0.5) == after[0].segments[0].T
    assert after[0].segments[0].S > before[0].segments[0].S


def test_a_policy_that_has_to_learn_comes_close_to_one_that_knows():
    network = testbed.single_stream(2, 40)
    arrivals = take(OnOff(), 2000, np.random.default_rng(2))
    rate = {testbed.STREAM: (len(arrivals) - 1) / float(arrivals[-1] - arrivals[0])}
    network, _ = testbed.at_utilisation(network, rate, 0.9)

    def slowdown(setting):
        report = simulate(network, rate, {testbed.STREAM: iter([arrivals])}, setting, 2)
        return summarise(report.tally).avg_h

    knows, learns, blind = (
        slowdown(s) for s in (Setting("hnr"), Setting("hnr", statistics="measured"), Setting("fcfs"))
    )
    assert knows < learns < knows + 0.1 * (blind - knows)


def runs(monitor, unit, *seconds_of):
    for n, seconds, results in seconds_of:
        monitor.observe(Outcome(Run(unit, n), 0.0, seconds, (results,)))


def test_units_that_stay_in_another_plan_keep_what_was_measured_and_new_ones_begin_at_their_guess(units):
    first, second, third, fourth, fifth = units
    monitor = Measured([first, second, third])
    runs(monitor, 0, *[(1, 100.0, 1)] * 50)
    runs(monitor, 2, *[(1, 3.0, 0)] * 50)
    old = {unit.entry: unit for unit in monitor.units()}
    other = monitor.over([fourth, replace(third, id=1), replace(first, id=2), fifth])
    found = other.units()
    assert [unit.entry for unit in found] == [unit.entry for unit in (fourth, third, first, fifth)]
    assert (found[0], found[3]) == (fourth, fifth)
    for unit in (found[1], found[2]):
        assert unit.cost.of(1) == pytest.approx(old[unit.entry].cost.of(1))
        assert pytest.approx(old[unit.entry].segments[0].S) == unit.segments[0].S
    # The units stand in another order now, and outcomes go by that order.
    runs(other, 2, *[(1, 900.0, 1)] * 200)
    after = other.units()
    assert after[2].cost.of(1) == pytest.approx(900.0, rel=0.05)
    assert after[1].cost.of(1) == pytest.approx(old[third.entry].cost.of(1))


def test_in_jobs_the_ideal_time_is_that_of_one_tuple_in_a_job_of_its_own(units):
    unit = replace(units[0], cost=Cost(1.0, 1e-3))
    alone, in_jobs = Measured([unit]), Measured([unit], in_jobs=True)
    for monitor in (alone, in_jobs, in_jobs.over([unit])):
        runs(monitor, 0, *[(n, 2.0 + 0.01 * n, 0) for n in (10, 100, 1000)] * 40)
    (measured,) = in_jobs.units()
    assert (measured.cost.a, measured.cost.b) == (pytest.approx(2.0, rel=0.05), pytest.approx(0.01, rel=0.05))
    assert pytest.approx(measured.cost.of(1)) == measured.segments[0].T
    # Otherwise it is what single tuples showed, and there were none.
    assert pytest.approx(unit.segments[0].T) == alone.units()[0].segments[0].T
