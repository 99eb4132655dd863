"""QoS graphs: utility, slope and slack of a latency, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.model.qos import INDIFFERENT, LatencyGraph, LossGraph, ValueGraph, combined, gathered

STEPS = LatencyGraph(((0.0, 5.0), (1.0, 5.0), (3.0, 3.0), (4.0, 0.0)))


@st.composite
def graphs(draw):
    """Latency graphs on a grid, so that slopes and latencies are exact."""
    xs = sorted(draw(st.sets(st.integers(0, 40), min_size=1, max_size=6)))
    us = sorted((draw(st.integers(0, 20)) for _ in xs), reverse=True)
    return LatencyGraph(tuple((x / 4, u / 2) for x, u in zip(xs, us, strict=True)))


LATENCIES = st.integers(0, 60).map(lambda x: x / 4)


@pytest.mark.parametrize(
    ("latency", "utility", "slope", "slack"),
    [
        (0.0, 5.0, 0.0, 1.0),
        (0.5, 5.0, 0.0, 0.5),
        (1.0, 5.0, 0.0, 0.0),
        (1.5, 4.5, 1.0, 1.5),
        (3.0, 3.0, 1.0, 0.0),
        (3.5, 1.5, 3.0, 0.5),
        (4.0, 0.0, 3.0, 0.0),
        (4.5, 0.0, 0.0, math.inf),
    ],
)
def test_at_a_critical_point_slack_is_gone_and_the_slope_is_the_one_before(latency, utility, slope, slack):
    assert (STEPS.utility(latency), STEPS.slope(latency), STEPS.slack(latency)) == (utility, slope, slack)


def test_the_deadline_is_the_first_critical_point():
    assert (STEPS.critical, STEPS.deadline, STEPS.best) == ((1.0, 3.0, 4.0), 1.0, 5.0)


def test_a_graph_of_three_points_is_given_by_its_deadline():
    assert LatencyGraph.until(2.0, 3.0).points == ((0.0, 1.0), (2.0, 1.0), (3.0, 0.0))
    assert LatencyGraph.until(0.01).points == ((0.0, 1.0), (0.01, 1.0), (0.0101, 0.0))


@pytest.mark.parametrize("deadline", [0.01, 0.02, 0.075, 2.0, 3.04])
def test_equal_drops_have_equal_slopes_wherever_they_are(deadline):
    assert LatencyGraph.until(deadline).slope(deadline + 5e-5) == 1e4


def test_a_graph_that_begins_late_is_level_until_then():
    graph = LatencyGraph(((2.0, 1.0), (4.0, 0.0)))
    assert (graph.slope(1.0), graph.slack(1.0), graph.utility(1.0)) == (0.0, 1.0, 1.0)
    assert (graph.slope(3.0), graph.slack(3.0)) == (0.5, 1.0)


def test_nobody_waits_for_what_has_no_graph():
    assert combined(()) is INDIFFERENT
    assert (INDIFFERENT.slope(9.0), INDIFFERENT.slack(9.0), INDIFFERENT.deadline) == (0.0, math.inf, math.inf)


@given(several=st.lists(graphs(), min_size=1, max_size=4), latency=LATENCIES)
def test_together_slopes_add_up_and_the_least_slack_counts(several, latency):
    both = combined(several)
    assert both.slope(latency) == pytest.approx(sum(g.slope(latency) for g in several))
    assert both.slack(latency) == min(g.slack(latency) for g in several)
    assert both.utility(latency) == pytest.approx(sum(g.utility(latency) for g in several))


@given(graph=graphs(), latency=LATENCIES)
def test_utility_falls_at_the_slope_until_the_slack_is_gone(graph, latency):
    slack = graph.slack(latency)
    after = latency + (slack if slack < math.inf else 7.0)
    fallen = graph.utility(latency) - graph.slope(latency) * (after - latency)
    assert graph.utility(after) == pytest.approx(fallen)


@given(several=st.lists(graphs(), min_size=1, max_size=3), times=st.integers(1, 9), latency=LATENCIES)
def test_alike_graphs_are_worth_as_many_and_fall_together(several, times, latency):
    found = gathered(several * times)
    assert len(found) == len(set(several))
    assert {graph.critical for graph in found} == {graph.critical for graph in several}
    assert combined(found).utility(latency) == pytest.approx(times * sum(g.utility(latency) for g in several))
    assert combined(several * times).slope(latency) == pytest.approx(times * combined(several).slope(latency))


@given(graph=graphs(), latencies=st.lists(LATENCIES, min_size=1))
def test_many_at_once_are_worth_what_each_is(graph, latencies):
    assert graph.utilities(np.array(latencies)).tolist() == [graph.utility(x) for x in latencies]


def test_loss_and_value_graphs_are_lines_too():
    assert LossGraph(((0.0, 0.0), (0.9, 0.9), (1.0, 1.0))).utility(0.45) == pytest.approx(0.45)
    assert ValueGraph(((-1.0, 1.0), (0.0, 0.0), (1.0, 1.0))).utility(-0.25) == 0.25


@pytest.mark.parametrize(
    ("kind", "points", "rule"),
    [
        (LatencyGraph, (), "a QoS graph has at least one point"),
        (LatencyGraph, ((0.0, 1.0), (math.inf, 0.0)), "a point of a QoS graph is two finite numbers"),
        (LatencyGraph, ((0.0, math.nan),), "a point of a QoS graph is two finite numbers"),
        (
            LatencyGraph,
            ((1.0, 1.0), (1.0, 0.0)),
            "the points of a QoS graph go from left to right, no two above each other",
        ),
        (LatencyGraph, ((-1.0, 1.0), (1.0, 0.0)), "a latency is 0 s or more"),
        (LatencyGraph, ((0.0, 0.0), (1.0, 1.0)), "utility never rises with latency"),
        (LatencyGraph, ((0.0, 1.0), (1.0, -1.0)), "a result is worth 0 or more"),
        (LossGraph, ((0.0, -1.0), (1.0, 1.0)), "a result is worth 0 or more"),
        (LossGraph, ((0.0, 0.0), (2.0, 1.0)), "a delivered fraction is from 0 to 1"),
        (LossGraph, ((0.0, 1.0), (1.0, 0.0)), "utility never falls with the fraction delivered"),
    ],
)
def test_what_is_no_graph_is_refused(kind, points, rule):
    with pytest.raises(InputError) as caught:
        kind(points)
    assert caught.value.rule == rule
