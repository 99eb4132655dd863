"""The road map: the plan that saves enough and costs the least quality."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.model.qos import LossGraph
from headgate.shed.lsrm import STEPS, Point, RoadMap, slopes, spread

STREAM = Point("in", 100, 0.010, ("a", "b"))
DEAR = Point("a", 50, 0.012, ("a",), under="in")
CHEAP = Point("b", 50, 0.004, ("b",), under="in")
SPLIT = (STREAM, DEAR, CHEAP)


def test_what_costs_least_quality_per_work_saved_goes_first():
    rows = RoadMap(SPLIT, {"a": [1.0, 1.0], "b": [0.2, 0.2]}).rows
    assert [(dict(row.plan), row.saved, row.lost) for row in rows] == [
        ({}, 0.0, 0.0),
        ({"b": 0.5}, pytest.approx(0.1), pytest.approx(0.1)),
        ({"b": 1.0}, pytest.approx(0.2), pytest.approx(0.2)),
        ({"b": 1.0, "in": 0.5}, pytest.approx(0.6), pytest.approx(0.7)),
        ({"b": 1.0, "in": 1.0}, pytest.approx(1.0), pytest.approx(1.2)),
    ]


@pytest.mark.parametrize(("excess", "plan"), [(0.0, {}), (0.05, {"b": 0.5}), (0.1, {"b": 0.5}), (0.11, {"b": 1.0})])
def test_the_first_row_that_saves_enough_is_taken(excess, plan):
    assert RoadMap(SPLIT, {"a": [1.0, 1.0], "b": [0.2, 0.2]}).row(excess).plan == plan


def test_more_than_there_is_cannot_be_saved():
    table = RoadMap(SPLIT, {"a": [1.0], "b": [1.0]})
    assert table.row(50.0) == table.rows[-1]
    assert table.rows[-1].saved == pytest.approx(STREAM.rate * STREAM.coefficient)


def test_a_point_before_a_split_hurts_all_queries_behind_it():
    even = {"a": [1.0], "b": [1.0]}
    assert RoadMap((STREAM,), even).rows[1].lost == 2.0
    assert RoadMap((Point("in", 100, 0.010, ("a",)),), {"a": [1.0]}).rows[1].lost == 1.0


def test_the_later_parts_of_one_query_may_cost_more_than_the_first_of_another():
    points = (Point("a", 10, 0.1, ("a",)), Point("b", 10, 0.1, ("b",)))
    rows = RoadMap(points, {"a": [0.1, 0.9], "b": [0.5, 0.5]}).rows
    assert [dict(row.plan) for row in rows] == [
        {},
        {"a": 0.5},
        {"a": 0.5, "b": 0.5},
        {"a": 0.5, "b": 1.0},
        {"a": 1.0, "b": 1.0},
    ]


def test_a_decision_that_costs_more_than_it_saves_makes_no_row():
    rows = RoadMap((Point("a", 10, 0.1, ("a",), decision=0.03),), {"a": [1.0] * 4}).rows
    assert [row.plan.get("a", 0.0) for row in rows] == [0.0, 0.5, 0.75, 1.0]
    assert [row.saved for row in rows] == pytest.approx([0.0, 0.2, 0.45, 0.7])


@given(
    st.lists(st.tuples(st.floats(1, 100), st.floats(0.001, 0.1), st.floats(0.01, 5)), min_size=1, max_size=4),
    st.floats(0, 1),
)
def test_of_independent_points_with_even_slopes_no_choice_of_whole_points_is_better(given_points, part):
    points = [Point(str(k), rate, cost, (str(k),)) for k, (rate, cost, _) in enumerate(given_points)]
    slopes = {str(k): [slope] * 20 for k, (*_, slope) in enumerate(given_points)}
    excess = part * sum(point.rate * point.coefficient for point in points)
    best = RoadMap(points, slopes).row(excess)
    assert best.saved >= excess * (1 - 1e-9)
    # The last step saves up to a twentieth of its point more than was asked for.
    slack = max(slope for *_, slope in given_points) / 20
    for chosen in itertools.product((0, 1), repeat=len(points)):
        if sum(take * p.rate * p.coefficient for take, p in zip(chosen, points, strict=True)) >= excess:
            assert best.lost <= sum(t * s for t, (*_, s) in zip(chosen, given_points, strict=True)) + slack


def test_of_the_last_step_only_what_is_needed_is_taken():
    table = RoadMap(SPLIT, {"a": [1.0, 1.0], "b": [0.2, 0.2]})
    assert table.plan(0.0) == {}
    assert table.plan(0.15) == {"b": pytest.approx(0.75)}
    assert table.plan(0.4) == {"b": 1.0, "in": pytest.approx(0.25)}
    assert table.plan(9.0) == {"b": 1.0, "in": 1.0}


def test_as_much_load_goes_as_if_the_same_part_went_everywhere():
    # A quarter of all is 0.25 s of work per second. Where b is worth little that is b, 0.2, and some of the rest.
    even = spread(SPLIT, {"a": [1.0], "b": [1.0]}, 0.25)
    assert even == {"a": pytest.approx(0.25 / 0.6)}
    assert spread(SPLIT, {"a": [1.0], "b": [0.1]}, 0.25) == {"b": 1.0, "in": pytest.approx(0.05 / 0.8)}
    assert spread(SPLIT, {"a": [1.0], "b": [1.0]}, 0.0) == {}
    assert spread([Point("idle", 0.0, 0.1, ("a",))], {"a": [1.0]}, 0.5) == {}


POINTS = st.lists(st.tuples(st.floats(1, 100), st.floats(0.001, 0.1), st.floats(0.01, 5)), min_size=1, max_size=5)


@given(POINTS, st.floats(0, 1))
def test_what_is_spread_saves_the_load_and_costs_no_more_than_to_drop_everywhere(given_points, drop):
    points = [Point(str(k), rate, cost, (str(k),)) for k, (rate, cost, _) in enumerate(given_points)]
    worth = {str(k): [slope] * STEPS for k, (*_, slope) in enumerate(given_points)}
    found = spread(points, worth, drop)
    assert all(0 <= part <= 1 + 1e-9 for part in found.values())
    saved = sum(p.rate * p.coefficient * found.get(p.name, 0.0) for p in points)
    assert saved == pytest.approx(drop * sum(p.rate * p.coefficient for p in points))
    lost = sum(worth[name][0] * part for name, part in found.items())
    assert lost <= drop * sum(each[0] for each in worth.values()) + 1e-9


def test_without_a_graph_all_parts_of_all_queries_are_worth_the_same():
    assert slopes(None) == (1.0,) * STEPS


def test_a_graph_that_falls_late_is_cheap_to_shed_at_first():
    assert slopes(LossGraph(((0.0, 0.0), (0.5, 1.0)))) == pytest.approx([0.0] * 5 + [2.0] * 5)


def test_behind_a_cliff_all_costs_the_same_up_to_there():
    assert slopes(LossGraph(((0.0, 0.0), (0.79, 0.1), (0.8, 1.0)))) == pytest.approx([0, 0, *[1.25] * 8], abs=0.03)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6).map(sorted))
def test_slopes_never_fall_and_all_of_it_costs_what_the_graph_does(heights):
    graph = LossGraph(tuple((i / (len(heights) - 1), u) for i, u in enumerate(heights)))
    found = slopes(graph)
    assert all(later >= earlier for earlier, later in itertools.pairwise(found))
    assert sum(found) / STEPS == pytest.approx(heights[-1] - heights[0], abs=1e-9)


@pytest.mark.parametrize(
    ("slopes", "rule"),
    [
        ({"a": [1.0], "b": [1.0, 1.0]}, "road map: as many steps for each query"),
        ({"a": [1.0, 0.5], "b": [1.0, 1.0]}, "road map: slopes of 'a' never fall"),
    ],
)
def test_slopes_that_do_not_fit_are_refused(slopes, rule):
    with pytest.raises(InputError) as caught:
        RoadMap(SPLIT, slopes)
    assert caught.value.rule == rule
