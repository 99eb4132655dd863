"""Average QoS: means over results and over queries, blocks, and missed deadlines."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.qos import LatencyGraph
from headgate.monitor.utility import BLOCK, AverageQos, Block, Shared, Worth, average

GRAPH = LatencyGraph.until(1.0, 3.0)
LATENCIES = st.lists(st.integers(0, 16).map(lambda x: x / 4), max_size=30).map(lambda x: np.array(x, np.float64))


def late(*seconds):
    return np.array(seconds, np.float64)


def test_a_busy_query_counts_once_in_the_average_and_by_its_results_per_tuple():
    qos = AverageQos.of({"busy": GRAPH, "calm": GRAPH, "silent": GRAPH})
    qos.add("busy", late(9.0, 9.0, 9.0))
    qos.add("calm", late(0.5))
    assert (qos.average, qos.per_tuple) == (0.5, 0.25)
    assert [qos.queries[name].mean for name in ("busy", "calm")] == [0.0, 1.0]


def test_a_deadline_is_missed_past_the_first_critical_point_only():
    qos = AverageQos.of({"q": GRAPH})
    qos.add("q", late(0.5, 1.0, 1.25, 2.0, 9.0))
    assert (qos.missed, qos.queries["q"].missed) == (3, 3)


def test_before_the_first_result_nothing_is_known():
    qos = AverageQos.of({"q": GRAPH})
    assert all(math.isnan(x) for x in (qos.average, qos.per_tuple, qos.recent, qos.queries["q"].recent))


def test_results_of_a_query_without_a_graph_are_passed_over():
    qos = AverageQos.of({"q": GRAPH})
    qos.add("other", late(9.0))
    assert math.isnan(qos.per_tuple)


def test_averages_are_of_the_queries_that_are_there():
    qos = AverageQos.of({"gone": GRAPH, "there": GRAPH})
    qos.add("gone", late(9.0, 9.0))
    qos.add("there", late(0.5))
    assert qos.per_tuple == pytest.approx(1 / 3)
    del qos.queries["gone"]
    assert (qos.per_tuple, qos.average) == (1.0, 1.0)


def test_blocks_of_a_thousand_results_say_how_things_stood():
    qos = AverageQos.of({"a": GRAPH, "b": GRAPH})
    qos.add("a", np.full(600, 0.5))
    qos.add("b", np.full(1500, 9.0))
    assert list(qos.blocks) == [Block(1000, 0.5, 0.6), Block(2000, 0.5, 0.0)]
    assert qos.recent == 0.0


def test_what_is_kept_does_not_grow_with_results():
    qos = AverageQos.of({"a": GRAPH})
    qos.add("a", np.full(BLOCK * 1200, 0.5))
    assert len(qos.blocks) == 1000
    assert qos.blocks[-1].results == BLOCK * 1200


@given(st.lists(st.tuples(st.sampled_from("ab"), LATENCIES), max_size=8))
def test_it_does_not_matter_how_results_are_packed(parts):
    together, one_by_one = AverageQos.of({"a": GRAPH, "b": GRAPH}), AverageQos.of({"a": GRAPH, "b": GRAPH})
    for query, latencies in parts:
        together.add(query, latencies)
        for latency in latencies:
            one_by_one.add(query, late(latency))
    assert together.per_tuple == pytest.approx(one_by_one.per_tuple, nan_ok=True)
    assert together.average == pytest.approx(one_by_one.average, nan_ok=True)
    assert together.missed == one_by_one.missed


def test_the_recent_worth_of_a_query_is_that_of_its_last_block():
    worth = Worth(GRAPH)
    worth.add(np.full(BLOCK + 500, 9.0))
    assert worth.recent == 0.0
    worth.add(np.full(500, 0.5))
    assert worth.recent == 0.5
    assert worth.mean == 0.25


def shared(queries, valued, *results, graph=GRAPH):
    found = Shared.of(queries, valued, (graph.times(valued),))
    found.add(late(*results), np.ones(len(results)))
    return found


def test_queries_of_a_unit_count_each_and_its_results_not_more_than_those_of_others():
    busy, three = shared(("busy",), 1, *[9.0] * 100), shared(("x", "y", "z"), 3, 0.5)
    assert average([busy, three]) == 0.75
    silent = shared(("silent",), 1)
    assert average([busy, three, silent]) == 0.75
    assert math.isnan(average([silent]))


def test_of_the_queries_of_a_unit_those_with_a_graph_count():
    assert average([shared(("x", "y", "z"), 1, 0.5), shared(("q",), 1, 9.0)]) == pytest.approx(0.5)
    assert Shared.of(("q",), 0, ()) is None
    assert Shared.of(("q",), None, (GRAPH,)) is None


def test_a_query_that_was_in_several_units_counts_once_with_all_its_results():
    together, apart = shared(("x", "y"), 2, 9.0, 9.0), shared(("x",), 1, 0.5, 0.5, 0.5)
    # Of x one result was worth nothing and three all.
    assert average([together, apart]) == pytest.approx((0.75 + 0.0) / 2)
