import numpy as np
import pyarrow as pa
import pytest

from engine.live import Fed, column, counts, train
from headgate import Engine, InputError, Train
from headgate import sink as sinks
from headgate import source as sources
from headgate.engine.log.files import STAMP
from headgate.record import read

ROWS = sources.rows([train(0, 3), train(3, 5)])
BARE = sources.rows(pa.table({"x": [1], "at": pa.array([0]).cast(STAMP)}))


@pytest.fixture(scope="module")
def engine(spark, tmp_path_factory):
    """An engine with streams s and bare and two queries, which never starts."""
    with Engine(spark, tmp_path_factory.mktemp("state")) as made:
        made.stream("s", ROWS, event_time="t")
        made.stream("bare", BARE)
        made.table("d", spark.createDataFrame([(0, "zero")], "k long, name string"))
        made.query("known", "SELECT v FROM s")
        made.query("elsewhere", "SELECT v FROM s", sink=sinks.discard())
        yield made


SQL = "SELECT count(*) AS n FROM s"
MISTAKES = {
    "a dash in a name": (lambda e: e.stream("a-b", ROWS), "a stream has a plain name", "'a-b'", "letters, digits"),
    "a digit first": (lambda e: e.query("1q", SQL), "a query has a plain name", "'1q'", "a letter first"),
    "no name": (lambda e: e.table("", "x.csv"), "a table has a plain name", "''", "letters"),
    "a name twice": (
        lambda e: e.query("known", "SELECT v FROM s"),
        "names of streams",
        "a second 'known'",
        "another",
    ),
    "a name of a stream": (lambda e: e.query("S", "SELECT v FROM s"), "names of streams", "a second 'S'", "another"),
    "an unknown column of time": (
        lambda e: e.stream("x", BARE, event_time="time"),
        "the event time of stream 'x' is a column of it",
        "'time'",
        "There is at only.",
    ),
    "a column that is no time": (
        lambda e: e.stream("x", BARE, event_time="x"),
        "the event time of stream 'x' is a TIMESTAMP",
        "'x' of type int64",
        "There is at only.",
    ),
    "a stream without a column of time": (
        lambda e: e.stream("x", sources.rows(pa.table({"at": ["12:00"]})), event_time="at"),
        "the event time of stream 'x' is a TIMESTAMP",
        "'at' of type string",
        "declare a column as one in its schema, as in 'at TIMESTAMP'",
    ),
    "a negative delay": (
        lambda e: e.stream("x", ROWS, event_time="t", delay="-1s"),
        "the delay of a stream",
        "-1s",
        "",
    ),
    "an idle time of nothing": (lambda e: e.stream("x", ROWS, idle=0), "the idle time of a stream", "0", ""),
    "a slide without a window": (
        lambda e: e.query("x", SQL, slide="1s"),
        "a slide and a time belong to a window",
        "a slide without one",
        "Add window='10s'.",
    ),
    "a time without a window": (
        lambda e: e.query("x", SQL, time="arrival"),
        "a slide and a time belong to a window",
        "a time without one",
        "Add window='10s'.",
    ),
    "another kind of time": (
        lambda e: e.query("x", SQL, window="1s", time="system"),
        "a window is over event or arrival time",
        "'system'",
        "time='arrival'",
    ),
    "a window of no rows": (
        lambda e: e.query("x", SQL, window="0 rows"),
        "a window's size is a row or more",
        "0",
        "",
    ),
    "rows every second": (
        lambda e: e.query("x", SQL, window="5 rows", slide="1s"),
        "a window's slide is of what its size is",
        "window '5 rows' and slide '1s'",
        "slide='1 row'",
    ),
    "seconds every row": (
        lambda e: e.query("x", SQL, window="5s", slide="1 row"),
        "a window's slide is of what its size is",
        "window '5s' and slide '1 row'",
        "window='5 rows'",
    ),
    "rows of a time": (
        lambda e: e.query("x", SQL, window="5 rows", time="arrival"),
        "windows over rows go by the order of arrival",
        "time 'arrival'",
        "Leave it out.",
    ),
    "a deadline of rows": (
        lambda e: e.query("x", SQL, window="5 rows", deadline="1s"),
        "a deadline is for windows of time",
        "one over rows",
        "window='10s'",
    ),
    "a window of nothing": (lambda e: e.query("x", SQL, window="0s"), "a window's size", "0s", ""),
    "a slide that is no time": (
        lambda e: e.query("x", SQL, window=1, slide="often"),
        "a window's slide",
        "often",
        "",
    ),
    "less than a microsecond": (lambda e: e.query("x", SQL, window=1e-9), "a window's size", "0", ""),
    "a limit of nothing": (lambda e: e.query("x", SQL, window=1, limit=0), "a query's limit", "0", ""),
    "another start": (lambda e: e.query("x", SQL, window=1, start="soon"), "a query starts", "'soon'", "earliest"),
    "a window over an absent time": (
        lambda e: e.query("x", "SELECT count(*) AS n FROM bare", window="1s"),
        "a window over event time needs streams that have one",
        "'bare'",
        "arrival time",
    ),
    "an aggregate without a window": (lambda e: e.query("x", SQL), "one tuple at a time", "count()", "a window"),
    "a table that is not there": (
        lambda e: e.table("gone", "no/such/file.csv"),
        "table 'gone' can be read",
        "no/such/file.csv",
        "exists",
    ),
    "results that are elsewhere": (
        lambda e: e.results("elsewhere"),
        "query 'elsewhere' keeps its results in memory",
        "a Discard",
        "where the sink has put them",
    ),
    "results of none": (lambda e: e.results("none"), "a registered query", "'none'", "There are: known, elsewhere."),
    "to pause none": (lambda e: e.pause("none"), "a registered query", "'none'", "There are"),
    "to resume none": (lambda e: e.resume("none"), "a registered query", "'none'", "There are"),
    "to remove none": (lambda e: e.remove("none"), "a registered query", "'none'", "There are"),
    "an unknown policy": (lambda e: e.start("bds"), "a known policy", "'bds'", "Did you mean 'bsd'?"),
    "an unknown option": (lambda e: e.start("fcfs", quantum=1), "a known option", "'quantum'", "It takes train."),
    "an unknown bound": (lambda e: e.start(train={"length": 5}), "a known bound of a train", "'length'", "most"),
    "a train of nothing": (lambda e: e.start(train={"most": 0}), "a train has at least one tuple", "0", "1 or more"),
    "to switch before the start": (lambda e: e.switch("fcfs"), "while the engine runs", "not started", "start()"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_its_rule_its_value_and_its_remedy(engine, mistake):
    attempt, rule, got, remedy = MISTAKES[mistake]
    known = dict(engine.queries)
    with pytest.raises(InputError) as told:
        attempt(engine)
    assert rule in told.value.rule
    assert got in str(told.value.got)
    assert remedy in told.value.remedy
    assert engine.queries == known
    assert engine._manifest.names() == set(known)


def test_a_mistake_in_a_query_says_which_and_where(engine):
    with pytest.raises(InputError) as told:
        engine.query("x", "SELECT v,\n  nope(v) FROM s")
    assert told.value.place.startswith("query 'x', line 2")


@pytest.mark.parametrize("lanes", [0, -1])
def test_an_engine_without_lanes_is_refused(spark, tmp_path, lanes):
    with pytest.raises(InputError, match=f"an engine has a job lane or more; got {lanes}"):
        Engine(spark, tmp_path, lanes=lanes)


def test_a_state_folder_that_cannot_be_made_is_refused(spark, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="a state folder that can be made"):
        Engine(spark, tmp_path / "file" / "state")


def test_a_pipeline_runs_to_its_end_and_says_how_it_went(spark, tmp_path):
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", ROWS, event_time="t")
        engine.query("even", "SELECT v FROM s WHERE v % 2 = 0", cls="alerts")
        engine.query("count", SQL, window="3s")
        last = engine.run(train=Train(most=4), until=60)
        assert column(engine, "even") == [0, 2, 4, 6]
        assert counts(engine, "count") == [(0, 3), (3, 3), (6, 2)]
        (stream,) = last.streams
        assert (stream.name, stream.status, stream.tuples, stream.late) == ("s", "ended", 8, 0)
        even, count = last.queries
        assert (even.cls, even.results, even.tuples, even.pending, even.status) == ("alerts", 4, 8, 0, "running")
        assert (count.kind, count.results, count.tuples) == ("ByPanes", 3, 8)
        assert last.accounting.results == 7
        assert engine.stop() == engine.status() == last
        with pytest.raises(InputError, match="an engine is started once; got a second start"):
            engine.start()


def test_a_restart_with_another_query_or_stream_of_the_name_is_refused_and_a_removed_one_begins_anew(spark, tmp_path):
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", ROWS, event_time="t")
        engine.query("q", "SELECT v FROM s")
        engine.run("fcfs", until=60)
    with Engine(spark, tmp_path) as engine:
        with pytest.raises(InputError, match=r"stream .s. has the columns and times .*; got another delay"):
            engine.stream("s", ROWS, event_time="t", delay=1)
        engine.stream("s", ROWS, event_time="t")
        with pytest.raises(InputError, match=r"got another sql\. .* or remove it first"):
            engine.query("q", "SELECT v FROM s WHERE v > 2")
        with pytest.raises(InputError, match="got another window, time"):
            engine.query("q", "SELECT v FROM s", window="1s", time="arrival")
        engine.remove("q")
        engine.query("q", "SELECT v FROM s WHERE v > 2", start="earliest")
        engine.run("fcfs", until=60)
        assert column(engine, "q") == [v for v in range(3, 8) if v >= engine._streams["s"].log.trains[0].first]


def test_trains_go_once_nobody_needs_them_and_are_kept_for_queries_that_are_not_registered(spark, tmp_path):
    source = Fed()
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", source, event_time="t")
        engine.query("q", "SELECT v FROM s")
        log = engine._streams["s"].log
        for first in range(0, 12, 3):
            log.append(train(first, 3), {"next": first + 3})
        engine._tidying.look_around()
        assert [t.first for t in log.trains] == [0, 3, 6, 9]
        engine.pause("q")
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", source, event_time="t")
        log = engine._streams["s"].log
        engine._tidying.look_around()
        assert [t.first for t in log.trains] == [0, 3, 6, 9]
        engine.query("q", "SELECT v FROM s")
        source.end()
        engine.run("fcfs", until=60)
        assert np.array_equal(column(engine, "q"), range(12))
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", source, event_time="t")
        engine.query("q", "SELECT v FROM s")
        engine._tidying.look_around()
        assert len(engine._streams["s"].log.trains) == 1
        assert read(tmp_path).began.policy == "fcfs"
