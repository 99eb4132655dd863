"""The queries of a pipeline as the coordinator knows them: without Spark, by their text alone."""

from collections.abc import Mapping

import sqlglot
from sqlglot import exp

from headgate.cluster.placement import Question
from headgate.engine.pipeline import Pipeline
from headgate.engine.sink.into_stream import IntoStream
from headgate.engine.sink.shared import Shared
from headgate.errors import InputError


def questions(pipeline: Pipeline) -> list[Question]:
    """All queries of a pipeline, with the streams that they read."""
    found = []
    for name, query in pipeline.queries.items():
        if query.each is not None or isinstance(query.sink, Shared):
            place = pipeline.document.place(("queries", name))
            remedy = "Write them one by one, each with a sink of its own."
            raise InputError("queries of a cluster move one by one", "one that stands for many", remedy, place)
        if isinstance(query.sink, IntoStream):
            place = pipeline.document.place(("queries", name, "sink"))
            remedy = "Run such a pipeline on one engine, with headgate run."
            raise InputError("results of a cluster's queries leave it", "a stream of other queries", remedy, place)
        streams = _streams(query.sql, {each.lower(): each for each in pipeline.streams})
        found.append(Question(name, query.cls, streams, query.window is None))
    return found


def _streams(sql: str, known: Mapping[str, str]) -> tuple[str, ...]:
    tables = (table.name.lower() for table in sqlglot.parse_one(sql, dialect="spark").find_all(exp.Table))
    return tuple(sorted({known[name] for name in tables if name in known}))
