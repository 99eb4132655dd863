import json
import math
from dataclasses import asdict

import pytest
from rich.console import Console

from engine.snapshots import query, query_class, snapshot, stream, table
from headgate.engine.closing import classes, closing, document, failed


def measured(name, cls, results, response, slowdown):
    figures = {"response_mean": response, "response_p99": 2 * response, "slowdown_mean": slowdown}
    return query(name, cls=cls, results=results, slowdown_rms=2 * slowdown, **figures)


def rows(*queries):
    return classes(snapshot([], queries))


def printed(found):
    console = Console(width=100, color_system=None)
    with console.capture() as capture:
        console.print(*closing(found), sep="\n")
    return capture.get()


def test_a_class_weighs_every_result_alike():
    (row,) = rows(measured("a", "alerts", 100, 1.0, 2.0), measured("b", "alerts", 300, 2.0, 6.0))
    assert row["queries"] == 2
    assert row["slowdown_mean"] == pytest.approx(5.0)
    assert row["slowdown_rms"] == pytest.approx(math.sqrt((100 * 4.0**2 + 300 * 12.0**2) / 400))


def test_classes_keep_the_order_of_the_queries_and_those_without_results_have_no_figures():
    found = rows(query("a", cls="x"), measured("b", "y", 10, 1.0, 1.0), query("c", cls="x", status="failed"))
    assert [row["name"] for row in found] == ["x", "y"]
    assert found[0]["failed"] == 1
    assert found[0]["slowdown_mean"] is found[0]["slowdown_rms"] is None


def test_the_document_has_the_stated_keys_and_no_nan():
    found = document(snapshot([stream(rate=math.nan)], [query(a=math.inf)], overhead_per_run=math.nan))
    lists = {"streams", "classes", "queries", "deadlines", "tables"}
    assert found.keys() == {"policy", "elapsed", "qos", "accounting", "refreshing", *lists}
    assert found["streams"][0]["rate"] is found["queries"][0]["a"] is found["accounting"]["overhead_per_run"] is None
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.parametrize(
    ("streams", "queries", "expected"),
    [
        ([stream()], [query()], False),
        ([stream(status="ended")], [query(status="paused")], False),
        ([stream(status="failed")], [query()], True),
        ([stream()], [query(status="failed")], True),
    ],
)
def test_a_run_failed_if_a_stream_or_a_query_did(streams, queries, expected):
    assert failed(snapshot(streams, queries)) is expected


def test_the_closing_tables_have_classes_streams_and_what_went_wrong():
    text = printed(
        snapshot(
            [
                stream(tuples=12_345, late=3, rejected={"not JSON": 2}),
                stream("other", status="failed", reason="gone"),
            ],
            [measured("a", "alerts", 1200, 0.34, 2.0), query("b", status="paused", reason="a timeout")],
            [table("symbols", "no such file")],
            classes=[
                query_class("alerts", results=1200, response_mean=0.34, response_p99=0.68),
                query_class("default"),
            ],
        )
    )
    lines = [" ".join(each.split()) for each in text.splitlines()]
    assert lines[0] == "12 s under bsd: 0 tuples in, 0 results out, 0 runs"
    assert "alerts 1 1.2k 340 ms 680 ms 2 4" in lines
    assert "default 1 0 – – – –" in lines
    assert "ticks running 12.3k 2 3" in lines
    assert "stream other (failed): gone" in lines
    assert "query b (paused): a timeout" in lines
    assert "table symbols: no such file" in lines


def test_the_closing_tables_say_what_of_the_refresh_budget_was_used():
    spent = {"policy": "profile", "budget": 12.0, "unit": "refreshes", "period": 10.0, "used": 18.0, "allowed": 24.0}
    kept = asdict(table("symbols")) | {"refreshes": 130, "changed": 5, "failures": 0, "perceived": 0.9}
    kept |= {"max_age": 20.0, "allowed_age": 30.0}
    found = snapshot() | {"tables": [kept], "refreshing": spent | {"perceived": 0.9, "gain": 0.0042, "swaps": 5}}
    lines = [" ".join(each.split()) for each in printed(found).splitlines()]
    at = lines.index("one more refresh a minute would add 0.4 points")
    assert lines[at - 1] == "tables by profile: 12 refreshes in 10 s · 75 % used · joins see 90 % fresh"
    # A look that finds nothing new counts as a refresh here, and takes a tenth of one.
    assert lines[at + 1] == "table age fresh joins see lookups refreshes changed failed"
    assert lines[at + 2].startswith("symbols")
    assert lines[at + 2].endswith("130 5 0")
    assert "table symbols: up to 30 s old, instead of 20 s: the budget allows no more refreshes" in lines


def test_the_closing_tables_say_what_was_promised_and_what_was_dropped_for_it():
    promised = {"delay_target": 0.5, "late": 0.01, "processed": 750, "shed": 250}
    text = printed(
        snapshot(
            [],
            [measured("a", "alerts", 10, 0.2, 2.0), query("b")],
            classes=[query_class("alerts", results=10, **promised), query_class("default", processed=5)],
        )
    )
    lines = [" ".join(each.split()) for each in text.splitlines()]
    assert "class queries results response mean p99 slowdown mean rms target within shed kept" in lines
    assert "alerts 1 10 – – 2 4 500 ms 99 % 250 75 %" in lines
    assert "default 1 0 – – – – – – 0 100 %" in lines
