"""What a query may not do is refused at registration, with the rule, and the place in the text."""

import pytest

from headgate.engine.sql.functions import AGGREGATES, GENERATORS, KNOWN, RANKING, REFUSED, SCALARS, WINDOWING
from headgate.engine.sql.plan import Catalog, Relation
from headgate.engine.sql.planner import plan
from headgate.engine.windows import Window
from headgate.errors import InputError

STATEMENTS = [
    ("", "valid Spark SQL", None),
    ("  ;; ", "valid Spark SQL", None),
    ("DROP TABLE ticks", "is a SELECT", (1, 1)),
    ("CREATE TABLE x AS SELECT * FROM ticks", "is a SELECT", (1, 1)),
    ("INSERT INTO ref SELECT * FROM ticks", "is a SELECT", (1, 1)),
    ("WITH a AS (SELECT 1) INSERT INTO ref SELECT * FROM a", "is a SELECT", (1, 1)),
    ("FROM ticks INSERT INTO ref SELECT sym", "is a SELECT", (1, 1)),
    ("DELETE FROM ref", "is a SELECT", (1, 1)),
    ("UPDATE ref SET factor = 1", "is a SELECT", (1, 1)),
    ("MERGE INTO ref USING dim ON true WHEN MATCHED THEN DELETE", "is a SELECT", (1, 1)),
    ("SET spark.sql.ansi.enabled=true", "is a SELECT", (1, 1)),
    ("USE other", "is a SELECT", (1, 1)),
    ("SHOW TABLES", "is a SELECT", (1, 1)),
    ("DESCRIBE ticks", "is a SELECT", (1, 1)),
    ("EXPLAIN SELECT * FROM ticks", "is a SELECT", (1, 1)),
    ("ADD JAR '/x.jar'", "is a SELECT", (1, 1)),
    ("CACHE TABLE ticks", "is a SELECT", (1, 1)),
    ("EXECUTE IMMEDIATE 'SELECT 1'", "is a SELECT", (1, 1)),
    ("SELECT * FROM ticks; DROP TABLE ref", "one statement", (1, 20)),
    ("SELECT * FROM ticks WHERE", "valid Spark SQL", (1, 21)),
    ("SELECT *\nFRM ticks WHERE price", "valid Spark SQL", (2, 5)),
    ("SELECT (price FROM ticks", "valid Spark SQL", (1, 15)),
    ("SELECT 'open FROM ticks", "valid Spark SQL", None),
    ("SELECT * FROM ticks /* open", "valid Spark SQL", None),
    ("FROM ticks |> WHERE price > 1", "valid Spark SQL", (1, 15)),
    ("SELECT " + "(" * 3000 + "1" + ")" * 3000 + " FROM ticks", "nested a few levels", None),
]

