"""Queries over the results of others: what they give is what one batch over everything would."""

import json

import pytest

import headgate as hg
from engine.live import Fed, column, until
from headgate.errors import InputError

JOIN = "SELECT s.v AS v, r.v AS w, s.t AS t FROM s JOIN r ON s.k = r.k AND s.t = r.t"
SUM = "SELECT sum(v) AS total, count(*) AS n FROM joined"


def sums(values, size):
    """Of so many values in a row; at the end, of those that there are."""
    parts = [(at, values[at : at + size]) for at in range(len(values))]
    return [(at, at + size, sum(some), len(some)) for at, some in parts]


def rows(table):
    return sorted(tuple(row.values()) for row in table.to_pylist())


@pytest.fixture
def begun(spark, tmp_path):
    """Engines on one state folder: a join of two streams into a third, and queries over that."""

    def begin():
        engine = hg.Engine(spark, tmp_path / "state", lanes={"jobs": 1, "resident": 1})
        s, r = Fed(), Fed()
        engine.stream("s", s, event_time="t")
        engine.stream("r", r, event_time="t")
        engine.query("join", JOIN, window="4s", sink=hg.sink.stream("joined", event_time="t"))
        engine.query("all", "SELECT v, w FROM joined", sink=hg.sink.jsonl(tmp_path / "all.jsonl"))
        engine.query("sums", SUM, window="5 rows", slide="1 row", sink=hg.sink.jsonl(tmp_path / "sums.jsonl"))
        engine.query("eights", SUM, window="8s")
        engine.start()
        return engine, s, r

    return begin


def written(file):
    return [tuple(json.loads(line).values()) for line in file.read_text().splitlines()]


def test_a_join_is_a_stream_that_windows_over_rows_and_time_go_over_also_across_a_restart(begun, tmp_path):
    engine, s, r = begun()
    with engine:
        s.feed(7, 6)
        r.feed(5, 4)
        until(lambda: engine.queries["all"].progress.cursors["joined"] == 8)
    engine, s, r = begun()
    with engine:
        # What nobody reads any more is let go of.
        until(lambda: engine.status().streams[2].tuples == 8)
        until(lambda: s.given == 13 and r.given == 9)
        s.feed(10)
        r.feed(8)
        s.end()
        r.end()
        assert engine.wait(300)
        joined = {each.name: each for each in engine.status().streams}["joined"]
        assert (joined.status, joined.tuples) == ("ended", 17)
        assert rows(engine.results("eights").drop_columns(["window_start", "window_end"]))[-1] == (92, 8)
        assert engine.status().accounting.late == 0
    both = written(tmp_path / "all.jsonl")
    assert sorted(both) == [(n, n) for n in range(17)]
    assert sorted(written(tmp_path / "sums.jsonl")) == sums([v for v, _ in both], 5)
    assert not list((tmp_path / "state" / "derived" / "joined").iterdir())


def test_the_stream_is_known_at_once_while_the_engine_runs_and_ends_with_its_query(spark, tmp_path):
    source = Fed()
    with hg.Engine(spark, tmp_path, lanes="jobs") as engine:
        engine.stream("s", source, event_time="t")
        engine.start("fcfs")
        engine.query("odd", "SELECT v, t FROM s WHERE v % 2 = 1", sink=hg.sink.stream("odds"))
        engine.query("tens", "SELECT v FROM odds WHERE v > 10")
        source.feed(20)
        until(lambda: column(engine, "tens") == [11, 13, 15, 17, 19])
        with pytest.raises(InputError, match=r"names of streams, tables and queries differ; got a second 'odds'"):
            engine.query("odder", "SELECT v FROM s", sink=hg.sink.stream("odds"))
        with pytest.raises(InputError, match="the event time of stream 'late' is a column of it"):
            engine.query("odder", "SELECT v FROM s", sink=hg.sink.stream("late", event_time="t"))
        # Nothing is left of what came to nothing.
        engine.query("odder", "SELECT v FROM s", sink=hg.sink.stream("late"))
        for name, why in {
            "odds": "reads stream 'odds' that is to go; got tens",
            "late": "writes to .*; got odder",
        }.items():
            with pytest.raises(InputError, match=why):
                engine.disconnect(name)
        engine.remove("odd")
        assert {each.name: each.status for each in engine.status().streams}["odds"] == "ended"
        source.end()
        assert engine.wait(300)


MISTAKES = [
    ({"q": "SELECT v FROM s", "p": "SELECT k FROM s"}, "x", "the tuples of a stream come from one query; got 2"),
    ({"q": "SELECT v FROM s"}, "q", "names of streams, tables and queries differ; got a second 'q'"),
    ({"q": "SELECT v FROM x"}, "x", "'x'"),
    ({"q": "SELECT v, v FROM s"}, "x", "'v' twice"),
    ({"q": "SELECT v AS _arrival FROM s"}, "x", "_arrival"),
]


@pytest.mark.parametrize(("texts", "name", "said"), MISTAKES)
def test_what_cannot_be_a_stream_is_refused(spark, tmp_path, texts, name, said):
    with hg.Engine(spark, tmp_path, lanes="jobs") as engine:
        engine.stream("s", Fed(), event_time="t")
        with pytest.raises(InputError, match=said):
            engine.query_many(texts, sink=hg.sink.stream(name))
        assert [each.name for each in engine.status().streams] == ["s"]
