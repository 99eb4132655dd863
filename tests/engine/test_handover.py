"""Queries that leave for another engine: when they have."""

import pyarrow.parquet as pq

import headgate as hg
from engine.live import Fed, until


def test_a_query_has_left_once_readers_see_all_that_it_has_committed(spark, tmp_path):
    out, fed = tmp_path / "out", Fed()
    with hg.Engine(spark, tmp_path / "state", lanes={"jobs": 1, "resident": 0}) as engine:
        engine.stream("s", fed, event_time="t")
        last_two = {"window": "2 rows", "slide": "1 row"}
        engine.query("q", "SELECT sum(v) AS total FROM s", **last_two, sink=hg.sink.parquet(out, every="3s"))
        engine.start()
        fed.feed(5)
        until(lambda: engine.status().queries[0].results == 4)
        engine.handover.leave("q")
        until(lambda: engine.handover.left("q"))
        assert sum(pq.read_metadata(file).num_rows for file in out.glob("part-*.parquet")) == 4
