"""When a run is put off because it is hardly worth its overhead."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.engine.evaluation.protocol import NOTHING, Waiting
from headgate.model.operator import Cost
from headgate.model.qos import LatencyGraph
from headgate.policy.worthwhile import OVERRIPE, OVERRIPE_BY_GRAPH, Ripening, due_in, unripe

COST = Cost(0.01, 0.001)
"""A run is worth its overhead with 50 tuples."""
FULL = Waiting(1000, 0.0, 0)


def green(now, pending, target, overripe=OVERRIPE):
    """Whether a unit with tuples since 0 waits, where another one has enough to do."""
    return 0 in unripe(now, [Waiting(pending, 0.0, 0), FULL], [COST, COST], [target, 0.0], overripe)


def test_a_run_waits_for_a_part_of_its_target_that_is_larger_where_graphs_decide():
    # The overhead of a round over both, five times, is 0.1 s: half of the target.
    assert [green(now, 10, 0.2) for now in (0.07, 0.09)] == [True, False]
    assert [green(now, 10, 0.2, OVERRIPE_BY_GRAPH) for now in (0.09, 0.11)] == [True, False]
    assert [green(now, 10, 0.1, OVERRIPE_BY_GRAPH) for now in (0.07, 0.09)] == [True, False]


def test_enough_work_does_not_wait_nor_does_what_is_due_at_once():
    assert not green(0.0, 50, 1.0)
    assert not green(0.0, 1, 0.0)


def test_nobody_waits_where_nobody_has_enough_to_do():
    few = Waiting(1, 0.0, 0)
    assert unripe(0.0, [few, few, NOTHING], [COST] * 3, [1.0] * 3) == set()


@given(st.floats(0, 10), st.integers(1, 100), st.floats(0.01, 10))
def test_whoever_waits_long_enough_for_any_policy_runs(now, pending, target):
    if not green(now, pending, target, OVERRIPE_BY_GRAPH):
        assert not green(now, pending, target, OVERRIPE)
    assert not green(target, pending, target, OVERRIPE_BY_GRAPH)


@st.composite
def looks(draw):
    """Units, and what some of them have waiting at each of several times."""
    n = draw(st.integers(1, 5))
    costs = [Cost(draw(st.floats(0, 0.1)), draw(st.floats(0, 0.01))) for _ in range(n)]
    targets = draw(st.lists(st.sampled_from([0.0, 0.1, 1.0, 5.0]), min_size=n, max_size=n))
    queue = st.one_of(st.just(NOTHING), st.builds(Waiting, st.integers(1, 100), st.floats(0, 3)))
    change = st.tuples(st.integers(0, n - 1), queue)
    return costs, targets, draw(st.lists(st.tuples(st.floats(0, 3), st.lists(change, max_size=3)), max_size=10))


@given(looks(), st.sampled_from([OVERRIPE, OVERRIPE_BY_GRAPH]))
def test_looks_that_go_by_what_has_changed_find_the_same_unripe(found, overripe):
    costs, targets, then = found
    queues, kept = [NOTHING] * len(costs), Ripening(costs, targets, overripe)
    for now, changes in then:
        for i, queue in changes:
            queues[i] = queue
            kept.put(i, queue)
        green = unripe(now, queues, costs, targets, overripe)
        assert {*kept.green(now).nonzero()[0].tolist()} == green


@pytest.mark.parametrize(
    ("target", "points", "due"),
    [
        (math.inf, (), 0.0),
        (2.0, (), 2.0),
        (math.inf, ((0.0, 1.0), (0.5, 1.0), (1.0, 0.0)), 0.5),
        (0.3, ((0.0, 1.0), (0.5, 1.0), (1.0, 0.0)), 0.3),
        (math.inf, ((0.0, 1.0),), 0.0),
    ],
)
def test_results_are_due_by_the_target_or_where_a_graph_begins_to_fall(target, points, due):
    assert due_in(target, [LatencyGraph(points)] if points else []) == due
