"""What is planned gives, on Spark, the rows of the query as it was written."""

import datetime as dt
import functools
import itertools
import math
import random
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.functions import lit, unix_seconds

from headgate.engine.sql.planner import plan
from headgate.engine.windows import Window

SECOND = 1_000_000
WINDOW = Window(6 * SECOND, 4 * SECOND)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

TIME = pa.timestamp("us", "UTC")
SHOWN = {
    "ts": TIME,
    "sym": pa.string(),
    "price": pa.float64(),
    "vol": pa.int64(),
    "cost": pa.decimal128(18, 4),
    "ok": pa.bool_(),
    "tags": pa.list_(pa.string()),
}
HIDDEN = {"_arrival": TIME, **dict.fromkeys(("_time", "_position", "_pane", "_late"), pa.int64())}


def tuple_of(position, time, sym, price, vol, cost, ok, tags, late=None):
    """A tuple of a stream with its hidden columns."""
    arrival = EPOCH + dt.timedelta(seconds=1000 + position)
    pane = time // WINDOW.pane * WINDOW.pane
    values = (at(time), sym, price, vol, cost, ok, tags, arrival, time, position, pane, late)
    return dict(zip((*SHOWN, *HIDDEN), values, strict=True))


def at(time):
    return EPOCH + dt.timedelta(microseconds=time)


def some_rows(n):
    rng = random.Random(n)

    def perhaps(value):
        return None if rng.random() < 0.2 else value

    return [
        tuple_of(
            position,
            rng.randrange(0, 10 * SECOND),
            perhaps(rng.choice("ABC")),
            perhaps(rng.uniform(-5, 5) + 1e6),
            perhaps(rng.randrange(-9, 9)),
            perhaps(Decimal(rng.randrange(-(10**9), 10**9)).scaleb(-4)),
            perhaps(rng.random() < 0.5),
            perhaps(rng.sample(["x", "y", "z"], rng.randrange(3))),
            4 * SECOND if rng.random() < 0.2 else None,
        )
        for position in range(n)
    ]


@pytest.fixture(scope="module", autouse=True)
def views(spark):
    """The tables, and a Spark that does not compile what runs once over a few rows."""
    quick = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {key: spark.conf.get(key) for key in quick}
    for key, value in quick.items():
        spark.conf.set(key, value)
    views = {
        "ref": "VALUES ('A', 'one', 2), ('B', 'two', NULL), ('D', NULL, 4) AS v(sym, name, factor)",
        "dim": "VALUES ('one', 'north') AS v(name, region)",
        "Orders": "VALUES (TIMESTAMP '1970-01-01', 1, 'A', 3) AS v(at, id, sym, n)",
    }
    for name, values in views.items():
        spark.sql(f"SELECT * FROM {values}").createOrReplaceTempView(name)
    yield
    for key, value in before.items():
        spark.conf.set(key, value)


def show(spark, rows):
    """The views of a stream with these tuples."""
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, pa.schema({**SHOWN, **HIDDEN})))
    frame.createOrReplaceTempView("__ticks")
    frame.select(*SHOWN).createOrReplaceTempView("ticks")


def windows(rows):
    return sorted({window for row in rows for window in WINDOW.of(row["_time"])})


def belongs(row, time, start, end):
    """The one rule of windows: in it by time, and not late for it."""
    return start <= row[time] < end and (row["_late"] is None or row["_late"] < end)


def by_window(spark, rows, sql):
    """The query run over the tuples of each window; one without tuples does not exist."""
    results = []
    for start, end in windows(rows):
        inside = [row for row in rows if belongs(row, "_time", start, end)]
        if inside:
            show(spark, inside)
            result = spark.sql(sql)
            names = [f"c{i}" for i in range(len(result.columns))]
            bounds = [lit(at(bound)).cast("timestamp") for bound in (start, end)]
            results.append(result.toDF(*names).select(*bounds, *names))
    return collected(results)


def by_panes(spark, rows, found, cuts):
    """The partial results of each train, brought to the windows that they belong to, and put together."""
    parts = []
    for low, high in itertools.pairwise([0, *sorted(cuts), len(rows)]):
        show(spark, rows[low:high])
        parts.append(spark.sql(found.partial))
    panes = united(parts).toArrow()
    opened = [
        {**pane, "window_start": at(start), "window_end": at(end)}
        for pane in panes.to_pylist()
        for start, end in windows(rows)
        if belongs(pane, "_pane", start, end)
    ]
    schema = pa.schema([*panes.schema, ("window_start", TIME), ("window_end", TIME)])
    spark.createDataFrame(pa.Table.from_pylist(opened, schema)).createOrReplaceTempView("__panes")
    types = [kind for _, kind in spark.sql(found.sql).dtypes]
    final = spark.sql(found.final).toDF("window_start", "window_end", *(f"c{i}" for i in range(len(types))))
    typed = [final[f"c{i}"].cast(kind) for i, kind in enumerate(types)]
    return collected([final.select("window_start", "window_end", *typed)])


