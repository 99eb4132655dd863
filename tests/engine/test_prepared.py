"""The crucial property of a prepared plan: over other tuples it gives what a plan made for them would."""

import threading

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from engine.log.logs import SCHEMA, feed, opened
from headgate.engine.evaluation.protocol import Setting, stream_input
from headgate.engine.prepared import Views
from headgate.engine.reader import JobInput
from headgate.engine.session import session
from headgate.errors import InputError

A = [[3, 1, 2, 9, 4, 4, 7, 8], [5, 6]]
NAMES = [(0, "zero"), (1, "one"), (5, None)]
FIRST, SECOND = (0, 10), (10, 21)
B = [[30, 11, 25, 90, 4, 40, 71], [50, 61, 10, 12]]


@pytest.fixture(scope="module")
def setting(spark, tmp_path_factory):
    """Streams s and r, whose first ten tuples are one train of jobs and whose others are another; a table d."""
    folder = tmp_path_factory.mktemp("state")
    s = opened(folder)
    r = opened(folder, s.manifest, name="r")
    feed(s, A + B)
    feed(r, [times[::-1] for times in A + B])
    own = session(spark)
    views = Views(own)
    views.add_stream("s", SCHEMA)
    views.add_stream("r", SCHEMA)
    own.createDataFrame(NAMES, "k long, name string").write.parquet(str(folder / "d"))
    views.add_table("d", own.read.parquet(str(folder / "d")))
    yield Setting("q", {"s": s, "r": r}, views, folder)
    s.manifest.close()


def job(setting, low, high):
    return JobInput({name: stream_input(log, log.slices(low, high), None) for name, log in setting.logs.items()})


def rows(table):
    return sorted(map(repr, table.to_pylist()))


@pytest.fixture(scope="module")
def expected(setting):
    """The rows of SQL in a session whose views hold just the tuples of a job."""
    spark = setting.views.spark
    sessions = {}
    for span in (FIRST, SECOND):
        sessions[span] = fresh = session(spark)
        for name, log in setting.logs.items():
            parts = [pa.ipc.open_file(s.file).read_all().slice(s.offset, s.count) for s in log.slices(*span)]
            frame = fresh.createDataFrame(pa.concat_tables(parts).drop_columns(["_arrival"]))
            frame.createOrReplaceTempView(name)
        fresh.createDataFrame(NAMES, "k long, name string").createOrReplaceTempView("d")
    return lambda sql, span: rows(sessions[span].sql(sql).toArrow())


REUSED = {
    "filter": "SELECT v, k * 2 AS twice FROM s WHERE v % 2 = 0",
    "aggregate": "SELECT k, sum(v) AS total, max(t) AS newest FROM s GROUP BY k",
    "count of all": "SELECT count(*) AS n FROM s",
    "count distinct": "SELECT k, count(DISTINCT t) AS n FROM s GROUP BY k",
    "order and limit": "SELECT v FROM s ORDER BY t DESC, v LIMIT 3",
    "table at the side": "SELECT s.v, d.name FROM s JOIN d ON s.k = d.k",
    "table, not by equality": "SELECT s.v, d.name FROM s JOIN d ON s.k < d.k",
    "window function": "SELECT v, row_number() OVER (PARTITION BY k ORDER BY t, v) AS nth FROM s",
}
PLANNED_ANEW = {
    "broadcast of a stream": "SELECT /*+ BROADCAST(r) */ s.v, r.v AS w FROM s JOIN r ON s.t = r.t",
    "scalar subquery": "SELECT v FROM s WHERE v > (SELECT avg(v) FROM s)",
    "scalar subquery of another stream": "SELECT v, (SELECT max(v) FROM r) AS m FROM s",
}
EITHER = {
    "two streams, not by equality": "SELECT s.v, r.v AS w FROM s JOIN r ON s.t < r.t AND s.k = 0 AND r.k = 1",
    "two streams": "SELECT s.v, r.v AS w FROM s JOIN r ON s.t = r.t",
    "a stream with itself": "SELECT a.v, b.v AS w FROM s a JOIN s b ON a.t = b.t AND a.v < b.v",
    "IN subquery": "SELECT v FROM s WHERE k IN (SELECT k FROM r WHERE v % 5 = 0)",
    "NOT EXISTS": "SELECT v FROM s WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.t = s.t AND r.k = s.k)",
    "union": "SELECT v FROM s WHERE k = 0 UNION SELECT v FROM r WHERE k = 1",
    "outer": "SELECT s.v, r.v AS w FROM s FULL JOIN r ON s.t = r.t",
    "aggregate of an aggregate": "SELECT sum(n * n) AS n FROM (SELECT k, count(*) AS n FROM s GROUP BY k)",
    "rollup": "SELECT k, count(*) AS n FROM s GROUP BY ROLLUP (k)",
    "in order": "SELECT v, k FROM s ORDER BY k, v",
}


