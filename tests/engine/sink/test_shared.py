"""One place for the results of many queries."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.sink.openings import SCHEMA, opening, table
from headgate.engine import sink
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.progress import Moved, Passed, Progress
from headgate.errors import InputError

LATER = float("inf")


def admitted(out, *queries, last=None):
    for query in queries:
        out.open(opening(last, query=query))
    return out


def parquet(folder):
    parts = sorted((folder / "out").glob("part-*"))
    return [row for part in parts for row in pq.read_table(part).to_pylist()]


def lines(folder):
    file = folder / "out"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def rows(query, *values):
    return [{"query": query, **row} for row in table(*values).to_pylist()]


def test_a_function_is_called_once_for_all_queries_of_a_commit():
    calls = []
    out = admitted(sink.shared("alerts", sink.callback(lambda found, run: calls.append((run, found)))), "p", "q", "r")
    out.publish(out.stage([("q", table(1, 2)), ("p", table()), ("r", table(3))]))
    out.publish(out.stage([("p", table(4))]))
    assert [(run, found.to_pylist()) for run, found in calls] == [
        (1, rows("q", 1, 2) + rows("r", 3)),
        (2, rows("p", 4)),
    ]
    assert calls[0][1].schema.names == ["query", "sym", "value"]


@pytest.mark.parametrize("reached", ["staged", "committed", "published"])
@pytest.mark.parametrize(("kind", "read"), [("parquet", parquet), ("jsonl", lines)])
def test_after_a_crash_every_committed_result_is_there_once_whatever_became_of_its_query(
    kind, read, reached, tmp_path
):
    def made():
        return sink.shared("alerts", getattr(sink, kind)(tmp_path / "out"))

    out = admitted(made(), "p", "q")
    last = out.stage([("p", table(1)), ("q", table(2))])
    out.publish(last)
    receipt = out.stage([("q", table(3))])
    if reached != "staged":
        last = receipt
    if reached == "published":
        out.publish(receipt)
    for _ in range(2):
        out.close()
    again = admitted(made(), "p", last=last)
    seen = rows("p", 1) + rows("q", 2) + ([] if reached == "staged" else rows("q", 3))
    assert read(tmp_path) == seen
    again.publish(again.stage([("p", table(5))]))
    again.tick(LATER)
    assert read(tmp_path) == seen + rows("p", 5)
    again.close()


def test_a_commit_that_fails_is_staged_again_under_the_same_number():
    calls = []
    out = admitted(sink.shared("alerts", sink.callback(lambda _, run: calls.append(run))), "p")
    out.stage([("p", table(1))])
    out.publish(out.stage([("p", table(1))]))
    out.publish(out.stage([("p", table(2))]))
    again = admitted(sink.shared("alerts", out.sink), "p", last={"run": 2, "receipt": {}})
    again.stage([("p", table(3))])
    assert calls == [1, 1, 2, 3]


def test_results_of_many_queries_and_their_place_are_committed_together(tmp_path):
    manifest = Manifest(tmp_path / "manifest.db")
    out = admitted(sink.shared("alerts", sink.jsonl(tmp_path / "out")), "p", "q")
    old = manifest.enter_many([(name, {}, Progress(cursors={"s": 0})) for name in ("p", "q")])
    cohort = manifest.cohorts.join("s", 0, ["p", "q"])
    with out.lock:
        receipt = out.stage([("q", table(1))])
        manifest.commit(
            [("q", old["q"], replace(old["q"], run=1, results=1))], Moved(cohort, 7, Passed(7)), {out.name: receipt}
        )
        out.publish(receipt)
    manifest.remove("q")
    out.close()
    out.close()
    again = admitted(out, "p", last=manifest.shared("alerts"))
    assert lines(tmp_path) == rows("q", 1)
    again.close()
    manifest.close()


def test_the_place_is_open_as_long_as_a_query_writes_there(tmp_path):
    out = admitted(sink.shared("alerts", sink.parquet(tmp_path)), "p", "q")
    other = sink.parquet(tmp_path)
    out.close()
    with pytest.raises(InputError, match="written by one query"):
        other.open(opening(query="alerts"))
    out.close()
    other.open(opening(query="alerts"))
    other.close()


def test_queries_that_share_have_the_same_columns_and_leave_one_to_the_sink():
    out = admitted(sink.shared("alerts", sink.memory()), "p")
    said = "'alerts' have the columns sym string, value int64; got value int64 of query 'q'. Cast and name"
    with pytest.raises(InputError, match=said):
        out.open(opening(query="q", schema=pa.schema([("value", pa.int64())])))
    never_null = pa.schema([pa.field("sym", pa.string(), nullable=False), SCHEMA.field("value")])
    out.open(opening(query="r", schema=never_null))
    out.publish(out.stage([("r", table(1).cast(never_null)), ("p", table(2))]))
    assert out.sink.table().to_pylist() == rows("r", 1) + rows("p", 2)
    with pytest.raises(InputError, match=r"leave the column `query` to it; got 'Query'. Rename it in query 'q'"):
        sink.shared("other", sink.memory()).open(opening(query="q", schema=pa.schema([("Query", pa.int64())])))


def test_it_shows_itself_as_it_is_written_with_the_guarantee_of_the_sink_behind_it():
    out = sink.shared("alerts", sink.parquet("out", every="10s"))
    assert (repr(out), out.guarantee) == ("shared('alerts', parquet('out', every=10))", "exactly once")
    assert sink.shared("alerts", sink.memory()).guarantee == "at least once"
