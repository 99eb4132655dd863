"""Units: what one decision runs, at query level, at operator level and with shared operators."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.network import Network, Query
from headgate.model.operator import FREE, Cost, Kind, Operator
from headgate.model.sharing import STRATEGIES, Branch, value
from headgate.model.unit import Basis, Sharing, plan
from headgate.policy.bsd import BSD
from headgate.policy.hnr import HNR
from headgate.policy.hr import HR
from headgate.sim.testbed import shared_select
from helpers import EVERY_POLICY, STREAM, chains, join_network, operator, prepared, units_of, view

near = pytest.approx
SEEDS = st.integers(0, 10_000)
TOGETHER = ["pdt", "operator", "group"]
EVERY_SHARING = [Sharing(strategy, together) for strategy in STRATEGIES for together in TOGETHER]


def entries(units):
    return [tuple(u.entry) for u in units]


# Query level.


def test_a_chain_is_one_unit_from_its_leaf_to_its_root():
    units = units_of(chains([(1.0, 0.5), (2.0, 0.5)], [(3.0, 1.0)]))
    assert entries(units) == [("q0.0", 0), ("q1.0", 0)]
    assert [u.members for u in units] == [("q0.0", "q0.1"), ("q1.0",)]
    assert [u.cost for u in units] == [Cost(b=2.0), Cost(b=3.0)]
    assert [u.id for u in units] == [0, 1]
    assert all(u.leaf for u in units)


def test_units_are_in_the_order_of_the_queries_however_the_operators_are_declared():
    network = chains([(1.0, 1.0)], [(2.0, 1.0)], [(3.0, 1.0)], order=[2, 0, 1])
    assert [u.name for u in units_of(network)] == ["q2", "q0", "q1"]


def test_a_join_has_a_unit_for_each_side_and_both_end_at_the_root():
    units = units_of(join_network(1.0, 2.0, 3.0, 4.0))
    assert entries(units) == [("L", 0), ("R", 0)]
    assert [u.members for u in units] == [("L", "J", "P"), ("R", "J", "P")]
    assert [u.segments[0].T for u in units] == [1 + 2 + 6 + 4] * 2


def test_a_source_that_costs_something_is_the_leaf():
    ops = (Operator(STREAM, Kind.SOURCE, (), Cost(b=1.0)), operator("a", [STREAM], 2.0, 0.5))
    [leaf] = units_of(Network(ops, (Query("q", "a"),)))
    assert leaf.members == (STREAM, "a")
    assert leaf.cost == Cost(b=3.0)


def test_what_no_query_reads_is_in_no_unit():
    ops = (Operator(STREAM, Kind.SOURCE), operator("a", [STREAM], 1.0), operator("dead", [STREAM], 1.0))
    units = units_of(Network(ops, (Query("q", "a"),)))
    assert [u.members for u in units] == [("a",)]


def test_what_is_paid_once_a_train_adds_up_and_is_not_filtered():
    ops = (
        Operator(STREAM, Kind.SOURCE),
        operator("a", [STREAM], 1.0, 0.5, a=10.0),
        operator("b", ["a"], 4.0, a=20.0),
    )
    [leaf] = units_of(Network(ops, (Query("q", "b"),)))
    assert leaf.cost == Cost(30.0, 1.0 + 0.5 * 4.0)


def test_a_unit_is_named_after_its_queries_or_else_its_operator():
    network = shared_select(0, groups=1, size=3)
    [whole] = units_of(network, sharing=Sharing(together="group"))
    assert whole.name == f"{whole.segments[0].query}+2"
    shared, *rest = units_of(network, sharing=Sharing(together="operator"))
    assert shared.name == "g0.select"
    assert [u.name for u in rest] == ["g0q0", "g0q1", "g0q2"]


def test_a_measured_unit_is_valued_by_what_was_measured():
    [before] = units_of(chains([(1.0, 0.5)]))
    [other] = units_of(chains([(7.0, 0.25)]))
    after = before.measured(other.cost, other.segments)
    assert after.basis == Basis(other.segments, other.cost)
    assert (after.id, after.entry, after.members, after.leaf) == (
        before.id,
        before.entry,
        before.members,
        before.leaf,
    )


# Operator level.


def test_at_operator_level_every_costly_operator_is_a_unit_and_free_ones_ride_along():
    ops = (
        Operator(STREAM, Kind.SOURCE),
        operator("a", [STREAM], 1.0, 0.5),
        operator("free", ["a"], 0.0, 0.5),
        operator("b", ["free"], 2.0),
        operator("out", ["b"], kind=Kind.OUTPUT),
    )
    first, second = units_of(Network(ops, (Query("q", "out"),)), "hr", level="operator")
    assert (first.members, second.members) == (("a", "free"), ("b", "out"))
    assert (first.leaf, second.leaf) == (True, False)
    assert (first.cost, second.cost) == (Cost(b=1.0), Cost(b=2.0))
    # A unit is valued by all that remains: S of the whole path, and C with what comes behind it.
    assert HR.static(first) == near(0.25 / (1 + 0.25 * 2))
    assert HR.static(second) == near(1 / 2)


def test_at_operator_level_both_inputs_of_a_join_have_a_queue():
    units = units_of(join_network(), level="operator")
    assert sorted(entries(units)) == [("J", 0), ("J", 1), ("L", 0), ("P", 0), ("R", 0)]
    assert [u.leaf for u in units] == [True, True, False, False, False]


def test_at_operator_level_only_the_unit_at_the_root_carries_results():
    units = units_of(chains([(1.0, 0.5), (2.0, 0.5), (3.0, 1.0)]), level="operator")
    assert [[s.query for s in u.segments] for u in units] == [[], [], ["q0"]]


def test_at_operator_level_a_shared_operator_is_valued_by_its_sharing_strategy():
    network = shared_select(3, groups=1, size=4)
    c = network.by_name["g0.select"].cost.b
    for strategy, choose in STRATEGIES.items():
        shared = units_of(network, level="operator", sharing=Sharing(strategy))[0]
        singles = [units_of(Network(network.operators, (q,)))[0].segments[0] for q in network.queries]
        branches = [Branch(HNR.weight(s), s.C - c) for s in singles]
        assert HNR.static(shared) == near(choose(branches, c).value)


# Shared operators.


@pytest.mark.parametrize("sharing", EVERY_SHARING, ids=lambda s: f"{s.strategy}-{s.together}")
@pytest.mark.parametrize("statement", [HR, HNR, BSD], ids=lambda s: s.name)
@settings(max_examples=10)
@given(seed=SEEDS)
def test_a_shared_group_is_valued_by_its_strategy_and_runs_what_the_rule_says(sharing, statement, seed):
    network = shared_select(seed, groups=1, size=5)
    streams = {STREAM: 1.0}
    c = network.by_name["g0.select"].cost.b
    singles = [
        plan(Network(network.operators, (q,)), streams, statement.weight)[0].segments[0] for q in network.queries
    ]
    branches = [Branch(statement.weight(s), s.C - c) for s in singles]
    shared, *rest = plan(network, streams, statement.weight, sharing=sharing)

    assert statement.static(shared) == near(STRATEGIES[sharing.strategy](branches, c).value)
    number = {q.name: i for i, q in enumerate(network.queries)}
    inside = [number[s.query] for s in shared.segments]
    tree = STRATEGIES["pdt-opt" if sharing.strategy == "pdt-opt" else "pdt"](branches, c).chosen
    assert set(inside) == {"pdt": set(tree), "operator": set(), "group": set(range(5))}[sharing.together]
    own = [value(branches, [i], c) for i in inside]
    if sharing.strategy != "pdt-opt" or sharing.together == "group":
        assert own == sorted(own, reverse=True)

    assert sorted(inside + [number[s.query] for u in rest for s in u.segments]) == list(range(5))
    assert shared.cost.b == near(c + sum(branches[i].r for i in inside))
    for u in rest:
        [s] = u.segments
        a, r = branches[number[s.query]]
        assert statement.static(u) == near(a / r)
        assert not u.leaf


def test_a_shared_operator_that_is_itself_an_output_gives_results_to_its_query():
    ops = (
        Operator(STREAM, Kind.SOURCE),
        operator("x", [STREAM], 1.0, 0.5),
        operator("a", ["x"], 1.0),
        operator("b", ["x"], 1.0),
    )
    network = Network(ops, (Query("x", "x"), Query("a", "a"), Query("b", "b")))
    [whole] = units_of(network, sharing=Sharing(together="group"))
    assert [s.query for s in whole.segments] == ["x", "a", "b"]
    shared, *_ = units_of(network, sharing=Sharing(together="operator"))
    assert [s.query for s in shared.segments] == ["x"]


def nested_sharing():
    """x is shared by three queries, y behind it by two of them; the third is expensive."""
    ops = (
        Operator(STREAM, Kind.SOURCE),
        operator("x", [STREAM], 4.0, 0.5),
        operator("y", ["x"], 2.0, 0.5),
        operator("a", ["y"], 1.0),
        operator("b", ["y"], 1.0, 0.5),
        operator("k", ["x"], 50.0, 0.25),
    )
    return Network(ops, (Query("a", "a"), Query("b", "b"), Query("k", "k")))


def test_nested_sharing_is_built_from_the_deepest_shared_operator_up():
    shared, rest = units_of(nested_sharing())
    assert shared.members == ("x", "y", "a", "b")
    assert rest.members == ("k",)
    T = 7.0
    assert HNR.static(shared) == near((0.25 / T + 0.125 / T) / (4 + 0.5 * (2 + 0.5 * 2)))
    assert HNR.static(rest) == near(0.25 / (50.0 * 54.0))


def test_nested_sharing_splits_at_every_shared_operator_if_they_run_alone():
    units = units_of(nested_sharing(), sharing=Sharing(together="operator"))
    assert [u.members for u in units] == [("x",), ("y",), ("a",), ("b",), ("k",)]


@pytest.mark.parametrize("together", TOGETHER)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_shared_prefix_of_two_operators_is_valued_like_one_operator_of_their_cost(strategy, together):
    def group(prefix, last):
        ops = (Operator(STREAM, Kind.SOURCE), *prefix)
        ops += (operator("a", [last], 2.0, 0.5), operator("b", [last], 2.0), operator("k", [last], 50.0, 0.25))
        return Network(ops, tuple(Query(name, name) for name in "abk"))

    split = group([operator("x", [STREAM], 1.0), operator("y", ["x"], 3.0, 0.5)], "y")
    whole = group([operator("x", [STREAM], 4.0, 0.5)], "x")
    two, one = (units_of(network, sharing=Sharing(strategy, together)) for network in (split, whole))
    assert [HNR.static(u) for u in two] == near([HNR.static(u) for u in one])
    assert [{s.query for s in u.segments} for u in two] == [{s.query for s in u.segments} for u in one]


# Every plan.


def random_network(seed):
    """A tree of operators below one stream, some shared, some free, some both output and input."""
    rng = np.random.default_rng(seed)
    ops = [Operator(STREAM, Kind.SOURCE)]
    for k in range(int(rng.integers(1, 12))):
        below = str(rng.choice([op.name for op in ops]))
        cost = 0.0 if below != STREAM and rng.random() < 0.2 else float(rng.uniform(0.1, 4.0))
        ops.append(operator(f"o{k}", [below], cost, float(rng.uniform(0.1, 1.0))))
    read = {i for op in ops for i in op.inputs}
    outputs = [op.name for op in ops[1:] if op.name not in read or rng.random() < 0.3]
    return Network(tuple(ops), tuple(Query(f"q.{name}", name) for name in outputs))


@pytest.mark.parametrize("level", ["query", "operator"])
@pytest.mark.parametrize("sharing", EVERY_SHARING, ids=lambda s: f"{s.strategy}-{s.together}")
@settings(max_examples=20)
@given(seed=SEEDS)
def test_every_needed_operator_runs_every_query_gets_its_results_and_every_policy_can_choose(sharing, level, seed):
    network = random_network(seed)
    units = units_of(network, level=level, sharing=sharing)
    needed = set().union(*network.members.values()) - {STREAM}
    assert set().union(*(u.members for u in units)) == needed
    assert sum(len(u.members) for u in units) == len(needed)
    assert sorted(s.query for u in units for s in u.segments) == sorted(q.name for q in network.queries)
    assert [u.id for u in units] == list(range(len(units)))
    assert len(set(entries(units))) == len(units)
    for policy in EVERY_POLICY:
        assert prepared(policy, units).choose(view(1.0, *([0.0] for _ in units))) is not None


@pytest.mark.parametrize("level", ["query", "operator"])
@given(seed=SEEDS)
def test_the_cost_of_a_unit_is_what_its_members_cost_a_tuple_that_enters_it(level, seed):
    network = random_network(seed)
    for u in units_of(network, level=level):
        reach = {u.entry.operator: 1.0}
        for name in u.members[1:]:
            [below] = network.by_name[name].inputs
            reach[name] = reach[below] * network.by_name[below].selectivity
        assert u.cost.b == near(sum(network.by_name[name].cost.b * share for name, share in reach.items()))
        assert u.cost.a == 0.0


@given(seed=SEEDS)
def test_a_unit_of_one_query_costs_the_c_of_its_segment(seed):
    rng = np.random.default_rng(seed)
    paths = [
        [(float(rng.uniform(0.1, 4)), float(rng.uniform(0.1, 2))) for _ in range(rng.integers(1, 5))]
        for _ in range(3)
    ]
    for u in units_of(chains(*paths)):
        assert near(u.segments[0].C) == u.cost.b


@given(seed=SEEDS)
def test_at_operator_level_there_is_a_unit_per_costly_operator(seed):
    network = random_network(seed)
    needed = set().union(*network.members.values()) - {STREAM}
    costly = {name for name in needed if network.by_name[name].cost != FREE}
    assert {u.entry.operator for u in units_of(network, level="operator")} == costly


def test_a_query_that_ends_at_a_shared_operator_counts_for_its_value():
    network = Network(
        (
            Operator("s", Kind.SOURCE),
            operator("x", ["s"], 1.0),
            operator("y", ["x"], 1.0, 0.1),
            operator("z", ["x"], 1.0, 0.1),
        ),
        (Query("qx", "x"), Query("qy", "y"), Query("qz", "z")),
    )
    first, *rest = units_of(network, "hnr")
    assert first.members == ("x",)
    assert HNR.static(first) == pytest.approx(1.0)
    assert [unit.entry.operator for unit in rest] == ["y", "z"]


def test_a_unit_knows_the_units_that_its_results_go_through():
    network = chains([(1.0, 0.5), (2.0, 1.0), (3.0, 1.0)], [(1.0, 1.0)])
    units = units_of(network, level="operator")
    behind = {u.entry.operator: [units[k].entry.operator for k in u.behind] for u in units}
    assert behind == {"q0.0": ["q0.1", "q0.2"], "q1.0": [], "q0.1": ["q0.2"], "q0.2": []}
    assert all(u.behind == () for u in units_of(network))
