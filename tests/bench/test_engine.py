"""The parts of `headgate bench engine` on real Spark, over as little as they can do."""

import math

import pytest

from headgate.bench import engine
from headgate.bench.engine import APPENDED, TEXTS, TRAINS
from headgate.bench.tables import engine as shown

QUERIES = 2


def of(rows, part):
    return [row for row in rows if row["part"] == part]


@pytest.fixture(scope="module")
def rows(spark, tmp_path_factory):
    folder, heard = tmp_path_factory.mktemp("bench"), []
    found = [
        *engine.planning(spark, folder / "planning", heard.append, TRAINS[:1], warm_up=0, runs=2),
        engine.overhead(spark, folder / "overhead", heard.append, QUERIES, warm_up=1, runs=4),
        *engine.ingest(folder / "ingest", heard.append, APPENDED[:2], tuples=3_000),
        *engine.responses(spark, folder / "responses", heard.append, QUERIES, warm_up=0.2, seconds=0.5),
    ]
    assert len(heard) >= 4
    return found


def test_every_query_is_planned_in_both_ways(rows):
    planned = of(rows, "planning")
    assert [(row["query"], row["tuples"]) for row in planned] == [(name, TRAINS[0]) for name in TEXTS]
    assert all(row["ratio"] == row["afresh"] / row["prepared"] > 0 for row in planned)


def test_what_is_added_to_a_job_is_around_and_between_runs(rows):
    (job,) = of(rows, "overhead")
    assert job["runs"] >= 4
    assert job["deciding"] > 0
    assert 0 < job["around"] < job["run"]
    assert job["added"] == job["around"] + job["between"]


def test_all_tuples_but_those_of_the_first_train_are_counted(rows):
    assert {row["train"]: row["tuples"] for row in of(rows, "ingest")} == {1_000: 2_000, 10_000: 10_000}


def test_every_system_gives_every_result_once(rows):
    found = of(rows, "response")
    assert [row["system"] for row in found] == ["Headgate, not fused", "Headgate", "Structured Streaming"]
    assert [row["missing"] for row in found] == [0, 0, 0]
    assert [row["queries"] for row in found] == [QUERIES] * 3
    assert all(0 < row["p50"] <= row["p99"] < math.inf for row in found)
    assert found[0]["units"] == QUERIES


def test_streaming_queries_are_stopped(rows, spark):
    assert list(spark.newSession().streams.active) == []


def test_every_part_has_a_goal_and_a_table(rows):
    assert len(engine.checks(rows)) == 7
    assert [table.row_count for table in shown(rows)] == [2, 1, 2, 3, 0]
