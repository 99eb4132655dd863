"""Superboxes: which boxes are together, how urgent they are, in which order, and who may run."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.boxes import Box, Boxes, complete
from headgate.model.qos import LatencyGraph
from headgate.model.superboxes import (
    Locks,
    Priority,
    application_trees,
    best_box,
    center_of_mass,
    composites,
    feed_order,
    intersections,
    qos_level,
    single_input_trains,
    split_high_cost,
    top_k_spanner,
    top_n,
    tree_at_box,
)

# 0 → 1 → 2, which is shared by the outputs 3 and 5; 4 → 5.
SHARED = Boxes((Box(), Box((0,)), Box((1,)), Box((2,)), Box(), Box((2, 4))))
# 0 → 1 → 4 ← 3 ← 2, and 4 → 5.
JOIN = Boxes((Box(), Box((0,)), Box(), Box((2,)), Box((1, 3)), Box((4,))))


@st.composite
def networks(draw):
    """Networks without a loop: each box reads some of those before it."""
    inputs = draw(st.lists(st.sets(st.integers(0, 8), max_size=3), min_size=1, max_size=9))
    costs = draw(st.lists(st.floats(0.1, 50.0), min_size=len(inputs), max_size=len(inputs)))
    return Boxes(
        tuple(
            Box(tuple(sorted(i for i in of if i < b)), cost)
            for b, (of, cost) in enumerate(zip(inputs, costs, strict=True))
        )
    )


def test_an_application_has_all_that_leads_to_its_output():
    assert application_trees(SHARED) == [(0, 1, 2, 3), (0, 1, 2, 4, 5)]


def test_cut_behind_shared_boxes_no_box_is_in_two_pieces():
    assert intersections(SHARED) == [(0, 1, 2), (3,), (4, 5)]


def test_trains_go_on_while_there_is_one_input_and_one_reader():
    assert single_input_trains(SHARED) == [(0, 1, 2), (3,), (4,), (5,)]
    assert single_input_trains(JOIN) == [(0, 1), (2, 3), (4, 5)]


@pytest.mark.parametrize("cut", [intersections, single_input_trains])
@given(network=networks())
def test_static_pieces_have_every_box_once_and_inputs_first(cut, network):
    pieces = cut(network)
    assert sorted(b for piece in pieces for b in piece) == list(range(len(network)))
    for piece in pieces:
        assert all(piece.index(i) < piece.index(b) for b in piece for i in network[b].inputs if i in piece)


URGENT = {b: Priority(0.0, 10.0 - b) for b in range(6)} | {1: Priority(5.0, 9.0)}


def test_a_spanner_covers_the_ways_of_the_most_urgent_boxes():
    assert top_k_spanner(JOIN, 5, URGENT, 1) == (1, 4, 5)
    assert top_k_spanner(JOIN, 5, URGENT, 6) == application_trees(JOIN)[0]


def test_a_spanner_feeds_the_other_input_of_a_join():
    assert top_k_spanner(JOIN, 5, URGENT, 1, {1: 9, 2: 1, 3: 2}) == (1, 2, 3, 4, 5)
    assert top_k_spanner(JOIN, 5, URGENT, 1, {1: 9, 2: 1, 3: 8}, short=0.5) == (1, 4, 5)


def test_growing_upwards_ends_at_empty_queues():
    chain = complete(1, 5)
    assert tree_at_box(chain, 0) == (4, 3, 2, 1, 0)
    assert tree_at_box(chain, 0, {0: 1, 4: 1}, 2) == (2, 1, 0)
    assert tree_at_box(chain, 0, {0: 1, 3: 1}, 2) == (4, 3, 2, 1, 0)


def test_around_a_box_are_its_neighbours_and_those_of_urgent_ones():
    lazy = dict.fromkeys(range(6), Priority(0.0, 10.0))
    least = Priority(1.0, 0.0)
    assert center_of_mass(JOIN, 4, 1, lazy, least, 9) == (1, 3, 4, 5)
    assert center_of_mass(JOIN, 4, 1, lazy | {1: Priority(5.0, 9.0)}, least, 9) == (0, 1, 3, 4, 5)
    assert len(center_of_mass(JOIN, 4, 2, lazy, least, 3)) == 3


def test_a_superbox_ends_at_a_box_that_takes_long():
    chain = Boxes((Box((1,)), Box((2,)), Box((3,), cost=5.0), Box()))
    assert split_high_cost(chain, (3, 2, 1, 0), 2.0) == [(3, 2), (1, 0)]
    assert split_high_cost(chain, (3, 2, 1, 0), 0.4) == [(3,), (2,), (1,), (0,)]
    assert split_high_cost(chain, (3, 2, 1, 0), 9.0) == [(3, 2, 1, 0)]


@given(network=networks(), bound=st.floats(0.1, 50.0))
def test_nothing_that_takes_long_is_inside_a_superbox(network, bound):
    whole = application_trees(network)[0]
    pieces = split_high_cost(network, whole, bound)
    assert sorted(b for piece in pieces for b in piece) == sorted(whole)
    for piece in pieces:
        assert all(network[b].cost <= bound or b == piece[-1] for b in piece)


def test_a_superbox_is_as_urgent_as_its_best_boxes():
    priority = {0: Priority(0.0, 3.0), 1: Priority(2.0, 9.0), 2: Priority(2.0, 1.0)}
    assert best_box((0, 1, 2), priority) == (2.0, 1.0)
    assert top_n((0, 1, 2), priority, 2) == (4.0, 10.0)
    assert best_box((7,), priority) == (0.0, math.inf)


def test_a_superbox_with_a_graph_is_as_urgent_as_its_expected_results():
    graphs = (LatencyGraph(((0.0, 1.0), (4.0, 0.0))), LatencyGraph(((0.0, 1.0), (2.0, 0.0))))
    assert qos_level(graphs, 0.5, 1.0) == (0.75, 0.5)


def test_who_feeds_a_more_urgent_one_runs_before_it():
    first, second, third = (4, 5), (2,), (0, 1)
    boxes = Boxes((Box(), Box((0,)), Box(), Box(), Box((1,)), Box((4,))))
    assert feed_order([first, second, third], boxes, [third]) == [third, first, second]
    assert feed_order([first, second, third], boxes, [second]) == [first, second, third]


def test_applications_that_are_alike_run_together_under_the_sum_of_their_graphs():
    graphs = {k: LatencyGraph.until(d) for k, d in enumerate((1.0, 10.0, 1.5, 11.0))}
    (near, graph), (far, _) = composites(graphs, 2.0)
    assert (near, far) == ((0, 2), (1, 3))
    assert (graph.best, graph.deadline) == (2.0, 1.0)


def test_a_superbox_gets_all_of_its_boxes_or_none():
    locks = Locks()
    assert locks.acquire((0, 1))
    assert not locks.acquire((1, 2))
    assert locks.acquire((2,))
    locks.release((0, 1))
    assert not locks.acquire((1, 2))
    locks.release((2,))
    assert locks.acquire((1, 2))
