"""Worked examples of traversals and of QoS-driven scheduling, to the digit."""

import math
from fractions import Fraction

import pytest

from headgate.model.boxes import Box, Boxes
from headgate.model.qos import LatencyGraph
from headgate.model.traversals import (
    choose,
    min_cost,
    min_latency,
    min_memory,
    min_memory_example,
    min_memory_pseudo,
    replay,
)
from headgate.policy.qos.bucketing import Bucketing
from headgate.policy.qos.fixed_priority import FixedPriority
from headgate.policy.qos.partitions import Partition, Table
from headgate.policy.qos.slope_slack import SlopeSlack
from helpers import view
from policy.qos.bed import box_units, deadlines, drive, path_units

# Traversals: b1 is the output; b2 and b6 feed it, b4 and b3 feed b2, b5 feeds b3. Boxes are numbered from 0 here.

INPUTS = ((1, 5), (3, 2), (4,), (), (), ())
EVERYWHERE = dict.fromkeys(range(6), 1)


def six(p=1.0):
    return Boxes(tuple(Box(inputs, p) for inputs in INPUTS))


def named(order):
    return " ".join(f"b{b + 1}" for b in order)


def test_min_cost_runs_each_box_once():
    assert named(min_cost(six())) == "b4 b5 b3 b2 b6 b1"


def test_min_latency_runs_the_way_of_each_box():
    assert named(min_latency(six())) == "b1 b2 b1 b6 b1 b4 b2 b1 b3 b2 b1 b5 b3 b2 b1"


@pytest.mark.parametrize(("p", "o"), [(1, 0), (0, 1), (3, 2), (1, 10)])
def test_times_of_the_six_boxes(p, o):
    # A box has a cost above 0, so the case p = 0 is approached.
    tree = six(max(p, 1e-12))
    cheap, quick = (replay(tree, order(tree), EVERYWHERE, o) for order in (min_cost, min_latency))
    assert (len(cheap.calls), len(quick.calls)) == (6, 15)
    assert cheap.total == pytest.approx(15 * p + 6 * o)
    assert quick.total == pytest.approx(15 * p + 15 * o)
    assert cheap.latency == pytest.approx(12.5 * p + 6 * o)
    assert quick.latency == pytest.approx(43 / 6 * (p + o))


def test_least_latency_pays_from_a_cost_of_7_32_of_the_overhead_on():
    threshold = Fraction(7, 32)
    assert float(threshold) == 0.21875
    for ratio, best in ((0.2187, "min-cost"), (0.2188, "min-latency")):
        assert choose(six(ratio), EVERYWHERE, 1.0, "latency")[0] == best


MEMORY = Boxes(
    tuple(
        Box(inputs, cost, sel)
        for inputs, sel, cost in zip(
            INPUTS, (0.9, 0.4, 0.5, 1.0, 0.4, 0.6), (2.0, 2.0, 1.0, 2.0, 3.0, 1.0), strict=True
        )
    )
)


def test_memory_that_boxes_release():
    assert [MEMORY.mem_rr(b) for b in range(6)] == pytest.approx([0.05, 0.3, 0.5, 0.0, 0.2, 0.4])


def test_the_pseudo_code_of_min_memory_gives_another_order_than_its_example():
    assert named(min_memory_pseudo(MEMORY)) == "b3 b6 b2 b5 b3 b1 b4 b2"
    assert min_memory(MEMORY) == min_memory_pseudo(MEMORY) + min_cost(MEMORY)


def test_the_printed_example_of_min_memory_is_the_whole_way_of_each_box():
    full = named(min_memory_example(MEMORY))
    assert full == "b3 b2 b1 b6 b1 b2 b1 b5 b3 b2 b1 b1 b4 b2 b1"
    printed = "b3 b2 b1 b6 b1 b2 b5 b3 b2 b1 b4 b2 b1"
    calls = [replay(MEMORY, [int(b[1:]) - 1 for b in order.split()], EVERYWHERE, 1.0) for order in (full, printed)]
    assert calls[0] == calls[1]


def test_the_pseudo_code_leaves_tuples_and_the_last_pass_takes_them():
    ten = dict.fromkeys(range(6), 10.0)
    due = sum(10 * MEMORY.o_sel(b) for b in range(6))
    left = due - replay(MEMORY, min_memory_pseudo(MEMORY), ten, 1.0).results
    assert left > 1
    assert replay(MEMORY, min_memory(MEMORY), ten, 1.0).results == pytest.approx(due)


# Fixed-Priority: two chains of three with deadlines 4 and 8, numbered from the output.


