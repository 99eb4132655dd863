"""`headgate run`, `top` and `explain` as a user meets them."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from inspect import signature
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from engine.snapshots import query, snapshot, stream
from headgate.cli import app
from headgate.engine import status
from headgate.engine.command.run import run
from headgate.engine.command.top import STATUS
from headgate.engine.engine import Engine

TINY = """\
streams:
  ticks: {source: {ticks: {seed: 1, rate: 2000, count: 1000}}, event_time: ts}
queries:
  all:
    sql: SELECT sym, price FROM ticks
    class: alerts
    sink: {jsonl: out/all.jsonl}
  said:
    sql: SELECT count(*) AS n FROM ticks
    window: 1s
    class: boards
    sink: console
"""

ENDLESS = """\
lanes: 2
streams:
  ticks: {source: {ticks: {seed: 1, rate: 200}}, event_time: ts}
  lines: {source: {socket: {port: PORT, schema: word STRING}}}
queries:
  all: {sql: SELECT sym FROM ticks}
  words: {sql: SELECT word FROM lines}
"""


ALERTS = """\
lanes: {jobs: 1, resident: 64}
streams:
  ticks: {source: {ticks: {seed: 1}}, event_time: ts}
queries:
  alerts:
    sql: SELECT sym, price FROM ticks WHERE sym = {sym} AND price > {above}
    for_each: alerts.csv
    sink: {jsonl: out/alerts.jsonl}
  top: {sql: SELECT sym FROM ticks ORDER BY vol LIMIT 3, window: 1s}
"""


def headgate(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def command(*arguments):
    return [sys.executable, "-m", "headgate.cli", *map(str, arguments)]


def written(path, text):
    path.write_text(text)
    return path


def left_behind(folder, *, running=False, age=0.0):
    """A state folder with the status of an engine that has written it some time ago."""
    found = snapshot([stream(tuples=12_345)], [query("big"), query("vwap", status="failed", reason="why")])
    text = json.dumps({"running": running, **found, "time": time.time() - age})
    written(folder / STATUS, text)
    return folder


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A small pipeline that was run to its end, with --json."""
    folder = tmp_path_factory.mktemp("tiny")
    file = written(folder / "tiny.yaml", TINY)
    ended = subprocess.run(command("run", file, "--json"), capture_output=True, text=True, check=False, timeout=300)
    return SimpleNamespace(
        folder=folder, state=folder / "tiny.state", code=ended.returncode, out=ended.stdout, err=ended.stderr
    )


def test_a_run_prints_one_json_document_and_nothing_else(done):
    assert done.code == 0, done.err
    found = json.loads(done.out)
    lists = {"streams", "classes", "queries", "deadlines", "tables"}
    assert found.keys() == {"policy", "elapsed", "qos", "refreshing", "accounting", *lists}
    assert [(s["name"], s["status"], s["tuples"]) for s in found["streams"]] == [("ticks", "ended", 1000)]
    assert [(q["name"], q["pending"]) for q in found["queries"]] == [("all", 0), ("said", 0)]
    assert [(c["name"], c["queries"]) for c in found["classes"]] == [("alerts", 1), ("boards", 1)]
    assert found["classes"][0]["results"] == 1000
    assert found["accounting"]["results"] == sum(c["results"] for c in found["classes"])
    assert len((done.folder / "out" / "all.jsonl").read_text().splitlines()) == 1000


def test_standard_error_has_our_own_lines_only(done):
    lines = done.err.splitlines()
    assert any(line.startswith("said, run 1: ") for line in lines)
    assert not [line for line in lines if "WARN" in line or "log4j" in line or "Traceback" in line]


def test_the_address_of_the_dashboard_is_told_once(done):
    told = [line for line in done.err.splitlines() if line.startswith("dashboard: http://127.0.0.1:")]
    assert len(told) == 1
    assert "token" in told[0]


def test_the_port_of_the_dashboard_is_that_of_engines():
    assert signature(Engine.serve).parameters["port"].default == signature(run).parameters["ui_port"].default


def test_what_spark_says_goes_into_the_state_folder(done):
    assert "log4j" in (done.state / "spark.log").read_text()


def test_top_shows_the_state_that_a_run_left(done):
    result = headgate("top", done.state, "--once")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("the engine stopped ")
    assert {"ticks", "all", "said", "lane-1:"} <= {line.split()[0] for line in lines if line.strip()}


def test_top_prints_the_same_document_as_the_run(done):
    found = json.loads(headgate("top", done.state, "--json").stdout)
    assert found.pop("running") is False
    assert found.pop("time") > 0
    ran = json.loads(done.out)
    assert found["streams"] == ran["streams"]
    assert found["classes"] == ran["classes"]


def test_ctrl_c_stops_cleanly_and_a_failed_stream_is_told_with_exit_code_1(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        file = written(tmp_path / "endless.yaml", ENDLESS.replace("PORT", str(taken.getsockname()[1])))
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command("run", file, "--policy", "fcfs"), text=True, **pipes) as process:
            try:
                before = next(line for line in process.stderr if " tuples in " in line)
                process.send_signal(signal.SIGINT)
                out, after = process.communicate(timeout=300)
            finally:
                process.kill()
    assert "1 failed" in before
    assert "stopping: finishing what is under way" in after
    assert "Traceback" not in after
    assert process.returncode == 1
    lines = out.splitlines()
    assert " under fcfs: " in lines[0]
    assert any(line.split()[:2] == ["ticks", "paused"] for line in lines)
    assert any(line.startswith("stream lines (failed): ") for line in lines)
    assert json.loads((tmp_path / "endless.state" / STATUS).read_text())["running"] is False


