"""What `headgate explain` says of queries: how they are written, which run together, and why others do not."""

import datetime as dt
import io
import json
from dataclasses import asdict, replace

import pyarrow as pa
import pytest
from rich.console import Console

from headgate import Engine
from headgate.engine import sink, source
from headgate.engine.explain import explained, shown, text
from headgate.engine.explain.explanation import Due
from headgate.engine.explain.written import lookups, shape
from headgate.engine.kernel.ir import Call, Column, Grouping, Literal, Lookup, Parameter, Part, Segment
from headgate.model.classes import QueryClass
from headgate.model.deadlines import Deadline
from headgate.model.qos import LatencyGraph

A, B, NAME = Column("a", "int"), Column("b", "int"), Column("name", "string")
ONE, TWO, ANY = Literal(1, "int"), Literal(2, "int"), Parameter(0, "int")


def call(op, *args, kind="boolean"):
    return Call(op, args, kind)


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (A, "a"),
        (ANY, "?"),
        (Literal(None, "int"), "NULL"),
        (Literal(value=True, type="boolean"), "TRUE"),
        (Literal("it's", "string"), r"'it\'s'"),
        (Literal(dt.date(2026, 1, 2), "date"), "DATE '2026-01-02'"),
        (Literal(dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC), "timestamp"), "TIMESTAMP '2026-01-02 03:00:00'"),
        (Literal(b"\x01\xff", "binary"), "X'01FF'"),
        (call("GreaterThan", A, ANY), "a > ?"),
        (call("Add", A, call("Multiply", B, TWO)), "a + b * 2"),
        (call("Multiply", call("Add", A, B), TWO), "(a + b) * 2"),
        (call("Subtract", A, call("Subtract", B, TWO)), "a - (b - 2)"),
        (call("Subtract", call("Subtract", A, B), TWO), "a - b - 2"),
        (call("And", call("Or", A, B), A), "(a OR b) AND a"),
        (call("Or", call("And", A, B), A), "a AND b OR a"),
        (call("Not", call("Or", A, B)), "NOT (a OR b)"),
        (call("Not", call("EqualTo", A, ONE)), "a <> 1"),
        (call("Not", call("In", A, ONE, TWO)), "a NOT IN (1, 2)"),
        (call("In", A, ONE, ANY), "a IN (1, ?)"),
        (call("Not", call("Like", NAME, Literal("x%", "string"))), "name NOT LIKE 'x%'"),
        (call("IsNotNull", A), "a IS NOT NULL"),
        (call("IsNull", call("Add", A, B)), "a + b IS NULL"),
        (call("EqualTo", call("IsNull", A), call("IsNull", B)), "(a IS NULL) = (b IS NULL)"),
        (call("UnaryMinus", call("Add", A, B)), "-(a + b)"),
        (call("UnaryMinus", Literal(-1, "int")), "-(-1)"),
        (call("Cast", A, kind="double"), "a"),
        (call("Cast", A, kind="string"), "a::string"),
        (call("Cast", call("Add", A, B), kind="string"), "(a + b)::string"),
        (call("CaseWhen", A, ONE, B, TWO), "CASE WHEN a THEN 1 WHEN b THEN 2 END"),
        (call("CaseWhen", A, ONE, TWO), "CASE WHEN a THEN 1 ELSE 2 END"),
        (call("StringTrim", NAME), "trim(name)"),
        (call("DayOfWeek", A), "day_of_week(a)"),
        (call("NormalizeNaNAndZero", A, kind="double"), "a"),
    ],
)
def test_expressions_are_written_as_sql(node, said):
    assert text(node) == said


def test_a_join_names_the_columns_of_its_table():
    rate = Column("0:rate", "int")
    found = Lookup(
        "t", "left", ((A, Column("0:a", "int")),), (Column("0:a", "int"), rate), call("GreaterThan", rate, B)
    )
    assert lookups([found]) == ["LEFT JOIN t ON a = t.a AND t.rate > b"]
    written = shape(Segment("s", (found,), (call("LessThan", rate, ANY),), None, (("a", A), ("rate", rate))))
    assert written == "SELECT a, t.rate FROM s LEFT JOIN t ON a = t.a AND t.rate > b WHERE t.rate < ?"


