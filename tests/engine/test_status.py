"""The status of an engine: as it is written down, and without keeping others from their work."""

import json
from dataclasses import asdict

from engine.live import Fed
from headgate import Engine
from headgate.engine import gentle
from headgate.engine.gentle import gently
from headgate.engine.status import written


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
