"""Boxes: ways to the output, selectivity, cost of a result, memory released, sizes of trees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.model.boxes import Box, Boxes, complete

DIAMOND = Boxes((Box(), Box((0,)), Box((0,)), Box((1, 2))))


def test_the_way_of_a_box_ends_at_its_output():
    chain = Boxes((Box((1,)), Box((2,)), Box()))
    assert [chain.D(b) for b in range(3)] == [(0,), (1, 0), (2, 1, 0)]
    assert (chain.outputs, chain.leaves, chain.feeds) == ((0,), (2,), ((), (0,), (1,)))


def test_what_a_box_yields_and_costs_depends_on_what_follows():
    chain = Boxes((Box((1,), cost=2.0, sel=0.5), Box(cost=3.0, sel=0.2, tsize=10.0)))
    assert chain.o_sel(1) == pytest.approx(0.1)
    assert chain.output_cost(0) == pytest.approx(2.0 / 0.5)
    assert chain.output_cost(1) == pytest.approx(3.0 / 0.1 + 2.0 / 0.5)
    assert chain.mem_rr(1) == pytest.approx(10.0 * 0.8 / 3.0)


@pytest.mark.parametrize(
    ("fanout", "depth", "boxes", "leaves"), [(3, 5, 121, 81), (2, 5, 31, 16), (2, 4, 15, 8), (1, 5, 5, 1)]
)
def test_complete_trees_have_the_published_sizes(fanout, depth, boxes, leaves):
    tree = complete(fanout, depth)
    assert (len(tree), len(tree.leaves), tree.outputs) == (boxes, leaves, (0,))
    assert {len(tree.D(b)) for b in tree.leaves} == {depth}


def test_a_shared_box_comes_once_and_before_what_it_feeds():
    assert tuple(DIAMOND.upstream(3)) == (0, 1, 2, 3)
    assert DIAMOND.breadth_first(3) == (3, 1, 2, 0)


def test_a_chain_may_be_longer_than_the_stack_is_deep():
    chain = Boxes(tuple(Box((b + 1,)) if b < 4999 else Box() for b in range(5000)))
    assert tuple(chain.upstream(0)) == tuple(range(4999, -1, -1))


@given(st.lists(st.sets(st.integers(0, 7)), min_size=1, max_size=8))
def test_every_box_comes_after_its_inputs(inputs):
    network = Boxes(tuple(Box(tuple(sorted(i for i in of if i < b))) for b, of in enumerate(inputs)))
    order = tuple(network.upstream(*network.outputs))
    assert sorted(order) == list(range(len(inputs)))
    assert all(order.index(i) < order.index(b) for b, box in enumerate(network.boxes) for i in box.inputs)


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: Box(cost=0.0), "the cost of a box is above 0"),
        (lambda: Box(sel=-1.0), "the selectivity of a box is above 0"),
        (lambda: Boxes((Box((1,)),)), "box 0: inputs are boxes"),
        (lambda: Boxes((Box((1,)), Box((0,)))), "boxes feed each other without a loop"),
        (lambda: Boxes((Box((1,)), Box((2,)), Box((1,)))), "boxes feed each other without a loop"),
        (lambda: DIAMOND.D(0), "in a tree a box feeds one other"),
    ],
)
def test_what_is_no_network_of_boxes_is_refused(make, rule):
    with pytest.raises(InputError) as caught:
        make()
    assert caught.value.rule == rule
