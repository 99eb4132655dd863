"""`headgate bench` as a user meets it, over reports that took no time to measure."""

import io
import json
from importlib import import_module

import pytest
from rich.console import Console
from typer.testing import CliRunner

from headgate.bench.command import BENCHMARKS
from headgate.bench.report import Report, at_least, at_most
from headgate.bench.tables import goals
from headgate.cli import app

POLICY = {
    "policy": "bsd",
    "seeds": 3,
    "units": 40,
    "avg_slowdown": 12.5,
    "max_slowdown": 80.0,
    "rms_slowdown": 15.25,
    "avg_response": 0.345,
    "predicted_avg": 11.5,
    "predicted_max": 75.0,
    "predicted_rms": 14.5,
    "jobs": 812.0,
    "train": 31.0,
    "work_to_a": 6.5,
    "utilisation": 0.88,
}
DROPPED = {"before": 0.4, "after": 0.25, "lost": 0, "twice": 7}
PLAYED = {
    "queries": 100,
    "rate": 20_000.0,
    "p50": 0.0071,
    "p99": 0.0195,
    "results": 11_500,
    "per_second": 1150.0,
    "missing": 0,
    "cpu": 4.25,
}
CASE = {"mean": 0.25, "p99": 0.75, "loss": 0.12, "waiting": 3}
ROWS = {
    "fresh-tables": [
        {
            "seed": 2,
            "way": "profile",
            "results": 9_900,
            "fresh": 0.52,
            "expected": 0.58,
            "estimated": 0.49,
            "refreshes": 31,
            "allowed": 31.2,
            "failures": 0,
            "response_p99": 0.045,
        }
    ],
    "whatif": [
        {
            "load": "bursts",
            "round": 1,
            "way": "dilos",
            "cls": "alerts",
            "measured": CASE,
            "predicted": CASE | {"mean": 0.26},
            "what-if": CASE | {"loss": 0.13},
        }
    ],
    "deadlines": [
        {
            "way": "lrm+",
            "load": 1.4,
            "rate": 1000.0,
            "iterations": 96,
            "miss": 0.02,
            "completion": 0.97,
            "useful": 0.95,
            "error": 31.0,
            "kept": 0.7,
            "late": 0.25,
            "worked": 0.9,
        },
        {
            "way": "admission",
            "query": "greedy",
            "took": 0.6,
            "answer": "it does not fit",
            "before": 0.01,
            "after": 0.04,
        },
    ],
    "overload": [
        {
            "load": "constant",
            "way": "dilos",
            "times": 3.0,
            "cls": "alerts",
            "target": 0.5,
            "p50": 0.1,
            "p99": 0.3,
            "mean": 0.12,
            "within": 1.0,
            "loss": 0.0,
            "pending": 120,
            "work": 0.1,
        },
        {
            "load": "hog",
            "way": "dilos, aloma",
            "times": None,
            "cls": "reports",
            "target": 3.0,
            "p50": None,
            "p99": None,
            "mean": None,
            "within": 0.5,
            "loss": 0.25,
            "pending": None,
            "work": 0.6,
            "settled": 4.5,
        },
    ],
    "qos": [
        {
            "load": "fluctuating",
            "way": "bucketing",
            "tuples": 32_100,
            "average": 0.8767,
            "per_result": 0.7654,
            "tight": 0.75,
            "loose": 0.9999,
            "missed": 0.12,
            "missed_over": 0.34,
            "missed_under": None,
            "p50": 0.087,
            "queries": [0.75, 0.9999],
            "units": 10,
            "decisions": 4321,
            "runs": 4322,
            "choosing": 45e-6,
            "deciding": 0.00012,
        },
        {
            "load": "300 queries over 1 stream",
            "way": "slope-slack",
            "units": 300,
            "decisions": 987,
            "runs": 986,
            "choosing": 0.0021,
            "deciding": 0.0034,
        },
    ],
    "freshness": [
        {
            "part": "solver",
            "way": "exact",
            "copies": 500_000,
            "seconds": 3.25,
            "freshness": 0.8312,
            "off": 0.0,
            "below": 0.0,
        },
        {
            "part": "groups",
            "way": "50 groups",
            "copies": 500_000,
            "rounds": 10,
            "seconds": 2.5,
            "freshness": 0.8201,
            "off": 0.0,
            "below": 0.0111,
        },
    ],
    "sim": [
        {"what": "hnr, SimPy", "executions": 20_000, "seconds": 0.5, "per_second": 40_000.0, "ratio": 1.0},
        {"what": "rr, compiled kernel", "executions": 5_000, "seconds": 0.1, "per_second": 5e4, "ratio": None},
    ],
    "engine": [
        {"part": "planning", "query": "filter", "tuples": 1000, "prepared": 0.02, "afresh": 0.05, "ratio": 2.5},
        {
            "part": "overhead",
            "queries": 20,
            "runs": 140,
            "run": 0.04,
            "around": 0.002,
            "deciding": 0.0004,
            "between": 0.001,
        },
        {"part": "ingest", "train": 10_000, "tuples": 490_000, "seconds": 0.22, "per_second": 2.2e6},
        {
            "part": "response",
            "system": "Headgate",
            "queries": 10,
            "units": 3,
            "results": 7_500,
            "missing": 0,
            "mean": 0.25,
            "p50": 0.21,
            "p99": 0.61,
        },
        {"part": "load", "cores": 2, "before": 0.4, "after": 3.5},
    ],
    "channels": [
        {
            "part": "answers",
            "bytes": 65_536,
            "runs": 29,
            "kernel": 0.0004,
            "unix": 0.0011,
            "unix_file": 0.0012,
            "flight": 0.0021,
            "flight_file": 0.0023,
            "job": 0.035,
        },
        {"part": "load", "cores": 2, "before": 0.4, "after": 3.5},
    ],
    "balance": [
        {"rate": 4321.0, "own": True, "way": "balanced", "class": "bronze", **DROPPED},
        {"way": "balanced", "query": "gold_1", "from": "a", "to": "b", "at": 12.5, "why": "gain = 0.3"},
    ],
    "nodes": [{"query": "large_0", "results": 1234, "lost": 0, "twice": 7, "instances": 3}],
    "moves": [
        {
            "query": "join",
            "way": "UniMiCo",
            "results": 321,
            "mean": 0.0155,
            "std": 0.25,
            "longest": 1.2,
            "lost": 5,
            "twice": 0,
        }
    ],
    "ui": [
        {**PLAYED, "round": 1, "served": True, "messages": 24, "longest_gap": 0.75, "bytes": 1_200_000},
        {**PLAYED, "round": 1, "served": False, "cpu": 3.0},
        {"of": "driver", "lost": 1.234, "low": -0.5, "high": 2.961, "pairs": 30},
        {"sorts": 34, "longest_sort": 31.2, "longest_search": 17.9},
    ],
    "commits": [
        {"part": "append", "sync": False, "tuples": 1000, "per_second": 1234.0},
        {
            "part": "group",
            "sink": "shared parquet",
            "group": 100,
            "sync": True,
            "commit": 0.0155,
            "commits_per_second": 64.0,
            "runs_per_second": 6451.0,
        },
        {
            "part": "cohort",
            "sync": False,
            "members": 100_000,
            "runs": 10,
            "enter": 1.25,
            "join": 0.75,
            "commit": 0.00025,
            "commits_per_second": 3999.0,
        },
    ],
    "kernel": [
        {
            "part": "trains",
            "case": "alike",
            "queries": 1000,
            "shapes": 20,
            "tuples": 50_000,
            "results": 5012,
            "expected": 5012,
            "kernel": 0.0165,
            "alternative": 0.33,
            "ratio": 20.0,
        },
        {"part": "changes", "add": 0.002, "after_add": 0.0011, "remove": 0.0013, "after_remove": 0.001, "run": 9e-4},
        {"part": "load", "cores": 2, "before": 0.4, "after": 3.5},
    ],
    "live-policies": [
        {"table": "heavy", **POLICY},
        {"table": "light", **POLICY, "predicted_avg": None, "predicted_max": None, "predicted_rms": None},
    ],
    "many-queries": [
        {
            "system": "Headgate, resident lanes",
            **PLAYED,
            "memory": 1_200_000_000,
            "highest": 400_000.0,
        },
        {"system": "Flink, one statement set", "failed": "not installed"},
    ],
    "scale-queries": [
        {
            "part": "scale",
            "what": "1,000 queries of 20 shapes",
            "goal": 0.05,
            "registered": 2.5,
            **PLAYED,
            "shares": {"appending": 0.1, "deciding": 0.02, "lane": 0.41, "committing": 0.07},
        },
        {"part": "added", **PLAYED, "added": 5, "median": 0.004, "most": 0.009, "p99_before": 0.031},
        {"part": "growth", "kind": "one shape", **PLAYED, "queries": 1, "cpu": 4.0},
        {"part": "growth", "kind": "one shape", **PLAYED, "queries": 1000, "cpu": 8.0},
        {"part": "sinks", "sink": "jsonl", "highest": PLAYED, "beyond": None},
    ],
}
SHOWN = {
    "whatif": ["bursts", "dilos", "2", "alerts", "250 ms", "260 ms", "750 ms", "12 %", "13 %"],
    "freshness": ["500,000", "exact", "3.2 s", "0.8312", "50 groups", "2.5 s", "0.8201", "0.0111"],
    "fresh-tables": ["profile", "2", "9.9k", "52 %", "58 %", "49 %", "31", "45.0 ms"],
    "deadlines": ["lrm+", "140 %", "3.0k", "96", "2.0 %", "97 %", "31 %", "250 ms", "it does not fit", "600 ms"],
    "overload": ["constant load", "3×", "300 ms", "100 %", "120", "hog load", "25 %", "on time after", "4.5 s"],
    "qos": [
        "fluctuating overload",
        "32.1k",
        "0.877",
        "1.000",
        "34 %",
        "87.0 ms",
        "45.0 µs",
        "300 queries over 1 stream",
        "987",
        "986",
        "2.1 ms",
    ],
    "sim": ["20,000", "40,000", "1×", "–"],
    "engine": ["20.0 ms", "2.5×", "400 µs", "2,200,000", "7,500", "610 ms", "0.4"],
    "channels": ["65,536", "400 µs", "1.1 ms", "2.3 ms", "35.0 ms"],
    "balance": ["balanced", "bronze", "40 %", "25 %", "0", "7", "gold_1", "a", "b", "12.5 s", "gain = 0.3"],
    "nodes": ["large_0", "1.2k", "0", "7", "3"],
    "moves": ["join", "UniMiCo", "321", "15.5 ms", "250 ms", "1.2 s", "5"],
    "ui": [
        "20,000",
        "4.25 s",
        "3.00 s",
        "19.5 ms",
        "750 ms",
        "1.2 MB",
        "–",
        "the driver's process",
        "1.23 %",
        "-0.50 % and 2.96 %",
    ],
    "commits": ["1,234", "shared parquet", "15.5 ms", "6,451", "100,000", "1.2 s", "250 µs", "3,999"],
    "kernel": ["50,000", "16.5 ms", "330 ms", "20×", "2.0 ms", "900 µs"],
    "many-queries": ["7.1 ms", "19.5 ms", "11,500", "4.25", "1.2 GB", "400,000", "not installed"],
    "scale-queries": ["20 shapes", "50.0 ms", "2.5 s", "41 %", "9.0 ms", "0.008", "jsonl", "1.1k"],
    "live-policies": ["12.5 | 11.5", "345 ms", "6.5×", "88 %", "light queries"],
}


