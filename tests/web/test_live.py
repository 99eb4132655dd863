"""A small engine on Spark, and what is served of it."""

import json
import sys
import urllib.error
import urllib.request

import pytest

from engine.live import Fed, caught_up, until
from headgate.engine.engine import Engine
from headgate.errors import InputError
from web.receiver import values

TOKEN = "the token"


@pytest.fixture(scope="module")
def running(spark, tmp_path_factory):
    engine = Engine(spark, tmp_path_factory.mktemp("served"), lanes={"jobs": 1, "resident": 1})
    source = Fed()
    engine.stream("s", source, event_time="t")
    engine.query_class("alerts", priority=6, delay_target="5s")
    engine.query_class("boards", priority=1)
    engine.query_many({f"over_{i}": f"SELECT v FROM s WHERE v > {i}" for i in range(3)}, cls="alerts")
    engine.query("top", "SELECT v FROM s ORDER BY v DESC LIMIT 2", window="10s", cls="boards")
    engine.query("totals", "SELECT count(*) AS n FROM s", window="10s", cls="boards")
    server = engine.serve(port=0, token=TOKEN)
    engine.start("cqc")
    source.feed(40)
    caught_up(engine, "over_0", "over_1", "over_2", position=40)
    yield engine, server, source
    engine.stop()


def asked(server, path, *, headers=None, method="GET"):
    request = urllib.request.Request(server.address + path, headers=headers or {}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def test_a_query_of_the_kernel_says_what_is_computed_and_has_its_results(running):
    _, server, _ = running
    found = json.loads(asked(server, "api/queries/over_1"))
    assert found["sql"] == "SELECT v FROM s WHERE v > 1"
    assert (found["runner"], found["evaluation"], found["why_not"]) == ("kernel", "tuple by tuple", None)
    assert len(found["steps"]) == 1
    assert "?" in found["steps"][0]
    assert found["wiring"] == {"streams": ["s"], "tables": [], "sink": "memory()", "kernel": True}
    assert found["results"]["columns"] == ["v", "_kept"]
    assert found["results"]["rows"]


def test_a_query_on_spark_says_why(running):
    _, server, _ = running
    found = json.loads(asked(server, "api/queries/top"))
    assert (found["runner"], found["evaluation"]) == ("Spark", "window by window")
    assert "ORDER BY" in found["why_not"]
    assert found["window"] == "10s, event time"


def test_a_window_by_panes_has_a_step_for_trains_and_one_for_windows(running):
    _, server, _ = running
    assert len(json.loads(asked(server, "api/queries/totals"))["steps"]) == 2


def test_runs_are_heard_with_their_reasons(running):
    _, server, source = running
    source.feed(10)
    until(lambda: json.loads(asked(server, "api/queries/over_0"))["runs"])
    run = json.loads(asked(server, "api/queries/over_0"))["runs"][0]
    assert run["n"] >= 1
    assert run["formula"]


def test_the_network_shows_queries_that_run_together(running):
    _, server, _ = running

    def units():
        nodes = json.loads(asked(server, "api/network"))["nodes"]
        return {node["label"]: node for node in nodes if node["kind"] == "unit"}

    until(lambda: "3 queries together" in units())
    assert units()["3 queries together"]["kernel"]
    assert not units()["top"]["kernel"]


def test_metrics_and_health_are_those_of_the_engine(running):
    _, server, _ = running
    until(lambda: 'headgate_stream_tuples_total{stream="s"}' in asked(server, "metrics"))
    assert asked(server, "readyz") == "ok\n"


def test_looking_costs_no_snapshot(running):
    engine, _, _ = running
    first = engine.recent()
    assert engine.recent() is first or engine.recent().time > first.time


def test_a_query_is_paused_and_resumed_by_whoever_has_the_token(running):
    engine, server, _ = running
    with pytest.raises(urllib.error.HTTPError, match="403"):
        asked(server, "api/queries/over_2/pause", method="POST")
    asked(server, "api/queries/over_2/pause", method="POST", headers={"X-Headgate-Token": TOKEN})
    assert engine.queries["over_2"].status == "paused"
    asked(server, "api/queries/over_2/resume", method="POST", headers={"X-Headgate-Token": TOKEN})
    assert engine.queries["over_2"].status == "running"


def test_an_engine_has_one_server(running):
    engine, server, _ = running
    with pytest.raises(InputError, match="an engine has one server") as error:
        engine.serve()
    assert server.address in str(error.value)


def test_a_server_takes_the_next_port_if_its_own_is_taken_and_ends_with_its_engine(running, spark, tmp_path):
    _, first, _ = running
    engine = Engine(spark, tmp_path / "state")
    engine.stream("s", Fed())
    engine.query("all", "SELECT v FROM s")
    second = engine.serve(port=first.port)
    assert first.port < second.port < first.port + 50
    assert asked(second, "healthz") == "ok\n"
    with pytest.raises(urllib.error.HTTPError, match="503"):
        asked(second, "readyz")
    assert second.token != first.token
    second.close()
    assert engine._recorder.listeners == ()
    second = engine.serve(port=0)
    engine.stop()
    with pytest.raises(urllib.error.URLError):
        asked(second, "healthz")


@pytest.mark.parametrize(("host", "port"), [("203.0.113.1", 4050), ("127.0.0.1", 70_000)])
def test_an_address_that_cannot_be_served_says_so(spark, tmp_path, host, port):
    engine = Engine(spark, tmp_path / "state")
    with pytest.raises(InputError, match="a server has an address"):
        engine.serve(host=host, port=port)
    engine.stop()


def test_an_engine_pushes_its_metrics_while_it_runs(running, receiver):
    engine, _, _ = running
    with engine.push_metrics(receiver.address, every=0.1):
        with pytest.raises(InputError, match="pushes to one endpoint"):
            engine.push_metrics(receiver.address)
        until(lambda: len(receiver.requests) >= 2)
    status = engine.status()
    found = values(receiver.requests[-1])
    assert found["headgate_stream_tuples_total", (("stream", "s"),)] == status.streams[0].tuples >= 40
    assert found["headgate_class_delay_target_seconds", (("class", "alerts"),)] == 5
    assert found["headgate_queries", ()] == 5


def test_an_engine_that_stops_pushes_once_more(spark, tmp_path, receiver):
    engine = Engine(spark, tmp_path / "state", lanes={"jobs": 1, "resident": 0})
    with pytest.raises(InputError, match="every so many seconds"):
        engine.push_metrics(receiver.address, every=0)
    engine.push_metrics(receiver.address, every=60)
    last = engine.stop()
    assert values(receiver.requests[-1])["headgate_snapshot_timestamp_seconds", ()] == pytest.approx(last.time)


def test_without_the_extra_one_is_told_what_to_install(running, monkeypatch):
    engine, _, _ = running
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.metric_exporter", None)
    monkeypatch.delitem(sys.modules, "headgate.web.telemetry", raising=False)
    with pytest.raises(InputError, match=r"pip install 'headgate\[otel\]'"):
        engine.push_metrics("http://127.0.0.1:4318/v1/metrics")
