"""How a query is evaluated follows from its text: tuple by tuple, by panes, by window or by session."""

import pytest

from headgate.engine.sql.depth import make_room
from headgate.engine.sql.plan import ByPanes, BySession, PerTrain, PerWindow
from headgate.engine.sql.planner import plan
from headgate.engine.windows import Window
from headgate.errors import InputError

WINDOW = Window(10_000_000, 2_000_000)

TUPLE_BY_TUPLE = [
    ("SELECT * FROM ticks", ("ticks", ())),
    ("(SELECT sym FROM ticks);", ("ticks", ())),
    ("SELECT sym FROM ticks JOIN ref USING (sym)", ("ticks", ("ref",))),
    ("SELECT sym FROM ticks, ref, dim", ("ticks", ("ref", "dim"))),
    ("SELECT * FROM ref JOIN ticks USING (sym)", ("ticks", ("ref",))),
    ("SELECT * FROM ref RIGHT JOIN ticks USING (sym)", ("ticks", ("ref",))),
    ("SELECT * FROM ref FULL JOIN dim USING (name) JOIN ticks USING (sym)", ("ticks", ("ref", "dim"))),
    ("SELECT * FROM ticks LEFT JOIN ref USING (sym)", ("ticks", ("ref",))),
    ("SELECT * FROM ticks LEFT SEMI JOIN ref USING (sym)", ("ticks", ("ref",))),
    ("SELECT * FROM ticks LEFT ANTI JOIN ref USING (sym)", ("ticks", ("ref",))),
    ("SELECT * FROM ticks JOIN (SELECT sym, max(factor) f FROM ref GROUP BY sym) USING (sym)", ("ticks", ("ref",))),
    ("SELECT * FROM ticks WHERE sym IN (SELECT sym FROM ref ORDER BY factor LIMIT 3)", ("ticks", ("ref",))),
    ("SELECT * FROM ticks WHERE price > (SELECT avg(factor) FROM ref)", ("ticks", ("ref",))),
    ("SELECT * FROM ticks WHERE NOT EXISTS (SELECT 1 FROM ref WHERE ref.sym = ticks.sym)", ("ticks", ("ref",))),
    ("SELECT sym, t FROM ticks LATERAL VIEW OUTER explode(tags) x AS t", ("ticks", ())),
    ("SELECT sym, t FROM ticks, LATERAL explode(tags) AS x(t)", ("ticks", ())),
    ("SELECT s FROM (SELECT sym AS s FROM (SELECT * FROM ticks WHERE price > 1)) WHERE s > 'A'", ("ticks", ())),
    ("WITH a AS (SELECT * FROM ticks), b(x) AS (SELECT sym FROM a) SELECT x FROM b", ("ticks", ())),
    ("SELECT aggregate(tags, 0, (n, t) -> n + 1), exists(tags, t -> t = 'a') FROM ticks", ("ticks", ())),
    ("SELECT * FROM ticks JOIN VALUES ('A', 1) AS v(sym, x) USING (sym)", ("ticks", ())),
    ("SELECT /*+ BROADCAST(ref) */ * FROM ticks JOIN ref USING (sym)", ("ticks", ("ref",))),
]

