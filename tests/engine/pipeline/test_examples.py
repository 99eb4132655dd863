"""The example pipelines: they load, Spark and the planner accept every query, and an engine takes them."""

from pathlib import Path

import pytest

from headgate.engine.engine import Engine
from headgate.engine.pipeline import build, load
from headgate.engine.sql.plan import ByPanes, BySession, Catalog, PerTrain, PerWindow, Relation
from headgate.engine.sql.planner import plan
from headgate.engine.table.sources import as_source
from headgate.engine.windows import Window

FOLDER = Path(__file__).parents[3] / "examples" / "pipelines"
EXAMPLES = sorted(FOLDER.glob("*.yaml"))


def test_there_are_examples_of_generated_streams_and_of_files():
    loaded = {path.stem: load(path) for path in EXAMPLES}
    assert set(loaded) >= {"alerts", "market", "nexmark", "files"}
    assert len(loaded["market"].queries) >= 8
    assert len(loaded["alerts"].queries["alerts"].each) == 1000


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_query_of_an_example_is_one_for_spark_and_can_be_planned(path, spark):
    pipeline, own = load(path), spark.newSession()
    columns = {}
    for name, stream in pipeline.streams.items():
        schema = stream.source.schema(spark)
        own.createDataFrame(schema.empty_table()).createOrReplaceTempView(name)
        columns[name] = Relation(tuple(schema.names), stream.event_time)
    for name, given in pipeline.tables.items():
        table = as_source(given.source).frame(own)
        table.createOrReplaceTempView(name)
        columns[name] = Relation(tuple(table.columns))
    catalog = Catalog(
        {name: columns[name] for name in pipeline.streams}, {name: columns[name] for name in pipeline.tables}
    )
    for query in pipeline.queries.values():
        window = Window(int(query.window * 1e6), int((query.slide or query.window) * 1e6)) if query.window else None
        expected = (ByPanes, PerWindow) if window else (PerTrain, BySession)
        sql = next(iter(query.each.values())) if query.each else query.sql
        assert isinstance(plan(sql, catalog, window), expected)
        assert own.sql(sql).columns


def test_an_engine_takes_an_example_as_it_is(tmp_path, spark):
    (tmp_path / "files.yaml").write_text((FOLDER / "files.yaml").read_text())
    (tmp_path / "readings").symlink_to(FOLDER / "readings")
    pipeline = load(tmp_path / "files.yaml")
    with Engine(spark, pipeline.state, lanes=pipeline.lanes) as engine:
        build(pipeline, engine)
        assert {query.name for query in engine.status().queries} == {"hot", "per_minute"}
