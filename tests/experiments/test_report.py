import json
import math

import pytest
from typer.testing import CliRunner

from headgate.cli import app
from headgate.errors import InputError
from headgate.experiments.markdown import page
from headgate.experiments.report import (
    Band,
    Experiment,
    Outcome,
    Scale,
    banded,
    change,
    claim,
    holds,
    reported,
    sized,
)
from headgate.experiments.runner import EXPERIMENTS, chosen, run
from headgate.experiments.traces import Recorded, available
from headgate.sim.metrics import interval

OUTCOME = Outcome(
    "X-E1",
    "a title",
    "a trace",
    "1, 2",
    (
        banded("in", "1", 1.0, Band(0, 2)),
        banded("out", "1", 3.0, Band(0, 2)),
        claim("missed", "1", "3", confirmed=False),
        reported("other", "–", "5"),
    ),
)


def test_a_band_includes_its_ends_and_reads_like_a_range():
    assert 0.0 in Band(0, 2)
    assert 2.0 in Band(0, 2)
    assert 2.1 not in Band(0, 2)
    assert [str(b) for b in (Band(1, 2, " %"), Band(3, 3), Band(1, math.inf, "×"), Band(-math.inf, 2))] == [
        "1 … 2 %",
        "3",
        "≥ 1×",
        "≤ 2",
    ]


def test_nan_is_out_of_every_band():
    assert banded("what", "1", math.nan, Band(-math.inf, math.inf)).verdict == "out of band"


def test_an_experiment_sees_the_simulations_that_it_asked_for_and_those_that_it_shares():
    def asking(*keys):
        def outcome(_, results):
            return Outcome(
                "X", "", "", "", (reported(", ".join(map(str, sorted(results.items(), key=str))), "", ""),)
            )

        return Experiment("X", "", "", lambda _: {key: (pow, (key[0], 2)) for key in keys}, outcome)

    found = run([asking((1,), (2, "a")), asking((2, "a"), (3, "b", "c"))], Scale(quick=True, traces=()))
    assert [each.rows[0].what for each in found] == ["((1,), 1), ((2, 'a'), 4)", "((2, 'a'), 4), ((3, 'b', 'c'), 9)"]


def test_an_order_holds_only_if_it_holds_in_every_case():
    assert [holds("", "", good, of).ok for good, of in ((3, 3), (2, 3), (0, 0))] == [True, False, False]


@pytest.mark.parametrize(
    ("paper", "ours", "confirmed"),
    [(-20, -14, True), (-20, -29, True), (-20, -5, False), (-20, 3, False), (10, 14, True)],
)
def test_a_size_without_a_band_is_confirmed_within_a_factor_of_one_and_a_half(paper, ours, confirmed):
    assert (sized("", paper, interval([ours])).verdict == "reported") == confirmed


def test_a_change_is_taken_seed_by_seed():
    assert change([50, 150], [100, 100]).mean == 0
    assert change([50, 150], [100, 100]).low == -50


def test_json_has_the_documented_keys_and_ok_is_null_where_a_row_only_reports():
    found = json.loads(json.dumps(OUTCOME.as_json()))
    assert set(found) == {"id", "title", "trace", "seeds", "rows", "notes"}
    assert [row["ok"] for row in found["rows"]] == [True, False, False, None]
    assert set(found["rows"][0]) == {"what", "paper", "measured", "band", "ok", "verdict"}


def test_the_page_names_the_command_and_shows_misses_as_misses():
    text = page([OUTCOME], {}, "headgate reproduce X")
    assert "headgate reproduce X" in text
    assert "| missed | 1 | 3 | – | **miss** |" in text
    assert "**out of band**" in text


def test_a_prefix_stands_for_all_of_its_experiments_and_a_full_id_for_one():
    assert [e.id for e in chosen(["QRY-E1"])] == ["QRY-E1"]
    assert len(chosen(["qry"])) == 11
    assert len(chosen([])) == len(EXPERIMENTS)
    assert [e.id for e in chosen(["QRY-E2", "QRY-E2", "QRY-E11"])] == ["QRY-E2", "QRY-E11"]


def test_an_unknown_experiment_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="QRY-E1, QRY-E2"):
        chosen(["FOO"])


def test_every_experiment_of_the_publications_is_there():
    numbers = {
        "QRY-E": range(1, 12),
        "CLS-E": range(1, 32),
        "DILOS-E": range(26),
        "RT-E": range(12),
        "APP-E": range(1, 33),
        "APP-EX": (*range(1, 6), *range(8, 13)),
    }
    wanted = [f"{family}{i}" for family, each in numbers.items() for i in each]
    assert sorted(EXPERIMENTS) == sorted([*wanted, "DILOS-LSRM", "DILOS-ARM"])


def test_without_a_trace_file_the_surrogate_is_used_alone(tmp_path):
    assert [t.name for t in available(None, [tmp_path])] == ["on/off"]


def test_segments_of_a_recorded_trace_are_disjoint_while_they_fit_and_random_after(tmp_path):
    path = tmp_path / "t.tl"
    path.write_text("".join(f"{k / 10} 100\n" for k in range(1000)))
    trace = Recorded("t", path)
    assert [float(trace.times(seed, 300)[0]) for seed in (1, 2, 3)] == [0, 0, 0]
    assert len(trace.times(7, 300)) == 300
    with pytest.raises(InputError, match="at least 2000 tuples"):
        trace.times(1, 2000)


def test_the_command_lists_the_experiments():
    found = CliRunner().invoke(app, ["reproduce", "--list", "--json"])
    assert found.exit_code == 0
    assert [e["id"] for e in json.loads(found.stdout)["experiments"]] == list(EXPERIMENTS)


def test_the_command_prints_one_json_document_and_writes_figure_and_report(tmp_path):
    arguments = ["reproduce", "QRY-E11", "--quick", "--json", "--check"]
    arguments += ["--plots", str(tmp_path / "figures"), "--report", str(tmp_path / "report.md")]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["experiments"][0]["id"] == "QRY-E11"
    assert (tmp_path / "figures" / "QRY-E11.png").stat().st_size > 1000
    assert "(figures/QRY-E11.png)" in (tmp_path / "report.md").read_text()


def test_check_fails_where_a_value_is_out_of_its_band(monkeypatch):
    monkeypatch.setattr("headgate.experiments.runner.run", lambda *_: [OUTCOME])
    assert CliRunner().invoke(app, ["reproduce", "QRY-E11", "--no-plots"]).exit_code == 0
    assert CliRunner().invoke(app, ["reproduce", "QRY-E11", "--no-plots", "--check"]).exit_code == 1
