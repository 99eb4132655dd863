"""Several nodes simulated: nothing is lost on the way, moves cost their overlap, nodes sleep and are woken."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.control.nodes.balancer import Balancer
from headgate.control.nodes.options import MINIMAL, WEIGHED
from headgate.control.nodes.orders import Migrate, Prioritise
from headgate.errors import InputError
from headgate.policy.protocol import Why
from headgate.sim.nodes.moving import Homes, Way
from headgate.sim.nodes.placing import at_random, balanced
from headgate.sim.nodes.simulation import ClusterSimulation, Setup, ideal
from headgate.sim.nodes.workload import Day, shifting
from shifting_load import Scripted, check_nothing_is_lost_or_doubled, small

near = pytest.approx
SMALL = Setup(nodes=3)
QUICK = replace(WEIGHED, reports=4, spikes=3, rest=4, sleeps=2, wakes=1)


# Workloads.


def test_the_load_shifts_between_streams_and_is_the_same_in_all():
    work = small()
    loads = work.rates * np.bincount(work.stream, weights=work.cost, minlength=8)
    assert loads.sum(axis=1) == near(2.5)
    hot = [loads[round((20 * g + 15) / work.period)] for g in range(3)]
    assert all(hot[g][g::4].sum() > 1.5 * hot[(g + 1) % 3][g::4].sum() for g in range(3))


def test_at_night_there_is_less():
    work = shifting(2.0, Day(300.0, night=(60.0, 200.0), dark=0.25), 1, queries=40, streams=8)
    total = (work.rates * np.bincount(work.stream, weights=work.cost, minlength=8)).sum(axis=1)
    assert total[round(30 / 0.15)] == near(2.0)
    assert total[round(150 / 0.15)] == near(0.5)
    assert total[round(280 / 0.15)] == near(2.0)


def test_a_balanced_placement_is_even_in_the_mean():
    work = small()
    loads = np.bincount(balanced(work, 3), weights=work.mean, minlength=3)
    assert loads.max() - loads.min() < work.mean.max()


# Runs.


@settings(max_examples=6, deadline=None)
@given(
    st.integers(1, 1000),
    st.sampled_from([1.0, 2.5, 3.5]),
    st.sampled_from([QUICK, replace(MINIMAL, reports=4, spikes=3)]),
)
def test_no_tuple_is_lost_or_counted_twice_whatever_moves(seed, load, options):
    work = small(load, 30.0, seed)
    simulation = ClusterSimulation(work, at_random(work, 3, seed), SMALL, Balancer(options), seed=seed)
    report = simulation.run()
    check_nothing_is_lost_or_doubled(work, report)
    assert report.moves == simulation.homes.moved
    assert len(simulation.homes.place) == 40


def test_the_same_seed_gives_the_same_run():
    runs = [
        ClusterSimulation(small(), at_random(small(), 3, 2), SMALL, Balancer(QUICK), seed=5).run() for _ in range(2)
    ]
    assert runs[0].classes == runs[1].classes
    assert runs[0].orders == runs[1].orders


def test_one_large_node_loses_nothing_of_what_fits():
    work = small(2.5)
    report = ideal(work, SMALL)
    assert report.loss < 0.005
    check_nothing_is_lost_or_doubled(work, report)


def test_balancing_loses_less_than_the_placement_that_it_begins_with():
    work = small(2.4, 120.0)
    place = np.zeros(40, dtype=np.int64)
    still = ClusterSimulation(work, place, SMALL).run()
    moving = ClusterSimulation(work, place, SMALL, Balancer(QUICK)).run()
    assert still.loss > 0.4
    assert moving.loss < still.loss / 3
    assert moving.moves > 5
    assert still.orders == {}


def test_a_move_runs_on_both_nodes_for_the_overlap_of_its_windows():
    work = replace(small(0.9, 30.0), read=np.zeros(8))
    query = int(np.argmax(work.overlap))
    assert work.overlap[query] == 10.0
    place = np.zeros(40, dtype=np.int64)
    script = Scripted([(6.0, Migrate(f"q{query}", "node0", "node1", Why("as told")))])
    report = ClusterSimulation(work, place, SMALL, script).run()
    where = {round(now, 6): [f"q{query}" in each.queries for each in seen] for now, seen in script.reports}
    assert where[6.0] == [True, False, False]
    assert where[10.5] == [True, True, False]
    assert where[18.0] == [True, True, False]
    assert where[21.0] == [False, True, False]
    twice = work.rates[round(9 / 0.15) : round(19 / 0.15), work.stream[query]].sum() * 0.15 * work.cost[query]
    alone = ClusterSimulation(work, place, SMALL).run()
    assert (report.worked - alone.worked) * 3 * 30.0 == near(twice, rel=0.05)
    check_nothing_is_lost_or_doubled(work, report)


def test_a_priority_holds_on_its_node_from_then_on():
    work = small(15.0, 30.0)
    place = np.arange(40) % 3
    script = Scripted([(1.5, Prioritise("node1", "silver", 6.0, Why("as told")))])
    ClusterSimulation(work, place, SMALL, script).run()
    as_it_was = Scripted([])
    ClusterSimulation(work, place, SMALL, as_it_was).run()
    before, after = script.reports[0][1][1], script.reports[-1][1][1]
    assert (before.classes["silver"].priority, after.classes["silver"].priority) == (3.0, 6.0)
    assert after.classes["silver"].original == 3.0
    was = as_it_was.reports[-1][1][1]
    # More comes of every class than it has a share: 3 of 10 before, 6 of 13 then.
    assert was.classes["silver"].headroom == near(0.3, rel=0.02)
    assert after.classes["silver"].headroom == near(6 / 13, rel=0.02)
    assert after.classes["silver"].drop < was.classes["silver"].drop


def test_idle_nodes_sleep_and_are_woken_when_something_is_lost():
    work = shifting(2.4, Day(240.0, night=(30.0, 150.0), dark=0.15), 3, queries=60, streams=8, phase=60.0)
    place = balanced(work, 3)
    report = ClusterSimulation(work, place, SMALL, Balancer(QUICK)).run()
    assert report.orders["Sleep"] >= 1
    assert report.orders["Wake"] >= 1
    assert report.awake < 0.95
    night = report.nodes[(report.times > 120) & (report.times < 150)]
    assert night.max() < 3
    check_nothing_is_lost_or_doubled(work, report)


# Mistakes.


def test_a_placement_that_leaves_a_query_out_is_refused():
    with pytest.raises(InputError, match="every query has a node"):
        ClusterSimulation(small(), np.full(40, 3), SMALL)


def test_a_query_is_moved_from_where_it_is_and_once_at_a_time():
    homes = Homes(np.zeros(2, dtype=np.int64))
    with pytest.raises(InputError):
        homes.move(0, Way(1, 0, 1.0, 2.0))
    homes.move(0, Way(0, 1, 1.0, 2.0))
    with pytest.raises(InputError):
        homes.move(0, Way(0, 1, 1.0, 2.0))
    assert homes.advance(2.0)
    assert homes.place.tolist() == [1, 0]
