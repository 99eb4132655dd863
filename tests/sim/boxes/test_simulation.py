"""The box kernel: nothing lost, first in first out, every nanosecond accounted for; and the worked examples."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.boxes import Box, Boxes, complete
from headgate.model.qos import LatencyGraph
from headgate.model.traversals import min_cost, min_latency, min_memory
from headgate.policy.registry import create
from headgate.policy.trains import Train
from headgate.sim.boxes import feeds, networks
from headgate.sim.boxes.lines import SECOND
from headgate.sim.boxes.overhead import SMALL, Overhead
from headgate.sim.boxes.passing import Drawn
from headgate.sim.boxes.simulation import Simulation
from headgate.sim.boxes.trains import ONE, Trains
from headgate.sim.boxes.units import (
    Applications,
    application_at_a_time,
    box_at_a_time,
    push_through,
    superboxes,
)

WHOLE = Train(math.inf)
UNIT = LatencyGraph.until(2.0)


def in_turn():
    return create("rr", {"over": "units", "train": WHOLE})


def chain(*sels, cost=1.0):
    boxes = tuple(Box((k - 1,) if k else (), cost, sel) for k, sel in enumerate(sels))
    return Applications(Boxes(boxes), (UNIT,))


def simulate(plan, feed, **given):
    return Simulation(plan, feed, given.pop("policy", None) or in_turn(), **given).run()


def outputs(report):
    return (report.at / SECOND).tolist()


# Worked examples.


def test_two_tuples_at_once_leave_at_3_and_4_because_the_train_clears_the_first_box_before():
    report = simulate(box_at_a_time(chain(1, 1)), feeds.together([2]))
    assert outputs(report) == [3.0, 4.0]
    assert report.misses() == (2, 0)


def test_a_window_of_five_over_a_train_of_100_delays_its_results_to_215_25_on_average():
    window = Boxes((Box((), 1.0, 0.2), Box((0,), 0.5), Box((1,), 0.5)))
    report = simulate(box_at_a_time(Applications(window, (UNIT,))), feeds.together([100], at=100.0))
    assert outputs(report) == [210.5 + 0.5 * k for k in range(20)]
    assert np.mean(outputs(report)) == 215.25


def test_pushing_each_result_of_the_window_through_brings_that_down_to_163():
    window = Boxes((Box((), 1.0, 0.2), Box((0,), 0.5), Box((1,), 0.5)))
    plan, feed = push_through(Applications(window, (UNIT,))), feeds.together([100], at=100.0)
    report = simulate(plan, feed, trains=Trains(most=5))
    assert outputs(report) == [106.0 + 6 * k for k in range(20)]
    assert np.mean(outputs(report)) == 163.0


@pytest.mark.parametrize(("traversal", "calls", "last"), [(min_cost, 121, 81 * 5), (min_latency, 405, 81 * 5)])
def test_a_tree_of_121_boxes_with_loaded_leaves_takes_121_or_405_calls(traversal, calls, last):
    tree = Applications(complete(3, 5), (UNIT,))
    report = simulate(application_at_a_time(tree, traversal), feeds.together([1] * 81))
    assert report.spent.calls == calls
    assert report.spent.runs == 1
    assert max(outputs(report)) == last


def test_a_chain_loaded_at_its_first_box_gives_the_same_by_min_cost_and_min_latency():
    made = [
        simulate(application_at_a_time(chain(1, 1, 1), way), feeds.together([4]), overhead=SMALL)
        for way in (min_cost, min_latency)
    ]
    assert outputs(made[0]) == outputs(made[1])


@pytest.mark.parametrize(("share", "calls"), [(0.2, 4), (1.0, 1)])
def test_a_share_of_four_tuples_is_rounded_up(share, calls):
    assert simulate(box_at_a_time(chain(1)), feeds.together([4]), trains=Trains(share)).spent.calls == calls


def test_a_call_takes_its_overhead_first_and_a_superbox_that_of_storage_once():
    overhead = Overhead(worker=SECOND, storage=10 * SECOND)
    assert outputs(simulate(box_at_a_time(chain(1, 1)), feeds.together([1]), overhead=overhead)) == [24.0]
    assert outputs(simulate(push_through(chain(1, 1)), feeds.together([1]), overhead=overhead)) == [14.0]


def test_a_train_is_what_waits_when_the_box_runs_and_not_when_it_was_chosen():
    two = Applications(Boxes((Box((), 2.0), Box((), 1.0))), (UNIT, UNIT))
    feed = feeds.feed(np.array([0.0, 0.0, 1.0]), np.array([0, 1, 1]))

    class Both:
        """Runs both boxes in one decision."""

        def prepare(self, units):
            self.runs = create("fcfs", {"train": WHOLE})
            self.runs.prepare(units)

        def choose(self, view):
            waiting = [k for k, queue in enumerate(view.queues) if queue.pending]
            decision = self.runs.choose(view)
            if decision is None:
                return None
            return type(decision)(
                tuple(type(decision.runs[0])(k, view.queues[k].pending) for k in waiting), decision.why
            )

        def observe(self, outcome):
            pass

    report = simulate(box_at_a_time(two), feed, policy=Both())
    assert report.spent.decisions == 1
    assert outputs(report) == [2.0, 3.0, 4.0]


# Invariants.

COST = st.sampled_from([0.001, 0.002, 0.0035])


@st.composite
def forests(draw):
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    cost = networks.uniform(1e-4, 1e-3, rng)
    trees = [
        networks.tree(draw(st.sampled_from([1, 1.5, 2])), draw(st.integers(1, 4)), cost, lambda: 1.0, rng)
        for _ in range(draw(st.integers(1, 3)))
    ]
    return networks.alternating(trees, (UNIT,))


PLANS = {
    "boxes": box_at_a_time,
    "paths": push_through,
    "trees": lambda applications: application_at_a_time(applications, min_cost),
    "by latency": lambda applications: application_at_a_time(applications, min_latency),
    "by memory": lambda applications: application_at_a_time(applications, min_memory),
}
POLICIES = ("rr", "fcfs", "hnr", "bsd")


@settings(max_examples=60, deadline=None)
@given(
    forests(),
    st.sampled_from(list(PLANS)),
    st.sampled_from(POLICIES),
    st.sampled_from([Trains(), Trains(0.3), Trains(most=2), ONE]),
    st.integers(0, 50),
)
def test_nothing_is_lost_and_every_nanosecond_is_work_overhead_or_idle(applications, kind, name, trains, seed):
    boxes = applications.boxes
    feed = feeds.steady(60, networks.rate_for(boxes, 0.8), len(boxes.leaves), np.random.default_rng(seed))
    policy = create(name, {"train": WHOLE})
    # A traversal empties the lines that it comes by; with less than a whole line it needs more runs for that.
    report = simulate(PLANS[kind](applications), feed, policy=policy, overhead=SMALL, trains=trains)
    assert sorted(report.items.tolist()) == list(range(60))
    spent = report.spent
    assert report.ended == spent.work + spent.worker + spent.storage + spent.scheduler + spent.idle
    work = [sum(round(boxes[k].cost * SECOND) for k in boxes.D(leaf)) for leaf in boxes.leaves]
    assert spent.work == sum(work[i] for i in feed.inputs.tolist())
    assert (report.latencies > 0).all()


@settings(max_examples=30, deadline=None)
@given(forests(), st.sampled_from(["boxes", "paths"]), st.sampled_from([Trains(), Trains(0.3), ONE]))
def test_the_tuples_of_an_input_leave_in_the_order_in_which_they_came(applications, kind, trains):
    boxes = applications.boxes
    feed = feeds.steady(60, networks.rate_for(boxes, 0.9), len(boxes.leaves), np.random.default_rng(1))
    report = simulate(PLANS[kind](applications), feed, overhead=SMALL, trains=trains)
    for i in range(len(boxes.leaves)):
        mine = report.items[feed.inputs[report.items] == i]
        assert (np.diff(mine) > 0).all()


def test_push_through_leaves_nothing_between_boxes():
    tree = Applications(complete(2, 4, Box((), 1e-4)), (UNIT,))
    left = []

    class Watched:
        def __init__(self):
            self.inner = in_turn()

        def prepare(self, units):
            self.inner.prepare(units)

        def choose(self, view):
            inside = [line.pending for box, line in enumerate(simulation._lines) if tree.boxes[box].inputs]
            left.append(sum(inside))
            return self.inner.choose(view)

        def observe(self, outcome):
            self.inner.observe(outcome)

    feed = feeds.steady(200, 1500.0, 8, np.random.default_rng(3))
    simulation = Simulation(push_through(tree), feed, Watched(), SMALL)
    assert len(simulation.run().items) == 200
    assert len(left) > 50
    assert set(left) == {0}


def test_the_same_feed_gives_the_same_run():
    tree = Applications(complete(2, 3, Box((), 1e-3, 0.7)), (UNIT,))
    feed = feeds.steady(100, 100.0, 4, np.random.default_rng(3))
    one, two = (simulate(box_at_a_time(tree), feed, passing=Drawn(5)) for _ in range(2))
    assert one.at.tolist() == two.at.tolist()


# Selectivity, memory, shared boxes.


@pytest.mark.parametrize(("sel", "made"), [(0.2, 20), (0.35, 35), (1.0, 100), (2.5, 250)])
def test_a_selectivity_in_even_steps_passes_on_exactly_that_share(sel, made):
    assert len(simulate(box_at_a_time(chain(sel)), feeds.together([100])).items) == made


def test_a_selectivity_by_chance_passes_on_about_that_share_and_the_same_tuples_in_any_order():
    feed = feeds.together([4000])
    whole, single = (
        simulate(box_at_a_time(chain(0.3)), feed, passing=Drawn(1), trains=trains) for trains in (Trains(), ONE)
    )
    assert len(whole.items) == pytest.approx(1200, abs=90)
    assert whole.items.tolist() == single.items.tolist()


def test_memory_falls_evenly_while_a_call_takes_tuples_in_and_emitted_ones_leave():
    report = simulate(box_at_a_time(chain(0.5, 1)), feeds.together([4]), remember=True)
    assert report.memory.at(np.array([0.0, 2.0, 4.0, 6.0])).tolist() == [4.0, 3.0, 2.0, 0.0]
    assert report.memory.integral == 4 * 3.0 + 2 * 1.0


def test_a_shared_box_feeds_both_applications_and_works_once():
    shared = Applications(Boxes((Box(), Box((0,)), Box((0,)))), (UNIT, UNIT))
    report = simulate(superboxes(shared, [(0,), (1,), (2,)]), feeds.together([2]))
    assert report.spent.work == 6 * SECOND
    assert report.apps.tolist() == [0, 0, 1, 1]


def test_what_the_units_tell_a_policy():
    tree = Applications(complete(2, 3, Box((), 0.5, 0.5)), (UNIT,))
    boxes = box_at_a_time(tree).units
    assert [unit.behind for unit in boxes] == [(), (0,), (0,), (1, 0), (1, 0), (2, 0), (2, 0)]
    assert boxes[3].cost.of(1) == 0.5
    assert boxes[3].segments[0].S == 0.125
    assert boxes[3].leaf
    assert not boxes[0].leaf
    path = push_through(tree).units[0]
    assert path.members == ("3", "1", "0")
    assert path.cost.of(1) == 0.5 + 0.25 + 0.125
    whole = application_at_a_time(tree, min_cost).units
    assert len(whole) == 1
    assert [len(s.path) for s in whole[0].segments] == [3, 3, 3, 3]
    assert whole[0].graphs == (UNIT,)


def test_every_output_has_a_graph():
    with pytest.raises(Exception, match="a graph for each output"):
        Applications(complete(2, 2), ())
