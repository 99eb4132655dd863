"""`headgate bench many-queries`: what the systems are given, and how they are measured, over as little as can be."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from headgate.bench.many_queries import (
    BY_HAND,
    REAL_TIME,
    RESIDENT,
    STATEMENTS,
    SYSTEMS,
    VECTORISED,
    _highest,
    checks,
    compare,
)
from headgate.bench.rivals import headgate_lanes
from headgate.bench.rivals.alerts import SHAPES, SYMBOLS, Expected, alerts
from headgate.bench.rivals.bytewax_flow import evaluate
from headgate.bench.rivals.fused import fused
from headgate.bench.rivals.install import installed
from headgate.bench.rivals.process import Plan, Process
from headgate.bench.rivals.rounds import PythonEar, play
from headgate.bench.rivals.tree import used
from headgate.bench.rivals.tuples import POOL, Pool, PythonFeed, Round
from headgate.errors import HeadgateError

SHORT = Plan(rate=20_000.0, warm_up=0.5, seconds=0.5, patience=300.0)
POOLED = Pool.of(SYMBOLS)
IDS = np.arange(50_000)


@pytest.fixture(scope="module")
def ticks(spark):
    """The pool as a table of Spark's."""
    rows = headgate_lanes.Ticks(PythonFeed())._rows(IDS, IDS * 10)
    spark.createDataFrame(rows).createOrReplaceTempView("ticks")
    return spark


def by_numpy(queries):
    found = evaluate(queries, IDS, POOLED.take(IDS), IDS * 10)
    return {i: list(zip(*(column.tolist() for column in columns), strict=True)) for i, columns in found}


@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_a_query_means_the_same_in_sql_and_in_numpy(ticks, shape):
    query = SHAPES[shape](3)
    rows = ticks.sql(query.sql).toArrow().sort_by("id")
    expected = by_numpy([query])[0]
    assert list(zip(*(column.to_pylist() for column in rows.columns), strict=True)) == expected


def test_fused_by_hand_every_query_has_its_own_results(ticks):
    queries = alerts(20)
    rows = ticks.sql(fused(queries)).toArrow().sort_by("id")
    found = {
        i: list(zip(*(column.to_pylist() for column in rows.filter(pa.array(mine)).columns[:4]), strict=True))
        for i in range(20)
        if (mine := rows["query"].to_numpy() == i).any()
    }
    assert found == by_numpy(queries)


def test_queries_are_alerts():
    shares = [query.matches(POOLED).mean() for query in alerts(100)]
    assert min(shares) > 1 / 10_000
    assert max(shares) < 1 / 400


def test_queries_differ():
    assert len({query.sql for query in alerts(100)}) == 100


@pytest.mark.parametrize(("first", "end"), [(0, 1000), (POOL - 500, POOL + 700), (3 * POOL + 5, 5 * POOL), (7, 7)])
def test_expected_results_are_those_of_the_tuples_of_the_round(first, end):
    queries = alerts(5)
    every = POOLED.take(np.arange(first, end) & (POOL - 1))
    counted = sum(int(query.matches(every).sum()) for query in queries)
    assert Expected.of(POOLED, queries).over(Round(first, end, 1.0, 0.0)) == counted


def test_a_tuple_arrives_when_it_is_due():
    played = Round(first=100, end=300, rate=100.0, began=1000.0)
    assert played.due(1000.0) == 100
    assert played.due(1000.5) == 150
    assert played.due(1100.0) == 300
    assert played.arrived(np.array([100, 150])).tolist() == [1_000_000_000, 1_000_500_000]


def test_results_that_are_missing_count_as_having_waited_for_as_long_as_the_patience():
    feed, ear, expected = PythonFeed(), PythonEar(), Expected.of(POOLED, alerts(10))
    found = play(feed, ear, expected, rate=100_000.0, warm_up=0.05, seconds=0.05, patience=0.1)
    assert found["missing"] == found["results"] == expected.over(feed.round)
    assert found["p50"] == found["p99"] == 0.1


