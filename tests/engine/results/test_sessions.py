"""Sessions that are open where the stream is cut: nothing of them is lost."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import headgate as hg
from engine.results.runs import Handed, settled

_SCHEMA = pa.schema([("k", pa.string()), ("t", pa.timestamp("us", tz="UTC"))])
_START = datetime(2026, 1, 1, tzinfo=UTC)


def train(*tuples):
    keys, times = zip(*((key, _START + timedelta(seconds=t)) for key, t in tuples), strict=True)
    return pa.table({"k": keys, "t": times}, _SCHEMA)


def _since(time):
    return (time - _START).total_seconds()


@pytest.mark.parametrize(
    ("delay", "having", "trains", "expected"),
    [
        pytest.param(
            "10s",
            "true",
            [train(("a", 20)), train(("b", 15))],
            [("a", 20, 25, 1), ("b", 15, 20, 1)],
            id="a tuple that is on time, but before the open session",
        ),
        pytest.param(
            "0s",
            "n > 3",
            [train(("a", 0), ("a", 1)), train(("a", 4), ("a", 7)), train(("a", 60))],
            [("a", 0, 12, 4)],
            id="a session that satisfies HAVING only when it has grown",
        ),
        pytest.param(
            "0s",
            "max(t) < TIMESTAMP '2026-01-01 00:00:10' AND k <> 'b'",
            [train(("a", 0), ("b", 1)), train(("a", 5)), train(("a", 8), ("b", 60))],
            [("a", 0, 13, 3)],
            id="HAVING of an aggregate and a key that are no results",
        ),
        pytest.param(
            "0s",
            "true",
            [train(("a", 0), ("b", 1)), train(("b", 5), ("b", 10)), train(("b", 14), ("a", 30))],
            [("a", 0, 5, 1), ("b", 1, 19, 4), ("a", 30, 35, 1)],
            id="a session that ended while one that began before it goes on",
        ),
    ],
)
def test_sessions_are_whole_however_the_stream_is_cut(spark, tmp_path, delay, having, trains, expected):
    source = Handed(_SCHEMA)
    sql = f"SELECT k AS key, count(*) AS n FROM s GROUP BY k, session_window(t, '5 seconds') HAVING {having}"
    with hg.Engine(spark, tmp_path) as engine:
        engine.stream("s", source, event_time="t", delay=delay)
        engine.query("q", sql)
        engine.start("fcfs")
        for number, each in enumerate(trains, 1):
            source.hand(each)
            settled(engine, {"s": sum(map(len, trains[:number]))})
        source.hand(None)
        assert engine.wait(300)
        rows = engine.results("q").to_pylist()
    found = [(row["key"], _since(row["session_start"]), _since(row["session_end"]), row["n"]) for row in rows]
    assert sorted(found) == sorted(expected)
