"""Two engines in processes of their own that share no folder: queries move, a node is killed, and comes back."""

import signal

from headgate.bench.nodes import feed
from headgate.bench.rack import Rack, results, run_alone, write

PATIENCE = 20.0
"""A node that only stands still for some seconds is not gone."""
RATE, SECONDS = 500, 50

QUERIES = {
    "large": {"sql": "SELECT id FROM ticks WHERE x > 0.9"},
    "sums": {"sql": "SELECT sym, count(*) AS n FROM ticks GROUP BY sym", "window": "2s", "slide": "1s"},
    "rows": {"sql": "SELECT max(id) AS last, sum(x) AS x FROM ticks", "window": "70 rows", "slide": "30 rows"},
    "pairs": {
        "sql": "SELECT a.id AS one, b.id AS other FROM ticks a JOIN ticks b ON a.sym = b.sym AND a.id < b.id"
        " WHERE a.x > 0.95 AND b.x > 0.95",
        "window": "2s",
    },
    "visits": {
        "sql": "SELECT sym, count(*) AS n FROM ticks WHERE x > 0.99 GROUP BY sym, session_window(ts, '1 second')"
    },
}


def made(file, speed):
    source = {"replay": {"path": str(file.parents[1] / "ticks.parquet"), "time": "ts", "speed": speed}}
    described = {
        "lanes": {"jobs": 1, "resident": 1},
        "streams": {"ticks": {"source": source, "event_time": "ts"}},
        "queries": {
            name: {**query, "start": "earliest", "sink": {"parquet": f"out/{name}"}}
            for name, query in QUERIES.items()
        },
    }
    return write(file, described)


def where(rack, name):
    return next(each for each in rack.queries() if each["name"] == name)


def test_queries_move_and_survive_their_node_and_what_counts_is_what_one_engine_gives(tmp_path):
    feed(tmp_path / "ticks.parquet", RATE, SECONDS)
    run_alone(made(tmp_path / "alone" / "pipeline.yaml", "max"))
    right = {name: results(tmp_path / "alone" / "out" / name) for name in QUERIES}
    assert all(right.values())
    with Rack(made(tmp_path / "apart" / "pipeline.yaml", 1.0), ["a", "b"], apart=True, patience=PATIENCE) as rack:
        assert rack.until(rack.active, 300) < 300
        for name in QUERIES:
            to = "b" if where(rack, name)["node"] == "a" else "a"
            rack.coordinator.move(name, to)
            assert rack.until(lambda name=name, to=to: where(rack, name)["node"] == to and rack.active(), 180) < 180
        lost = where(rack, "sums")["node"]
        rack.signal(lost, signal.SIGKILL)
        assert rack.until(lambda: rack.active(without=lost), 180) < 180
        # What it has written by itself stays, and does not count.
        rack.start(lost)
        rack.until(lambda: all(rack.gathered(name) == rows for name, rows in right.items()), 300)
        for name, rows in right.items():
            assert rack.gathered(name) == rows, name
            assert len(rack.coordinator.told().instances[name]) > 1
