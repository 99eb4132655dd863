"""Headgate, with resident lanes or with job lanes only."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.bench.rivals.alerts import SYMBOLS, Alert
from headgate.bench.rivals.rounds import PythonEar
from headgate.bench.rivals.tuples import POOL, Pool, PythonFeed
from headgate.engine.engine import Engine
from headgate.engine.sink import callback
from headgate.engine.source.protocol import Intake

EVERY = 0.005
"""Seconds from one train to the next."""
_MICROS = 1_000_000


class Ticks:
    """A source of what the feed brings. It notes for how many seconds it was `appending`."""

    def __init__(self, feed: PythonFeed, symbols: int = SYMBOLS, every: float = EVERY) -> None:
        self._feed, self._every = feed, every
        self.appending = 0.0
        pool = Pool.of(symbols)
        names = pa.array(pool.names.tolist(), pa.string())
        columns = {"sym": names.take(pa.array(pool.symbol)), "price": pool.price, "vol": pool.vol.astype(np.int32)}
        # Twice, so that a train across the end is a slice too.
        self._pool = pa.concat_tables([pa.table(columns)] * 2).combine_chunks()

    def schema(self, spark: SparkSession) -> pa.Schema:  # noqa: ARG002 - the columns are known
        """The columns."""
        return self._rows(np.arange(0), np.arange(0)).schema

    def run(self, intake: Intake) -> None:
        """Append what is due."""
        done = 0
        while not intake.wait(self._every):
            played = self._feed.round
            due = played.due(intake.now())
            while done < due:
                ids = np.arange(done, min(due, done + POOL))
                arrived = played.arrived(ids)
                done += len(ids)
                rows, began = self._rows(ids, arrived), time.perf_counter()
                intake.append(rows, {"next": done}, arrived=arrived / _MICROS)
                self.appending += time.perf_counter() - began

    def _rows(self, ids: np.ndarray, arrived: np.ndarray) -> pa.Table:
        first = int(ids[0]) & (POOL - 1) if len(ids) else 0
        rows = self._pool.slice(first, len(ids)).add_column(0, "id", pa.array(ids))
        return rows.append_column("arrived", pa.array(arrived))


@contextmanager
def started(queries: Sequence[Alert], lanes: str = "auto") -> Iterator[tuple[PythonFeed, PythonEar]]:
    """The engine, running, with a function for each query."""
    feed, ear = PythonFeed(), PythonEar()
    with tempfile.TemporaryDirectory() as state, Engine(state=state, lanes=lanes) as engine:
        engine.spark.sparkContext.setLogLevel("ERROR")
        engine.stream("ticks", Ticks(feed))
        engine.query_many(
            {f"q{i}": query.sql for i, query in enumerate(queries)},
            sink=lambda _: callback(lambda rows, _: ear.take(rows["arrived"].to_numpy())),
        )
        engine.start()
        yield feed, ear