def test_a_group_is_written_with_its_aggregates_and_without_hidden_columns():
    parts = (Part("Sum", (B,), "bigint", call("GreaterThan", A, ONE)), Part("Count", (A,), "bigint", distinct=True))
    grouping = Grouping((Column("_pane", "bigint"), NAME), parts, (call("GreaterThan", Column("a1", "bigint"), ANY),))
    columns = (
        ("_pane", Column("k0", "bigint")),
        ("__k0", Column("k1", "string")),
        ("__p0", Column("a0", "bigint")),
        ("n", Column("a1", "bigint")),
    )
    assert shape(Segment("s", (), (call("Or", A, B),), grouping, columns)) == (
        "SELECT name, sum(b) FILTER (WHERE a > 1), count(DISTINCT a) AS n FROM s "
        "WHERE (a OR b) GROUP BY name HAVING count(DISTINCT a) > ?"
    )


ALIKE = {f"high{i}": f"SELECT sym, price FROM ticks WHERE sym = 'S{i}' AND price > {i}" for i in range(300)}
QUERIES = {
    "big": "SELECT sym, price * vol AS value FROM ticks WHERE price * vol > 1e6",
    "bigger": "SELECT venue, price * vol AS value FROM ticks WHERE price * vol > 2e6",
    "sector": "SELECT t.sym, s.sector FROM ticks t JOIN symbols s ON t.sym = s.sym WHERE vol > 5",
}


@pytest.fixture(scope="module")
def queries(spark, tmp_path_factory):
    """Queries that are registered, and never run."""
    with Engine(spark, tmp_path_factory.mktemp("explain"), lanes="jobs") as engine:
        engine.stream("ticks", source.ticks(), event_time="ts")
        engine.table("symbols", spark.createDataFrame(pa.table({"sym": ["AAA"], "sector": ["x"]})))
        engine.query_many(ALIKE, sink=sink.discard(), cls="alerts")
        for name, sql in QUERIES.items():
            engine.query(name, sql, cls="alerts")
        engine.query("sums", "SELECT sym, sum(vol) AS vol FROM ticks GROUP BY sym", window="10s", slide="2s")
        engine.query("top", "SELECT sym FROM ticks ORDER BY vol LIMIT 3", window="10s")
        engine.query("split", "SELECT split(sym, 'A') AS parts FROM ticks")
        yield list(engine.queries.values())


def test_queries_of_a_stream_and_a_class_are_one_unit_and_alike_ones_one_shape(queries):
    alerts, sums = explained(queries).units
    assert (alerts.stream, alerts.cls, alerts.window, alerts.queries) == ("ticks", "alerts", None, 303)
    assert {(shape.sql, shape.queries) for shape in alerts.shapes} == {
        ("SELECT sym, price FROM ticks WHERE sym = ? AND price > ?", 300),
        ("SELECT sym, price * vol AS value FROM ticks WHERE price * vol > ?", 1),
        ("SELECT venue, price * vol AS value FROM ticks WHERE price * vol > ?", 1),
        ("SELECT sym, symbols.sector FROM ticks JOIN symbols ON sym = symbols.sym WHERE vol > ?", 1),
    }
    assert (sums.cls, sums.window, sums.queries) == ("default", "10s every 2s", 1)
    assert [shape.sql for shape in sums.shapes] == ["SELECT sym, sum(vol) FROM ticks GROUP BY sym"]


def test_classes_are_said_with_what_they_are_promised(queries):
    classes = [QueryClass("default", 1.0), QueryClass("alerts", 3.0, 0.5)]
    found = explained(queries, classes)
    assert [(each.name, each.queries, each.share, each.delay_target) for each in found.classes] == [
        ("alerts", 303, 0.75, 0.5),
        ("default", 3, 0.25, None),
    ]
    console = Console(file=io.StringIO(), width=100)
    for part in shown(found):
        console.print(part)
    said = " ".join(console.file.getvalue().split())
    assert "alerts 303 3 75 % 500 ms default 3 1 25 % none, nothing is dropped" in said
    assert explained(queries).classes == ()