def united(frames):
    return functools.reduce(lambda one, other: one.unionAll(other), frames)


def collected(frames):
    return sorted((tuple(row) for row in united(frames).collect()), key=repr_of_row)


def repr_of_row(row):
    """Rows in an order that does not depend on the last digits of a float."""
    return [(value is None, f"{value:.5g}" if isinstance(value, float) else str(value)) for value in row]


def alike(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))
    return a == b


def assert_same(got, expected):
    assert [len(row) for row in got] == [len(row) for row in expected]
    pairs = [pair for rows in zip(got, expected, strict=True) for pair in zip(*rows, strict=True)]
    assert [pair for pair in pairs if not alike(*pair)] == []


BY_SYM = (
    *("count(*)", "count(price)", "count(sym, vol)", "sum(vol)", "sum(price)", "sum(cost)", "min(price)", "max(ts)"),
    *("min(sym)", "avg(price)", "mean(vol)", "avg(cost)", "var_pop(price)", "var_samp(price)", "variance(vol)"),
    *("stddev(cost)", "std(price)", "stddev_pop(vol)", "stddev_samp(price)", "bool_and(ok)", "every(ok)"),
    *("bool_or(ok)", "some(ok)", "any(ok)", "count_if(ok)", "bit_and(vol)", "bit_or(vol)", "bit_xor(vol)"),
    *("min_by(price, ts)", "max_by(vol, ts)", "max_by(struct(vol, cost), ts).cost"),
    *("sum(price * vol) / sum(vol)", "max(ts) - min(ts)"),
    *("round(avg(price), 2)", "avg(vol * 1000000000000000000)", "sum(vol) + count(*) * 2", "-max(vol)"),
)
FILTERED = (
    *("count(*)", "sum(vol)", "avg(price)", "stddev(price)", "var_pop(vol)", "max_by(vol, ts)", "bool_or(ok)"),
    *("count_if(ok)", "max(cost)"),
)
AGGREGATES = [
    f"SELECT sym, {', '.join(BY_SYM)} FROM ticks GROUP BY sym",
    f"SELECT sym, {', '.join(f'{each} FILTER (WHERE vol > 3)' for each in FILTERED)} FROM ticks GROUP BY sym",
    "SELECT count(*), sum(vol), avg(price), stddev(price), max(sym), NOT bool_or(ok) FROM ticks",
    "SELECT count(*) AS n FROM ticks WHERE sym = 'nobody'",
    "SELECT sym, CASE WHEN count(*) > 5 THEN 'many' WHEN sum(vol) > 2 THEN sym END FROM ticks WHERE ok GROUP BY sym",
    "SELECT count(*), sym FROM ticks GROUP BY sym HAVING count(*) > 2 AND max(price) > 1e6",
    "SELECT sym AS s, count(*) AS n FROM ticks GROUP BY s HAVING n > 2 AND s > 'A'",
    "SELECT upper(sym) AS u, vol % 2 AS odd, count(*) FROM ticks GROUP BY 1, odd",
    "SELECT lower(SYM), count(*), Count(*) + 1 FROM ticks AS t GROUP BY lower(t.sym), ok",
    "SELECT sum(vol) AS s, s * 2 AS twice, twice + count(*) AS more FROM ticks",
    "SELECT sym FROM ticks GROUP BY sym",
    "SELECT 1 AS one, 'x' AS x, round(avg(price), 1) FROM ticks GROUP BY one, x",
    "SELECT coalesce(sym, '?') AS k, coalesce(sum(vol), 0), count(*) = 1 FROM ticks GROUP BY coalesce(sym, '?')",
    "SELECT date_trunc('minute', ts) AS m, max(ts) - min(ts), CAST(avg(vol) AS INT) FROM ticks GROUP BY m",
    "SELECT name, count(*), sum(vol * factor) FROM ticks JOIN ref ON ticks.sym = ref.sym GROUP BY name",
    "SELECT name, count(*), max(factor) FROM ticks LEFT JOIN ref USING (sym) GROUP BY name HAVING count(*) > 1",
    "SELECT region, count(*) FROM ref JOIN dim USING (name) JOIN ticks USING (sym) GROUP BY region",
    "SELECT k, sum(v) FROM (SELECT upper(sym) AS k, vol * 2 AS v FROM ticks WHERE vol > -5) WHERE v < 9 GROUP BY k",
    "WITH a AS (SELECT *, price - 1e6 AS p FROM ticks) SELECT sym, avg(p), stddev(p) FROM a AS b GROUP BY b.sym",
    "SELECT t, count(*), sum(vol) FROM ticks LATERAL VIEW explode(tags) e AS t GROUP BY t",
    "SELECT ok, count(*) FROM ticks WHERE sym IN (SELECT sym FROM ref WHERE factor > 1) GROUP BY ok",
    "SELECT count(*), sum(vol) FILTER (WHERE ok), max(factor) FROM ticks LEFT JOIN ref USING (sym) WHERE vol > 7",
    "SELECT x, sum(y) FROM (SELECT sym, vol FROM ticks) AS s(x, y) GROUP BY x",
]

