"""S, C, T and load: the recursions against the sums that they stand for, and what always holds between them."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.model.parameters import (
    Segment,
    Stage,
    envelope,
    expected_cost,
    ideal_time,
    load,
    load_coefficients,
    output_cost,
    rates,
    segment,
    selectivity,
)
from helpers import chains, join_network, operator, units_of

COSTS = st.floats(1e-3, 1e3)
FILTERS = st.floats(0.01, 1.0)
ANY = st.floats(0.01, 20.0)
PATHS = st.lists(st.builds(Stage, COSTS, ANY), min_size=1, max_size=6)
near = pytest.approx


@given(PATHS)
def test_the_recursions_are_the_closed_sums(path):
    closed = sum(stage.c * math.prod(before.s for before in path[:i]) for i, stage in enumerate(path))
    assert expected_cost(path) == near(closed)
    assert selectivity(path) == near(math.prod(stage.s for stage in path))


@given(PATHS)
def test_the_rate_grows_towards_the_root_even_where_selectivities_exceed_one(path):
    rates_from = [selectivity(path[i:]) / expected_cost(path[i:]) for i in range(len(path))]
    assert all(later > earlier for earlier, later in pairwise(rates_from))


@given(PATHS)
def test_min_latency_cost_is_expected_cost_over_selectivity(path):
    assert output_cost(path) == near(expected_cost(path) / selectivity(path))


@given(st.lists(st.builds(Stage, COSTS, st.just(1.0)), min_size=1, max_size=6))
def test_expected_and_ideal_time_agree_where_everything_passes(path):
    assert expected_cost(path) == near(sum(stage.c for stage in path))


@given(st.lists(st.tuples(COSTS, FILTERS), min_size=1, max_size=5))
def test_ideal_time_is_the_plain_sum_of_costs_and_bounds_the_expected_cost(path):
    [leaf] = units_of(chains(path))
    [s] = leaf.segments
    assert near(sum(c for c, _ in path)) == s.T
    assert s.C <= s.T * (1 + 1e-12)


@given(path=PATHS, before=st.builds(Stage, COSTS, ANY))
def test_a_segment_seen_from_its_feeder_has_one_more_stage(path, before):
    s = Segment("q", tuple(path), 1.0)
    seen = s.after(before)
    assert near(before.s * s.S) == seen.S
    assert near(before.c + before.s * s.C) == seen.C
    assert (seen.T, seen.query) == (s.T, s.query)


# The progress chart of Chain.


def slopes_by_definition(path):
    """From each corner of the chart the steepest line to a later point, walked literally."""
    points, left, time = [(0.0, 1.0)], 1.0, 0.0
    for stage in path:
        time += stage.c * left
        left *= stage.s
        points.append((time, left))
    points[-1] = (time, 0.0)
    found, i = [], 0
    while i < len(path):
        slopes = {j: (points[i][1] - points[j][1]) / (points[j][0] - points[i][0]) for j in range(i + 1, len(points))}
        steepest = max(slopes.values())
        j = max(k for k, slope in slopes.items() if slope == steepest)
        found += [steepest] * (j - i)
        i = j
    return found


@given(st.lists(st.builds(Stage, COSTS, FILTERS), min_size=1, max_size=6))
def test_the_envelope_is_the_steepest_descent_and_never_gets_steeper(path):
    slopes = envelope(path)
    assert list(slopes) == near(slopes_by_definition(path))
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(slopes))


def test_an_envelope_bends_where_a_cheap_filter_comes_before_expensive_work():
    assert envelope([Stage(1.0, 0.1), Stage(100.0, 1.0)]) == near((0.9, 0.01))


def test_a_free_operator_is_infinitely_steep():
    assert envelope([Stage(0.0, 0.5), Stage(1.0, 1.0)]) == (math.inf, near(1.0))


# Rates and load.


def test_a_stream_without_a_rate_is_refused_by_name():
    with pytest.raises(InputError) as caught:
        rates(join_network(), {"left": 1.0})
    assert caught.value.rule == "stream 'right': every stream has a rate"


@given(left=ANY, right=ANY, window=ANY, s=FILTERS)
def test_a_join_yields_its_matches_from_both_sides(left, right, window, s):
    network = join_network(selectivities=(0.5, 0.25, s), window=window)
    found = rates(network, {"left": left, "right": right})
    assert found["J"] == near(2 * s * window * (0.5 * left) * (0.25 * right))
    assert found["P"] == found["J"]


def test_a_union_adds_the_rates_of_its_inputs():
    ops = (
        Operator("x", Kind.SOURCE),
        Operator("y", Kind.SOURCE),
        operator("a", ["x"], 1.0, 0.5),
        operator("b", ["y"], 4.0),
        operator("u", ["a", "b"], 2.0, kind=Kind.UNION),
    )
    network = Network(ops, (Query("q", "u"),))
    assert rates(network, {"x": 10.0, "y": 3.0}) == {"x": 10.0, "y": 3.0, "a": 5.0, "b": 3.0, "u": 8.0}
    assert load(network, {"x": 10.0, "y": 3.0}) == near(10 * 1 + 3 * 4 + 8 * 2)


def test_the_ideal_time_of_a_union_is_that_of_its_longer_branch():
    ops = (Operator("x", Kind.SOURCE), operator("a", ["x"], 1.0), operator("b", ["x"], 4.0))
    network = Network((*ops, operator("u", ["a", "b"], 2.0, kind=Kind.UNION)), (Query("q", "u"),))
    assert ideal_time(network, network.queries[0]) == 4.0 + 2.0


def random_tree(rng, *, joins=True):
    """A random network over three streams, some operators shared, every query with a cost."""
    ops = [Operator(f"s{i}", Kind.SOURCE, (), Cost(b=float(rng.choice([0.0, 0.5])))) for i in range(3)]
    feeds, queries = {op.name: {op.name} for op in ops}, []
    for k in range(int(rng.integers(3, 12))):
        names = list(feeds)
        x = str(rng.choice(names))
        apart = [n for n in names if not feeds[n] & feeds[x]]
        c, s, name = float(rng.uniform(0.1, 2.0)), float(rng.uniform(0.1, 1.0)), f"o{k}"
        kind = rng.choice(["unary", "join", "union"])
        if kind == "join" and joins and apart:
            y = str(rng.choice(apart))
            op = operator(name, [x, y], c, s, kind=Kind.WINDOW_JOIN, window=float(rng.uniform(0.1, 2.0)))
        elif kind == "union" and apart:
            y = str(rng.choice(apart))
            op = operator(name, [x, y], c, kind=Kind.UNION)
        else:
            op = operator(name, [x], c, s * float(rng.choice([1.0, 3.0])))
        ops.append(op)
        feeds[name] = set().union(*(feeds[i] for i in op.inputs)) | {name}
    read = {i for op in ops for i in op.inputs}
    queries = [Query(f"q{op.name}", op.name) for op in ops if op.inputs and op.name not in read]
    return Network(tuple(ops), tuple(queries))


SEEDS = st.integers(0, 10_000)


@pytest.mark.parametrize("joins", [False, True], ids=["unary", "with nested joins"])
@given(SEEDS)
def test_load_is_the_sum_of_coefficients_times_rates(joins, seed):
    rng = np.random.default_rng(seed)
    network = random_tree(rng, joins=joins)
    streams = {name: float(rng.uniform(0.1, 5.0)) for name in network.streams}
    coefficients = load_coefficients(network, streams)
    assert load(network, streams) == near(sum(coefficients[name] * rate for name, rate in streams.items()))


def nested_joins():
    """J2(J1(A, B), C) with a filter on every stream and a project on top."""
    ops = (
        *(Operator(name, Kind.SOURCE) for name in "abc"),
        operator("A", ["a"], 1.0, 0.5),
        operator("B", ["b"], 2.0, 0.4),
        operator("C", ["c"], 3.0, 0.3),
        operator("J1", ["A", "B"], 4.0, 0.2, kind=Kind.WINDOW_JOIN, window=10.0),
        operator("J2", ["J1", "C"], 5.0, 0.1, kind=Kind.WINDOW_JOIN, window=20.0),
        operator("P", ["J2"], 6.0, kind=Kind.PROJECT),
    )
    return Network(ops, (Query("q", "P"),))


NESTED_RATES = {"a": 2.0, "b": 3.0, "c": 5.0}


def test_nested_joins_follow_the_recursion():
    network = nested_joins()
    out = rates(network, NESTED_RATES)
    A, B, C = 1.0, 1.2, 1.5
    J1 = 2 * 0.2 * 10 * A * B
    assert [out[name] for name in ("A", "B", "C", "J1", "J2", "P")] == near(
        [A, B, C, J1, 2 * 0.1 * 20 * J1 * C, 2 * 0.1 * 20 * J1 * C]
    )
    query = network.queries[0]
    at_J2 = 0.1 * 20 * C
    s = segment(network, out, query, ("A", 0))
    at_J1 = 0.2 * 10 * B
    assert near(0.5 * at_J1 * at_J2) == s.S
    assert near(1 + 0.5 * 4 + 0.5 * at_J1 * 5 + 0.5 * at_J1 * at_J2 * 6) == s.C
    s = segment(network, out, query, ("C", 0))
    assert near(0.3 * 0.1 * 20 * J1) == s.S
    assert near(3 + 0.3 * 5 + 0.3 * 0.1 * 20 * J1 * 6) == s.C


def test_ideal_time_of_nested_joins_has_each_join_twice():
    assert ideal_time(nested_joins(), nested_joins().queries[0]) == 1 + 2 + 2 * 4 + 3 + 2 * 5 + 6


def test_load_of_nested_joins_is_the_sum_over_the_leaves():
    network = nested_joins()
    out = rates(network, NESTED_RATES)
    leaves = [(("A", 0), 2.0), (("B", 0), 3.0), (("C", 0), 5.0)]
    expected = sum(segment(network, out, network.queries[0], port).C * rate for port, rate in leaves)
    assert load(network, NESTED_RATES) == near(expected)


def test_a_shared_operator_counts_once_in_the_load_and_in_full_in_every_ideal_time():
    ops = (
        Operator("stream", Kind.SOURCE),
        operator("x", ["stream"], 4.0, 0.5),
        *(operator(f"y{k}", ["x"], 1.0) for k in range(3)),
    )
    network = Network(ops, tuple(Query(f"q{k}", f"y{k}") for k in range(3)))
    assert load(network, {"stream": 2.0}) == near(2 * (4 + 0.5 * 3))
    assert load_coefficients(network, {"stream": 2.0}) == {"stream": near(5.5)}
    assert [ideal_time(network, q) for q in network.queries] == [5.0, 5.0, 5.0]


def test_what_a_train_pays_once_is_in_the_ideal_time_and_not_in_the_load():
    ops = (Operator("stream", Kind.SOURCE), operator("x", ["stream"], 2.0, a=10.0))
    network = Network(ops, (Query("q", "x"),))
    assert ideal_time(network, network.queries[0]) == 12.0
    assert load(network, {"stream": 3.0}) == 6.0


@given(seed=SEEDS, k=st.floats(0.01, 100.0))
def test_a_slower_machine_has_proportionally_more_load_and_the_same_rates(seed, k):
    network = random_tree(np.random.default_rng(seed))
    streams = dict.fromkeys(network.streams, 1.5)
    assume(load(network, streams) > 0)
    assert load(network.scaled(k), streams) == near(k * load(network, streams))
    assert rates(network.scaled(k), streams) == rates(network, streams)
