"""The network of queries as it is drawn."""

import pytest

from headgate.web.network import network
from web.conftest import Shown


def drawn(queries):
    return network(Shown(queries).watch.frame)


def of(found, kind):
    return [node for node in found.nodes if node.kind == kind]


def test_a_few_queries_are_drawn_one_by_one():
    found = drawn(9)
    assert [node.label for node in of(found, "stream")] == ["ticks", "orders"]
    assert [node.label for node in of(found, "unit")][:2] == ["3 queries together", "board_0001"]
    assert {node.label for node in of(found, "queries")} == {
        f"{n}_{i:04}" for i, n in enumerate(3 * ["alert", "board", "report"])
    }


@pytest.mark.parametrize("queries", [60, 1000])
def test_many_units_and_queries_collapse_and_none_is_lost(queries):
    found = drawn(queries)
    assert len(found.nodes) < 40
    assert sum(node.count for node in of(found, "queries")) == queries
    alone = sum(node.count for node in of(found, "unit") if not node.kernel)
    assert alone + queries // 3 + (queries % 3 > 0) == queries


def test_every_edge_joins_nodes_and_every_query_has_a_way_from_a_stream_to_a_sink():
    found = drawn(60)
    known = {node.id: node.kind for node in found.nodes}
    kinds = {(known[one], known[other]) for one, other in found.edges}
    assert kinds == {("stream", "unit"), ("table", "unit"), ("unit", "queries"), ("queries", "sink")}
    for node in of(found, "queries"):
        assert any(edge[1] == node.id for edge in found.edges)
        assert any(edge[0] == node.id for edge in found.edges)
