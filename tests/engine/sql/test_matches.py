"""What a query looks up in tables, told from its text."""

import pytest

from headgate.engine.sql.matches import Match, matches
from headgate.engine.sql.plan import Catalog, Relation

CATALOG = Catalog(
    {"s": Relation(("k", "v", "sym")), "other": Relation(("k", "n"))},
    {"d": Relation(("K", "version", "region")), "e": Relation(("id", "sym"))},
)
BY_K = (Match("d", "s", (("K", "k"),)),)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT s.v, d.version FROM s JOIN d ON s.k = d.k",
        "SELECT s.v, d.version FROM s JOIN d ON (d.k = s.k) AND s.v > d.version",
        "SELECT v FROM s, d WHERE s.k = D.K",
        "SELECT v, version FROM s LEFT JOIN d USING (k)",
        "SELECT v FROM s WHERE k IN (SELECT k FROM d WHERE region = 'eu')",
        "SELECT v FROM s WHERE EXISTS (SELECT 1 FROM d WHERE d.k = s.k)",
        "SELECT v FROM s JOIN d ON CAST(s.k AS BIGINT) = d.k",
        "SELECT x.v FROM (SELECT k AS kk, v FROM s) x JOIN (SELECT * FROM d) y ON x.kk = y.k",
        "WITH w AS (SELECT k AS id, version FROM d) SELECT v FROM s JOIN w ON w.id = s.k",
        "SELECT region, count(*) FROM s JOIN d ON s.k = d.k GROUP BY region",
    ],
)
def test_an_equality_of_columns_is_found_wherever_it_stands(sql):
    assert matches(sql, CATALOG) == BY_K


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT s.v FROM s JOIN d ON s.k <= d.k AND s.k >= d.k",
        "SELECT s.v FROM s JOIN d ON s.k = d.k OR s.v = d.version",
        "SELECT s.v FROM s JOIN d ON s.k + 1 = d.k",
        "SELECT s.v FROM s WHERE k NOT IN (SELECT k FROM d)",
        "SELECT s.v FROM s JOIN (SELECT max(k) AS k FROM d) x ON s.k = x.k",
        "SELECT s.v FROM s JOIN (SELECT k AS a, version AS b FROM d) x (p, q) ON s.k = x.p",
        "SELECT s.v FROM s CROSS JOIN d",
        "SELECT s.v FROM s JOIN other ON s.k = other.k",
    ],
)
def test_what_is_no_equality_of_columns_or_could_be_another_one_is_not_told(sql):
    assert matches(sql, CATALOG) == ()


def test_all_keys_of_a_join_belong_together_and_each_join_stands_for_itself():
    both = "SELECT s.v FROM s JOIN d ON s.k = d.k AND s.sym = d.region JOIN e ON s.sym = e.sym"
    by_two, by_one = Match("d", "s", (("K", "k"), ("region", "sym"))), Match("e", "s", (("sym", "sym"),))
    assert matches(both, CATALOG) == (by_two, by_one)
    twice = "SELECT s.v FROM s JOIN d a ON s.k = a.k JOIN d b ON s.sym = b.region"
    assert matches(twice, CATALOG) == (Match("d", "s", (("K", "k"),)), Match("d", "s", (("region", "sym"),)))


def test_a_name_that_several_sources_have_is_nobodys():
    assert matches("SELECT 1 FROM s, other, d WHERE k = d.version", CATALOG) == ()
