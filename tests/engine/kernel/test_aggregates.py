"""Aggregates of groups are those of Spark."""

import math
import random
from decimal import Decimal

import pyarrow as pa
import pytest

from engine.kernel.against_spark import Sides
from engine.results.same import difference
from headgate.engine.sql.catalyst import NotFusableError

LARGE = 2**63 - 1


@pytest.fixture(scope="module")
def sides(spark, tmp_path_factory):
    rng = random.Random(5)

    def some(kind, values, n=120):
        return pa.array([rng.choice([None, *values]) for _ in range(n)], kind)

    rows = pa.table(
        {
            "g": some(pa.string(), ["a", "b", "c", "d", "e", "f", "g"]),
            "k": some(pa.float64(), [0.0, -0.0, math.nan, 1.5]),
            "i": some(pa.int32(), range(-9, 9)),
            "tiny": some(pa.int8(), [127, -128, 1, 2]),
            "l": some(pa.int64(), [LARGE, -LARGE, 1, 2, 3, 5]),
            "x": some(pa.float64(), [math.nan, math.inf, 1.5, -2.5, 0.25, 8.0]),
            "y": some(pa.float64(), [1.5, -2.5, 0.25, 8.0, 1e6]),
            "d": some(pa.decimal128(10, 2), [Decimal(n) / 100 for n in (1, -5, 12345, 10**10 - 1, 7)]),
            "m": some(pa.decimal128(30, 2), [Decimal(1)]),
            "s": some(pa.string(), ["a", "B", "é", "\U0001f600", "\uffff", ""]),
            "ok": some(pa.bool_(), [True, False]),
            "b": some(pa.binary(), [b"a", b"\xff", b""]),
            "ts": some(pa.timestamp("us", "UTC"), [0, 10**15, -(10**15)]),
            "w": some(pa.date32(), [0, 20000, -20000]),
            "nothing": pa.nulls(120, pa.float64()),
        }
    )
    return Sides(spark, tmp_path_factory.mktemp("aggregates"), rows)


AGGREGATES = [
    *("count(*)", "count(i)", "count(i, x)", "count(1)", "count(nothing)", "sum(1)", "count(*) * 2 + count(i)"),
    *(f"sum({c})" for c in ("i", "tiny", "l", "x", "y", "d", "nothing")),
    *(f"try_sum({c})" for c in ("i", "l", "y", "d")),
    *(f"avg({c})" for c in ("i", "l", "x", "y", "d", "nothing")),
    *(
        f"{f}({c})"
        for f in ("min", "max")
        for c in ("i", "l", "x", "y", "d", "s", "ok", "b", "ts", "w", "m", "nothing")
    ),
    *("count_if(i > 0)", "bool_and(ok)", "bool_or(ok)", "every(i > -5)", "some(i > 5)", "any(ok)"),
    *("bit_and(i)", "bit_or(l)", "bit_xor(tiny)"),
    *("var_pop(y)", "var_samp(y)", "stddev(y)", "stddev_pop(y)", "var_pop(i * 1e0) * count(i)", "var_samp(nothing)"),
    *("min_by(s, i)", "max_by(s, i)", "min_by(i, x)", "max_by(i, x)", "max_by(s, d)", "max_by(i, nothing)"),
    *("max_by(s, named_struct('t', l, 'i', i))", "min_by(s, named_struct('t', i, 'i', x))"),
    *("coalesce(try_sum(l) * 1e0, sum(l * 1e0))", "sum(y) / count(y) + 1", "sum(CASE WHEN ok THEN i END)"),
    *(
        f"{call} FILTER (WHERE i > 2)"
        for call in ("count(*)", "count(x)", "sum(d)", "avg(y)", "max(s)", "max_by(s, y)")
    ),
]


@pytest.mark.parametrize("keys", [[], ["g"], ["g", "ok"]])
def test_aggregates_are_those_of_spark(sides, keys):
    names = [f"c{i}" for i in range(len(AGGREGATES))]
    outputs = [*keys, *(f"{call} AS {name}" for call, name in zip(AGGREGATES, names, strict=True))]
    sql = f"SELECT {', '.join(outputs)} FROM t" + (f" GROUP BY {', '.join(keys)}" if keys else "")
    found, expected = sides.kernel(sql), sides.spark(sql)
    pairs = {
        call: (found.select([*keys, n]), expected.select([*keys, n]))
        for call, n in zip(AGGREGATES, names, strict=True)
    }
    assert {call: text for call, (a, b) in pairs.items() if (text := difference(a, b))} == {}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, count(*) FROM t GROUP BY k",
        "SELECT g, i + 1, i + 1 + 1, sum(y) FROM t GROUP BY g, i + 1",
        "SELECT upper(g) AS u, sum(i) AS n FROM t WHERE i > 0 GROUP BY upper(g) HAVING sum(i) > 9 AND u <> 'A'",
        "SELECT ok, k FROM t GROUP BY ok, k",
        "SELECT 'all' AS what, g, sum(i) FROM t GROUP BY 'all', g",
        "SELECT count(*), sum(i), max(s), avg(d), max_by(s, i) FROM t WHERE false",
        "SELECT g, count(*) FROM t WHERE false GROUP BY g",
        "SELECT n + 1, g FROM (SELECT g, count(*) AS n FROM t GROUP BY g) WHERE n > 2",
        "SELECT sum(i) FROM t HAVING count(*) > 0",
    ],
)
def test_groups_are_those_of_spark(sides, sql):
    assert difference(sides.kernel(sql), sides.spark(sql)) == ""


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT count(DISTINCT i) FROM t", "it has count(DISTINCT ...)"),
        ("SELECT sum(m) FROM t", "it adds up values of type decimal(30,2)"),
        ("SELECT percentile(i, 0.5) FROM t", "it calls percentile()"),
        ("SELECT collect_list(i) FROM t", "it calls collect_list()"),
        ("SELECT count(*) FROM t GROUP BY 'all'", "it groups by a constant"),
        ("SELECT g, count(*) FROM t GROUP BY ROLLUP (g)", "it has several groupings"),
        ("SELECT max(n) FROM (SELECT count(*) AS n FROM t GROUP BY g)", "it groups what is grouped"),
    ],
)
def test_other_aggregates_stay_with_spark(sides, sql, why):
    with pytest.raises(NotFusableError, match=why.replace("(", r"\(").replace(")", r"\)")):
        sides.segment(sql)
