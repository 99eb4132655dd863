"""What classes gain from joint scheduling and shedding, in short form."""

from itertools import pairwise

import numpy as np
import pytest

from headgate.control.boundaries import Division
from headgate.experiments.load_management import networks
from headgate.experiments.load_management.classes import Case, Seen, Visits, arrivals, run
from headgate.experiments.load_management.networks import THREE
from headgate.model.operator import Kind
from headgate.policy.classes.cqc import Cqc
from headgate.sim.trains.cores import Team
from headgate.sim.trains.machine import Machine
from headgate.sim.trains.simulation import Simulation

END = 12.0


def test_a_class_of_qn_a_has_eleven_queries_thirteen_streams_and_44_operators():
    network = networks.classes_network()
    division = Division(network, THREE)
    for name in ("1", "2", "3"):
        assert sum(query.cls == name for query in network.queries) == 11
        assert len(division.entries[name]) == 13
        assert sum(owner == name for owner in division.owners.values()) == 44
    assert not division.boundaries


def test_with_sharing_class_3_reads_two_of_its_streams_from_class_1():
    network = networks.classes_network(sharing=True)
    division = Division(network, THREE)
    assert set(division.boundaries.values()) == {"1"}
    assert len(division.boundaries) == 2
    assert len(network.streams) == 37
    assert len(division.entries["3"]) == 13
    # What the third class gains, in tuples per second, where its sources lose 24.43 instead of 85.37 % of 950 each.
    assert round(len(division.entries["3"]) * 950 * (0.8537 - 0.2443)) == 7526


@pytest.mark.parametrize(
    ("losses", "total"), [((0.01, 0.79, 21.67), 7.49), ((0.46, 0.68, 8.70), 3.28), ((0.0, 0.0, 0.0), 0.0)]
)
def test_the_loss_of_all_is_the_plain_mean_of_the_classes(losses, total):
    seen = Seen({}, dict(zip("123", losses, strict=True)), 0.0, 0.0, np.empty(0), {}, {}, {})
    assert seen.total == pytest.approx(total, abs=5e-3)


def test_class_1_of_qn_b_is_three_times_as_large():
    network = networks.classes_network(3)
    assert [sum(query.cls == name for query in network.queries) for name in ("1", "2", "3")] == [33, 11, 11]


def test_a_visit_is_one_unit_and_costs_what_it_should():
    network = networks.classes_network()
    units = networks.by_visit(network, dict.fromkeys(network.streams, 1.0), THREE, lambda name: "")
    assert [unit.cls for unit in units] == ["1", "2", "3"]
    assert all(unit.source for unit in units)
    assert units[0].cost.a == pytest.approx(networks.VISIT)
    for op in network.operators:
        assert op.kind is Kind.SOURCE or op.cost.a > 0


def test_every_stream_of_a_class_has_the_rate_that_was_drawn_for_it():
    case = Case("none", "SD_p", 24.0)
    network = networks.classes_network()
    times = arrivals(case, network, 1)
    rate = {name: len(found) / 24 for name, found in times.items()}
    assert 800 < rate["2.select0.s"] < 1300
    assert 300 < rate["3.select0.s"] < 800
    # What classes 1 and 3 share has the rate of class 3.
    assert rate["1.select0.s"] == pytest.approx(rate["3.select0.s"], rel=0.05)
    quiet, busy = (
        np.count_nonzero((times["1.select2.s"] > lo) & (times["1.select2.s"] < lo + 3)) for lo in (3.0, 6.0)
    )
    assert busy > 2 * quiet


@pytest.fixture(scope="module")
def modes():
    found = {mode: run(Case(mode, "SD_c", END), 1) for mode in ("none", "separate", "dilos")}
    return found | {"sharing": run(Case("dilos", "SD_c", END, sharing=True), 1)}


def test_without_load_management_the_lowest_class_falls_behind(modes):
    assert modes["none"].response["3"] > 1000
    assert modes["none"].response["1"] < modes["none"].response["2"] < 50
    assert modes["none"].total == 0


def test_synergy_saves_class_3_most_of_its_loss_and_sharing_more_of_it(modes):
    lost = {mode: seen.loss["3"] for mode, seen in modes.items()}
    assert lost["separate"] > 2 * lost["dilos"]
    assert lost["dilos"] > lost["sharing"]
    assert modes["separate"].loss["1"] == modes["dilos"].loss["1"] == 0


def test_headrooms_follow_the_shares_only_with_synergy(modes):
    alone, synergy = modes["separate"], modes["dilos"]
    assert set(alone.headrooms["1"]) == {0.6}
    assert alone.headrooms["2"][-1] > 0.3
    assert synergy.headrooms["3"][-1] > 1.5 * alone.headrooms["3"][-1]
    assert synergy.shares["1"][-1] < 0.6
    assert alone.shares["1"][-1] == pytest.approx(0.6)


def test_a_full_queue_behind_a_shared_operator_holds_class_1_up_and_dilos_keeps_it_short():
    held, managed = (run(Case(mode, "SD_c", 15.0, sharing=True, bounded=True), 1) for mode in ("none", "dilos"))
    assert held.sharing > 5 * held.alone
    assert managed.sharing < 3 * managed.alone


def classes_visited(scheduler):
    """The classes of the runs of a short simulation of QN-A, one run after the other."""
    network = networks.classes_network()
    policy = scheduler(THREE, period=1.0)
    streams = dict.fromkeys(network.streams, 950.0)
    team = Team(policy, lambda net: networks.by_visit(net, streams, THREE, lambda name: ""))
    runs = []
    times = arrivals(Case("none", "SD_c", 0.5), network, 1)
    machine = Machine(batch=networks.BATCH)
    Simulation(network, THREE, times, [team], machine, on_run=lambda *run: runs.append(run[2].run.unit)).run()
    return runs


def test_a_class_that_may_read_once_in_a_visit_leaves_its_time_to_the_next():
    once, often = classes_visited(Visits), classes_visited(Cqc)
    assert once[:9] == once[:3] * 3
    assert any(before == after for before, after in pairwise(often[:9]))
