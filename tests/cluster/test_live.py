"""Two engines in processes of their own: a query moves, then its node is killed, and all results are there once."""

import signal
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest

from headgate.bench.nodes import feed
from headgate.bench.rack import Rack, results, write

RATE, SECONDS = 500, 30


@pytest.fixture
def pipeline(tmp_path):
    feed(tmp_path / "ticks.parquet", RATE, SECONDS)
    queries = {
        "large": {"sql": "SELECT id FROM ticks WHERE x > 0.9"},
        "sums": {"sql": "SELECT sym, count(*) AS n FROM ticks GROUP BY sym", "window": "2s", "slide": "1s"},
    }
    for name, query in queries.items():
        query |= {"start": "earliest", "sink": {"parquet": f"out/{name}"}}
    source = {"replay": {"path": "ticks.parquet", "time": "ts"}}
    made = {
        "lanes": {"jobs": 1, "resident": 1},
        "streams": {"ticks": {"source": source, "event_time": "ts"}},
        "queries": queries,
    }
    return write(tmp_path / "pipeline.yaml", made)


def expected(folder):
    rows = pq.read_table(folder / "ticks.parquet")
    ids, syms, x = (np.asarray(rows.column(name)) for name in ("id", "sym", "x"))
    second = ids // RATE
    sums = Counter()
    for begin in range(-1, SECONDS):
        inside = (second >= begin) & (second < begin + 2)
        for sym, n in zip(*np.unique(syms[inside], return_counts=True), strict=True):
            sums[begin, int(sym), int(n)] += 1
    return Counter((int(each),) for each in ids[x > 0.9]), sums


def found(folder):
    began = 1_767_225_600
    sums = results(folder / "out" / "sums")
    return results(folder / "out" / "large"), Counter(
        {(int(start.timestamp()) - began, sym, n): times for (start, _, sym, n), times in sums.items()}
    )


def where(rack, name):
    return next(each for each in rack.queries() if each["name"] == name)


def test_queries_move_and_survive_their_node_and_every_result_is_there_once(pipeline, tmp_path):
    right = expected(tmp_path)
    with Rack(pipeline, ["a", "b"]) as rack:
        assert rack.until(rack.active, 180) < 180
        for name in ("large", "sums"):
            to = "b" if where(rack, name)["node"] == "a" else "a"
            rack.coordinator.move(name, to)
            assert rack.until(lambda name=name, to=to: where(rack, name)["node"] == to and rack.active(), 60) < 60
        lost = where(rack, "sums")["node"]
        rack.signal(lost, signal.SIGKILL)
        assert rack.until(lambda: rack.active(without=lost), 90) < 90
        rack.until(lambda: found(tmp_path) == right, 120)
    assert found(tmp_path) == right
