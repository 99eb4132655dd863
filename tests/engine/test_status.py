"""The status of an engine: as it is written down, and without keeping others from their work."""

import json
from dataclasses import asdict

import pytest

from engine.live import Fed, caught_up, until
from headgate import Engine
from headgate.engine import gentle, stocktaking
from headgate.engine.gentle import gently
from headgate.engine.status import behind, written


def test_what_is_written_is_the_whole_snapshot(spark, tmp_path):
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", Fed(), event_time="t")
        engine.query_class("alerts", priority=2, delay_target="1s")
        for name in ("a", "b", "c"):
            engine.query(name, "SELECT v FROM s", cls="alerts")
        found = engine.status()
        assert len(found.queries) == 3
        assert json.loads(written(found, running=True)) == json.loads(json.dumps({"running": True, **asdict(found)}))
    nobody = Engine(spark, tmp_path / "other")
    assert json.loads(written(nobody.status(), running=False))["queries"] == []
    nobody.stop()


def test_sums_count_the_queries_too_that_are_not_listed(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(stocktaking, "_LISTED", 2)
    source = Fed()
    with Engine(spark, tmp_path, lanes={"jobs": 1, "resident": 1}) as engine:
        engine.stream("s", source)
        engine.query_class("alerts", priority=2)
        engine.query_class("boards", priority=1)
        engine.query_many({f"a{i}": "SELECT v FROM s" for i in range(3)}, cls="alerts")
        engine.query_many({f"b{i}": "SELECT v FROM s WHERE v >= 5" for i in range(2)}, cls="boards")
        engine.start()
        source.feed(10)
        for name in engine.queries:
            caught_up(engine, name, position=10)
        # A run is counted after its results are there.
        until(lambda: engine.status().accounting.runs >= 5)
        found = engine.status()
    assert [each.name for each in found.queries] == ["a0", "a1"]
    assert {each.name: (each.queries, each.processed, each.pending) for each in found.classes} == {
        "alerts": (3, 30, 0),
        "boards": (2, 20, 0),
    }
    accounting = found.accounting
    assert (accounting.queries, accounting.unlisted, accounting.results, accounting.pending) == (5, 3, 40, 0)


def test_trains_are_pending_until_every_query_has_passed_them(spark, tmp_path):
    source = Fed()
    with Engine(spark, tmp_path, lanes={"jobs": 1, "resident": 1}) as engine:
        engine.stream("s", source)
        engine.query_many(dict.fromkeys(("a", "b"), "SELECT v FROM s"))
        engine.start()
        engine.pause("b")
        for position in (10, 20, 30):
            source.feed(10)
            caught_up(engine, "a", position=position)
        found = engine.status()
        waiting = {each.name: each.pending for each in found.queries}
        assert (waiting["a"], waiting["b"]) == (0, 30)
        assert found.streams[0].pending == found.streams[0].trains > 0
        assert found.accounting.pending == 30
        assert found.accounting.oldest_wait > 0
        engine.resume("b")
        caught_up(engine, "b", position=30)
        assert engine.status().streams[0].pending == 0


@pytest.mark.parametrize(
    ("watermark", "expected"),
    [(None, None), (995.0, 5.0), (1004.0, -4.0), (1000.0 - 90_000, None), (200_000.0, None)],
)
def test_a_watermark_of_another_day_is_not_behind_the_clock(watermark, expected):
    assert behind(watermark, 1000.0) == expected


def test_long_work_rests_now_and_then(monkeypatch):
    now, rests = [0.0], []
    monkeypatch.setattr(gentle.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(gentle.time, "sleep", rests.append)
    seen = []
    for each in gently(range(10)):
        seen.append(each)
        now[0] += 0.0002
    assert seen == list(range(10))
    assert len(rests) == 3
