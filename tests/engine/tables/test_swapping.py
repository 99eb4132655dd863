"""Which rows a run joins with: one snapshot for each run, and after a crash the one that the run had."""

import shutil

import pytest

from engine.live import Fed, caught_up, until
from engine.tables.conftest import JOINED, SPARKS, Elsewhere
from engine.tables.test_refreshes import pairs, shown, snapshots
from headgate import Engine, sink

BOTH = pytest.mark.parametrize("sql", [JOINED, SPARKS], ids=["kernel", "spark"])
ALL = "SELECT s.v, x.low, x.high FROM s CROSS JOIN (SELECT min(version) AS low, max(version) AS high FROM d) x"
"""All versions that one run has seen."""


@BOTH
def test_every_run_sees_one_snapshot_while_the_table_goes_on_changing(engine, fed, elsewhere, sql):
    engine.table("d", elsewhere)
    engine.query("joined", sql)
    engine.query("seen", ALL)
    engine.refreshing(100, per="1s")
    engine.start("fcfs")

    def three_are_seen():
        if engine.queries["seen"].progress.cursors["s"] == fed.given:
            elsewhere.change()
            fed.feed(9)
        return len({row["low"] for row in engine.results("seen").to_pylist()}) >= 3

    until(three_are_seen)
    fed.end()
    assert engine.wait(300)
    rows = engine.results("seen").to_pylist()
    assert len(rows) == fed.given
    assert all(row["low"] == row["high"] for row in rows)
    versions = [version for _, version in pairs(engine, "joined")]
    assert len(versions) == fed.given
    assert versions == sorted(versions)


def test_windows_of_panes_join_each_train_with_what_the_table_was_then(engine, fed, elsewhere):
    engine.table("d", elsewhere)
    sql = "SELECT d.k, sum(d.version) AS n, count(*) AS m FROM s JOIN d ON s.k = d.k GROUP BY d.k"
    engine.query("summed", sql, window="6s")
    assert engine.queries["summed"].why_not is None
    engine.start("fcfs")
    fed.feed(3)
    caught_up(engine, "summed", position=3)
    elsewhere.change()
    engine.table("d", elsewhere)
    fed.feed(4)
    caught_up(engine, "summed", position=7)
    until(lambda: engine.results("summed").num_rows == 3)
    assert [(row["n"], row["m"]) for row in engine.results("summed").to_pylist()] == [(1, 2)] * 3


def test_a_swap_is_written_down_before_the_first_run_with_it(engine, fed, elsewhere):
    engine.table("d", elsewhere)
    engine.query("joined", JOINED)
    assert engine._manifest.reading(["joined"]) == {"joined": {"d": 0}}
    engine.start("fcfs")
    elsewhere.change()
    engine.table("d", elsewhere)
    assert engine._manifest.reading(["joined"]) == {"joined": {"d": 1}}
    assert snapshots(engine) == ["000001"]
    engine.remove("joined")
    assert engine._manifest.reading(["joined"]) == {}


def test_a_query_whose_last_run_failed_keeps_its_snapshot_until_that_has_gone_well(engine, fed, elsewhere):
    given, broken = [], [True]

    def hear(rows, run):
        given.append((run, rows.column("version").to_pylist()))
        if broken[0]:
            msg = "not now"
            raise RuntimeError(msg)

    engine.table("d", elsewhere)
    engine.query("joined", SPARKS, sink=sink.callback(hear))
    engine.refreshing(100, per="1s")
    engine.start("fcfs")
    fed.feed(1)
    until(lambda: engine.queries["joined"].repeats)
    elsewhere.change()
    until(lambda: shown(engine).changed == 1)
    until(lambda: len(given) > 1)
    assert snapshots(engine) == ["000000", "000001"]
    broken[0] = False
    engine.resume("joined")
    caught_up(engine, "joined", position=1)
    assert {run for run, _ in given} == {1}
    assert {tuple(versions) for _, versions in given} == {(0,)}
    until(lambda: snapshots(engine) == ["000001"])
    fed.feed(1)
    caught_up(engine, "joined", position=2)
    assert given[-1] == (2, [1])


@BOTH
def test_a_run_that_a_crash_undid_joins_with_the_same_rows_again_and_only_then_with_newer_ones(
    spark, tmp_path, elsewhere, sql
):
    image, given = tmp_path / "crashed", []

    def crash(rows, run):
        """The state folder as a crash would leave it, with rows handed over that nothing has committed."""
        given.append((run, sorted(rows.column("version").to_pylist())))
        if not image.exists():
            shutil.copytree(tmp_path / "state", image)

    with Engine(spark, tmp_path / "state", lanes=2) as first:
        fed = Fed()
        first.stream("s", fed, event_time="t")
        first.table("d", elsewhere)
        first.query("joined", sql, sink=sink.callback(crash))
        first.start("fcfs")
        fed.feed(3)
        caught_up(first, "joined", position=3)
    assert given == [(1, [0, 0, 0])]
    elsewhere.change()
    with Engine(spark, image, lanes=2) as second:
        fed = Fed()
        second.stream("s", fed, event_time="t")
        second.table("d", elsewhere)
        second.query("joined", sql, sink=sink.callback(crash))
        assert snapshots(second) == ["000000", "000001"]
        second.start("fcfs")
        caught_up(second, "joined", position=3)
        until(lambda: len(given) == 2)
        assert given[1] == given[0]
        until(lambda: snapshots(second) == ["000001"])
        fed.given = 3
        fed.feed(3)
        caught_up(second, "joined", position=6)
        until(lambda: len(given) == 3)
    assert given[2] == (2, [1, 1, 1])


def test_an_engine_that_was_stopped_in_order_goes_on_with_what_the_table_holds_now(spark, tmp_path, elsewhere):
    for seen in ([0, 0, 0], [1, 1, 1]):
        with Engine(spark, tmp_path / "state", lanes=2) as engine:
            fed = Fed()
            engine.stream("s", fed, event_time="t")
            engine.table("d", elsewhere)
            engine.query("joined", JOINED)
            engine.start("fcfs")
            fed.given = 3 if seen[0] else 0
            fed.feed(3)
            caught_up(engine, "joined", position=fed.given)
            assert engine.results("joined").column("version").to_pylist() == seen
            elsewhere.change()


def test_what_was_learned_of_a_table_outlives_the_engine(spark, tmp_path, elsewhere):
    rates, accesses = [], []
    for _ in range(2):
        with Engine(spark, tmp_path / "state", lanes=2) as engine:
            fed = Fed()
            engine.stream("s", fed, event_time="t")
            engine.table("d", elsewhere)
            engine.table("e", Elsewhere())
            engine.query("joined", JOINED)
            engine.refreshing(100, per="1s")
            accesses.append(shown(engine).accesses)
            rates.append(shown(engine).change_rate)
            if rates[1:]:
                break
            engine.start("fcfs")
            fed.feed(30)
            until(lambda engine=engine: shown(engine).refreshes > 10)
            caught_up(engine, "joined", position=30)
            # What a run has looked up is noted after its results are there.
            until(lambda engine=engine: shown(engine).accesses == 1)
        rates[0] = shown(engine).change_rate
    assert accesses == [0.5, 1.0]
    assert rates[1] == pytest.approx(rates[0], rel=0.5)
