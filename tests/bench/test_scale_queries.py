"""`headgate bench scale-queries`: its queries, and its parts on real Spark over as little as they can do."""

import numpy as np
import pytest

from headgate.bench import scale_queries
from headgate.bench.rivals.alerts import SYMBOLS
from headgate.bench.rivals.headgate_lanes import Ticks
from headgate.bench.rivals.sets import of_much, of_one_shape, of_shapes
from headgate.bench.rivals.shapes import NAMES, PRICES, VOLUMES, shaped
from headgate.bench.rivals.tuples import Pool, PythonFeed, Round
from headgate.bench.scale_queries import Case, checks

IDS = np.arange(50_000)
WHOLE = Round(0, len(IDS), 1.0, 0.0)


@pytest.fixture(scope="module")
def ticks(spark):
    spark.createDataFrame(Ticks(PythonFeed())._rows(IDS, IDS)).createOrReplaceTempView("ticks")
    return spark


@pytest.mark.parametrize("kind", [*PRICES, *VOLUMES, *NAMES], ids=lambda kind: kind.__name__)
def test_a_condition_means_the_same_in_sql_and_in_numpy(ticks, kind):
    text, holds = kind(37)
    found = ticks.sql(f"SELECT id FROM ticks WHERE {text} ORDER BY id").toArrow()["id"].to_numpy()
    assert found.tolist() == np.flatnonzero(holds(Pool.of(SYMBOLS).take(IDS))).tolist()


@pytest.mark.parametrize("shapes", [20, 1000])
def test_about_one_tuple_in_ten_thousand_matches_a_query(shapes):
    pool, queries = Pool.of(SYMBOLS), shaped(1000, shapes)
    assert len({query.sql for query in queries}) == 1000
    assert np.mean([query.matches(pool).mean() for query in queries[:: 1000 // 50]]) == pytest.approx(1e-4, rel=0.3)


@pytest.mark.parametrize(
    "queries", [of_shapes(8, 4), of_one_shape(30, 10), of_much(3, 0.1)], ids=["four shapes", "one shape", "much"]
)
def test_as_many_results_are_expected_as_there_are(spark, queries):
    tuples = Ticks(PythonFeed(), queries.symbols)._rows(IDS, IDS)
    spark.createDataFrame(tuples).createOrReplaceTempView("ticks")
    found = sum(spark.sql(text).count() for text in queries.texts.values())
    assert queries.expected(WHOLE) == found > 0


def test_one_tuple_of_its_symbol_in_a_hundred_matches_an_alert_of_one_shape():
    whole = Round(0, 1 << 18, 1.0, 0.0)
    assert of_one_shape(100_000).expected(whole) / whole.end == pytest.approx(0.1, rel=0.1)


@pytest.fixture(scope="module")
def rows(spark, tmp_path_factory):
    folder, said = tmp_path_factory.mktemp("scale"), []
    case = Case("20 queries", lambda: of_one_shape(20, 10), 20_000.0, 0.1)
    found = [
        *scale_queries.scale(spark, folder / "scale", said.append, [case], warm_up=0.5, seconds=1.0),
        *scale_queries.growth(spark, folder / "growth", said.append, (1, 20), (1, 2), warm_up=0.5, seconds=0.5),
        *scale_queries.sinks(spark, folder / "sinks", said.append, 3, rates=(2000.0,), warm_up=0.5, seconds=0.5),
    ]
    assert said
    return found


def of(rows, part):
    return [row for row in rows if row["part"] == part]


def test_no_result_is_missing(rows):
    played = [*of(rows, "scale"), *of(rows, "added"), *of(rows, "growth")]
    assert [row["missing"] for row in played] == [0] * 6
    assert all(row["highest"] or row["beyond"] for row in of(rows, "sinks"))


def test_shares_say_where_the_time_went(rows):
    (row,) = of(rows, "scale")
    assert list(row["shares"]) == ["appending", "deciding", "lane", "committing"]
    assert all(share > 0 for share in row["shares"].values())


def test_queries_are_added_while_others_run(rows):
    (row,) = of(rows, "added")
    assert 0 < row["median"] <= row["most"]
    assert row["p99"] > 0


def test_every_kind_of_sink_is_tried(rows):
    assert [row["sink"] for row in of(rows, "sinks")] == [
        *("callback", "memory", "jsonl", "parquet", "one callback", "one parquet")
    ]


def test_every_part_has_goals(rows):
    assert len(checks(rows)) == 6


def test_the_cost_of_a_query_is_compared_between_the_fewest_and_the_most():
    grown = [
        {"part": "growth", "kind": "one shape", "queries": n, "cpu": cpu, "missing": 0}
        for n, cpu in ((1, 4.0), (100, 8.0))
    ]
    cost, _ = checks(grown)
    assert cost.value == pytest.approx(0.02)
    assert cost.ok
    assert not checks([*grown[:1], {**grown[1], "cpu": 500.0}])[0].ok