RELATIONS = [
    ("SELECT * FROM tick", "registered streams and tables only", (1, 15)),
    ("SELECT * FROM parquet.`/etc`", "plain names", (1, 15)),
    ("SELECT * FROM `json`.`/etc/passwd`", "plain names", (1, 15)),
    ("SELECT * FROM `/etc/passwd`", "registered streams and tables only", (1, 15)),
    ("SELECT * FROM default.ticks", "plain names", (1, 15)),
    ("SELECT * FROM spark_catalog.default.ticks", "plain names", (1, 15)),
    ("SELECT * FROM global_temp.ticks", "plain names", (1, 15)),
    ("SELECT *\nFROM ticks\nJOIN secret USING (sym)", "registered streams and tables only", (3, 6)),
    ("SELECT * FROM ticks WHERE sym IN (SELECT sym FROM secret)", "registered streams and tables only", (1, 51)),
    ("SELECT (SELECT max(x) FROM secret) FROM ticks", "registered streams and tables only", (1, 28)),
    ("SELECT * FROM ticks, LATERAL (SELECT * FROM secret)", "registered streams and tables only", (1, 45)),
    ("SELECT * FROM (ticks JOIN secret)", "registered streams and tables only", (1, 27)),
    # A name of WITH holds where it is visible, and not elsewhere: there it would be a table of the session.
    ("SELECT * FROM x, ticks WHERE EXISTS (WITH x AS (SELECT 1) SELECT * FROM x)", "registered", (1, 15)),
    ("WITH x AS (SELECT * FROM x) SELECT * FROM ticks, x", "registered", (1, 26)),
    ("WITH x AS (SELECT * FROM y), y AS (SELECT 1) SELECT * FROM ticks, x", "registered", (1, 26)),
    ("WITH ref AS (SELECT 1) SELECT * FROM ticks, ref", "not that of a stream or table", (1, 6)),
    ("WITH RECURSIVE x AS (SELECT 1) SELECT * FROM ticks, x", "a query ends", (1, 16)),
    ("SELECT * FROM range(10), ticks, read_files('/etc')", "functions of values", (1, 33)),
    ("SELECT * FROM ticks, python_worker_logs()", "functions of values", (1, 22)),
    ("SELECT * FROM IDENTIFIER('ticks')", "functions of values", (1, 15)),
    ("SELECT * FROM ticks TABLESAMPLE (10 PERCENT)", "keeps to the Spark SQL", (1, 34)),
    ("SELECT * FROM ticks VERSION AS OF 3", "keeps to the Spark SQL", (1, 35)),
    ("SELECT * FROM ticks PIVOT (sum(vol) FOR sym IN ('A'))", "keeps to the Spark SQL", (1, 28)),
    ("SELECT sym INTO x FROM ticks", "keeps to the Spark SQL", (1, 17)),
    ("SELECT sym FROM ticks DISTRIBUTE BY sym", "keeps to the Spark SQL", (1, 37)),
    ("SELECT sym FROM ticks CLUSTER BY sym", "keeps to the Spark SQL", (1, 34)),
    ("SELECT sym FROM ticks SORT BY sym", "keeps to the Spark SQL", (1, 31)),
    ("SELECT :x FROM ticks", "keeps to the Spark SQL", (1, 16)),
    ("SELECT * FROM ticks ASOF JOIN ref USING (sym)", "one of Spark's", (1, 31)),
    ("SELECT /*+ REPARTITION(3) */ * FROM ticks", "the hint of a query", (1, 30)),
    ("SELECT /*+ BROADCAST(ref), COALESCE(1) */ * FROM ticks JOIN ref USING (sym)", "the hint of a query", (1, 43)),
    ("SELECT /*+ BROADCAST(a b) */ * FROM ticks", "the hint of a query", (1, 30)),
    ("SELECT /*+ BROADCAST(` */ '`) */ java_method() ' FROM ticks", "valid Spark SQL", (1, 1)),
    ("SELECT name FROM ref", "reads a stream", None),
    ("SELECT 1", "reads a stream", None),
    ("SELECT * FROM __ticks", "Headgate's own", (1, 15)),
    ("SELECT _arrival FROM ticks", "Headgate's own", (1, 8)),
    ("SELECT ticks._TIME FROM ticks", "Headgate's own", (1, 14)),
    ("SELECT price AS _pane FROM ticks", "Headgate's own", (1, 17)),
    ("SELECT `_late` FROM ticks", "Headgate's own", (1, 8)),
    ("SELECT price AS __p0 FROM ticks", "Headgate's own", (1, 17)),
]

CALLS = [
    ("java_method('java.lang.System', 'exit', 1)", "no query calls java_method()"),
    ("reflect('java.lang.System', 'getenv', 'HOME')", "no query calls reflect()"),
    ("`Reflect`('java.lang.System', 'getenv', 'HOME')", "no query calls reflect()"),
    ("try_reflect('a', 'b')", "no query calls try_reflect()"),
    ("builtin.reflect('a', 'b')", "plain name"),
    ("system.builtin.reflect('a', 'b')", "plain name"),
    ("input_file_name()", "no query calls input_file_name()"),
    ("from_protobuf(price, 'A', '/etc/x.desc')", "no query calls from_protobuf()"),
    ("from_xml(sym, 'a INT', map('rowValidationXSDPath', '/etc/x'))", "no query calls from_xml()"),
    ("rand()", "no query calls rand()"),
    ("RANDN(3)", "no query calls randn()"),
    ("uuid()", "no query calls uuid()"),
    ("shuffle(tags)", "no query calls shuffle()"),
    ("aes_encrypt(sym, 'k')", "no query calls aes_encrypt()"),
    ("monotonically_increasing_id()", "no query calls monotonically_increasing_id()"),
    ("spark_partition_id()", "no query calls spark_partition_id()"),
    ("now()", "no query calls now()"),
    ("current_timestamp()", "no query calls current_timestamp()"),
    ("current_timestamp", "no query calls current_timestamp"),
    ("Current_Date", "no query calls current_date"),
    ("localtimestamp", "no query calls localtimestamp"),
    ("unix_timestamp()", "looks at the clock"),
    ("TIMESTAMP 'now'", "looks at the clock"),
    ("CAST('today ' AS DATE)", "looks at the clock"),
    ("date('yesterday')", "looks at the clock"),
    ("ts > 'Tomorrow UTC'", "looks at the clock"),
    ("user", "no query calls user"),
    ("current_user()", "no query calls current_user()"),
    ("version()", "no query calls version()"),
    ("current_database()", "no query calls current_database()"),
    ("my_udf(price)", "functions of Spark SQL"),
    ("TRANSFORM(sym) USING 'cat'", "valid Spark SQL"),
]


def refused(text, catalog, window=None):
    with pytest.raises(InputError) as caught:
        plan(text, catalog, window)
    return caught.value


@pytest.mark.parametrize(("text", "rule", "place"), STATEMENTS + RELATIONS)
def test_what_is_not_a_query_of_registered_streams_is_refused_with_its_place(catalog, text, rule, place):
    error = refused(text, catalog)
    assert rule in error.rule
    if place:
        assert error.place == "line {}, column {}".format(*place)