def report(name, *values):
    """A report whose goals are all 10 or more."""
    return Report(name, tuple(ROWS[name]), tuple(at_least(f"goal of {value}", value, 10) for value in values))


@pytest.fixture
def measured(monkeypatch):
    """Lets the benchmark of a name yield a report."""

    def yields(name, found):
        def run(progress):
            progress("nothing at all")
            return found

        monkeypatch.setattr(f"headgate.bench.{name.replace('-', '_')}.run", run)

    return yields


def test_the_help_names_every_benchmark():
    said = CliRunner().invoke(app, ["bench", "--help"], env={"COLUMNS": "200"}).output
    assert all(name in said for name in BENCHMARKS)


def test_an_unknown_benchmark_is_refused_with_the_known_ones():
    refused = CliRunner().invoke(app, ["bench", "spark"])
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: ")
    assert all(name in refused.stderr for name in ("'spark'", *BENCHMARKS))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_has_something_to_run(name):
    assert callable(import_module(f"headgate.bench.{name.replace('-', '_')}").run)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_rows_are_shown_in_tables(name):
    out = Console(width=200, record=True, file=io.StringIO())
    for table in BENCHMARKS[name].tables(ROWS[name]):
        out.print(table)
    said = out.export_text()
    assert [text for text in SHOWN[name] if text not in said] == []