def test_a_spark_that_does_not_start_says_why_and_where_its_log_is(tmp_path):
    file = written(tmp_path / "tiny.yaml", TINY)
    arguments = command("run", file, "--master", "nowhere", "--quiet")
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("error: Spark starts on nowhere; got Master must ")
    assert ended.stderr.endswith(f"Its log is {tmp_path / 'tiny.state' / 'spark.log'}.\n")


def test_explain_prints_what_it_finds_and_leaves_nothing_behind(tmp_path):
    file = written(tmp_path / "alerts.yaml", ALERTS)
    written(tmp_path / "alerts.csv", "sym,above\n" + "".join(f"S{i},{i}\n" for i in range(20)))
    before = sorted(tmp_path.iterdir())
    ended = subprocess.run(
        command("explain", file, "--json"), capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert {"pipeline", "fuse", "resident", "units", "queries", "classes", "graphs", "deadlines"} == found.keys()
    assert (found["pipeline"], found["fuse"], found["resident"]) == ("alerts", True, True)
    assert [(unit["queries"], len(unit["shapes"])) for unit in found["units"]] == [(20, 1)]
    assert [query["name"] for query in found["queries"]] == [*(f"alerts_{i + 1:06}" for i in range(20)), "top"]
    assert found["queries"][-1]["why_not"] == "ORDER BY needs all tuples of a window"
    assert sorted(tmp_path.iterdir()) == before


def test_the_schema_of_pipeline_files_is_printed():
    result = headgate("run", "--schema")
    assert result.exit_code == 0
    assert {"streams", "queries", "policy"} <= json.loads(result.stdout)["properties"].keys()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], "run takes a pipeline file; got none."),
        (["run", "absent.yaml"], "absent.yaml"),
        (["run", "FILE", "--for", "soon"], "--for is a finite time above 0"),
        (["run", "FILE", "--for", "0s"], "--for is a finite time above 0"),
        (["run", "FILE", "--policy", "bds"], "a known policy; got 'bds'. Did you mean 'bsd'?"),
        (["run", "FILE", "--policy", "cqcc"], "a known policy; got 'cqcc'. Did you mean 'cqc'?"),
        (["run", "FILE", "--state", "FILE"], "a state folder that can be written; got"),
        (["run", "FILE", "--lanes", "many"], "--lanes is auto, jobs or a number; got 'many'."),
        (["run", "FILE", "--lanes", "0"], "--lanes is auto, jobs or a number; got '0'."),
        (["run", "BROKEN"], "broken.yaml:1:1"),
        (["explain", "absent.yaml"], "absent.yaml"),
        (["explain", "BROKEN"], "broken.yaml:1:1"),
        (["explain", "EMPTY"], "a run's state folder has its record; got none in '"),
        (["explain", "FILE", "--at", "5s"], "--at is about a run; got '"),
        (["top", "absent"], "a state folder has a status.json; got absent (No such file or directory)."),
        (["top", "EMPTY"], "status.json is written by an engine; got no JSON."),
        (["top", "OTHER"], "status.json is written by an engine; got other JSON."),
    ],
)
def test_a_mistake_is_one_line_without_a_traceback_and_exit_code_2(tmp_path, arguments, said):
    places = {
        "FILE": written(tmp_path / "tiny.yaml", TINY),
        "BROKEN": written(tmp_path / "broken.yaml", "strems: {}"),
    }
    for name, text in (("EMPTY", ""), ("OTHER", "{}")):
        places[name] = tmp_path / name
        places[name].mkdir()
        written(places[name] / STATUS, text)
    result = headgate(*(places.get(each, each) for each in arguments))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("running", "age", "first"),
    [
        (True, 0.0, "headgate: bsd"),
        (True, 12.4, "no news for 12 s; the engine may have died"),
        (False, 200.0, "the engine stopped 3m 20s ago"),
    ],
)
def test_top_says_whether_there_is_news(tmp_path, monkeypatch, running, age, first):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    result = headgate("top", left_behind(tmp_path, running=running, age=age), "--once")
    assert result.stdout.startswith(first)


def test_top_in_a_terminal_follows_the_engine_until_ctrl_c(tmp_path):
    left_behind(tmp_path, running=True)
    ours, theirs = pty.openpty()
    with subprocess.Popen(command("top", tmp_path), stdin=theirs, stdout=theirs, stderr=theirs) as process:
        try:
            assert b"vwap" in _until(ours, b"lane-1: idle")
            left_behind(tmp_path)
            assert b"the engine stopped" in _until(ours, b"the engine stopped")
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)


def _until(terminal, text):
    """What a terminal has got by the time that a text appears."""
    read = b""
    while text not in read:
        read += os.read(terminal, 65536)
    return read


def test_top_reads_what_engines_write():
    assert status.NAME == STATUS
