"""Resident lanes whose worker is killed or stopped under the engine: nothing is lost, and nothing comes twice."""

import os
import signal

import polars as pl
import pytest

from engine.live import Fed, column, until
from headgate import Engine, sink

QUERIES = {
    "all": "SELECT v FROM s",
    "even": "SELECT v FROM s WHERE v % 2 = 0",
    "named": "SELECT v, concat('no ', k) AS name FROM s WHERE k IN (0, 2)",
}
COUNT = "SELECT k, count(*) AS n FROM s GROUP BY k"


def worker(engine):
    """The process of the resident lane, once it is there."""
    (lane,) = engine._residents.lanes
    assert lane.ready(60)
    return lane._task._process.pid


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_lane_that_is_killed_or_stopped_is_replaced_and_results_are_exact(spark, tmp_path, sent):
    source = Fed()
    with Engine(spark, tmp_path / "state", lanes={"jobs": 1, "resident": 1}) as engine:
        engine.stream("s", source, event_time="t")
        for name, sql in QUERIES.items():
            engine.query(name, sql, sink=sink.parquet(tmp_path / name, every=0) if name == "even" else None)
        engine.query("counted", COUNT, window="10s")
        engine.start(train={"most": 20})
        gone = set()
        for _ in range(3):
            source.feed(*[10] * 8)
            pid = worker(engine)
            assert pid not in gone
            os.kill(pid, sent)
            gone.add(pid)
            source.feed(*[10] * 8)
            until(lambda: engine.queries["all"].progress.cursors["s"] == source.given)
        source.end()
        assert engine.wait(300)
        given = source.given
        assert column(engine, "all") == list(range(given))
        assert sorted(column(engine, "named")) == [v for v in range(given) if v % 3 != 1]
        counts = engine.results("counted")
        assert sum(counts.column("n").to_pylist()) == given
        assert counts.num_rows == len(set(zip(*(counts.column(i).to_pylist() for i in (0, 2)), strict=True)))
        assert {query.status for query in engine.status().queries} == {"running"}

    assert pl.read_parquet(tmp_path / "even" / "*.parquet")["v"].sort().to_list() == list(range(0, given, 2))
    until(lambda: not [pid for pid in gone if alive(pid)])


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
