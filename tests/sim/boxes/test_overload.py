"""Overload is seen as what it is, and a shedder drops only what is worth nothing."""

import numpy as np
import pytest

from headgate.model.boxes import Box, Boxes
from headgate.model.qos import LatencyGraph
from headgate.policy.registry import create
from headgate.sim.boxes import feeds, networks
from headgate.sim.boxes.lines import SECOND, Line
from headgate.sim.boxes.overload import DropWorthless, demand, hopeless
from headgate.sim.boxes.simulation import Simulation
from headgate.sim.boxes.units import Applications, box_at_a_time, push_through

CHAINS = networks.chains(4, 5, 1e-3, (LatencyGraph.until(0.05), LatencyGraph.until(1.0)))


def test_the_work_that_comes_in_shows_capacity_overload():
    calm, busy = (demand(CHAINS, feeds.in_turn(1000, rate, 4), 1.0)[1:-1] for rate in (100.0, 300.0))
    assert calm == pytest.approx(0.5)
    assert busy == pytest.approx(1.5)


def test_two_tuples_at_once_are_qos_overload_without_capacity_overload():
    two = Applications(Boxes((Box(), Box((0,)))), (LatencyGraph.until(2.0),))
    seen = []

    class Watching:
        def __init__(self):
            self.inner = create("slope-slack")
            self.prepare, self.observe = self.inner.prepare, self.inner.observe

        def choose(self, view):
            seen.append(hopeless(plan, view.now, view.queues))
            return self.inner.choose(view)

    plan = box_at_a_time(two)
    feed = feeds.together([2])
    Simulation(plan, feed, Watching()).run()
    assert demand(two, feed, 10.0).max() < 1
    assert seen == [0.0, 1.0, 0.0]


def test_without_anything_waiting_nobody_is_hopeless():
    plan = push_through(CHAINS)
    assert hopeless(plan, 5.0, [Line([]) for _ in plan.units]) == 0.0


def test_a_shedder_takes_out_what_could_no_longer_be_in_time_and_counts_it():
    feed = feeds.steady(3000, 400.0, 4, np.random.default_rng(1))
    plan = push_through(CHAINS)
    plain = Simulation(plan, feed, create("slope-slack")).run()
    shed = Simulation(plan, feed, create("slope-slack"), shed=DropWorthless(CHAINS)).run()
    assert plain.spent.dropped == 0
    assert shed.spent.dropped > 100
    assert len(shed.items) + shed.spent.dropped == 3000
    assert len(np.unique(shed.items)) == len(shed.items)
    assert shed.qos > plain.qos


def test_what_is_still_worth_something_is_not_dropped():
    line = Line([0, 0])
    line.put((0, 1), 0)
    drop = DropWorthless(Applications(Boxes((Box((), 0.01),)), (LatencyGraph(((0.0, 1.0), (1.0, 0.0))),)))
    assert drop(SECOND * 98 // 100, [line]) == 0
    assert drop(SECOND * 99 // 100, [line]) == 2
    assert line.pending == line.total == 0


def test_a_graph_that_never_falls_to_nothing_has_nothing_dropped():
    line = Line([0])
    line.put((0,), 0)
    drop = DropWorthless(Applications(Boxes((Box((), 0.01),)), (networks.ANY,)))
    assert drop(100 * SECOND, [line]) == 0
