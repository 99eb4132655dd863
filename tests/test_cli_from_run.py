"""`headgate sim --from-run` as a user meets it, on records whose figures are known."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from typer.testing import CliRunner

from headgate.cli import app
from headgate.monitor.figures import Response
from headgate.policy.registry import POLICIES, create
from headgate.record import NAME, Arrived, Began, Planned, Ran, Recorder
from headgate.sim import replay as module
from headgate.sim.replay import replay
from headgate.sim.workload import UnitSpec, Workload

START = 1000.0
OPTIONS = {"train": {"most": 40, "slice": 2.0}}
UNITS = (
    UnitSpec("cheap", ("ticks",), 0.02, 0.001, cls="alerts"),
    UnitSpec("dear", ("ticks",), 0.02, 0.05, cls="boards"),
    UnitSpec("both", ("ticks", "news"), 0.05, 0.01, cls="alerts"),
)


def headgate(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def record(folder, policy="bsd", lanes=1, *, until=math.inf):
    """A folder with the record of a run that went exactly as the cost model says."""
    rng = np.random.default_rng(1)
    arrivals = {
        name: START + np.sort(np.round(rng.uniform(0, 20, n), 3)) for name, n in (("ticks", 240), ("news", 60))
    }
    arrivals = {name: times[times <= until] for name, times in arrivals.items()}
    workload = Workload(UNITS, arrivals, start=START, until=until)
    recorder = Recorder(folder)
    recorder.append(Began(START, policy, OPTIONS, lanes))
    for unit in UNITS:
        reads = dict.fromkeys(unit.streams, 0)
        recorder.append(Planned(START, unit.name, (unit.name,), unit.cls, reads, unit.a, unit.b, unit.S))
    for name, times in arrivals.items():
        for i, time in enumerate(times.tolist()):
            recorder.append(Arrived(name, i, 1, time, time))

    class Engine:
        """The policy, with a record of the runs that end."""

        def __init__(self, name, options):
            self.policy = create(name, options)
            self.prepare, self.choose = self.policy.prepare, self.policy.choose
            self.stands = Counter()
            self.free = [0.0] * lanes

        def observe(self, outcome):
            unit, n = UNITS[outcome.run.unit], outcome.run.train
            mixed = sorted((t, rank, s) for rank, s in enumerate(arrivals) if s in unit.streams for t in arrivals[s])
            done = sum(self.stands[unit.name, s] for s in unit.streams)
            taken = mixed[done : done + n]
            finished = START + outcome.finished
            # Of the lanes that were free, the one that was so for the shortest time.
            lane = max((at, i) for i, at in enumerate(self.free) if at <= outcome.started)[1]
            self.free[lane] = outcome.finished
            positions = {}
            for stream in unit.streams:
                lo = self.stands[unit.name, stream]
                self.stands[unit.name, stream] = hi = lo + sum(s == stream for _, _, s in taken)
                positions[stream] = (lo, hi)
            recorder.append(
                Ran(
                    time=START + outcome.started,
                    unit=unit.name,
                    positions=positions,
                    n=n,
                    started=START + outcome.started,
                    finished=finished,
                    lane=lane,
                    results=n,
                    response=Response.of(np.array([finished - t for t, _, _ in taken])),
                    formula="",
                    terms={},
                )
            )
            self.policy.observe(outcome)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "create", Engine)
        replay(workload, policy, OPTIONS, lanes)
    recorder.close()
    return folder


@pytest.mark.parametrize("policy", ["bsd", "fcfs", "rr", "hnr"])
@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("until", [math.inf, START + 12])
def test_a_run_that_follows_the_cost_model_is_predicted_without_error(tmp_path, policy, lanes, until):
    result = headgate("sim", "--from-run", record(tmp_path, policy, lanes, until=until), "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    measured, own = document["measured"], document["predicted"][0]
    assert (document["policy"], own["policy"], document["lanes"]) == (policy, policy, lanes)
    assert (measured["waiting"] > 0) == (until < math.inf)
    for parts in (lambda d: d, lambda d: d["classes"]["boards"], lambda d: d["units"]["both"]):
        for name, value in parts(measured).items():
            if value is not None and not isinstance(value, dict):
                assert parts(own)[name] == pytest.approx(value, rel=1e-6), name


def test_the_table_shows_measured_beside_predicted_and_then_the_other_policies(tmp_path):
    result = headgate("sim", "--from-run", record(tmp_path), "--policies", "fcfs, bsd,hnr")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{tmp_path / NAME}: ")
    assert lines[0].endswith(" s on 1 lane")
    rows = [line.split() for line in lines[3:8]]
    assert [row[:2] for row in rows[:1]] == [["bsd", "measured"]]
    assert [row[0] for row in rows[1:3]] == ["predicted", "error"]
    assert [row[:2] for row in rows[3:]] == [["fcfs", "predicted"], ["hnr", "predicted"]]
    assert rows[0][2:] == [cell.strip("*") for cell in rows[1][1:]]
    assert set(rows[2][1:]) == {"+0%", "–"}
    predictions = [rows[1], rows[3], rows[4]]
    assert sum(cell.endswith("*") for row in predictions for cell in row) >= 5
    assert "average slowdown by class of queries" in result.stdout
    assert "alerts" in result.stdout


def test_nothing_is_called_lowest_where_much_was_left_waiting(tmp_path):
    result = headgate("sim", "--from-run", record(tmp_path, until=START + 12), "--policies", "fcfs,hnr")
    assert "*" not in result.stdout
    assert "the run was stopped, and what waited then counts in no other column" in result.stdout.replace("\n", " ")


def test_without_names_every_policy_of_trains_is_predicted_with_the_trains_of_the_run(tmp_path):
    document = json.loads(headgate("sim", "--from-run", record(tmp_path, "rr") / NAME, "--json").stdout)
    named = [p["policy"] for p in document["predicted"]]
    trains = [name for name, entry in POLICIES.items() if "train" in entry.options]
    assert named == ["rr", *(name for name in trains if name != "rr")]
    assert all(p["avg_train"] > 1.5 for p in document["predicted"])
    assert document["options"] == OPTIONS
    assert document["streams"] == {"ticks": {"tuples": 240}, "news": {"tuples": 60}}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--policies", "bds"], "a known policy; got 'bds'. Did you mean 'bsd'?"),
        (["--demo"], "sim takes a scenario file or --demo or --from-run; got more than one"),
        (["scenario.yaml"], "sim takes a scenario file or --demo or --from-run; got more than one"),
        (["--seeds", "2"], "replayed once, into a table; got --seeds"),
        (["--plot", "x.png"], "replayed once, into a table; got --plot"),
    ],
)
def test_what_does_not_go_with_a_recorded_run_is_refused(tmp_path, arguments, said):
    result = headgate("sim", "--from-run", record(tmp_path), *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_policies_go_with_a_recorded_run_only():
    result = headgate("sim", "--demo", "--policies", "bsd")
    assert result.exit_code == 2
    assert "a scenario names its policies" in result.stderr


@pytest.mark.parametrize(("content", "said"), [(None, "state folder has its record"), ("", "an empty file")])
def test_a_folder_without_a_record_is_one_line_on_stderr(tmp_path, content, said):
    if content is not None:
        (tmp_path / "record.jsonl").write_text(content)
    result = headgate("sim", "--from-run", tmp_path, "--json")
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
