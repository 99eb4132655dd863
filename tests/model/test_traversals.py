"""Traversals: which boxes run in which order, what that comes to, and which is chosen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.model.boxes import Box, Boxes, complete
from headgate.model.traversals import (
    TRAVERSALS,
    choose,
    min_cost,
    min_latency,
    min_memory,
    min_memory_pseudo,
    replay,
)


@st.composite
def trees(draw):
    """Trees of some boxes, the output first."""
    parents = [draw(st.integers(0, b - 1)) for b in range(1, draw(st.integers(1, 9)))]
    numbers = st.floats(0.1, 2.0)
    return Boxes(
        tuple(
            Box(tuple(c + 1 for c, parent in enumerate(parents) if parent == b), draw(numbers), draw(numbers))
            for b in range(len(parents) + 1)
        )
    )


@pytest.mark.parametrize("name", TRAVERSALS)
@given(tree=trees())
def test_nothing_is_left_in_a_queue(name, tree):
    loaded = dict.fromkeys(range(len(tree)), 3.0)
    found = replay(tree, TRAVERSALS[name](tree), loaded, 0.1)
    assert found.results == pytest.approx(sum(3.0 * tree.o_sel(b) for b in loaded))


@given(tree=trees(), overhead=st.floats(0.0, 2.0))
def test_no_order_takes_fewer_calls_than_min_cost(tree, overhead):
    loaded = dict.fromkeys(tree.leaves, 2.0)
    least = replay(tree, min_cost(tree), loaded, overhead)
    for order in (min_latency(tree), min_memory(tree)):
        other = replay(tree, order, loaded, overhead)
        assert len(other.calls) >= len(least.calls)
        assert other.total >= least.total * (1 - 1e-12)


def test_calls_of_a_complete_tree_are_as_published():
    tree = complete(3, 5)
    everywhere, leaves = dict.fromkeys(range(121), 1.0), dict.fromkeys(tree.leaves, 1.0)
    assert [len(replay(tree, min_latency(tree), n, 0.0).calls) for n in (everywhere, leaves)] == [547, 405]
    assert [len(replay(tree, min_cost(tree), n, 0.0).calls) for n in (everywhere, leaves)] == [121, 121]


def test_on_a_chain_with_tuples_at_its_first_box_all_orders_are_one():
    chain = complete(1, 5)
    assert replay(chain, min_cost(chain), {4: 7.0}, 0.5) == replay(chain, min_latency(chain), {4: 7.0}, 0.5)


def test_the_pseudo_code_alone_leaves_tuples_behind():
    tree = Boxes((Box((1,), sel=0.7), Box((2,), sel=0.5), Box(sel=0.8)))
    loaded = dict.fromkeys(range(3), 1.0)
    assert (
        replay(tree, min_memory_pseudo(tree), loaded, 0.0).results
        < replay(tree, min_memory(tree), loaded, 0.0).results
    )


def test_results_leave_one_by_one_or_with_their_train():
    box = Boxes((Box(cost=2.0),))
    assert replay(box, (0,), {0: 3.0}, 1.0).latency == 5.0
    assert replay(box, (0,), {0: 3.0}, 1.0, by_train=True).latency == 7.0


def test_memory_is_what_waits_while_a_call_goes_on():
    chain = Boxes((Box((1,), tsize=4.0), Box(cost=2.0, sel=0.5, tsize=1.0)))
    found = replay(chain, (1, 0), {1: 2.0}, 0.0)
    # The first call takes 4 s, in which 2 tuples of size 1 become 1 of size 4; the second takes 1 s and empties it.
    assert found.memory == (2.0 + 4.0) / 2 * 4.0 + 4.0 / 2


def test_trees_side_by_side_run_the_cheapest_result_first():
    members = Boxes((Box(cost=3.0), Box(cost=1.0), Box(cost=2.0)))
    assert (min_cost(members), min_latency(members)) == ((0, 1, 2), (1, 2, 0))
    assert choose(members, dict.fromkeys(range(3), 1.0), 0.0, "latency")[0] == "min-latency"


@pytest.mark.parametrize(
    ("objective", "overhead", "best"),
    [("throughput", 0.1, "min-cost"), ("latency", 0.1, "min-latency"), ("latency", 9.0, "min-cost")],
)
def test_the_choice_depends_on_the_objective_and_on_the_overhead(objective, overhead, best):
    tree = Boxes((Box((1, 5)), Box((3, 2)), Box((4,)), Box(), Box(), Box()))
    assert choose(tree, dict.fromkeys(range(6), 1.0), overhead, objective)[0] == best


def test_an_unknown_objective_is_refused():
    with pytest.raises(InputError) as caught:
        choose(complete(1, 1), {}, 0.0, "beauty")
    assert caught.value.remedy == "Choose throughput, latency, memory."
