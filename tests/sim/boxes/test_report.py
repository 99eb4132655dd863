"""Measures of a run: QoS by application and per tuple, running and recent, misses by phase; overhead by part."""

import numpy as np
import pytest

from headgate.model.boxes import Box, Boxes
from headgate.model.qos import LatencyGraph
from headgate.policy.protocol import Work
from headgate.policy.registry import create
from headgate.sim.boxes import feeds, networks
from headgate.sim.boxes.lines import SECOND, Line, Lines
from headgate.sim.boxes.overhead import LARGE, SMALL
from headgate.sim.boxes.report import Memory, Report, Spent
from headgate.sim.boxes.simulation import Simulation
from headgate.sim.boxes.units import box_at_a_time, superboxes

GRAPHS = (LatencyGraph.until(1.0, 3.0), LatencyGraph.until(2.0, 3.0))
NOTHING = Memory(np.empty(0), np.empty(0))


def report(apps, latencies, phases=None):
    n = len(apps)
    feed = feeds.Feed(np.zeros(n, np.int64), np.zeros(n, np.int64), np.array(phases or [0] * n))
    at = np.rint(np.array(latencies) * SECOND).astype(np.int64)
    return Report(
        feed, GRAPHS, np.array(apps), np.arange(n), at, 10 * SECOND, Spent(scheduler=SECOND, idle=5), NOTHING
    )


def test_average_qos_counts_applications_alike_and_per_tuple_counts_tuples():
    found = report([0, 0, 0, 1], [0.5, 1.0, 2.0, 3.0])
    assert found.utilities.tolist() == [1.0, 1.0, 0.5, 0.0]
    assert found.qos == pytest.approx((2.5 / 3 + 0.0) / 2)
    assert found.per_tuple == pytest.approx(2.5 / 4)
    assert found.running.tolist() == pytest.approx([1.0, 1.0, 2.5 / 3, 2.5 / 4])
    assert found.latency == pytest.approx(6.5 / 4)


def test_an_application_without_output_does_not_count():
    assert report([0, 0], [0.5, 2.0]).qos == pytest.approx(0.75)


def test_recent_qos_is_that_of_each_full_thousand():
    found = report([0] * 2500, [0.5] * 1000 + [3.0] * 1000 + [0.5] * 500)
    assert found.recent.tolist() == [1.0, 0.0]


def test_a_deadline_is_missed_after_it_and_not_at_it():
    found = report([0, 0, 1, 1], [1.0, 1.000000001, 2.0, 2.5], [0, 1, 1, 1])
    assert found.misses() == (2, 2)
    assert found.misses(phase=feeds.UNDER) == (0, 1)
    assert found.misses(phase=feeds.OVER) == (2, 1)
    assert found.misses(app=1) == (1, 1)
    assert found.misses(feeds.OVER, 0) == (1, 0)


def test_the_parts_of_the_overhead():
    spent = Spent(work=600, worker=100, storage=50, scheduler=250, idle=1000)
    assert (spent.overhead, spent.busy, spent.share) == (400, 1000, 0.25)
    assert report([0], [1.0]).scheduling == 0.1


def test_what_a_scheduling_point_costs():
    work = Work(computations=5, comparisons=10, reads=100)
    assert SMALL.scheduling(work) == 80_000 + 5 * 7_000 + 10 * 3_000 + 100 * 200
    assert LARGE.scheduling(work) == 80_000 + 5 * 25_000 + 10 * 10_000
    assert SMALL.bucketing.scheduling(work._replace(comparisons=0)) == 80_000 + 5 * 1_000 + 100 * 50
    assert SMALL.over(2.5).scan == 500


def test_bucketing_pays_for_its_cells_and_others_for_the_boxes_that_they_look_at():
    net = networks.chains(10, 2, 1e-4, (LatencyGraph.until(0.01),))
    feed = feeds.together([1] * 10)

    def scheduler(plan, name, **options):
        return Simulation(plan, feed, create(name, options), SMALL).run().spent.scheduler

    boxes, pairs = box_at_a_time(net), superboxes(net, [(2 * k + 1, 2 * k) for k in range(10)])
    # Twenty boxes looked at and ten that wait, at two scheduling points; and at one, in pairs.
    assert scheduler(boxes, "in-turn") == 2 * (80_000 + 10 * 3_000 + 20 * 200)
    assert scheduler(pairs, "in-turn") == 80_000 + 10 * 3_000 + 20 * 200
    few, many = (scheduler(boxes, "bucketing", partitions=parts) for parts in (1, 50))
    assert few < many


def test_the_queue_of_a_superbox_is_all_of_its_lines():
    lines = [Line([5 * SECOND, 3 * SECOND, 4 * SECOND]) for _ in range(2)]
    lines[0].put((0,), 5 * SECOND)
    lines[1].put((1, 2), 7 * SECOND)
    queue = Lines(lines)
    assert (queue.pending, queue.oldest, queue.position) == (3, 3.0, 0)
    assert [queue.arrived(n) for n in (1, 2, 3)] == [3.0, 7.0, 12.0]
    assert [lines[1].arrived(n) for n in (1, 2)] == [3.0, 7.0]
    assert lines[1].take(1) == ([1], 3 * SECOND)
    assert (lines[1].pending, lines[1].total) == (1, 4 * SECOND)


def test_a_superbox_for_the_moment_is_called_as_it_says():
    net = networks.alternating([Boxes((Box((1, 2), 1e-3), Box((), 1e-3), Box((), 1e-3)))], (networks.ANY,))
    calls = []
    Simulation(
        superboxes(net, [(1, 2, 0)]),
        feeds.together([1, 1]),
        create("in-turn"),
        superbox=lambda _clock, _unit, lines: (1, 0) if lines[1].pending else (2, 0),
        on_call=lambda _clock, box, _n: calls.append(box),
    ).run()
    assert calls == [1, 0, 2, 0]