@pytest.mark.parametrize(("call", "rule"), CALLS)
@pytest.mark.parametrize("text", ["SELECT {} FROM ticks", "SELECT sym FROM ticks WHERE upper(sym) = {}"])
def test_functions_that_reach_out_or_change_from_run_to_run_are_refused(catalog, call, rule, text):
    assert rule in refused(text.format(call), catalog).rule


def test_a_refused_function_is_found_in_every_corner_of_a_query(catalog):
    corners = [
        "SELECT sym FROM ticks JOIN ref ON rand() > 0.5",
        "SELECT sym FROM ticks LATERAL VIEW explode(shuffle(tags)) x AS t",
        "SELECT sym FROM (SELECT sym, rand() FROM ticks)",
        "WITH unused AS (SELECT uuid()) SELECT sym FROM ticks",
        "SELECT sym, count(*) FILTER (WHERE rand() > 0.5) FROM ticks GROUP BY sym",
        "SELECT sym FROM ticks GROUP BY sym HAVING rand() > 0.5",
        "SELECT sym FROM ticks ORDER BY rand()",
        "SELECT sum(price) OVER (PARTITION BY rand()) FROM ticks",
        "SELECT transform(tags, t -> uuid()) FROM ticks",
        "SELECT CASE WHEN rand() > 0.5 THEN 1 END FROM ticks",
        "SELECT * FROM ticks WHERE sym IN (SELECT name FROM ref WHERE rand() > 0.5)",
        "SELECT * FROM VALUES (rand()) AS v(x), ticks",
    ]
    for text in corners:
        assert "no query calls" in refused(text, catalog, Window(10, 5)).rule


SMUGGLED = [
    "SELECT extract('year FROM ts), secret(1' FROM ts) FROM ticks",
    "SELECT mask(sym, `x => 1), y(1` => 'q') FROM ticks",
    "SELECT INTERVAL '1' DAY TO `x, y` FROM ticks",
    "SELECT CAST(price AS DECIMAL(`x, y`, 2)) FROM ticks",
]


@pytest.mark.parametrize("text", SMUGGLED)
def test_text_in_quotes_does_not_come_out_of_them(catalog, text):
    assert refused(text, catalog).rule.startswith(("a word of SQL", "a query is valid"))


@pytest.mark.parametrize("space", ["\u200b", "\u2060", "\ufeff", "\u180e", "\x1f"])
def test_a_name_stays_one_name_whatever_spark_takes_for_white_space(catalog, space):
    text = f"SELECT a{space}FROM{space}secret{space}UNION{space}ALL{space}SELECT{space}b FROM ticks"
    try:
        sql = plan(text, catalog).sql
    except InputError:
        return
    assert sql.startswith("SELECT `a")


def test_a_word_that_is_also_a_function_is_a_column_where_there_is_one():
    catalog = Catalog({"logins": Relation(("user", "current_date"))}, {})
    assert plan("SELECT user, current_date FROM logins", catalog).sql.startswith("SELECT user,")
    assert "no query calls" in refused("SELECT user(), session_user FROM logins", catalog).rule


def test_words_of_time_are_plain_strings_where_no_time_is_expected(catalog):
    assert plan("SELECT 'today' AS day FROM ticks WHERE sym = 'now'", catalog)


def test_an_unknown_name_comes_with_the_nearest_one(catalog):
    assert "Did you mean 'ticks'?" in refused("SELECT * FROM tick", catalog).remedy
    assert "Did you mean 'round'?" in refused("SELECT rounde(price) FROM ticks", catalog).remedy


def test_names_are_those_that_were_registered_whatever_their_case(catalog):
    found = plan("SELECT n, NAME FROM ORDERS LEFT JOIN Ref ON orders.sym = REF.sym", catalog)
    assert (found.stream, found.tables) == ("Orders", ("ref",))


def test_many_uses_of_a_with_clause_are_refused_before_they_fill_the_memory(catalog):
    doubled = ", ".join(f"x{i + 1} AS (SELECT 1 FROM x{i} CROSS JOIN x{i} AS y)" for i in range(40))
    text = f"WITH x0 AS (SELECT * FROM ref), {doubled} SELECT * FROM ticks CROSS JOIN x40"
    assert "at most 64" in refused(text, catalog).rule


def test_every_function_of_spark_is_in_exactly_one_list(spark):
    registries = spark._jsparkSession.sessionState()
    names = set()
    for registry in (registries.functionRegistry(), registries.tableFunctionRegistry()):
        listed = registry.listFunction().iterator()
        while listed.hasNext():
            names.add(listed.next().funcName())
    words = {name for name in names if name.replace("_", "").isalnum()}
    lists = [AGGREGATES, RANKING, GENERATORS, SCALARS, WINDOWING, frozenset(REFUSED)]
    assert len(words) > 500
    assert {name for name in words if sum(name in each for each in lists) != 1} == {
        *("range", "collations", "sql_keywords", "python_worker_logs")
    }
    assert not KNOWN & set(REFUSED)
