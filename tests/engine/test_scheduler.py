import threading

import pytest

from engine.live import Fed, caught_up, column, counts, until
from headgate import Engine, InputError
from headgate import sink as sinks
from headgate.policy.registry import POLICIES
from headgate.record import Changed, Follower, read

EVEN = "SELECT v FROM s WHERE v % 2 = 0"
ALL = "SELECT v, k FROM s"
COUNT = "SELECT count(*) AS n FROM s"


@pytest.fixture
def fed():
    return Fed()


@pytest.fixture
def engine(spark, tmp_path, fed):
    with Engine(spark, tmp_path) as made:
        made.stream("s", fed, event_time="t")
        yield made


UNITS = {"even", "all", "count"}


@pytest.fixture(scope="module")
def shared(spark, tmp_path_factory):
    """An engine for all policies, and its source."""
    source = Fed()
    with Engine(spark, tmp_path_factory.mktemp("state"), lanes=2) as made:
        made.stream("s", source, event_time="t")
        made.query("even", EVEN)
        made.query("all", ALL)
        made.query("count", COUNT, window="4s", slide="2s")
        made.start("fcfs")
        yield made, source


@pytest.mark.parametrize("policy", POLICIES)
def test_under_every_policy_all_queries_get_all_tuples_once_and_decisions_say_why(shared, policy):
    engine, source = shared
    engine.switch(policy, train={"most": 4}, fuse=False)
    source.feed(3, 5, 2)
    caught_up(engine, "even", "all", "count", position=source.given)
    total = source.given
    until(lambda: len(column(engine, "all")) == total)
    assert sorted(column(engine, "all")) == list(range(total))
    assert sorted(column(engine, "even")) == list(range(0, total, 2))
    until(lambda: len(counts(engine, "count")) == (total - 1) // 2)
    assert counts(engine, "count") == [(start, min(4, start + 4)) for start in range(-2, total - 4, 2)]
    assert engine.status().policy == policy
    # A run is recorded after its results are out.
    until(lambda: {ran.unit for ran in read(engine.state).ran if ran.positions.get("s", (0, 0))[1] == total} == UNITS)
    recorded = read(engine.state)
    assert recorded.began.policy == policy
    runs = [ran for ran in recorded.ran if ran.positions.get("s", (0, 0))[1] > total - 10]
    assert {ran.unit for ran in runs} == UNITS
    assert {ran.formula for ran in runs} == {POLICIES[policy].formula}
    assert all(ran.terms and ran.error is None and ran.n <= 4 for ran in runs)
    for unit in UNITS:
        spans = sorted(ran.positions["s"] for ran in runs if ran.unit == unit and ran.n)
        assert [n for low, high in spans for n in range(low, high)] == list(range(total - 10, total))


def test_tuples_wait_for_a_paused_query_while_others_go_on(engine, fed):
    engine.query("even", EVEN)
    engine.query("all", ALL)
    engine.start("rr")
    engine.pause("even")
    fed.feed(4, 4)
    caught_up(engine, "all", position=8)
    (paused,) = [query for query in engine.status().queries if query.name == "even"]
    assert (paused.status, paused.pending, paused.results) == ("paused", 8, 0)
    engine.resume("even")
    fed.end()
    assert engine.wait(300)
    assert sorted(column(engine, "even")) == [0, 2, 4, 6]
    changes = [(e.unit, e.what) for e in Follower(engine.state).look() if isinstance(e, Changed)]
    assert changes == [("even", "added"), ("all", "added"), ("even", "paused"), ("even", "resumed")]


def test_queries_come_and_go_while_the_engine_runs(engine, fed):
    engine.query("all", ALL)
    engine.start("fcfs")
    fed.feed(5)
    caught_up(engine, "all", position=5)
    engine.query("late", ALL)
    engine.query("windows", COUNT, window="2s", sink=sinks.discard())
    fed.feed(3)
    caught_up(engine, "all", "late", "windows", position=8)
    engine.remove("all")
    engine.remove("windows")
    fed.feed(2)
    caught_up(engine, "late", position=10)
    assert sorted(column(engine, "late")) == [5, 6, 7, 8, 9]
    assert [query.name for query in engine.status().queries] == ["late"]
    assert not (engine.state / "panes" / "windows").exists()
    engine.query("all", EVEN, start="earliest")
    fed.end()
    assert engine.wait(300)
    found = sorted(column(engine, "all"))
    assert found == [v for v in range(10) if v % 2 == 0 and v >= min(found)]


def test_a_query_whose_sink_fails_rests_then_stops_alone_and_misses_nothing_once_resumed(engine, fed):
    broken, seen = threading.Event(), []
    broken.set()

    def take(rows, run):
        if broken.is_set():
            raise ValueError("no room")
        seen.extend(rows.column("v").to_pylist())

    engine.query("ill", EVEN, sink=sinks.callback(take))
    engine.query("well", ALL)
    engine.start("fcfs")
    fed.feed(3, 3)
    until(lambda: engine.queries["ill"].status == "failed")
    caught_up(engine, "well", position=6)
    assert "no room" in engine.queries["ill"].reason
    failed = [ran for ran in read(engine.state).ran if ran.error]
    assert {ran.unit for ran in failed} == {"ill"}
    assert len(failed) == 3
    broken.clear()
    engine.resume("ill")
    fed.end()
    assert engine.wait(300)
    assert sorted(seen) == [0, 2, 4]
    assert engine.queries["ill"].reason is None


def test_a_change_that_fails_is_told_to_whoever_asked_and_the_rest_goes_on(engine, fed, spark):
    engine.table("d", spark.createDataFrame([(0, "zero")], "k long, name string"))
    engine.query("named", "SELECT s.v, d.name FROM s JOIN d ON s.k = d.k")
    engine.start("fcfs")
    with pytest.raises(InputError, match="a known policy; got 'bogus'"):
        engine.switch("bogus")
    with pytest.raises(InputError, match="a query that Spark can plan"):
        engine.table("d", spark.createDataFrame([(0, 1)], "k long, other long"))
    fed.feed(6)
    fed.end()
    assert engine.wait(300)
    assert column(engine, "named") == [0, 3]
    assert engine.status().policy == "fcfs"


def test_nobody_goes_on_with_other_columns_of_a_table_before_all_are_planned_over_them(
    engine, fed, spark, monkeypatch
):
    engine.table("d", spark.createDataFrame([(0, "zero")], "k long, name string"))
    engine.query("named", "SELECT s.v, d.name FROM s JOIN d ON s.k = d.k")
    engine.start("fcfs")
    before, again = engine._tables.reads(["d"]), engine._drafts.again

    def after_a_look_around(draft):
        engine._swapping.look_around()
        engine._tables.tidy("d")
        return again(draft)

    monkeypatch.setattr(engine._drafts, "again", after_a_look_around)
    with pytest.raises(InputError, match="a query that Spark can plan"):
        engine.table("d", spark.createDataFrame([(0, 1)], "k long, other long"))
    assert engine._scheduler.unit_of(engine.queries["named"]).reads == before
    engine.table("d", spark.createDataFrame([(0, "zero", 1)], "k long, name string, other long"))
    assert engine._scheduler.unit_of(engine.queries["named"]).reads != before
    fed.feed(6)
    fed.end()
    assert engine.wait(300)
    assert column(engine, "named") == [0, 3]


def test_an_engine_that_is_stopped_in_the_middle_goes_on_where_it_was(spark, tmp_path):
    found, read_so_far = {"even": [], "count": []}, []
    for life in range(3):
        source = Fed()
        source.given = 12 * life
        with Engine(spark, tmp_path) as engine:
            engine.stream("s", source, event_time="t")
            engine.query("even", EVEN)
            engine.query("count", COUNT, window="5s")
            engine.start("rr", train={"most": 2})
            source.feed(*[3] * 4)
            until(lambda at=12 * life: engine.status().streams[0].tuples == at + 12)
            if life == 2:
                source.end()
                assert engine.wait(300)
        read_so_far.append(engine.queries["even"].progress.cursors["s"])
        found["even"] += column(engine, "even")
        found["count"] += counts(engine, "count")
    assert read_so_far[-1] == 36
    assert found["even"] == list(range(0, 36, 2))
    assert found["count"] == [(start, min(5, 36 - start)) for start in range(0, 36, 5)]
