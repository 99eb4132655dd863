"""Plans of Spark become segments that give its rows, or the reason why not is told."""

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest

from engine.kernel.against_spark import Sides
from headgate.engine.evaluation.protocol import edges
from headgate.engine.kernel.ir import Call, Column, Grouping, Literal, Lookup, Part, Segment
from headgate.engine.sql.catalyst import NotFusableError, segment
from headgate.engine.sql.plan import Catalog, Relation
from headgate.engine.sql.planner import plan
from headgate.engine.windows import Window

ROWS = pa.table(
    {
        "a": pa.array([1, 2, None, 4, 2], pa.int32()),
        "b": pa.array([10, None, 30, 40, 10], pa.int64()),
        "x": pa.array([1.5, math.nan, -0.0, None, 0.0], pa.float64()),
        "s": pa.array(["one", "B", None, "d", "x"], pa.string()),
        "d": pa.array([1, 2, None, 4, 5], pa.decimal128(10, 2)),
        "ts": pa.array([0, 1, None, 3, 4], pa.timestamp("us", "UTC")),
        "tags": pa.array([["p"], [], None, ["q", None], ["r"]], pa.list_(pa.string())),
        "o": pa.array([{"p": 1}, None, {"p": None}, {"p": 4}, {"p": 5}], pa.struct([("p", pa.int64())])),
    }
)
TABLES = {
    "ref": pa.table(
        {
            "id": pa.array([1, 1, 2, None, 9], pa.int64()),
            "name": ["one", "uno", None, "none", "x"],
            "f": pa.array([0.0, math.nan, -0.0, 1.5, None]),
        }
    ),
    "Names": pa.table({"name": ["one", "x", None], "rank": pa.array([1, 2, 3], pa.int16())}),
}


@pytest.fixture(scope="module")
def sides(spark, tmp_path_factory):
    return Sides(spark, tmp_path_factory.mktemp("sides"), ROWS, TABLES)


QUERIES = [
    "SELECT * FROM t",
    "SELECT s, s AS s2, tags, o FROM t WHERE b > 5 AND x <= 2",
    "SELECT 7 AS n, 'x' AS w, NULL + a AS u, DATE '2024-02-29' AS e, TIMESTAMP '2024-02-29 01:02:03.5' AS f FROM t",
    "SELECT u.a + 1 AS z, U.S FROM (SELECT a, upper(s) AS s FROM t WHERE a > 1) u WHERE u.s LIKE 'D%'",
    "WITH c AS (SELECT a k, b FROM t WHERE a >= 1), e AS (SELECT k + 1 AS k FROM c) SELECT k FROM e WHERE k > 2",
    "SELECT k, sum(b) AS n FROM (SELECT a k, b FROM t) GROUP BY k HAVING count(b) > 0",
    "SELECT t.a, r.name FROM t JOIN ref r ON t.a = r.id",
    "SELECT t.a, r.name FROM ref r JOIN t ON t.a = r.id AND t.b > 5 AND r.name <> 'uno'",
    "SELECT u.a, r.name FROM t u LEFT JOIN (SELECT * FROM ref WHERE name <> 'uno') r ON u.a = r.id AND u.b > 3",
    "SELECT u.a, r.name FROM ref r RIGHT JOIN t u ON u.a = r.id WHERE r.name IS NULL OR u.a = 1",
    "SELECT a, s FROM t LEFT SEMI JOIN ref ON t.a = ref.id AND name <> 'one' WHERE b > 1",
    "SELECT a, s FROM t LEFT ANTI JOIN ref ON t.a = ref.id AND t.b > 5",
    "SELECT a, r.f FROM t JOIN ref r ON t.x = r.f",
    "SELECT a, r.name, n.rank FROM t JOIN ref r ON t.a = r.id JOIN names n ON n.name = r.name AND t.b > n.rank",
    "SELECT a, r.name, n.rank FROM t LEFT JOIN ref r ON t.a = r.id LEFT JOIN names n ON n.name = r.name",
    "SELECT /*+ BROADCAST(r) */ a, n FROM t JOIN (SELECT id + 1 AS k, upper(name) AS n FROM ref) r ON r.k = t.a",
    "SELECT s, n.rank FROM t JOIN names n ON s = n.name",
    "SELECT r.name, count(*) AS n, sum(b) FROM t JOIN ref r ON t.a = r.id GROUP BY r.name",
    "SELECT a FROM t WHERE a IN (SELECT id FROM ref WHERE name <> 'uno') AND b > 1",
    "SELECT a FROM t WHERE (s, a) IN (SELECT name, id FROM ref) AND x IN (SELECT f FROM ref)",
]