NEEDS_A_WINDOW = [
    ("SELECT count(*) FROM ticks", "count()", (1, 8)),
    ("SELECT sym FROM ticks GROUP BY sym", "GROUP BY", (1, 32)),
    ("SELECT sym FROM ticks HAVING true", "HAVING", (1, 8)),
    ("SELECT DISTINCT sym FROM ticks", "DISTINCT", (1, 17)),
    ("SELECT sym FROM ticks ORDER BY price", "ORDER BY", (1, 32)),
    ("SELECT sym FROM ticks LIMIT 3", "LIMIT", (1, 29)),
    ("SELECT sym FROM ticks OFFSET 3", "OFFSET", (1, 30)),
    ("(SELECT sym FROM ticks) LIMIT 3", "LIMIT", (1, 31)),
    ("SELECT sum(price) OVER (PARTITION BY sym) FROM ticks", "a window function", (1, 8)),
    ("SELECT row_number() OVER (ORDER BY ts) FROM ticks", "a window function", (1, 8)),
    ("SELECT sym FROM ticks UNION ALL SELECT sym FROM ref", "UNION", (1, 8)),
    ("SELECT sym FROM ticks EXCEPT SELECT sym FROM ref", "EXCEPT", (1, 8)),
    ("SELECT * FROM ticks a JOIN ticks b USING (sym)", "a second read of a stream", (1, 28)),
    ("SELECT * FROM ticks JOIN orders USING (sym)", "a second read of a stream", (1, 26)),
    ("SELECT * FROM ticks WHERE price > (SELECT avg(price) FROM ticks)", "a stream in a subquery", (1, 43)),
    ("SELECT * FROM ticks WHERE sym IN (SELECT sym FROM orders)", "a stream in a subquery", (1, 42)),
    ("SELECT * FROM (SELECT sym, max(price) FROM ticks GROUP BY sym)", "GROUP BY", (1, 59)),
    ("WITH a AS (SELECT DISTINCT sym FROM ticks) SELECT * FROM a", "DISTINCT", (1, 28)),
    ("SELECT * FROM (ticks JOIN ref USING (sym))", "a join in parentheses", (1, 16)),
    ("SELECT sym, count(*) OVER (), lag(sym) OVER w FROM ticks WINDOW w AS (ORDER BY ts)", "WINDOW", (1, 65)),
    ("SELECT * FROM ticks RIGHT JOIN ref USING (sym)", "keeps rows without a tuple", (1, 32)),
    ("SELECT * FROM ticks FULL JOIN ref USING (sym)", "keeps rows without a tuple", (1, 31)),
    ("SELECT * FROM ref LEFT JOIN ticks USING (sym)", "keeps rows without a tuple", (1, 29)),
    ("SELECT * FROM ref LEFT SEMI JOIN ticks USING (sym)", "keeps rows without a tuple", (1, 34)),
    ("SELECT * FROM ref LEFT ANTI JOIN ticks USING (sym)", "keeps rows without a tuple", (1, 34)),
]

BY_PANES = [
    "SELECT count(*) FROM ticks",
    "SELECT sym, sum(price * vol) / sum(vol) AS vwap FROM ticks GROUP BY sym",
    "SELECT sym FROM ticks GROUP BY sym",
    "SELECT upper(sym) AS s, max(price) FROM ticks GROUP BY s HAVING max(price) > 3",
    "SELECT name, max(price) FROM ticks JOIN ref USING (sym) GROUP BY 1",
    "SELECT s, max(p) FROM (SELECT sym AS s, price AS p FROM ticks WHERE vol > 1) GROUP BY s",
    "WITH a AS (SELECT sym AS s, price AS p FROM ticks) SELECT s, max(p) FROM a GROUP BY s",
    "SELECT t, count(*) FROM ticks LATERAL VIEW explode(tags) x AS t GROUP BY t",
    "SELECT sym, first(price) FROM ticks WHERE sym IN (SELECT sym FROM ref) GROUP BY sym",
]

