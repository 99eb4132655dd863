"""What one Spark batch over the whole input gives for a query of the corpus."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.results.data import SOURCES, TABLES, TIMES
from headgate.engine.session import session
from headgate.engine.spans import seconds

_STAMP = pa.timestamp("us", tz="UTC")


class Batch:
    """Batch queries over logs: tables with the columns of a stream, `n` and `arrived`."""

    def __init__(self, spark, logs):
        # A session of its own, as several batches have views of the same names.
        self.spark, self.logs = session(spark), logs
        for name, table in TABLES.items():
            self._view(name, table)
        for name, log in logs.items():
            self._view(f"{name}_log", log)
            self._view(name, _plain(log))

    def answer(self, entry):
        """The rows that the query has to give in all."""
        if entry.window is None:
            return self._run(entry.batch or entry.sql)
        return self._explicit(entry) if entry.batch else self._window_by_window(entry)

    def _explicit(self, entry):
        for stream in self.streams(entry):
            spans = self._spans(entry, [stream])
            edges = {"window_start": [s for s, _ in spans], "window_end": [e for _, e in spans]}
            self._view("spans", pa.table({k: pa.array(v, pa.int64()).cast(_edge(entry)) for k, v in edges.items()}))
            time = _time(entry, stream)
            joined = self.spark.sql(
                f"SELECT * FROM spans JOIN {stream}_log ON {time} >= window_start AND {time} < window_end"
            )
            joined.createOrReplaceTempView(f"{stream}_windowed")
        return self._run(entry.batch)

    def _window_by_window(self, entry):
        found = []
        streams = self.streams(entry)
        for start, end in self._spans(entry, streams):
            for stream in streams:
                times = self._times(entry, stream)
                log = self.logs[stream].filter(pa.array((times >= start) & (times < end)))
                self._view(stream, _plain(log))
            rows = self._run(entry.sql)
            edges = [pa.repeat(pa.scalar(edge, _edge(entry)), len(rows)) for edge in (start, end)]
            names = ["window_start", "window_end", *rows.column_names]
            found.append(pa.Table.from_arrays([*edges, *rows.columns], names=names))
        for stream in streams:
            self._view(stream, _plain(self.logs[stream]))
        return pa.concat_tables(found)

    def _spans(self, entry, streams):
        """The windows in which one of the streams has a tuple; over rows, from the first tuple on."""
        size, slide = (_length(entry, each) for each in (entry.window, entry.slide or entry.window))
        times = np.concatenate([self._times(entry, stream) for stream in streams])
        first = 0 if entry.over_rows else (int(times.min()) - size) // slide * slide
        spans = [(start, start + size) for start in range(first, int(times.max()) + 1, slide)]
        return [(start, end) for start, end in spans if ((times >= start) & (times < end)).any()]

    def _times(self, entry, stream):
        return pc.cast(self.logs[stream].column(_time(entry, stream)), pa.int64()).to_numpy()

    @staticmethod
    def streams(entry):
        """The streams that the query reads."""
        return [name for name in SOURCES if re.search(rf"\b{name}\b", entry.sql)]

    def _view(self, name, table):
        self.spark.createDataFrame(table).createOrReplaceTempView(name)

    def _run(self, sql):
        return self.spark.sql(sql).toArrow()


def _time(entry, stream):
    """The column that the windows of a query go by."""
    return "n" if entry.over_rows else "arrived" if entry.time == "arrival" else TIMES[stream][0]


def _edge(entry):
    return pa.int64() if entry.over_rows else _STAMP


def _length(entry, text):
    return int(text.split()[0]) if entry.over_rows else round(seconds(text, "window") * 1e6)


def with_positions(table, arrived=None):
    """The log of a stream of which only this is known."""
    n = pa.array(range(len(table)), pa.int64())
    stamps = pa.nulls(len(table), _STAMP) if arrived is None else arrived
    return table.append_column("n", n).append_column("arrived", stamps)


def _plain(log):
    return log.drop_columns(["n", "arrived"])
