"""The parts of `headgate bench commits`, over as little as they can do."""

import io

import pytest
from rich.console import Console

from headgate.bench import commits
from headgate.bench.tables import commits as shown


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder, heard = tmp_path_factory.mktemp("bench"), []
    found = [
        *commits.appends(folder / "appends", heard.append, trains=3),
        *commits.groups(folder / "groups", heard.append, sizes=(1, 3), runs=6),
        *commits.cohorts(folder / "cohorts", heard.append, members=50, runs=5, times=4),
    ]
    assert len(heard) == len(found)
    return found


def test_every_part_is_measured_with_and_without_the_disk(rows):
    parts = {part: [row["sync"] for row in rows if row["part"] == part] for part in ("append", "group", "cohort")}
    assert parts == {"append": [False, True], "group": [False, True] * 6, "cohort": [False, True]}


def test_a_group_of_runs_is_so_many_times_the_commits(rows):
    for row in rows:
        if row["part"] == "group":
            assert row["runs_per_second"] == pytest.approx(row["group"] * row["commits_per_second"])


def test_everything_is_shown_and_has_a_goal(rows):
    tables = shown(rows)
    assert [table.row_count for table in tables] == [2, 12, 2]
    out = Console(width=200, record=True, file=io.StringIO())
    for table in tables:
        out.print(table)
    assert "shared parquet" in out.export_text()
    assert [check.what.split(",")[0] for check in commits.checks(rows)] == [
        "a commit of a cohort of 50",
        "50 queries into a cohort",
    ]
