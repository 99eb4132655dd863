"""A pipeline that tests vary, what reading one gives, and an engine that only takes notes."""

from pathlib import Path

import pytest

from headgate.engine.pipeline import build, load
from headgate.errors import InputError

SMALL = """\
policy: bsd
streams:
  ticks: {source: {ticks: {rate: 100}}, event_time: ts, delay: 2s, idle: 5s}
tables:
  symbols: {file: symbols.csv}
queries:
  big: {sql: SELECT * FROM ticks, class: alerts, sink: {parquet: out/big}}
  vwap:
    sql: SELECT sym, avg(price) FROM ticks GROUP BY sym
    window: 10s
    slide: 2s
    time: event
    limit: 30s
"""

ALERTS = """\
streams: {ticks: {source: ticks}}
queries:
  alerts:
    sql: SELECT * FROM ticks WHERE sym = {sym} AND price > {above}
    for_each: alerts.csv
"""


class Notes:
    """Takes what a pipeline registers; raises the errors it was told to."""

    def __init__(self, **errors):
        self.calls, self.errors = [], errors

    def _note(self, what, name, given, options):
        self.calls.append((what, name, given, options))
        if name in self.errors:
            raise self.errors[name]

    def stream(self, name, source, /, **options):
        self._note("stream", name, source, options)

    def table(self, name, source, /, **options):
        self._note("table", name, source, options)

    def refreshing(self, **options):
        self._note("refreshing", "", None, options)

    def query(self, name, sql, /, **options):
        self._note("query", name, sql, options)

    def query_many(self, texts, /, **options):
        for name, sql in texts.items():
            self._note("query_many", name, sql, options)


def written(text, file="p.yaml"):
    Path(file).write_text(text)
    return load(file)


def message(text):
    with pytest.raises(InputError) as caught:
        build(written(text), Notes())
    return str(caught.value)