@pytest.mark.parametrize("name", BENCHMARKS)
def test_json_is_one_document_with_rows_checks_and_the_machine(measured, name):
    measured(name, report(name, 12))
    done = CliRunner().invoke(app, ["bench", name, "--json"])
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["name"] == name
    assert found["rows"] == ROWS[name]
    assert found["checks"] == [{"what": "goal of 12", "value": 12, "goal": "≥ 10", "ok": True}]
    assert found["machine"]["cores"]


@pytest.mark.parametrize(
    ("values", "options", "code"),
    [((12,), ["--check"], 0), ((12, 9), ["--check"], 1), ((9,), [], 0), ((9,), ["--check", "--json"], 1)],
)
def test_a_missed_goal_counts_where_it_is_checked(measured, values, options, code):
    measured("sim", report("sim", *values))
    assert CliRunner().invoke(app, ["bench", "sim", *options]).exit_code == code


def test_goals_are_shown_as_met_or_missed():
    out = Console(width=120, record=True, file=io.StringIO())
    out.print(goals([at_least("speed", 12, 10, "×"), at_most("time, ms", 7.5, 5)]))
    speed, time = (line for line in out.export_text().splitlines() if "speed" in line or "time" in line)
    assert "≥ 10×" in speed
    assert "met" in speed
    assert "≤ 5" in time
    assert "missed" in time


def test_progress_goes_to_standard_error(measured):
    measured("engine", report("engine", 12))
    done = CliRunner().invoke(app, ["bench", "engine"])
    assert "nothing at all" in done.stderr
    assert "nothing at all" not in done.stdout


def test_figures_are_put_into_the_folder_that_is_named(measured, tmp_path):
    measured("scale-queries", report("scale-queries", 12))
    assert CliRunner().invoke(app, ["bench", "scale-queries", "--plots", str(tmp_path / "new")]).exit_code == 0
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["scale-queries.png"]
