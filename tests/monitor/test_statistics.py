import numpy as np
import pytest

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
