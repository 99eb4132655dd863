"""`headgate sim` and `headgate policies` as a user meets them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headgate import __version__
from headgate.cli import app
from headgate.policy.classes.registry import SCHEDULERS
from headgate.policy.registry import POLICIES
from headgate.sim.scenario import load, run
from headgate.sim.scenario.tables import by_class, findings, overview

SMALL = """\
name: small
streams: {stream: {arrivals: on-off}}
testbed: {kind: single-stream, queries: 20}
utilisation: 0.9
tuples: 300
policies: [fcfs, hnr, lsf, bsd]
seeds: [1, 2]
"""

FIGURES = {
    "results",
    "avg_slowdown",
    "max_slowdown",
    "rms_slowdown",
    "l2_slowdown",
    "p50_slowdown",
    "p99_slowdown",
    "avg_response",
    "p50_response",
    "p99_response",
}


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def headgate(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def headgate_process(*arguments):
    command = [sys.executable, "-m", "headgate.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_table_has_a_row_for_each_policy_and_the_lowest_of_each_column_marked(small):
    result = headgate("sim", small)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "small"
    rows = {line.split()[0]: line for line in lines[3:7]}
    assert list(rows) == ["fcfs", "hnr", "lsf", "bsd"]
    assert sum(row.count("*") for row in rows.values()) == 5
    assert all("±" in row for row in rows.values())
    assert "means over 2 seeds, ± 95 % confidence" in result.stdout
    assert "average slowdown by class of queries" in result.stdout
    assert "cost 16" in result.stdout


def test_one_seed_has_no_confidence_interval(small):
    result = headgate("sim", small, "--seeds", 1)
    assert "±" not in result.stdout
    assert "lowest of its column\n" in result.stdout


def test_json_is_one_document_with_the_stated_keys(small):
    result = headgate("sim", small, "--json")
    assert result.exit_code == 0
    assert result.stderr == ""
    document = json.loads(result.stdout)
    assert set(document) == {"scenario", "seeds", "streams", "policies"}
    assert document["scenario"] == "small"
    assert document["seeds"] == [1, 2]
    assert document["streams"]["stream"]["tuples"]["mean"] == 300
    assert [p["label"] for p in document["policies"]] == ["fcfs", "hnr", "lsf", "bsd"]
    for policy in document["policies"]:
        assert set(policy) == FIGURES | {
            "label",
            "policy",
            "level",
            "utilisation",
            "decisions",
            "held",
            "per_seed",
            "classes",
        }
        assert set(policy["avg_slowdown"]) == {"mean", "half", "low", "high", "n"}
        assert [set(one) for one in policy["per_seed"]] == [FIGURES] * 2
        assert all(set(figures) == FIGURES for figures in policy["classes"].values())


def test_json_has_null_where_there_is_no_number(small):
    document = json.loads(headgate("sim", small, "--json", "--seeds", 1).stdout)
    assert document["policies"][0]["avg_slowdown"]["half"] is None


def test_two_runs_give_the_same_json_to_the_letter(small):
    assert headgate("sim", small, "--json").stdout == headgate("sim", small, "--json").stdout


def test_seeds_on_the_command_line_are_one_to_n(small):
    document = json.loads(headgate("sim", small, "--json", "--seeds", 3).stdout)
    assert document["seeds"] == [1, 2, 3]


@pytest.mark.parametrize("name", ["plot.png", "plot.svg"])
def test_a_plot_is_written(small, tmp_path, name):
    assert headgate("sim", small, "--plot", tmp_path / name).exit_code == 0
    assert (tmp_path / name).stat().st_size > 5000


@pytest.mark.parametrize(
    ("plot", "said"), [("plot.bmp", "known format"), ("no/such/folder/plot.png", "a folder that exists")]
)
def test_a_plot_that_cannot_be_written_is_refused_before_the_run(small, tmp_path, plot, said):
    result = headgate("sim", small, "--plot", tmp_path / plot)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_a_mistake_is_one_line_on_stderr_and_exit_code_2(small):
    small.write_text(SMALL.replace("lsf", "lfs"))
    result = headgate_process("sim", small)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: {small}:6:23: ")
    assert "Did you mean 'lsf'?" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["sim"], ["sim", "x.yaml", "--demo"]])
def test_sim_takes_a_file_or_the_demo(arguments):
    result = headgate(*arguments)
    assert result.exit_code == 2
    assert "error: sim takes a scenario file or --demo" in result.stderr


def test_the_demo_runs_and_says_what_the_policies_bought():
    result = headgate("sim", "--demo", "--seeds", 1)
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "HNR's average slowdown was" in text
    assert "LSF had the mildest worst case" in text
    assert "BSD balances the two" in text


def test_the_findings_follow_from_the_numbers(small):
    result = run(load(small))
    fcfs, hnr, lsf, bsd = result.policies
    said = findings(result)
    changes = [b["avg_slowdown"] / a["avg_slowdown"] - 1 for a, b in zip(fcfs.per_seed, hnr.per_seed, strict=True)]
    assert f"{-100 * sum(changes) / 2:.0f} %" in said[0]
    assert hnr.figures.avg_slowdown.mean < bsd.figures.avg_slowdown.mean < lsf.figures.avg_slowdown.mean


def test_the_findings_admit_that_nothing_was_better(small):
    small.write_text(SMALL.replace("[fcfs, hnr, lsf, bsd]", "[hnr, fcfs]"))
    assert findings(run(load(small))) == ["No policy had a lower average slowdown than HNR."]


def test_tables_show_what_has_no_results(small):
    small.write_text(
        "streams: {s: {arrivals: poisson, rate: 5}}\n"
        "queries: {q: {from: s, operators: [select: {cost: 1ms, selectivity: 1e-9}]}}\n"
        "tuples: 20\npolicies: [fcfs, hnr]\n"
    )
    result = headgate("sim", small)
    assert result.exit_code == 0
    assert "–" in result.stdout
    assert json.loads(headgate("sim", small, "--json").stdout)["policies"][0]["avg_slowdown"]["mean"] is None
    assert headgate("sim", small, "--plot", small.with_suffix(".png")).exit_code == 0


def test_many_classes_are_not_shown_apart(small):
    queries = "".join(f"  q{i}: {{from: s, class: c{i}, operators: [map: {{cost: 1ms}}]}}\n" for i in range(9))
    small.write_text(
        f"streams: {{s: {{arrivals: poisson, rate: 5}}}}\nqueries:\n{queries}tuples: 20\npolicies: [fcfs]\n"
    )
    result = run(load(small))
    assert by_class(result) is None
    assert overview(result).row_count == 1


def test_policies_lists_every_registered_policy():
    result = headgate("policies")
    assert result.exit_code == 0
    known = [*POLICIES.values(), *(p for name, p in SCHEDULERS.items() if name not in POLICIES)]
    table = result.stdout.split("\n\n")[0].splitlines()[1:]
    assert [line.split()[0] for line in table if not line.startswith(" ")] == [p.name for p in known]
    listed = json.loads(headgate("policies", "--json").stdout)["policies"]
    assert [(p["name"], p["formula"], tuple(p["options"])) for p in listed] == [
        (p.name, p.formula, p.options) for p in known
    ]


def test_help_has_an_example_and_version_a_number():
    assert "Example: headgate sim" in headgate("sim", "--help").stdout
    assert "Example: headgate policies" in headgate("policies", "--help").stdout
    assert "headgate sim --demo" in headgate("--help").stdout
    assert headgate("--version").stdout == f"headgate {__version__}\n"


def test_commands_that_simulate_nothing_do_not_wait_for_the_compiler():
    heavy = "numba scipy pyarrow matplotlib"
    code = f"import sys, headgate.cli; print([m for m in '{heavy}'.split() if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_interrupt_ends_quietly_with_130(small, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("headgate.sim.scenario.run", interrupted)
    result = headgate("sim", small)
    assert result.exit_code == 130
    assert "Traceback" not in result.output


def test_the_demo_ships_with_the_package():
    assert (Path(sys.modules["headgate"].__file__).parent / "sim" / "scenario" / "demo.yaml").is_file()