def test_response_times_are_those_of_results_whose_tuples_came_after_the_warm_up():
    ear = PythonEar()
    now = time.time()
    ear.take(np.array([(now - 10) * 1e6, (now - 2) * 1e6]).astype(np.int64))
    assert ear.results == 2
    (waited,) = ear.waited(now - 5)
    assert 2.0 <= waited + 1e-6 <= time.time() - now + 2.1


def test_what_the_children_of_a_process_use_counts():
    work = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'sum(range(60_000_000))']); input()"
    with subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE) as parent:
        limit = time.time() + 300
        while (found := used(parent.pid)) is not None and found.cpu < 0.2 and time.time() < limit:
            time.sleep(0.05)
        parent.communicate(b"\n")
    assert found is None or (found.cpu >= 0.2 and found.memory > 1_000_000)


def alive(group):
    """The processes of a group, those that are dead and not yet buried left out."""
    found = [path.read_text().rpartition(")")[2].split() for path in Path("/proc").glob("[0-9]*/stat")]
    return [fields for fields in found if fields[2] == str(group) and fields[0] != "Z"]


@pytest.mark.parametrize(
    "system",
    [
        pytest.param(
            system,
            id=system.name,
            marks=pytest.mark.skipif(bool(system.needs) and not installed(system.needs), reason="not installed"),
        )
        for system in (REAL_TIME, BY_HAND, RESIDENT, STATEMENTS, VECTORISED)
    ],
)
def test_a_system_gives_every_result_once(system):
    with Process(system.module, 2, system.options) as process:
        found = process.play(SHORT)
        pid = process._child.pid
    assert found["missing"] == 0
    assert found["results"] > 0
    assert 0 < found["p50"] <= found["p99"]
    assert found["cpu"] is None or found["cpu"] > 0
    limit = time.time() + 120
    while alive(pid) and time.time() < limit:
        time.sleep(0.05)
    assert alive(pid) == []


def test_a_system_that_cannot_start_says_why():
    with pytest.raises(HeadgateError, match="no_such_system"), Process("no_such_system", 1, ()):
        pass


def test_a_system_that_is_not_installed_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADGATE_RIVALS", str(tmp_path))
    (row,) = compare(lambda _: None, [STATEMENTS], [1])
    assert "python -m headgate.bench.rivals.install" in row["failed"]


class Limited:
    """A system that keeps up to some rate."""

    def __init__(self, limit):
        self.limit = limit

    def rounds(self, plans):
        for plan in plans:
            yield {"rate": plan.rate, "missing": 0, "p99": 0.1 if plan.rate <= self.limit else 1.5}


@pytest.mark.parametrize(
    ("limit", "highest"),
    [(1e9, 1.6e6), (500_000, 400_000), (150_000, 100_000), (50_000, 40_000), (6_000, 5_000), (1, 0)],
)
def test_the_highest_rate_is_found_by_doubling_and_halving(limit, highest):
    system = Limited(limit)
    known = list(system.rounds([Plan(20_000.0, 0, 0, 0), Plan(100_000.0, 0, 0, 0)]))
    assert _highest(system, known) == highest


def test_goals_compare_resident_lanes_with_the_others_at_both_rates():
    p99 = {system.name: 2.0 for system in SYSTEMS} | {RESIDENT.name: 0.02, STATEMENTS.name: 0.01}
    rows = [
        {"system": name, "queries": n, "rate": rate, "p99": value, "cpu": 4.0, "missing": 0}
        for name, value in p99.items()
        for n in (1, 100)
        for rate in (20_000.0, 100_000.0)
    ]
    found = checks(rows)
    missed = [check.what for check in found if not check.ok]
    assert len(found) == 17
    assert len([what for what in missed if what.startswith("p99") and "Flink" in what]) == 2
    assert not [what for what in missed if what.startswith("p99") and "Flink" not in what]
    assert len([what for what in missed if what.startswith("cpu")]) == 4


def test_what_was_not_measured_is_not_checked():
    assert [check.what for check in checks([{"system": STATEMENTS.name, "failed": "not installed"}])] == [
        "results that Headgate with resident lanes was too late with"
    ]
