"""Cells of slope and slack: the table of a graph says what its slope and slack say."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.qos import INDIFFERENT, LatencyGraph
from headgate.policy.qos.partitions import Partition, Table
from model.test_qos import graphs

BOUNDS = st.sets(st.integers(1, 30), max_size=4).map(lambda found: tuple(x / 4 for x in sorted(found)))


@given(graph=graphs(), slopes=BOUNDS, slacks=BOUNDS, x=st.integers(0, 240))
def test_a_table_has_the_cell_of_every_latency_and_how_long_it_lasts(graph, slopes, slacks, x):
    partition, latency = Partition(slopes, slacks), x / 16
    table = Table.of(graph, partition)
    cell, low, until = table.look(latency)
    assert cell == partition.cell(graph.slope(latency), graph.slack(latency))
    assert until >= latency
    assert low < latency
    if until < math.inf:
        assert partition.cell(graph.slope(until), graph.slack(until)) == cell
    if low > -math.inf:
        inside = np.nextafter(low, math.inf)
        assert table.look(inside) == (cell, low, until)
        assert table.look(low)[0] == partition.cell(graph.slope(low), graph.slack(low))


def test_steep_slopes_come_first_and_then_little_slack():
    partition = Partition((1.0,), (1.0,))
    cells = [partition.cell(*each) for each in ((2.0, 0.5), (2.0, 3.0), (0.5, 0.5), (0.5, 3.0), (0.0, math.inf))]
    assert cells == [0, 1, 2, 3, 4]
    assert partition.cells == 5


def test_ranges_go_up_to_the_steepest_slope_and_the_latest_deadline():
    partition = Partition.of([LatencyGraph(((0, 8), (4, 8), (6, 0))), LatencyGraph(((0, 1), (8, 0)))], 4)
    assert partition == Partition((1.0, 2.0, 3.0), (2.0, 4.0, 6.0))


def test_without_graphs_there_is_one_cell_and_the_last():
    assert Partition.of([INDIFFERENT], 20).cells == 2
