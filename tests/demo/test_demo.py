"""The demonstration from its beginning to its report, with less of everything: how it ends, not how it looks."""

import json

import pytest
from typer.testing import CliRunner

from headgate.cli import app
from headgate.demo import market, report, rounds

STEPS = ((0.5, 0.5), (1.0, 1.0), (1.5, 3.0))


@pytest.fixture
def short(monkeypatch):
    """Fewer queries, for seconds in all."""
    listed = market.queries()
    for module in (rounds, report):
        monkeypatch.setattr(module, "STEPS", STEPS)
        monkeypatch.setattr(module, "SECONDS", sum(seconds for seconds, _ in STEPS))
    monkeypatch.setattr(rounds, "queries", lambda: [*listed[:4], *listed[36:38], *listed[-2:]])
    monkeypatch.setattr(rounds, "_WARM_UP", (300,))
    monkeypatch.setattr(rounds, "_OFFERED", 4000)
    monkeypatch.setattr(rounds, "_TRIALS", 2)
    monkeypatch.setattr(rounds, "_PAUSE", 0.5)


def test_both_rounds_are_served_and_end_in_a_table_and_a_report(spark, short, tmp_path):
    done = CliRunner().invoke(app, ["demo", "--no-view", "--report", str(tmp_path)])
    assert done.exit_code == 0, done.output
    for said in (
        "dashboard: http://127.0.0.1:",
        "round 1 of 2: FIFO",
        "round 2 of 2: DILoS",
        "ticks/s with these queries",
    ):
        assert said in done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if line.split()[:1] in (["FIFO"], ["DILoS"])] == ["FIFO", "DILoS"]
    assert lines[-1].startswith(f"report: file://{tmp_path.resolve()}")
    found = json.loads((tmp_path / "report.json").read_text())
    assert [each["classes"][0]["class"] for each in found["rounds"]] == ["alerts", "alerts"]
    served = [cls["results"] for each in found["rounds"] for cls in each["classes"] if cls["class"] == "alerts"]
    assert min(served) > 0
    assert (tmp_path / "report.html").read_text().count("<svg") == 2