@pytest.mark.parametrize("sql", QUERIES)
def test_a_segment_gives_the_rows_of_spark(sides, sql):
    sides.check(sql)


def test_a_segment_is_over_columns_of_the_stream_and_of_tables(sides):
    found = sides.segment(
        "SELECT u.k + 1 AS z, r.name FROM (SELECT a AS k, b FROM t WHERE x > 1) u "
        "LEFT JOIN ref r ON u.k = r.id AND u.b > 3 WHERE r.name = 'one'"
    )
    a, b, x = Column("a", "int"), Column("b", "bigint"), Column("x", "double")
    name, number = Column("0:name", "string"), Column("0:id", "bigint")
    assert found == Segment(
        source="t",
        lookups=(
            Lookup(
                "ref",
                "left",
                keys=((Call("Cast", (a,), "bigint"), number),),
                columns=(name, number),
                condition=Call("GreaterThan", (b, Literal(3, "bigint")), "boolean"),
            ),
        ),
        where=(
            Call("GreaterThan", (x, Literal(1.0, "double")), "boolean"),
            Call("EqualTo", (name, Literal("one", "string")), "boolean"),
        ),
        grouping=None,
        columns=(("z", Call("Add", (a, Literal(1, "int")), "int")), ("name", name)),
    )


def test_equal_aggregates_are_one_part(sides):
    found = sides.segment("SELECT a + 1 AS k, sum(b) AS n, sum(b) * 2 AS m FROM t GROUP BY a + 1 HAVING sum(b) > 3")
    key = Call("Add", (Column("a", "int"), Literal(1, "int")), "int")
    total = Column("a0", "bigint")
    assert found.grouping == Grouping(
        (key,),
        (Part("Sum", (Column("b", "bigint"),), "bigint"),),
        having=(Call("GreaterThan", (total, Literal(3, "bigint")), "boolean"),),
    )
    assert found.columns == (
        ("k", Column("k0", "int")),
        ("n", total),
        ("m", Call("Multiply", (total, Literal(2, "bigint")), "bigint")),
    )


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("NULL", None, "double"),
        ("CAST('NaN' AS DOUBLE)", math.nan, "double"),
        ("1e3 / 4", 250.0, "double"),
        ("X'00ff'", b"\x00\xff", "binary"),
        ("'it''s ' || upper('é')", "it's É", "string"),
        ("DATE '2024-02-29' + INTERVAL 1 YEAR", dt.date(2025, 2, 28), "date"),
        ("TIMESTAMP '2024-01-01 00:00:00.000001+02:00'", dt.datetime(2023, 12, 31, 22, 0, 0, 1, dt.UTC), "timestamp"),
        ("-0.50", Decimal("-0.50"), "decimal(2,2)"),
    ],
)
def test_constants_are_computed_by_spark(sides, text, value, kind):
    found = sides.segment(f"SELECT CAST({text} AS {kind}) AS c FROM t").columns[0][1]
    assert isinstance(found, Literal)
    assert found.type == kind
    assert repr(found.value) == repr(value)


