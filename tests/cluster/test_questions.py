"""What a coordinator knows of a pipeline, and what it refuses."""

import pytest

from headgate.cluster.questions import questions
from headgate.engine.pipeline import load
from headgate.errors import InputError

STREAMS = "streams: {ticks: {source: {ticks: {seed: 1}}, event_time: ts}, other: {source: {ticks: {seed: 2}}}}\n"


def loaded(folder, queries):
    file = folder / "pipeline.yaml"
    file.write_text(STREAMS + "queries:\n" + queries)
    return load(file)


def test_queries_are_known_by_the_streams_that_their_text_names(tmp_path):
    text = (
        "  a: {sql: SELECT sym FROM Ticks WHERE vol > 1}\n"
        "  b: {sql: 'WITH x AS (SELECT * FROM other) SELECT x.sym FROM x JOIN ticks ON true', window: 2s}\n"
    )
    found = {each.name: (each.streams, each.stateless) for each in questions(loaded(tmp_path, text))}
    assert found == {"a": (("ticks",), True), "b": (("other", "ticks"), False)}


def test_results_that_are_a_stream_are_known_to_who_reads_them(tmp_path):
    text = "  b: {sql: SELECT sym FROM Joined}\n  a: {sql: SELECT sym FROM ticks, sink: {stream: joined}}\n"
    found = {each.name: (each.streams, each.gives) for each in questions(loaded(tmp_path, text))}
    assert found == {"a": (("ticks",), "joined"), "b": (("joined",), None)}


def test_many_queries_in_one_entry_are_refused(tmp_path):
    (tmp_path / "symbols.csv").write_text("sym\nAAA\nBBB\n")
    text = '  a: {sql: "SELECT sym FROM ticks WHERE sym = {sym}", for_each: symbols.csv, sink: {jsonl: out.jsonl}}\n'
    with pytest.raises(InputError, match="one that stands for many"):
        questions(loaded(tmp_path, text))