def test_qos_graphs_are_said_with_the_queries_that_have_them(queries):
    tight = LatencyGraph.until(0.5, 2.0)
    assert explained(queries).graphs == ()
    for query in queries[:2]:
        query.qos = tight
    try:
        found = explained(queries)
    finally:
        for query in queries[:2]:
            query.qos = None
    assert [(each.points, each.queries) for each in found.graphs] == [
        (tight.points, tuple(query.name for query in queries[:2]))
    ]
    console = Console(file=io.StringIO(), width=100)
    for part in shown(found):
        console.print(part)
    assert "1 at 0 s, 1 at 500 ms, 0 at 2 s" in " ".join(console.file.getvalue().split())


def test_deadlines_are_said_the_shortest_first_and_who_lets_others_in_between(queries):
    assert explained(queries).deadlines == ()
    given = {"sums": Deadline(10.0, 2.0, 2.0, 5.0), "top": Deadline(10.0, 10.0, 1.0)}
    due = [query for query in queries if query.name in given]
    plain = [query.draft for query in due]
    for query in due:
        query.draft = replace(query.draft, deadline=given[query.name])
    try:
        found = explained(queries)
    finally:
        for query, draft in zip(due, plain, strict=True):
            query.draft = draft
    assert found.deadlines == (Due("top", "10s", 1.0, 1.0, False), Due("sums", "10s every 2s", 2.0, 5.0, True))
    console = Console(file=io.StringIO(), width=100)
    for part in shown(found):
        console.print(part)
    assert "top 10s 1 s 1 no sums 10s every 2s 2 s 5 yes" in " ".join(console.file.getvalue().split())


def test_what_is_shared_is_said_with_the_number_of_queries(queries):
    alerts, sums = explained(queries).units
    assert [(each.sql, each.queries) for each in alerts.lookups] == [("JOIN symbols ON sym = symbols.sym", 1)]
    assert [(each.sql, each.queries) for each in alerts.expressions] == [("price * vol", 2)]
    assert not sums.lookups


def test_conditions_that_many_queries_have_are_indexed(queries):
    alerts, _ = explained(queries).units
    first = alerts.conditions[0]
    assert first.queries == 300
    assert "sym = ?" in first.index
    assert {*first.index, *first.tested} == {"sym = ?", "price > ?"}
    assert sum(each.queries for each in alerts.conditions) == 303


def test_every_query_is_there_with_its_unit_and_shape_or_the_reason_why_it_has_none(queries):
    found = explained(queries)
    by_name = {query.name: query for query in found.queries}
    assert len(by_name) == len(queries)
    for query in found.queries:
        if query.runner == "kernel":
            assert found.units[query.unit].shapes[query.shape].queries == (300 if query.name in ALIKE else 1)
    assert (by_name["sums"].evaluation, by_name["sums"].runner) == ("by panes", "kernel")
    for name, evaluation, why in (
        ("top", "window by window", "ORDER BY needs all tuples of a window"),
        ("split", "tuple by tuple", "it calls split()"),
    ):
        query = by_name[name]
        assert (query.evaluation, query.runner, query.unit, query.why_not) == (evaluation, "Spark", None, why)


def test_without_fusing_each_query_is_a_unit_and_without_resident_lanes_a_spark_plan(queries):
    apart = explained(queries, fuse=False)
    assert [unit.queries for unit in apart.units] == [1] * 304
    spark = explained(queries, fuse=False, resident=False)
    assert not spark.units
    assert {query.runner for query in spark.queries} == {"Spark"}
    assert {query.why_not for query in spark.queries if query.name in ALIKE} == {
        "neither fusing nor resident lanes are on"
    }


def test_an_explanation_is_plain_values(queries):
    found = explained(queries)
    assert json.loads(json.dumps(asdict(found)))["units"][0]["queries"] == 303


@pytest.mark.parametrize("width", [60, 80, 140])
def test_people_see_units_shapes_and_reasons_at_any_width(queries, width):
    console = Console(width=width, file=io.StringIO())
    for part in shown(explained(queries)):
        console.print(part)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    words = " ".join(lines)
    for said in ("ticks · alerts: 303 queries of 4 shapes", "… 300 in all", "split()", "10s every", "sym = ?"):
        assert said in words
