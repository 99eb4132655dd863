"""Nodes that die in the simulator: what is lost meanwhile is counted, others take over, one that is back is used."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.control.nodes.balancer import Balancer
from headgate.control.nodes.options import WEIGHED
from headgate.control.nodes.orders import Migrate
from headgate.errors import InputError
from headgate.policy.protocol import Why
from headgate.sim.nodes.failing import Failing, Failure, Happened
from headgate.sim.nodes.placing import at_random
from headgate.sim.nodes.simulation import ClusterSimulation, Setup
from headgate.sim.nodes.workload import CLASSES, Workload
from shifting_load import Scripted, check_nothing_is_lost_or_doubled, small

near = pytest.approx
THREE = Setup(nodes=3)
ALONE = replace(THREE, patience=None)
QUICK = replace(WEIGHED, reports=4, spikes=3, rest=4, sleeps=2, wakes=1)


def in_turn(work):
    return np.arange(work.queries) % 3


def tuples(work, queries, since, until):
    """The tuples that come for some queries in a time."""
    steps = slice(round(since / work.period), round(until / work.period))
    return sum(work.rates[steps, stream].sum() * work.period for stream in work.stream[queries])


# When.


def test_a_death_is_noticed_after_the_patience_and_the_end_of_it_at_once():
    failing = Failing([Failure(1, 2.0, 20.0)], patience=5.0)
    assert failing.advance(1.0) == Happened((), (), ())
    assert failing.advance(2.0) == Happened((1,), (), ())
    assert failing.advance(7.0) == Happened((), (), ())
    assert failing.advance(7.1) == Happened((), (1,), ())
    assert failing.advance(8.0) == Happened((), (), ())
    assert (set(failing.dead), failing.gone) == ({1}, {1})
    assert failing.advance(20.0) == Happened((), (), (1,))
    assert (failing.dead, failing.gone) == ({}, set())


def test_who_is_back_before_the_patience_has_run_out_was_never_gone():
    failing = Failing([Failure(0, 2.0, 6.0), Failure(0, 9.0)], patience=5.0)
    seen = [failing.advance(float(now)) for now in range(20)]
    assert [each.noticed for each in seen if any(each)] == [(), (), (), (0,)]
    assert [now for now, each in enumerate(seen) if each.noticed] == [15]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Failure(0, 5.0, 5.0),
        lambda: Failing([Failure(0, 1.0), Failure(0, 2.0)], patience=5.0),
        lambda: ClusterSimulation(small(), in_turn(small()), THREE, failures=[Failure(3, 1.0)]),
    ],
)
def test_a_node_that_is_not_there_cannot_die(wrong):
    with pytest.raises(InputError):
        wrong()


# What is lost.


def test_where_nobody_takes_over_all_that_comes_for_a_dead_node_is_lost_and_counted():
    work = small(1.5, 60.0)
    place = in_turn(work)
    report = ClusterSimulation(work, place, ALONE, failures=[Failure(1, 15.0, 45.0)]).run()
    calm = ClusterSimulation(work, place, ALONE).run()
    missed = tuples(work, place == 1, 15.0, 45.0)
    dropped = [sum(each.dropped for each in run.classes.values()) for run in (report, calm)]
    assert dropped[0] - dropped[1] == near(missed, rel=0.02)
    check_nothing_is_lost_or_doubled(work, report)
    timely = [run.classes["gold"].in_target for run in (report, calm)]
    gold = work.cls == 0
    assert timely[1] - timely[0] == near(30.0 / 60.0 * (place[gold] == 1).mean(), abs=0.02)


def test_where_others_take_over_the_patience_and_a_start_are_what_is_lost():
    work = small(1.5, 60.0)
    place = in_turn(work)
    simulation = ClusterSimulation(work, place, THREE, failures=[Failure(1, 15.0)])
    report = simulation.run()
    alone = ClusterSimulation(work, place, ALONE, failures=[Failure(1, 15.0)]).run()
    gold = work.cls == 0
    # The capacity that is left is enough for gold, whatever else it lacks.
    missed = tuples(work, gold & (place == 1), 15.0, 21.3)
    assert report.classes["gold"].dropped == near(missed, rel=0.05)
    assert alone.classes["gold"].dropped > 4 * missed
    assert np.bincount(simulation.homes.place, minlength=3).tolist() == [20, 0, 20]
    check_nothing_is_lost_or_doubled(work, report)


@settings(max_examples=8, deadline=None)
@given(
    st.integers(1, 1000),
    st.lists(
        st.tuples(st.integers(0, 2), st.floats(0.0, 25.0), st.floats(0.5, 20.0)),
        min_size=1,
        max_size=3,
        unique_by=lambda each: each[0],
    ),
)
def test_no_tuple_is_lost_without_being_counted_whoever_dies_and_whatever_moves(seed, failures):
    work = small(2.5, 30.0, seed)
    dying = [Failure(node, dies, dies + lasts) for node, dies, lasts in failures]
    simulation = ClusterSimulation(work, at_random(work, 3, seed), THREE, Balancer(QUICK), seed=seed, failures=dying)
    check_nothing_is_lost_or_doubled(work, simulation.run())
    assert not simulation.homes.heirs
    assert set(simulation.homes.place[[q for q in range(40) if q not in simulation.homes.ways]].tolist()) <= {0, 1, 2}


# Moves.


def moved(at, target, query):
    return Scripted([(at, Migrate(f"q{query}", "node0", f"node{target}", Why("as told")))])


def test_a_move_to_a_node_that_dies_before_it_is_ready_does_not_happen():
    work = small(0.9, 30.0)
    simulation = ClusterSimulation(
        work, np.zeros(40, dtype=np.int64), THREE, moved(6.0, 1, 3), failures=[Failure(1, 7.0)]
    )
    report = simulation.run()
    assert simulation.homes.place[3] == 0
    assert sum(each.dropped for each in report.classes.values()) == 0


def test_a_query_that_had_been_handed_over_to_a_node_that_dies_is_taken_over():
    work = small(0.9, 30.0)
    query = int(np.argmax(work.overlap))
    failures = [Failure(1, 10.0)]
    place = np.zeros(40, dtype=np.int64)
    simulation = ClusterSimulation(work, place, THREE, moved(6.0, 1, query), failures=failures)
    report = simulation.run()
    # Ten seconds of overlap are over at 19 s, when the patience is too: then it has to begin elsewhere.
    assert simulation.homes.place[query] == 2
    cls = work.classes[work.cls[query]].name
    assert report.classes[cls].dropped == near(tuples(work, [query], 19.0, 20.3), rel=0.2)


def test_a_query_that_leaves_a_node_that_dies_is_where_it_was_handed_over_to():
    work = small(0.9, 30.0)
    query = int(np.argmax(work.overlap))
    place = np.where(np.arange(40) == query, 0, 2)
    simulation = ClusterSimulation(work, place, THREE, moved(6.0, 1, query), failures=[Failure(0, 10.0)])
    report = simulation.run()
    assert simulation.homes.place[query] == 1
    assert sum(each.dropped for each in report.classes.values()) < tuples(work, [query], 10.0, 11.0)


# What the coordinator sees.


def test_a_dead_node_is_seen_as_it_was_until_it_is_missed_and_comes_back_empty():
    work = small(1.5, 45.0)
    script = Scripted([])
    ClusterSimulation(work, in_turn(work), THREE, script, failures=[Failure(1, 10.0, 30.0)]).run()
    seen = {round(now, 6): {each.node: each for each in reports} for now, reports in script.reports}
    assert seen[15.0]["node1"] is seen[10.5]["node1"] is seen[9.0]["node1"]
    assert "node1" not in seen[16.5]
    assert seen[24.0].keys() == {"node0", "node2"}
    assert sum(len(each.queries) for each in seen[24.0].values()) == 40
    assert seen[31.5]["node1"].queries == {}


def test_with_a_node_back_that_is_needed_queries_move_to_it():
    work = small(2.4, 120.0)
    simulation = ClusterSimulation(
        work, in_turn(work), THREE, Balancer(QUICK), failures=[Failure(1, 20.0, 50.0)], seed=1
    )
    report = simulation.run()
    assert (simulation.homes.place == 1).sum() > 3
    lost = sum(each for each in report.lost.values()) / 3
    down, after = lost[(report.times >= 30) & (report.times < 50)], lost[(report.times >= 90) & (report.times < 120)]
    assert after.mean() < down.mean() / 2


def six(load, seconds=75.0, rate=500.0):
    """Two queries in each of three classes, the same work in each, over one stream."""
    rates = np.full((round(seconds / 0.15), 1), rate)
    cost = np.full(6, load / 6 / rate)
    where = np.array([0, 0, 1, 1, 2, 2]), np.zeros(6, dtype=np.int64)
    return Workload(CLASSES, *where, cost, np.zeros(6), rates, 0.15, np.zeros(1))


def at_the_end(load, balancer):
    """What each class loses in the last of 75 s, of which a second node is there for the last 40."""
    late = [Failure(1, 0.0, 35.0)]
    place = np.zeros(6, dtype=np.int64)
    report = ClusterSimulation(six(load), place, Setup(nodes=2), balancer, failures=late).run()
    return {name: lost[-3:-1].mean() for name, lost in report.lost.items()}, report.moves


def test_a_node_that_is_added_to_one_that_has_a_third_too_much_takes_half_of_it():
    stay, _ = at_the_end(1.3, None)
    balanced, moves = at_the_end(1.3, Balancer())
    assert stay["gold"] == stay["silver"] == 0 < 0.6 < stay["bronze"]
    assert (balanced, moves) == ({"gold": 0.0, "silver": 0.0, "bronze": 0.0}, 3)


def test_a_node_that_is_added_works_even_where_every_query_is_too_much_for_it():
    stay, _ = at_the_end(13.0, None)
    balanced, _ = at_the_end(13.0, Balancer())
    assert balanced["gold"] < stay["gold"] - 0.15
    assert all(balanced[name] <= stay[name] + 0.01 for name in stay)


def test_one_that_is_asleep_is_woken_where_nobody_else_is_left():
    work = small(0.9, 40.0)
    place = np.zeros(40, dtype=np.int64)
    simulation = ClusterSimulation(work, place, THREE, asleep=[1, 2], failures=[Failure(0, 10.0)])
    simulation.run()
    assert np.bincount(simulation.homes.place, minlength=3).tolist() == [0, 20, 20]