@pytest.mark.parametrize("shape", [*REUSED, *PLANNED_ANEW, *EITHER])
def test_a_plan_gives_over_other_tuples_what_a_fresh_one_would(setting, expected, shape):
    sql = {**REUSED, **PLANNED_ANEW, **EITHER}[shape]
    plan = setting.prepare(sql)
    assert plan.run(JobInput(), "nothing").schema == plan.schema
    assert shape not in REUSED or plan.reused
    assert shape not in PLANNED_ANEW or not plan.reused
    wanted = {span: expected(sql, span) for span in (FIRST, SECOND)}
    assert wanted[FIRST] != wanted[SECOND]
    for span in (FIRST, SECOND, FIRST):
        assert rows(plan.run(job(setting, *span), "test")) == wanted[span]


@pytest.mark.parametrize("shape", ["aggregate", "broadcast of a stream"])
def test_jobs_of_two_threads_over_one_plan_get_their_own_rows(setting, expected, shape):
    sql = {**REUSED, **PLANNED_ANEW}[shape]
    plan = setting.prepare(sql)
    spans = [FIRST, SECOND]
    wanted = {span: expected(sql, span) for span in spans}
    found = {span: [] for span in spans}
    begin = threading.Barrier(len(spans))

    def work(span):
        begin.wait()
        for _ in range(4):
            found[span].append(rows(plan.run(job(setting, *span), "test")))

    threads = [threading.Thread(target=work, args=(span,)) for span in spans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {span: [wanted[span]] * 4 for span in spans}


@pytest.mark.parametrize(
    "sql", ["SELECT v, rand() AS x FROM s", "SELECT uuid() AS x FROM s", "SELECT v FROM s WHERE rand(1) < 2"]
)
def test_a_query_of_chance_is_refused(setting, sql):
    with pytest.raises(InputError, match="a query gives the same rows whenever it runs"):
        setting.prepare(sql)


def test_what_spark_cannot_plan_is_refused_in_a_line(setting):
    with pytest.raises(InputError, match=r"a query that Spark can plan; got .*missing_function") as refused:
        setting.prepare("SELECT missing_function(v) FROM s")
    assert "\n" not in str(refused.value)


def test_a_refusal_ends_where_spark_begins_to_talk_of_itself(setting):
    with pytest.raises(InputError, match=r"does not include a GROUP BY clause") as refused:
        setting.prepare("SELECT k, sum(v) AS a FROM s")
    assert "SQLSTATE" not in str(refused.value)
    assert ";." not in str(refused.value)


def test_of_a_column_that_there_is_not_the_nearest_is_named_and_none_of_our_own(setting):
    with pytest.raises(InputError, match=r"'kk', which is no column here\. Did you mean 'k'\?") as refused:
        setting.views.prepare("SELECT kk, _position FROM __s", {"s": ["_position"]})
    assert "_" not in str(refused.value)


def test_last_columns_are_cast_by_position_whatever_their_names(setting):
    types = pa.schema([("x", pa.float64()), ("x", pa.string())])
    plan = setting.views.prepare("SELECT k, sum(v) AS a, count(*) AS a FROM s GROUP BY k", {"s": ["k", "v"]}, types)
    assert plan.schema.names == ["k", "x", "x"]
    assert [str(kind) for kind in plan.schema.types] == ["int64", "double", "string"]
    found = plan.run(job(setting, 0, 10), "test")
    assert {(row[0], row[1], row[2]) for row in zip(*(c.to_pylist() for c in found.columns), strict=True)} == {
        (0, 18.0, "4"),
        (1, 12.0, "3"),
        (2, 15.0, "3"),
    }


def test_a_second_session_reads_trains_where_the_first_is_the_active_one(spark):
    first, second = session(spark), session(spark)
    Views(first)
    # Whoever makes a table of rows makes the session active.
    first.createDataFrame([(1,)], "v INT")
    Views(second)
    assert SparkSession.getActiveSession()._jsparkSession.equals(first._jsparkSession)
