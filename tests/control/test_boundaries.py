"""Operators that classes share: who runs them, where each class sheds, what comes there and what is lost."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.boundaries import Division, queue_bound, queue_room
from headgate.errors import InputError
from headgate.model.classes import QueryClass
from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.model.parameters import load, load_coefficients
from helpers import operator

near = pytest.approx
CLASSES = [QueryClass("gold", 6, 0.3), QueryClass("silver", 3, 0.4), QueryClass("bronze", 1, 0.5)]
NOTHING = {each.name: 0.0 for each in CLASSES}


def shared(reading=0.001):
    """A stream and a select that gold and bronze share, behind them an operator of gold and two of bronze.

    The stream has a query of silver alone besides.
    """
    return Network(
        (
            Operator("stream", Kind.SOURCE, cost=Cost(b=reading)),
            operator("common", ["stream"], 0.002, 0.5),
            operator("G", ["common"], 0.003),
            operator("B1", ["common"], 0.004, 0.25),
            operator("B2", ["B1"], 0.001),
            operator("S", ["stream"], 0.005),
        ),
        (Query("dear", "G", "gold"), Query("cheap", "B2", "bronze"), Query("middle", "S", "silver")),
    )


def test_an_operator_belongs_to_the_highest_class_among_its_readers():
    owners = Division(shared(), CLASSES).owners
    assert owners == {
        "stream": "gold",
        "common": "gold",
        "G": "gold",
        "B1": "bronze",
        "B2": "bronze",
        "S": "silver",
    }


def test_a_lower_class_enters_right_behind_what_it_shares():
    division = Division(shared(), CLASSES)
    assert division.entries == {"gold": (("stream", 0),), "silver": (("S", 0),), "bronze": (("B1", 0),)}
    assert division.boundaries == {("B1", 0): "gold", ("S", 0): "gold"}


def test_what_comes_in_where_a_lower_class_shares_is_handed_on():
    division = Division(shared(), CLASSES)
    assert division.handed_on(("stream", 0))
    assert division.handed_on(("common", 0))
    assert not any(division.handed_on((name, 0)) for name in ("G", "B1", "B2", "S"))


def test_a_stream_that_costs_nothing_is_read_by_each_class_on_its_own():
    division = Division(shared(reading=0.0), CLASSES)
    assert division.entries == {"gold": (("common", 0),), "silver": (("S", 0),), "bronze": (("B1", 0),)}
    assert division.boundaries == {("B1", 0): "gold"}
    assert "stream" not in division.owners


@pytest.mark.parametrize(
    ("drops", "arrive", "load", "loss"),
    [
        ((0, 0, 0), (100, 100, 50), (0.45, 0.5, 0.2125), (0, 0, 0)),
        # What gold drops at the stream reaches nobody: bronze loses 1 − 0.8·0.5.
        ((0.2, 0, 0.5), (100, 80, 40), (0.45, 0.4, 0.17), (0.2, 0.2, 0.6)),
        ((0, 0.9, 0.1), (100, 100, 50), (0.45, 0.5, 0.2125), (0, 0.9, 0.1)),
    ],
)
def test_load_of_the_shared_part_is_its_owners_and_loss_passes_on(drops, arrive, load, loss):
    names = ("gold", "silver", "bronze")
    flow = Division(shared(), CLASSES).flow({"stream": 100}, dict(zip(names, drops, strict=True)))
    assert [flow.arrive[port] for port in (("stream", 0), ("S", 0), ("B1", 0))] == near(arrive)
    assert [flow.coefficients[port] for port in (("stream", 0), ("S", 0), ("B1", 0))] == near(
        [0.0045, 0.005, 0.00425]
    )
    assert [flow.load[name] for name in names] == near(load)
    assert [flow.loss[name] for name in names] == near(loss)


def test_loss_adds_up_over_more_than_two_classes():
    ops = (
        Operator("stream", Kind.SOURCE),
        operator("a", ["stream"], 0.001),
        operator("b", ["a"], 0.001),
        operator("c", ["b"], 0.001),
    )
    queries = (Query("qa", "a", "gold"), Query("qb", "b", "silver"), Query("qc", "c", "bronze"))
    flow = Division(Network(ops, queries), CLASSES).flow({"stream": 10}, {"gold": 0.1, "silver": 0.2, "bronze": 0.5})
    assert flow.loss == near({"gold": 0.1, "silver": 1 - 0.9 * 0.8, "bronze": 1 - 0.9 * 0.8 * 0.5})


def test_of_equal_classes_the_one_declared_first_owns():
    first, second = QueryClass("first"), QueryClass("second")
    ops = (Operator("stream", Kind.SOURCE), operator("a", ["stream"], 1.0), operator("b", ["a"], 1.0))
    network = Network(ops, (Query("q2", "b", "second"), Query("q1", "a", "first")))
    assert Division(network, [first, second]).owners == {"a": "first", "b": "second"}
    assert Division(network, [second, first]).owners == {"a": "second", "b": "second"}


def test_a_join_at_a_boundary_matches_what_its_own_class_admits():
    """Gold shares the left side, bronze alone has the right one; a pair within 2 s matches with probability 0.1."""
    ops = (
        Operator("left", Kind.SOURCE),
        Operator("right", Kind.SOURCE),
        operator("L", ["left"], 0.001),
        operator("R", ["right"], 0.001),
        operator("J", ["L", "R"], 0.002, 0.1, kind=Kind.WINDOW_JOIN, window=2.0),
        operator("P", ["J"], 0.01),
    )
    network = Network(ops, (Query("dear", "L", "gold"), Query("pair", "P", "bronze")))
    flow = Division(network, CLASSES).flow({"left": 10, "right": 20}, {"gold": 0.5, "silver": 0.0, "bronze": 0.2})
    assert flow.arrive == {("L", 0): 10, ("R", 0): 20, ("J", 0): 5}
    # Admitted are 4 from the left and 16 from the right: a tuple of the left meets 3.2, one of the right 0.8.
    assert flow.coefficients[("J", 0)] == near(0.002 + 3.2 * 0.01)
    assert flow.coefficients[("R", 0)] == near(0.001 + 0.002 + 0.8 * 0.01)
    assert flow.load["bronze"] == near(5 * 0.034 + 20 * 0.011)


def test_a_class_without_queries_has_no_load_and_no_loss():
    ops = (Operator("stream", Kind.SOURCE), operator("a", ["stream"], 1.0))
    flow = Division(Network(ops, (Query("q", "a", "gold"),)), CLASSES).flow({"stream": 1}, NOTHING)
    assert (flow.load["silver"], flow.loss["silver"]) == (0.0, 0.0)


def test_a_query_of_an_undeclared_class_is_refused():
    with pytest.raises(InputError, match="query 'dear': its class is one of those declared"):
        Division(shared(), CLASSES[1:])


# Room of queues between classes.


def test_the_bound_of_a_queue_is_what_is_worked_off_within_the_delay_target():
    assert queue_bound(0.5, 0.00425, 0.1) == near(0.5 * 0.1 / 0.00425)
    assert queue_room(0.5, 0.00425) == math.ceil(1.5 * 0.5 / 0.00425) == 177
    assert queue_room(math.inf, 0.00425) == math.inf


@given(st.floats(0.01, 10), st.floats(1e-5, 0.1), st.floats(0.01, 1.0))
def test_there_is_room_for_the_bound_whatever_the_share(target, coefficient, headroom):
    bound = queue_bound(target, coefficient, headroom)
    assert bound * coefficient / headroom == near(target)
    assert queue_room(target, coefficient) >= bound


# Invariants.


@st.composite
def networks(draw):
    """Two streams and operators over earlier ones; queries of any class at some of them."""
    ops = [Operator(f"s{k}", Kind.SOURCE, cost=Cost(b=draw(st.sampled_from([0.0, 0.001])))) for k in range(2)]
    size = draw(st.integers(1, 8))
    for k in range(size):
        below = draw(st.sampled_from([op.name for op in ops]))
        ops.append(operator(f"o{k}", [below], draw(st.floats(0.001, 0.01)), draw(st.floats(0.1, 2.0))))
    outputs = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=5))
    names = [each.name for each in CLASSES]
    queries = [Query(f"q{i}", f"o{k}", draw(st.sampled_from(names))) for i, k in enumerate(outputs)]
    return Network(tuple(ops), tuple(queries))


STREAMS = {"s0": 30.0, "s1": 70.0}
DROPS = st.fixed_dictionaries({each.name: st.floats(0.0, 0.99) for each in CLASSES})


@given(networks())
def test_the_loads_of_the_classes_are_the_load_of_the_network(network):
    flow = Division(network, CLASSES).flow(STREAMS, NOTHING)
    assert sum(flow.load.values()) == near(load(network, STREAMS))


@given(networks())
def test_one_class_has_the_load_coefficients_of_the_streams(network):
    only = Network(network.operators, tuple(Query(q.name, q.output, "gold") for q in network.queries))
    division = Division(only, CLASSES)
    flow = division.flow(STREAMS, NOTHING)
    assert not division.boundaries
    for stream, expected in load_coefficients(only, STREAMS).items():
        at = [flow.coefficients[p] for p in division.entries["gold"] if stream in (p[0], *only.by_name[p[0]].inputs)]
        assert sum(at) == near(expected)


@given(networks())
def test_tuples_never_pass_from_a_lower_class_to_a_higher_one(network):
    division = Division(network, CLASSES)
    priority = {each.name: each.priority for each in CLASSES}
    for (name, _), upstream in division.boundaries.items():
        assert priority[upstream] > priority[division.owners[name]]


def with_droppers(division, drops):
    """The network with an operator that drops at each entry; a source that is one has its rate thinned instead."""
    at = {port: drops[name] for name, ports in division.entries.items() for port in ports}
    ops, streams = [], dict(STREAMS)
    for op in division.network.operators:
        inputs = list(op.inputs)
        for port, below in enumerate(op.inputs):
            if (op.name, port) in at:
                inputs[port] = f"drop before {op.name}"
                ops.append(operator(inputs[port], [below], s=1 - at[op.name, port]))
        if not op.inputs:
            streams[op.name] *= 1 - at.get((op.name, 0), 0.0)
        ops.append(replace(op, inputs=tuple(inputs)))
    return Network(tuple(ops), division.network.queries), streams


@given(networks(), DROPS)
def test_what_the_classes_admit_is_the_load_of_a_network_with_operators_that_drop(network, drops):
    division = Division(network, CLASSES)
    offered = division.flow(STREAMS, drops).load
    admitted = sum(offered[name] * (1 - drops[name]) for name in offered)
    assert admitted == near(load(*with_droppers(division, drops)))


@given(networks(), DROPS)
def test_a_class_loses_at_least_what_it_drops_itself_and_just_that_without_boundaries(network, drops):
    division = Division(network, CLASSES)
    behind_others = {division.owners[name] for name, _ in division.boundaries}
    for name, lost in division.flow(STREAMS, drops).loss.items():
        if division.entries[name]:
            assert drops[name] - 1e-9 <= lost <= 1
            assert lost == near(drops[name], abs=1e-9) or name in behind_others


@given(networks(), DROPS)
def test_nothing_is_lost_upwards(network, drops):
    """What a class drops changes neither what comes to higher classes nor what these lose."""
    division = Division(network, CLASSES)
    with_all = division.flow(STREAMS, drops)
    without = division.flow(STREAMS, drops | {"bronze": 0.0})
    for name in ("gold", "silver"):
        assert with_all.load[name] == without.load[name]
        assert with_all.loss[name] == without.loss[name]
