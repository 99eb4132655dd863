"""Units: operators with all their inputs, queries with all their leaves, the class of those who share."""

import pytest

from headgate.model.classes import QueryClass
from headgate.model.network import Network, Query
from headgate.policy.registry import listed
from headgate.sim.trains import plan
from sim.trains.beds import ONE_CLASS, US, aggregate_query, join_query, network, op, rates, select_query, stream

HR = listed("hr").weight
CLASSES = (QueryClass("low", 1), QueryClass("high", 6), QueryClass("middle", 3))


@pytest.mark.parametrize(
    ("query", "a", "b"),
    [(select_query("q"), 24.75, 12.9), (aggregate_query("q"), 33.0, 24.0), (join_query("q"), 41.25, 16.8)],
)
def test_a_query_costs_the_set_up_of_its_operators_and_what_a_tuple_of_it_brings(query, a, b):
    bed = network(query)
    [unit] = plan.by_query(bed, rates(bed), ONE_CLASS)
    assert (unit.cost.a, unit.cost.b) == (pytest.approx(a * US), pytest.approx(b * US))
    assert len(unit.segments) == len(bed.streams)
    assert sum(s.C for s in unit.segments) == pytest.approx(b * len(bed.streams) * US)


def test_the_leaves_of_a_join_weigh_in_its_cost_by_their_rates():
    bed = network(join_query("q"))
    fast = bed.by_name["q.left"]
    dear = Network(
        tuple(op("q.left", "output", fast.inputs, kind=fast.kind) if o is fast else o for o in bed.operators),
        bed.queries,
    )
    [unit] = plan.by_query(dear, {"q.l": 3.0, "q.r": 1.0}, ONE_CLASS)
    assert unit.cost.b == pytest.approx((16.8 + 0.75 * 1.8) * US)


def test_sources_that_cost_something_are_units_of_their_own():
    bed = network(join_query("q", costs=True), select_query("p", costs=True))
    units = plan.by_query(bed, rates(bed), ONE_CLASS)
    assert [unit.source for unit in units] == [False, False, True, True, True]
    assert [unit.id for unit in units] == [0, 1, 2, 3, 4]
    assert [unit.members for unit in plan.sources(units)] == [("q.l",), ("q.r",), ("p.s",)]
    assert [unit.id for unit in plan.sources(units)] == [0, 1, 2]
    assert [unit.name for unit in plan.inner(units)] == ["q+1", "p"]


def test_at_operator_level_a_join_is_one_unit():
    bed = network(join_query("q"))
    units = plan.by_operator(bed, rates(bed), HR, ONE_CLASS)
    assert [unit.members for unit in units] == [("q.left",), ("q.right",), ("q.join",), ("q.project",), ("q.out",)]
    assert [unit.id for unit in units] == list(range(5))
    assert [unit.leaf for unit in units] == [True, True, False, False, False]


def test_operators_follow_one_another_along_their_query():
    bed = network(select_query("q"), aggregate_query("p"))
    units = plan.by_operator(bed, rates(bed), HR, ONE_CLASS)
    assert [unit.entry.operator for unit in units] == [
        *("q.select", "q.project", "q.out"),
        *("p.window", "p.aggregate", "p.project", "p.out"),
    ]


def shared():
    """Three queries behind one select, and one that reads the same stream."""
    ops = [stream("s"), op("shared", "select", ["s"], 0.5)]
    ops += [op(f"{name}.out", "output", ["shared"]) for name in ("low", "middle")]
    ops += [op("high.project", "project", ["low.out"]), op("alone.out", "output", ["s"])]
    queries = [
        Query("low", "low.out", "low"),
        Query("middle", "middle.out", "middle"),
        Query("alone", "alone.out", "low"),
        Query("high", "high.project", "high"),
    ]
    return Network(tuple(ops), tuple(queries))


def test_queries_that_share_an_operator_are_one_unit_of_the_highest_class():
    units = plan.by_query(shared(), {"s": 1.0}, CLASSES)
    assert [unit.cls for unit in units] == ["high", "low"]
    assert sorted(units[0].members) == ["high.project", "low.out", "middle.out", "shared"]
    assert [s.query for s in units[0].segments] == ["low", "middle", "high"]
    # The shared operator is set up and run once.
    assert units[0].cost.a == pytest.approx(4 * 8.25 * US)
    assert units[0].cost.b == pytest.approx((7 + 0.5 * (2 * 6.8 + 5)) * US)


def test_at_operator_level_an_operator_has_the_highest_class_of_its_readers():
    units = plan.by_operator(shared(), {"s": 1.0}, HR, CLASSES)
    classes = {unit.entry.operator: unit.cls for unit in units}
    assert classes == {
        "shared": "high",
        "low.out": "high",
        "high.project": "high",
        "middle.out": "middle",
        "alone.out": "low",
    }
