"""What an iteration costs, exactly for the published operators, and what can be kept for a time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.model.costs import Costs, Tree, aggregate, group, join, part, project, select

W = {"A": 1000.0, "B": 1000.0, "C": 1000.0}
SHAPES = {
    "select": select("A", 0.5),
    "project": project("A"),
    "aggregate": aggregate("A"),
    "group": group("A", 0.25),
    "join": join("A", "B", 0.5),
    "select-project": project(select("A", 0.5)),
    "three-way join": join(join("A", "B", 0.5), "C", 0.5),
    "join-project": project(join("A", "B", 0.5)),
    "project-join": join(project("A"), project("B"), 0.5),
}


@pytest.mark.parametrize(
    ("shape", "ms"),
    [
        ("select", 4.0),
        ("project", 4.0),
        ("aggregate", 4.001),
        ("group", 4.25),
        ("join", 14.0),
        ("select-project", 6.0),
        ("three-way join", 28.0),
        ("join-project", 18.0),
        ("project-join", 22.0),
    ],
)
def test_a_thousand_tuples_cost_what_the_table_says(shape, ms):
    assert 1e3 * Tree(SHAPES[shape]).cost(W) == pytest.approx(ms, abs=1e-9)


@pytest.mark.parametrize(
    ("shape", "results"),
    [
        ("select", 500),
        ("project", 1000),
        ("aggregate", 1),
        ("group", 250),
        ("join", 1000),
        ("three-way join", 0.5 * (0.5 * 2000 + 1000)),
        ("join-project", 1000),
    ],
)
def test_results_are_those_of_the_root(shape, results):
    tree = Tree(SHAPES[shape])
    assert tree.outputs(W) == pytest.approx(results)
    assert tree.selectivity(W) == pytest.approx(results / tree.sources(W))


def test_a_part_that_every_iteration_pays_is_no_less_with_fewer_tuples():
    assert Tree(select("A", 0.5), fixed=0.02).cost({"A": 0.0}) == pytest.approx(0.02)
    assert Tree(aggregate("A")).cost({"A": 0.0}) == pytest.approx(1e-6)
    assert Tree(aggregate("A")).outputs({"A": 0.0}) == 0


def test_a_join_puts_out_no_more_than_all_pairs():
    assert Tree(join("A", "B", 5.0)).outputs({"A": 2.0, "B": 3.0}) == 6
    assert Tree(join("A", "B", 0.5)).outputs({"A": 1000.0, "B": 0.0}) == 0


def test_a_selection_keeps_three_quarters_in_three_of_four_milliseconds():
    assert Tree(SHAPES["select"]).fraction(W, 3e-3) == pytest.approx(0.75, abs=1e-12)


def test_the_write_of_an_aggregate_is_not_shed():
    assert Tree(SHAPES["aggregate"]).fraction(W, 2.0005e-3) == pytest.approx(0.499875, abs=1e-9)


def test_half_the_time_of_a_join_keeps_half_by_tuples_and_more_by_pairs():
    by_tuple = Tree(SHAPES["join"])
    by_pair = by_tuple.by_pairs(W)
    assert by_pair.root.pairs == pytest.approx(0.001)
    assert by_tuple.linear
    assert not by_pair.linear
    assert by_pair.cost(W) == pytest.approx(by_tuple.cost(W))
    assert by_tuple.fraction(W, 7e-3) == pytest.approx(0.5)
    assert by_pair.fraction(W, 7e-3) == pytest.approx(0.5178344, abs=1e-7)


def test_results_by_pairs_go_with_the_square_of_what_is_kept():
    tree = Tree(SHAPES["join"]).by_pairs(W)
    assert tree.outputs(part(W, 0.5)) == pytest.approx(tree.outputs(W) / 4)


def test_dropping_costs_time_where_it_is_said_to():
    tree = Tree(select("A", 0.5), Costs(drop=1e-6))
    assert tree.emptied(W) == pytest.approx(1e-3)
    assert tree.fraction(W, 2.5e-3) == pytest.approx(0.5)
    assert tree.thinned(W, {"A": 500.0}) == pytest.approx(2.5e-3)


@pytest.mark.parametrize("wrong", [lambda: select("A", -0.1), lambda: join("A", "B", pairs=2.0)])
def test_a_selectivity_that_cannot_be_is_refused(wrong):
    with pytest.raises(InputError):
        wrong()


windows = st.fixed_dictionaries({stream: st.integers(1, 100_000).map(float) for stream in "ABC"})


@given(st.sampled_from(sorted(SHAPES)), windows, st.floats(0, 1.2), st.booleans())
def test_what_is_kept_for_a_budget_costs_that_budget(shape, window, share, pairs):
    tree = Tree(SHAPES[shape])
    tree = tree.by_pairs(window) if pairs else tree
    budget = share * tree.cost(window)
    k = tree.fraction(window, budget)
    assert 0 <= k <= 1
    cost = tree.thinned(window, part(window, k))
    if 0 < k < 1:
        assert cost == pytest.approx(budget, rel=1e-6, abs=1e-9)
    elif k == 1:
        assert cost <= budget * (1 + 1e-9)


@given(st.sampled_from(sorted(SHAPES)), windows, st.floats(0, 1), st.floats(0, 1))
def test_more_tuples_never_cost_less(shape, window, a, b):
    tree = Tree(SHAPES[shape])
    few, many = sorted((a, b))
    assert tree.cost(part(window, few)) <= tree.cost(part(window, many)) + 1e-15
