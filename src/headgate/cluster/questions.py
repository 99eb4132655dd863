"""The queries of a pipeline as the coordinator knows them: without Spark, by their text alone."""

from collections.abc import Mapping

from sqlglot import exp

from headgate.cluster.instances import Question
from headgate.engine.pipeline import Pipeline
from headgate.engine.sink.into_stream import IntoStream
from headgate.engine.sink.shared import Shared
from headgate.engine.sql.depth import make_room
from headgate.engine.sql.dialect import read
from headgate.errors import InputError


def questions(pipeline: Pipeline) -> list[Question]:
    """All queries of a pipeline, with the streams that they read."""
    make_room()
    found = []
    given = {name: query.sink.name for name, query in pipeline.queries.items() if isinstance(query.sink, IntoStream)}
    for name, query in pipeline.queries.items():
        if query.each is not None or isinstance(query.sink, Shared):
            place = pipeline.document.place(("queries", name))
            remedy = "Write them one by one, each with a sink of its own."
            raise InputError("queries of a cluster move one by one", "one that stands for many", remedy, place)
        streams = _streams(query.sql, {each.lower(): each for each in (*pipeline.streams, *given.values())})
        found.append(Question(name, query.cls, streams, query.window is None, given.get(name)))
    return found


def _streams(sql: str, known: Mapping[str, str]) -> tuple[str, ...]:
    tables = (table.name.lower() for table in read(sql).find_all(exp.Table))
    return tuple(sorted({known[name] for name in tables if name in known}))