NOT_BY_PANES = [
    ("SELECT sym FROM ticks", "no aggregate"),
    ("SELECT count(DISTINCT sym) FROM ticks", "count(DISTINCT ...)"),
    ("SELECT percentile(price, 0.5) FROM ticks", "percentile()"),
    ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price) FROM ticks", "WITHIN GROUP"),
    ("SELECT collect_list(price) FROM ticks", "collect_list()"),
    ("SELECT max_by(sym, price, 3) FROM ticks", "max_by()"),
    ("SELECT sym, max(price) FROM ticks GROUP BY sym ORDER BY sym", "ORDER BY"),
    ("SELECT sym, max(price) FROM ticks GROUP BY sym LIMIT 3", "LIMIT"),
    ("SELECT DISTINCT max(price) FROM ticks GROUP BY sym", "DISTINCT"),
    ("SELECT sym, max(price) FROM ticks GROUP BY ROLLUP (sym)", "ROLLUP"),
    ("SELECT sym, max(price) FROM ticks GROUP BY CUBE (sym)", "CUBE"),
    ("SELECT sym, max(price) FROM ticks GROUP BY GROUPING SETS ((sym), ())", "GROUPING SETS"),
    ("SELECT sym, max(price) FROM ticks GROUP BY ALL", "GROUP BY ALL"),
    ("SELECT max(p) FROM (SELECT sym, sum(price) AS p FROM ticks GROUP BY sym)", "GROUP BY"),
    ("SELECT max(price) FROM ticks UNION ALL SELECT min(price) FROM ticks", "UNION"),
    ("SELECT rank() OVER (ORDER BY price) FROM ticks", "a window function"),
    ("SELECT max(price), max(n) FROM ticks JOIN orders USING (sym)", "several streams"),
    ("SELECT max(a.price) FROM ticks a JOIN ticks b USING (sym)", "a second read of a stream"),
    ("SELECT name, max(price) FROM ref LEFT JOIN ticks USING (sym) GROUP BY name", "keeps rows without a tuple"),
    ("SELECT max(price) - (SELECT max(factor) FROM ref) FROM ticks", "beside aggregates"),
    ("SELECT price, max(vol) FROM ticks GROUP BY sym", "neither in GROUP BY"),
    ("SELECT *, max(vol) FROM ticks GROUP BY sym", "SELECT *"),
    ("SELECT count(*) FROM ticks JOIN ref USING (sym)", "without GROUP BY"),
    ("SELECT count(*) FROM ticks WHERE sym IN (SELECT sym FROM ref)", "without GROUP BY"),
    ("SELECT count(*) FROM (SELECT * FROM ticks WHERE price > 1)", "without GROUP BY"),
]


@pytest.mark.parametrize(("text", "reads"), TUPLE_BY_TUPLE)
def test_without_a_window_a_query_runs_tuple_by_tuple_beside_tables(catalog, text, reads):
    found = plan(text, catalog)
    assert isinstance(found, PerTrain)
    assert (found.stream, found.tables) == reads
    assert found.stamped


@pytest.mark.parametrize(("text", "got", "place"), NEEDS_A_WINDOW)
def test_what_depends_on_the_cut_of_a_stream_needs_a_window(catalog, text, got, place):
    with pytest.raises(InputError) as caught:
        plan(text, catalog)
    assert got in caught.value.got
    assert "Give the query a window" in caught.value.remedy
    assert caught.value.place == "line {}, column {}".format(*place)
    assert isinstance(plan(text, catalog, WINDOW), ByPanes | PerWindow)


@pytest.mark.parametrize("text", BY_PANES)
def test_window_aggregates_that_split_are_evaluated_by_panes(catalog, text):
    found = plan(text, catalog, WINDOW)
    assert isinstance(found, ByPanes)
    assert found.partial.startswith("SELECT _pane, _late")
    assert found.final.startswith("SELECT window_start, window_end, ")


@pytest.mark.parametrize(("text", "why"), NOT_BY_PANES)
def test_what_does_not_split_is_evaluated_by_window_and_says_why(catalog, text, why):
    found = plan(text, catalog, WINDOW)
    assert isinstance(found, PerWindow)
    assert why in found.why


def test_each_distinct_aggregate_and_each_shared_part_is_computed_once(catalog):
    text = "SELECT avg(price), AVG(ticks.price) + 1, count(price) FROM ticks HAVING avg(price) > 3"
    found = plan(text, catalog, WINDOW)
    assert found.partial.count(" AS __p") == 4  # the qualified column is another text, and has parts of its own
    text = "SELECT avg(price), avg(price) + 1, count(price) FROM ticks HAVING avg(price) > 3"
    assert plan(text, catalog, WINDOW).partial.count(" AS __p") == 2


def test_the_condition_of_an_aggregate_without_groups_is_looked_at_once(catalog):
    text = "SELECT avg(t.price), count(*), sum(vol) FILTER (WHERE ok) FROM ticks t WHERE sha1(t.sym) > 'a'"
    partial = plan(text, catalog, WINDOW).partial
    assert partial.count("sha1") == 1
    assert partial.endswith(
        "sum(vol) FILTER(WHERE (__met AND ok)) AS __p3 "
        "FROM (SELECT *, sha1(t.sym) > 'a' AS __met FROM __ticks AS t) AS t GROUP BY 1, 2"
    )


