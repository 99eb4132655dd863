"""A query that moves gives what it gives without: nothing lost, nothing twice, in order, whatever windows it has."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.control.migration.methods import WRP, Link, StopAndCopy, UniMiCo
from headgate.control.migration.windows import RowWindow, Shape, Stage, TimeWindow
from headgate.errors import InputError
from headgate.sim.migration.query import Costs, Query
from headgate.sim.migration.rows import Tuple
from headgate.sim.migration.simulation import Setup, Simulation

time_windows = st.builds(TimeWindow, st.integers(1, 25), st.integers(1, 12), st.integers(0, 5))
row_windows = st.builds(RowWindow, st.integers(1, 6), st.integers(1, 5))
windows = time_windows | row_windows
costs = st.builds(Costs, st.integers(0, 2), st.integers(0, 2), st.integers(0, 1))


def stream(number, seed, least, most):
    """A stream in order, with gaps between its tuples."""
    random = Random(f"{seed} {number}")
    at, made = 0, []
    for k in range(70):
        at += random.randint(least, most)
        made.append(Tuple(at, number, k, random.randint(0, 1), random.randint(-9, 9)))
    return made


def streams(draw, inputs):
    """Streams of different rates, in which tuples may have the same time."""
    return [stream(n, draw(st.integers(0, 99)), 0, draw(st.integers(1, 6))) for n in range(inputs)]


@st.composite
def moves(draw, stages, signed=False, method=None):
    """A setup of such window operators, with anything else."""
    drawn = tuple(draw(stage) for stage in stages)
    inputs = 1 + drawn[0].joins if drawn else 1
    earliest = len(drawn) > 1 and not drawn[0].joins and draw(st.booleans())
    query = Query("q", Shape(drawn, inputs), signed, earliest, draw(costs))
    short = st.integers(0, 15)
    return Setup(
        query,
        streams(draw, inputs),
        asked=draw(st.integers(0, 120)),
        method=method or UniMiCo(ordered=draw(st.booleans())),
        delays=(draw(short), draw(short)),
        latency=draw(short),
        connects=tuple(draw(short) for _ in range(inputs)),
    )


def sums(window):
    return st.builds(Stage, window)


def joins(window):
    return st.builds(Stage, window, st.just(True))


ranges = st.builds(TimeWindow, st.integers(1, 25), st.just(1))
latest_rows = st.builds(RowWindow, st.integers(1, 6))
SHAPES = {
    "no window": moves(()),
    "sums over time": moves((sums(time_windows),)),
    "sums of rows": moves((sums(row_windows),)),
    "join over time": moves((joins(time_windows),)),
    "join of rows": moves((joins(row_windows),)),
    "two windows": moves((sums(windows), sums(windows))),
    "three windows": moves((sums(windows), sums(windows), sums(windows))),
    "join and sums": moves((joins(time_windows), sums(windows))),
    "join of rows and sums": moves((joins(row_windows), sums(windows))),
    "join and two sums": moves((joins(windows), sums(windows), sums(windows))),
    "signed join": moves((joins(ranges),), signed=True),
    "signed sum": moves((sums(latest_rows),), signed=True),
    "signed join and sum": moves((joins(ranges), sums(latest_rows)), signed=True),
}


def in_any_order(rows):
    return sorted((row.at, row.begin, row.value, row.sign) for row in rows)


@pytest.mark.parametrize("setups", SHAPES.values(), ids=SHAPES)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_query_gives_the_same_with_a_move_as_without(setups, data):
    setup = data.draw(setups)
    without, moved = Simulation(replace(setup, asked=None)).run(), Simulation(setup).run()
    assert in_any_order(moved.rows) == in_any_order(without.rows)
    for node in ("originator", "target"):
        times = [each.row.at for each in moved.results if each.node == node]
        assert times == sorted(times)
    if setup.method.ordered:
        nodes = [each.node for each in moved.results]
        assert nodes == sorted(nodes)
        if not setup.query.shape.controlling.joins:
            assert moved.rows == without.rows
    assert moved.messages <= 4


@pytest.mark.parametrize("method", [WRP(), StopAndCopy()], ids=["wrp", "stop-and-copy"])
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_so_it_does_by_the_other_methods_where_they_can(method, data):
    shapes = ((sums(time_windows),), (joins(time_windows),))
    stages = data.draw(st.sampled_from(shapes if method == WRP() else (*shapes, (sums(windows), sums(windows)))))
    setup = data.draw(moves(stages, method=method))
    without, moved = Simulation(replace(setup, asked=None)).run(), Simulation(setup).run()
    assert in_any_order(moved.rows) == in_any_order(without.rows)
    if not setup.query.shape.controlling.joins:
        assert moved.rows == without.rows
    assert moved.moved is not None
    assert moved.messages == method.course(setup.query.shape, 0, Link(0, 1)).messages


def even(rate, count, number=0):
    """A tuple every so often, of the same key, with its number as value."""
    return [Tuple(rate * (k + 1), number, k, 0, k) for k in range(count)]


def test_wrp_refuses_rows_and_two_windows_before_anything_runs():
    for stages in ((Stage(RowWindow(3)),), (Stage(TimeWindow(4, 2)), Stage(TimeWindow(4, 2)))):
        setup = Setup(Query("q", Shape(stages)), [even(1, 20)], asked=5, method=WRP())
        with pytest.raises(InputError, match="wrp cannot move query 'q'"):
            Simulation(setup)
        assert Simulation(replace(setup, asked=None)).run().results


def test_figure_34_as_a_run():
    query = Query("q", Shape((Stage(TimeWindow(4, 2, origin=1)),)))
    report = Simulation(Setup(query, [even(1, 12)], asked=4)).run()
    here, there = ([each.row.begin for each in report.results if each.node == n] for n in ("originator", "target"))
    # Asked at 4, the target can read from 4 on, and so has the window that begins at 5.
    assert (here, there) == ([-1, 1, 3], [5, 7, 9, 11])


def test_a_join_that_ends_a_query_leaves_out_pairs_of_the_target_and_one_that_feeds_a_window_does_not():
    join, rows = Stage(TimeWindow(6, 2), joins=True), Stage(RowWindow(2))
    streams = [even(1, 30), even(1, 30, 1)]
    alone = Simulation(Setup(Query("q", Shape((join,), 2)), streams, asked=10)).run()
    both = {node: [each.row for each in alone.results if each.node == node] for node in ("originator", "target")}
    activation = min(row.begin for row in both["target"])
    assert all(row.begin < activation for row in both["originator"])
    # Pairs of the originator are known later than the first of the target: they overlap by most of a window.
    assert max(row.at for row in both["originator"]) >= activation + 3
    fed = Simulation(Setup(Query("q", Shape((join, rows), 2)), streams, asked=10))
    assert fed.run().moved is not None
    assert fed.plan.operators[0].activation > 10**6


def test_results_of_a_join_in_order_wait_for_the_originator_and_others_do_not():
    query = Query("q", Shape((Stage(TimeWindow(20, 1), joins=True),), 2), costs=Costs(0, 1, 0))
    setup = Setup(query, [even(2, 60), even(2, 60, 1)], asked=50, latency=1)
    slow = {}
    for ordered in (True, False):
        report = Simulation(replace(setup, method=UniMiCo(ordered=ordered))).run()
        slow[ordered] = max(each.response for each in report.results)
    assert slow[True] > 15 > 5 > slow[False]


def test_a_stop_and_copy_keeps_results_waiting_for_as_long_as_the_state_takes():
    query = Query("q", Shape((Stage(RowWindow(50)),)))
    setup = Setup(query, [even(1000, 300)], asked=100_000, method=StopAndCopy(), latency=1000, row_bytes=1000)
    slow, quick = (Simulation(replace(setup, bandwidth=speed)).run() for speed in (1e6, 1e9))
    assert slow.copied == quick.copied == 50 * 1000
    assert max(each.response for each in slow.results) >= 50_000
    assert max(each.response for each in quick.results) < 2_000
    assert max(each.response for each in Simulation(replace(setup, method=UniMiCo())).run().results) <= 3_000


def test_what_a_window_of_rows_takes_back_comes_from_the_node_that_gave_it():
    query = Query("q", Shape((Stage(RowWindow(3)),)), signed=True)
    report = Simulation(Setup(query, [even(10, 20)], asked=95)).run()
    for node in ("originator", "target"):
        given = [(each.row.sign, each.row.value) for each in report.results if each.node == node]
        pluses, minuses = ([v for sign, v in given if sign == s] for s in (1, -1))
        assert minuses == pluses[: len(minuses)]
        assert len(pluses) - len(minuses) == (node == "target")