ORDERED = [
    "SELECT sym, first(price), last(vol), any_value(cost), first_value(vol) IGNORE NULLS FROM ticks GROUP BY sym",
    "SELECT first(price) FILTER (WHERE ok), last(price) FILTER (WHERE vol > 0) IGNORE NULLS FROM ticks",
    "SELECT name, last(price) - first(price) AS moved FROM ticks JOIN ref USING (sym) GROUP BY name",
]


@pytest.mark.parametrize("text", AGGREGATES)
def test_panes_give_what_the_query_gives_over_each_window(spark, catalog, text):
    found = plan(text, catalog, WINDOW)
    rows = some_rows(60)
    got = by_panes(spark, rows, found, [20, 21])
    assert_same(got, by_window(spark, rows, found.sql))
    assert got


def test_distinct_values_are_counted_to_within_a_few_hundredths(spark, catalog):
    rows = [tuple_of(i, i, "A", i % 300 / 7, i % 40, None, None, []) for i in range(900)]
    text = "SELECT {0}(price), {0}(vol), {0}(ok), {0}(price) FILTER (WHERE vol < 0) FROM ticks"
    got = by_panes(spark, rows, plan(text.format("approx_count_distinct"), catalog, WINDOW), [500])
    assert {row[3:] for row in got} == {(40, 0, 0)}
    assert all(abs(row[2] - 300) < 15 for row in got)


@pytest.mark.parametrize("text", ORDERED)
def test_first_and_last_are_those_by_time_with_panes_and_without(spark, catalog, text):
    found, whole = plan(text, catalog, WINDOW), plan(f"{text} ORDER BY 1", catalog, WINDOW)
    rows = some_rows(60)
    got = by_panes(spark, rows, found, [30])
    assert got
    assert_same(got, by_window(spark, rows, whole.sql))


@pytest.mark.parametrize("cuts", [[], [1, 3], [2, 4]])
def test_first_is_of_the_earliest_time_and_then_of_the_lowest_position(spark, catalog, cuts):
    values = [(5, 1.0), (3, None), (3, 2.0), (9, 4.0), (9, 5.0)]
    rows = [tuple_of(i, time, "A", price, 0, None, True, []) for i, (time, price) in enumerate(values)]
    found = plan("SELECT first(price), first(price, true), last(price) FROM ticks", catalog, WINDOW)
    assert {row[2:] for row in by_panes(spark, rows, found, cuts)} == {(None, 2.0, 5.0)}


values = st.none() | st.floats(-1e3, 1e3).map(lambda x: x + 1e9)
syms, vols = st.none() | st.sampled_from("AB"), st.none() | st.integers(-5, 5)
tuples = st.tuples(st.integers(0, 10 * SECOND), syms, values, vols, st.none(), st.booleans(), st.just([]))
MIXED = (
    "SELECT sym, count(*), count(vol), sum(vol), avg(price), var_samp(price), stddev_pop(price), min(price), "
    "sum(vol) FILTER (WHERE ok) FROM ticks GROUP BY sym HAVING count(*) > 0"
)


@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(drawn=st.lists(tuples, min_size=1, max_size=25), cuts=st.sets(st.integers(0, 25), max_size=2))
def test_panes_agree_whatever_the_tuples_and_the_trains(spark, catalog, drawn, cuts):
    rows = [tuple_of(position, *each) for position, each in enumerate(drawn)]
    found = plan(MIXED, catalog, WINDOW)
    inside = [cut for cut in cuts if cut <= len(rows)]
    assert_same(by_panes(spark, rows, found, inside), by_window(spark, rows, found.sql))


