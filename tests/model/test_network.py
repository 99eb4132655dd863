"""Query networks: what they accept, and what they know of themselves."""

from itertools import pairwise

import pytest

from headgate.errors import InputError
from headgate.model.network import Network, Query
from headgate.model.operator import Kind, Operator
from helpers import chains, join_network, operator

STREAM = Operator("stream", Kind.SOURCE)


def refusal(operators, *queries):
    with pytest.raises(InputError) as caught:
        Network(tuple(operators), queries)
    return caught.value


@pytest.mark.parametrize(
    ("operators", "queries", "rule", "got", "remedy"),
    [
        (
            [STREAM, operator("a", ["stream"], 1.0), operator("a", ["stream"], 2.0)],
            [Query("q", "a")],
            "every operator has a name of its own",
            "'a' twice",
            "Rename one of them.",
        ),
        (
            [STREAM, operator("a", ["stream"], 1.0)],
            [Query("q", "a"), Query("q", "a")],
            "every query has a name of its own",
            "'q' twice",
            "Rename one of them.",
        ),
        ([STREAM, operator("a", ["stream"], 1.0)], [], "a network has at least one query", "none", "Add a query."),
        (
            [STREAM, operator("a", ["steam"], 1.0)],
            [Query("q", "a")],
            "operator 'a': every input is an operator of the network",
            "'steam'",
            "Known operators: stream, a.",
        ),
        (
            [STREAM, operator("a", ["stream"], 1.0)],
            [Query("q", "b")],
            "query 'q': its output is an operator of the network",
            "'b'",
            "Known operators: stream, a.",
        ),
        (
            [STREAM],
            [Query("q", "stream")],
            "query 'q': a query computes something",
            "the source 'stream' as its output",
            "Put an operator between the source and the output.",
        ),
        (
            [STREAM, operator("a", ["stream"])],
            [Query("q", "a")],
            "query 'q': a query costs some time",
            "0 in all",
            "Give an operator a cost.",
        ),
    ],
)
def test_a_mistake_is_refused_with_the_rule_the_value_and_the_remedy(operators, queries, rule, got, remedy):
    error = refusal(operators, *queries)
    assert (error.rule, error.got, error.remedy) == (rule, got, remedy)


def test_a_cycle_is_shown_as_the_way_round_it():
    ops = [
        STREAM,
        operator("in", ["stream"], 1.0),
        operator("b", ["a"], 1.0),
        operator("c", ["b"], 1.0),
        operator("a", ["in", "c"], 1.0, kind=Kind.UNION),
        operator("out", ["c"], 1.0),
    ]
    error = refusal(ops, Query("q", "out"))
    assert error.rule == "a query network has no cycle"
    way = error.got.split(" -> ")
    assert way[0] == way[-1]
    assert set(way) == {"a", "b", "c"}
    by_name = {op.name: op for op in ops}
    assert all(fed in by_name[name].inputs for fed, name in pairwise(way))
    assert error.remedy.startswith("Give '")


def test_an_operator_that_feeds_itself_is_a_cycle():
    error = refusal([STREAM, operator("a", ["a"], 1.0)], Query("q", "a"))
    assert (error.rule, error.got) == ("a query network has no cycle", "a -> a")


def test_an_operator_may_not_feed_a_query_in_two_places():
    ops = [
        STREAM,
        operator("a", ["stream"], 1.0),
        operator("j", ["a", "a"], 1.0, kind=Kind.WINDOW_JOIN, window=1.0),
    ]
    error = refusal(ops, Query("q", "j"))
    assert error.rule == "query 'q': an operator feeds a query in one place, only a source may in several"
    assert error.got == "'a' feeding j, j"
    assert error.remedy == "Give one of them a copy of 'a'."


def test_a_source_may_feed_a_query_in_two_places():
    ops = [
        STREAM,
        operator("l", ["stream"], 1.0),
        operator("r", ["stream"], 1.0),
        operator("j", ["l", "r"], 1.0, kind=Kind.WINDOW_JOIN, window=1.0),
    ]
    assert Network(tuple(ops), (Query("q", "j"),)).members["q"] == {"stream", "l", "r", "j"}


def test_a_long_list_of_known_operators_is_cut_short():
    error = refusal(chains([(1.0, 1.0)] * 12).operators, Query("q", "nowhere"))
    assert error.remedy == "Known operators: stream, q0.0, q0.1, q0.2, q0.3, q0.4, q0.5, q0.6 and 5 more."


def test_the_order_has_inputs_before_consumers_however_they_are_declared():
    declared = join_network()
    network = Network(tuple(reversed(declared.operators)), declared.queries)
    place = {name: i for i, name in enumerate(network.order)}
    assert set(place) == set(network.by_name)
    assert all(place[i] < place[op.name] for op in network.operators for i in op.inputs)


def test_consumers_are_ports_in_the_order_of_declaration():
    network = join_network()
    assert network.consumers["L"] == (("J", 0),)
    assert network.consumers["R"] == (("J", 1),)
    assert network.consumers["P"] == ()
    assert chains([(1.0, 1.0)], [(1.0, 1.0)]).consumers["stream"] == (("q0.0", 0), ("q1.0", 0))


def test_a_shared_operator_is_read_by_all_its_queries():
    ops = (STREAM, operator("x", ["stream"], 1.0), operator("a", ["x"], 1.0), operator("b", ["x"], 1.0))
    network = Network(ops, (Query("a", "a"), Query("b", "b"), Query("x", "x")))
    assert [q.name for q in network.readers["x"]] == ["a", "b", "x"]
    assert [q.name for q in network.readers["a"]] == ["a"]
    assert network.members["a"] == {"stream", "x", "a"}


def test_streams_are_the_sources_and_numbers_follow_the_declaration():
    network = join_network()
    assert network.streams == ("left", "right")
    assert [network.ids[op.name] for op in network.operators] == list(range(6))


def test_a_slower_machine_makes_every_operator_slower():
    network = join_network(1.0, 2.0, 3.0, 4.0)
    assert [op.cost.b for op in network.scaled(0.5).operators] == [0.0, 0.0, 0.5, 1.0, 1.5, 2.0]
    assert network.scaled(0.5).queries == network.queries