def test_a_window_over_event_time_needs_a_stream_that_has_one(catalog):
    with pytest.raises(InputError, match="'raw'"):
        plan("SELECT max(a) FROM raw", catalog, WINDOW)
    assert isinstance(plan("SELECT max(a) FROM raw", catalog, Window(10, 5, "arrival")), ByPanes)


@pytest.mark.parametrize("name", ["window_start", "Window_End"])
def test_the_bounds_of_a_window_are_given_and_not_named_again(catalog, name):
    with pytest.raises(InputError, match="begins with window_start and window_end already"):
        plan(f"SELECT max(ts) AS {name} FROM ticks", catalog, WINDOW)


def test_a_window_in_the_text_is_refused_with_the_option_to_use(catalog):
    with pytest.raises(InputError) as caught:
        plan("SELECT count(*) FROM ticks GROUP BY window(ts, '10 seconds', '2 seconds')", catalog)
    assert "window='10s'" in caught.value.remedy
    assert caught.value.place == "line 1, column 37"


@pytest.mark.parametrize(
    ("gap", "microseconds"),
    [
        ("5 minutes", 300_000_000),
        ("1 second", 1_000_000),
        ("1 hour 30 minutes", 5_400_000_000),
        ("250 milliseconds", 250_000),
    ],
)
def test_a_session_ends_after_its_gap(catalog, gap, microseconds):
    found = plan(f"SELECT sym, count(*) AS n FROM ticks GROUP BY session_window(ts, '{gap}'), 1", catalog)
    assert isinstance(found, BySession)
    assert found.gap == microseconds
    assert found.sql.startswith("SELECT session_window(ts, ")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("SELECT count(*) FROM ticks GROUP BY session_window(at, '5 minutes')", "over its event time, 'ts'"),
        ("SELECT count(*) FROM raw GROUP BY session_window(a, '5 minutes')", "over the event time"),
        ("SELECT count(*) FROM ticks GROUP BY session_window(ts, sym)", "fixed length"),
        ("SELECT count(*) FROM ticks GROUP BY session_window(ts, '5 parsecs')", "fixed length"),
        ("SELECT count(*) FROM ticks GROUP BY session_window(ts, '0 seconds')", "longer than nothing"),
        ("SELECT session_window(ts, '5 minutes') FROM ticks", "in GROUP BY"),
        ("SELECT session_window(ts, '1 hour') FROM ticks GROUP BY session_window(ts, '1 day')", "one session_window"),
        ("SELECT count(*) FROM ticks GROUP BY session_window(ts, '1 day') ORDER BY 1", "one SELECT"),
        ("SELECT * FROM (SELECT count(*) FROM ticks GROUP BY session_window(ts, '1 day'))", "one SELECT"),
        ("SELECT count(*) FROM (SELECT * FROM ticks) GROUP BY session_window(ts, '1 day')", "read directly"),
        ("SELECT count(*) AS session_end FROM ticks GROUP BY session_window(ts, '1 day')", "session_end already"),
    ],
)
def test_sessions_that_cannot_be_told_are_refused(catalog, text, rule):
    with pytest.raises(InputError) as caught:
        plan(text, catalog)
    assert rule in caught.value.rule


def test_sessions_are_not_taken_within_windows(catalog):
    with pytest.raises(InputError, match="option of the query"):
        plan("SELECT count(*) FROM ticks GROUP BY session_window(ts, '1 day')", catalog, WINDOW)


def test_first_and_last_need_the_tuples_of_one_stream(catalog):
    with pytest.raises(InputError) as caught:
        plan("SELECT first(price) FROM ticks JOIN orders USING (sym)", catalog, WINDOW)
    assert "min_by" in caught.value.remedy
    assert "_position" in plan("SELECT last(price) AS p FROM ticks ORDER BY p", catalog, WINDOW).sql


def _called_deeply(depth, act):
    return act() if depth == 0 else _called_deeply(depth - 1, act)


def test_a_formula_may_be_a_hundred_levels_deep_however_deep_the_call_is(catalog):
    make_room()
    nested = "sym"
    for i in range(100):
        nested = f"replace({nested}, 'a', '{i % 10}')"
    found = _called_deeply(300, lambda: plan(f"SELECT {nested} AS s FROM ticks", catalog))
    assert found.sql.count("replace(") == 100
