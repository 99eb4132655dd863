"""What the shares of kept tuples make of a query's text."""

import pytest

from headgate.engine.sql.plan import ByPanes, Catalog, PerTrain, PerWindow, Relation
from headgate.engine.sql.planner import plan
from headgate.engine.windows import Window
from headgate.errors import InputError

CATALOG = Catalog({"t": Relation(("sym", "p", "ts"), "ts")}, {"d": Relation(("sym", "name"))})
WINDOW = Window(10, 10, "event")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT sym FROM t WHERE p > 1", "SELECT sym, _kept FROM __t AS t WHERE p > 1"),
        ("SELECT * FROM t", "SELECT * EXCEPT (_kept), _kept FROM (SELECT sym, p, ts, _kept FROM __t) AS t"),
        (
            "SELECT t.p, d.name FROM t JOIN d ON t.sym = d.sym",
            "SELECT t.p, d.name, _kept FROM __t AS t JOIN d ON t.sym = d.sym",
        ),
    ],
)
def test_a_result_of_one_tuple_has_the_share_where_that_stands(sql, expected):
    found = plan(sql, CATALOG, kept=True)
    assert isinstance(found, PerTrain)
    assert found.sql == expected
    assert found.stamped.replace(", _arrival", "").replace("_arrival, ", "") == expected


def test_an_aggregate_has_the_share_of_the_tuples_of_its_group():
    found = plan("SELECT sym, avg(p) AS m FROM t GROUP BY sym", CATALOG, WINDOW, kept=True)
    assert isinstance(found, ByPanes)
    assert found.partial.endswith("count(*) AS __p2, sum(1 / _kept) AS __p3 FROM __t AS t GROUP BY 1, 2, 3")
    assert "sum(__p2) / sum(__p3) AS _kept" in found.final


def test_what_needs_whole_windows_gets_its_share_from_the_engine():
    found = plan("SELECT count(DISTINCT sym) AS n FROM t", CATALOG, WINDOW, kept=True)
    assert isinstance(found, PerWindow)
    assert found.kept
    assert "_kept" not in found.sql


@pytest.mark.parametrize(
    ("call", "x", "estimate"),
    [
        ("count(*)", "1", "coalesce(sum((1) / _kept), 0)"),
        ("count(p)", "CASE WHEN (p) IS NULL THEN 0 ELSE 1 END", None),
        ("count_if(p > 2)", "CASE WHEN p > 2 THEN 1 ELSE 0 END", None),
        ("sum(p * 2)", "p * 2", "sum((p * 2) / _kept)"),
    ],
)
def test_counts_and_sums_are_scaled_with_an_error_bar_behind_them(call, x, estimate):
    found = plan(f"SELECT {call} AS n, max(p) AS most FROM t", CATALOG, WINDOW, scale=True)
    variance, total = f"sum((1 - _kept) / (_kept * _kept) * ({x}) * ({x}))", f"sum(abs({x}) / _kept)"
    error = f"coalesce(1.96 * sqrt({variance}) + 1.92 * {variance} / {total}, 0) AS n_error"
    assert (
        found.sql == f"SELECT {estimate or f'coalesce(sum(({x}) / _kept), 0)'} AS n, {error}, max(p) AS most FROM t"
    )


def test_what_a_condition_leaves_out_is_left_out_of_the_estimate_and_the_others_stay_as_they_are():
    listed = "count(*) FILTER (WHERE p > 2) AS n, sum(p) / count(*) AS mean, count(DISTINCT p) AS d"
    sql = f"SELECT sym, {listed} FROM t GROUP BY sym HAVING sum(p) > 5"
    found = plan(sql, CATALOG, WINDOW, scale=True).sql
    assert "coalesce(sum((1) / _kept) FILTER(WHERE p > 2), 0) AS n" in found
    assert "sum((p) / _kept) / coalesce(sum((1) / _kept), 0) AS mean, count(DISTINCT p) AS d FROM" in found
    assert found.endswith("HAVING sum((p) / _kept) > 5")


@pytest.mark.parametrize(
    ("sql", "options", "rule"),
    [
        ("SELECT sym FROM t", {"scale": True}, "what is scaled is a count or a sum"),
        ("SELECT sym AS _kept FROM t", {"kept": True}, "Headgate's own"),
        ("SELECT _kept FROM t", {}, "Headgate's own"),
    ],
)
def test_mistakes_are_told(sql, options, rule):
    with pytest.raises(InputError) as refused:
        plan(sql, CATALOG, **options)
    assert rule in str(refused.value)