PER_TUPLE = [
    "SELECT * FROM ticks",
    "SELECT sym, price * vol AS value FROM ticks WHERE price > 1e6",
    "SELECT t.*, t.price + 1, upper(sym) FROM ticks AS t WHERE ok",
    "SELECT * EXCEPT (tags) FROM ticks",
    "SELECT to_json(struct(*)) AS j FROM ticks",
    "SELECT a, b FROM (SELECT sym, vol FROM ticks) AS s(a, b)",
    "SELECT g FROM ticks AS s(a, b, c, d, e, f, g)",
    "SELECT * FROM ticks JOIN ref USING (sym)",
    "SELECT * FROM ticks NATURAL JOIN ref",
    "SELECT r.*, vol FROM ticks t LEFT JOIN ref r ON t.sym = r.sym",
    "SELECT * FROM ref RIGHT JOIN ticks ON ref.sym = ticks.sym",
    "SELECT * FROM ticks LEFT SEMI JOIN ref USING (sym)",
    "SELECT * FROM ticks LEFT ANTI JOIN ref USING (sym)",
    "SELECT * FROM ticks, dim",
    "WITH a AS (SELECT * FROM ticks WHERE vol > 0), b AS (SELECT *, vol + 1 AS more FROM a) SELECT * FROM b",
    "SELECT sym, i, t FROM ticks LATERAL VIEW posexplode(tags) e AS i, t",
    "SELECT sym, explode_outer(tags) AS t FROM ticks",
    "SELECT * FROM ticks, LATERAL (SELECT max(factor) AS f FROM ref WHERE ref.sym = ticks.sym)",
    "SELECT sym FROM ticks WHERE EXISTS (SELECT 1 FROM ref WHERE ref.sym = ticks.sym)",
    "SELECT sym, (SELECT max(factor) FROM ref) AS m FROM ticks",
    "SELECT vol + 1 AS a, a * 2 AS b FROM ticks",
]


@pytest.mark.parametrize("text", PER_TUPLE)
def test_stamped_rows_are_the_rows_of_the_query_with_their_arrival(spark, catalog, text):
    rows = some_rows(3)
    found = plan(text, catalog)
    show(spark, rows)
    given, plain, stamped = (spark.sql(sql) for sql in (text, found.sql, found.stamped))
    assert plain.columns == given.columns
    assert stamped.columns == [*plain.columns, "_arrival"]
    assert listed(plain) == listed(given)
    of_each = []
    for row in rows:
        show(spark, [row])
        of_each.append(spark.sql(found.sql).select("*", lit(row["_arrival"]).cast("timestamp")))
    assert sorted(listed(stamped)) == sorted(listed(united(of_each)))


def listed(frame):
    return sorted(str(tuple(row)) for row in frame.collect())


def test_sessions_begin_with_their_bounds(spark, catalog):
    times = [(0, "A"), (3, "A"), (20, "A"), (2, "B"), (30, "B")]
    show(spark, [tuple_of(i, t * SECOND, sym, float(i), 1, None, True, []) for i, (t, sym) in enumerate(times)])
    text = "SELECT sym, count(*) AS n, last(price) AS p FROM ticks GROUP BY session_window(ts, '5 seconds'), 1"
    result = spark.sql(plan(text, catalog).sql)
    assert result.columns == ["session_start", "session_end", "sym", "n", "p"]
    seconds = [unix_seconds("session_start"), unix_seconds("session_end"), "sym", "n", "p"]
    assert sorted(tuple(row) for row in result.select(*seconds).collect()) == [
        (0, 8, "A", 2, 1.0),
        (2, 7, "B", 1, 3.0),
        (20, 25, "A", 1, 2.0),
        (30, 35, "B", 1, 4.0),
    ]


PER_WINDOW = [
    "SELECT sym, count(DISTINCT vol), percentile(price, 0.5), collect_set(vol) FROM ticks GROUP BY sym",
    "SELECT sym, max(price) AS p FROM ticks GROUP BY sym ORDER BY p DESC NULLS LAST LIMIT 2 OFFSET 1",
    "SELECT sym, row_number() OVER (PARTITION BY sym ORDER BY ts) AS r FROM ticks",
    "SELECT sym, sum(vol) OVER w FROM ticks WINDOW w AS (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    "SELECT max(p) FROM (SELECT sym, sum(price) AS p FROM ticks GROUP BY sym)",
    "SELECT sym FROM ticks EXCEPT SELECT sym FROM ref",
    "SELECT sym, name FROM (SELECT DISTINCT sym FROM ticks) FULL JOIN ref USING (sym)",
    "SELECT a.sym, n FROM ticks AS a JOIN Orders o ON a.sym = o.sym AND a.ts < o.at + INTERVAL 9 SECONDS",
    "SELECT sym, grouping(sym), count(*) FROM ticks GROUP BY sym WITH ROLLUP",
    "SELECT sym, count(*) FROM ticks GROUP BY GROUPING SETS ((sym), ())",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price) FILTER (WHERE ok) FROM ticks",
]


@pytest.mark.parametrize("text", PER_WINDOW)
def test_what_is_run_by_window_is_the_query_itself(spark, catalog, text):
    show(spark, some_rows(20))
    found, expected = spark.sql(plan(text, catalog, WINDOW).sql), spark.sql(text)
    assert found.columns == expected.columns
    assert listed(found) == listed(expected)