REFUSED = {
    "SELECT DISTINCT a FROM t": "it has DISTINCT",
    "SELECT a FROM t ORDER BY a": "it has ORDER BY",
    "SELECT a FROM t LIMIT 3": "it has LIMIT",
    "SELECT a FROM t UNION ALL SELECT a FROM t": "it has UNION",
    "SELECT sum(a) OVER (ORDER BY b) FROM t": "it has a window function",
    "SELECT explode(tags) FROM t": "it has a function that yields several rows",
    "SELECT u.a FROM t u JOIN t w ON u.a = w.a": "it joins two streams",
    "SELECT a FROM t CROSS JOIN ref": "it joins a table without an equality",
    "SELECT a FROM t JOIN ref ON a < id": "it joins a table without an equality",
    "SELECT a FROM t FULL JOIN ref ON a = id": "it has a join that keeps rows of a table without a tuple",
    "SELECT a FROM ref LEFT JOIN t ON a = id": "it has a join that keeps rows of a table without a tuple",
    "SELECT a FROM (SELECT id FROM ref JOIN names USING (name)) j JOIN t ON t.a = j.id": "it joins two tables",
    "SELECT a FROM t JOIN (SELECT max(id) AS m FROM ref) r ON a = r.m": "it groups a table before it joins it",
    "SELECT c FROM t LEFT JOIN (SELECT id, coalesce(name, '') AS c FROM ref) r ON a = r.id": (
        "it computes columns of a table before a LEFT JOIN"
    ),
    "SELECT id FROM ref": "it reads no stream",
    "SELECT a FROM t WHERE a > (SELECT max(id) FROM ref)": "it has a subquery in an expression",
    "SELECT a FROM t WHERE a NOT IN (SELECT id FROM ref)": "it has a subquery in an expression",
    "SELECT a FROM t WHERE a IN (SELECT id FROM ref) OR b > 1": "it has a subquery in an expression",
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM ref WHERE id = a)": "it has a subquery in an expression",
    "SELECT a FROM t WHERE a IN (SELECT b FROM t)": "it has a subquery in an expression",
    "SELECT a FROM t GROUP BY a HAVING a IN (SELECT id FROM ref)": "it has a subquery in HAVING",
    "SELECT tags[0] FROM t": "it calls getarrayitem()",
    "SELECT size(tags) FROM t": "it calls size()",
    "SELECT s COLLATE UTF8_LCASE = 'ONE' AS c FROM t": "it has a collation",
    "SELECT map(s, a) AS m FROM t": "it calls map()",
    "SELECT NULL AS n FROM t": "its column 'n' has type void",
    "SELECT tags = tags AS same FROM t": "it computes with values of type array<string>",
    "SELECT tags, count(*) FROM t GROUP BY tags": "it groups by values of type array<string>",
    "SELECT max(tags) FROM t": "it aggregates values of type array<string>",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_the_kernel_cannot_do_is_told(sides, sql):
    with pytest.raises(NotFusableError) as told:
        segment(sides.views.spark.sql(sql))
    assert str(told.value) == REFUSED[sql]


def test_a_table_with_a_collation_is_left_to_spark(sides, spark, tmp_path):
    spark.sql("SELECT 1 AS id, 'a' COLLATE UTF8_LCASE AS c").write.parquet(str(tmp_path / "odd"))
    sides.views.add_table("odd", spark.read.parquet(str(tmp_path / "odd")))
    with pytest.raises(NotFusableError, match="string collate UTF8_LCASE"):
        sides.segment("SELECT a FROM t JOIN odd ON a = id AND c = 'A'")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT s, count(*) AS n, sum(b) AS total, avg(x) AS mean, avg(d) AS dm, min(x), max(s) FROM t GROUP BY s",
        "SELECT sum(b) / count(*) AS r, count_if(a > 1) FILTER (WHERE x > 0) AS c FROM t WHERE a > 1",
        "SELECT s, first(x) AS f, last(b) IGNORE NULLS AS l, max_by(a, x) AS m FROM t GROUP BY s HAVING count(*) > 1",
        "SELECT r.name, bool_or(t.x > 1) AS o, bit_xor(t.a) AS b FROM t JOIN ref r ON t.a = r.id GROUP BY r.name",
    ],
)
def test_both_halves_of_a_window_aggregate_are_segments(sides, sql):
    catalog = Catalog(
        {"t": Relation(tuple(ROWS.column_names), "ts")},
        {name: Relation(tuple(table.column_names)) for name, table in TABLES.items()},
    )
    halves = plan(sql, catalog, Window(6_000_000, 2_000_000))
    used = {"t": [*ROWS.column_names, "_pane"]}
    whole = sides.views.prepare(sql, used)
    partial = sides.views.prepare(halves.partial, used)
    panes = pa.schema([*partial.schema, *edges(halves.window)])
    final = sides.views.prepare(halves.final, used, whole.schema, panes)
    assert segment(partial.frame).source == "t"
    assert segment(final.frame).source == "__panes"