def test_fixed_priorities_of_two_chains():
    units = box_units(*((3, graph) for graph in deadlines(4, 8)))
    numbered = (2, 1, 0, 5, 4, 3)
    policy = FixedPriority(schedule=6, seed=None)
    policy.prepare(units)
    decision = policy.choose(view(0.0, *([0.0] for _ in units)))
    assert named(numbered[run.unit] for run in decision.runs) == "b3 b2 b1 b6 b5 b4"
    slack = {}
    for b, i in enumerate(numbered):
        alone = policy.choose(view(0.0, *([0.0] if k == i else [] for k in range(6))))
        slack[b] = alone.why.terms["d1 − Σcost"]
    assert list(slack.values()) == [3, 2, 1, 7, 6, 5]


# Bucketing: four ranges of width 1 each.

FOUR = Partition((1.0, 2.0, 3.0), (1.0, 2.0, 3.0))
APPS = {1: LatencyGraph(((0, 5), (1, 5), (3, 3), (4, 0))), 2: LatencyGraph(((0, 5), (5, 0)))}


@pytest.mark.parametrize(
    ("app", "latency", "slack", "slope", "cell"),
    [(1, 1.5, 2, 2, 32), (1, 0.5, 1, 1, 41), (1, 3.5, 1, 4, 11), (2, 1.5, 4, 2, 34), (2, 2.5, 3, 2, 33)],
)
def test_cells_of_two_graphs(app, latency, slack, slope, cell):
    found, *_ = Table.of(APPS[app], FOUR).look(latency)
    row, column = divmod(found, FOUR.columns)
    assert (column + 1, 4 - row, 10 * (row + 1) + column + 1) == (slack, slope, cell)


def test_a_graph_has_new_cells_where_slope_or_slack_leave_their_range():
    by_five = Partition((1.0, 2.0, 3.0), (5.0,))
    b1 = Table.of(LatencyGraph(((0, 20), (5, 20), (15, 10), (20, 0))), by_five)
    b3 = Table.of(LatencyGraph(((0, 9), (12, 9), (15, 0))), by_five)

    def slope(table, latency):
        return 4 - table.look(latency)[0] // by_five.columns

    def slack(table, latency):
        return table.look(latency)[0] % by_five.columns + 1

    assert [slope(b1, x) for x in (4, 5, 5.1, 15, 15.1)] == [1, 1, 2, 2, 3]
    assert [slack(b1, x) for x in (4, 5.1, 10, 10.1, 16)] == [1, 2, 2, 1, 1]
    assert [slope(b3, x) for x in (0, 12, 12.1)] == [1, 1, 4]


# Twelve boxes: three chains of four with deadlines 6, 10 and 14, a tuple at each input, and no overhead.

THREE = tuple((4, graph) for graph in deadlines(6, 10, 14))
INPUT_TUPLES = {0: [0.0], 4: [0.0], 8: [0.0]}
IN_ORDER = "b1 b2 b3 b4 b5 b6 b7 b8 b9 b10 b11 b12"


def schedulers(n):
    return FixedPriority(schedule=n, seed=None), SlopeSlack(schedule=n, seed=None, ect="single")


def outputs(trace):
    return [trace.done[i][0] for i in (3, 7, 11)]


@pytest.mark.parametrize("scheduler", [0, 1])
def test_one_by_one_the_chains_run_in_order(scheduler):
    trace = drive(schedulers(1)[scheduler], box_units(*THREE), INPUT_TUPLES)
    assert (named(trace.order), outputs(trace)) == (IN_ORDER, [4, 8, 12])


@pytest.mark.parametrize(
    ("n", "scheduler", "order", "done"),
    [
        (2, 0, "b1 b5 b2 b6 b3 b7 b4 b8 b9 b10 b11 b12", [7, 8, 12]),
        (2, 1, "b1 b5 b2 b6 b3 b7 b8 b9 b10 b4 b11 b12", [10, 7, 12]),
        (3, 0, "b1 b5 b9 b2 b6 b10 b3 b7 b11 b4 b8 b12", [10, 11, 12]),
        (3, 1, "b1 b5 b9 b2 b6 b10 b7 b11 b3 b8 b12 b4", [12, 10, 11]),
    ],
)
def test_schedules_of_several_runs_miss_deadlines(n, scheduler, order, done):
    trace = drive(schedulers(n)[scheduler], box_units(*THREE), INPUT_TUPLES)
    assert (named(trace.order), outputs(trace)) == (order, done)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("policy", [FixedPriority, SlopeSlack, Bucketing])
def test_pushed_through_all_deadlines_are_met(policy, n):
    trace = drive(policy(schedule=n, seed=None), path_units(*THREE), {k: [0.0] for k in range(3)})
    assert [trace.done[k][0] for k in range(3)] == [4, 8, 12]


def test_two_tuples_at_once_are_late_though_there_is_time_for_both():
    (graph,) = deadlines(2)
    trace = drive(FixedPriority(seed=None), box_units((2, graph)), {0: [0.0, 0.0]})
    # The train clears the first box before the second begins, so both are out after the deadline of 2.
    assert (trace.order, trace.done[1]) == ([0, 1], [4.0])
    assert math.isinf(graph.slack(3.0))
