"""An engine on resident lanes that runs a set of queries, and rounds on it."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.bench.rivals.headgate_lanes import Ticks
from headgate.bench.rivals.rounds import PythonEar
from headgate.bench.rivals.sets import Set
from headgate.bench.rivals.tree import used
from headgate.bench.rivals.tuples import PythonFeed
from headgate.engine.engine import Engine
from headgate.engine.sink import callback, shared
from headgate.engine.sink.protocol import Guarantee, Opening, Receipt, Sink
from headgate.engine.sink.shared import Shared

_FIRST_RATE, _FIRST = 2_000.0, 2.0
_PATIENCE = 20.0

Row = dict[str, Any]
Sinks = Callable[[PythonEar], Shared | Callable[[str], Sink]]
"""Makes a sink for all queries, or one for each, whose results are heard."""


@dataclass
class Noted:
    """A sink that notes when results were published."""

    sink: Sink
    ear: PythonEar
    _staged: list[pa.ChunkedArray] = field(default_factory=list)

    @property
    def guarantee(self) -> Guarantee:
        """That of the sink."""
        return self.sink.guarantee

    def open(self, opening: Opening) -> None:
        """Get ready."""
        self.sink.open(opening)

    def stage(self, run: int, rows: pa.Table) -> Receipt:
        """Take the rows of a run."""
        self._staged = [rows["arrived"]]
        return self.sink.stage(run, rows)

    def publish(self, receipt: Receipt) -> None:
        """Make a run visible."""
        self.sink.publish(receipt)
        for arrived in self._staged:
            self.ear.take(arrived.to_numpy())
        self._staged = []

    def tick(self, now: float) -> None:
        """Do what is due."""
        self.sink.tick(now)

    def close(self) -> None:
        """Make all visible."""
        self.sink.close()

    def fence(self, opening: Opening) -> None:
        """Keep an instance from showing anything."""
        self.sink.fence(opening)

    def take_over(self, opening: Opening) -> None:
        """Show what an instance has committed."""
        self.sink.take_over(opening)


class Bed:
    """An engine that runs a set of queries, which were `registered` in so many seconds, and rounds on it."""

    def __init__(self, engine: Engine, queries: Set, sink: Sinks) -> None:
        self.engine, self.queries = engine, queries
        self.ear, self.feed = PythonEar(), PythonFeed()
        self._ticks = Ticks(self.feed, queries.symbols)
        engine.stream("ticks", self._ticks)
        began = time.perf_counter()
        engine.query_many(queries.texts, sink=sink(self.ear))
        self.registered = time.perf_counter() - began
        engine.start()
        # What is compiled at the first tuples is no response time.
        self.play(_FIRST_RATE, 0.0, _FIRST)

    def play(self, rate: float, warm_up: float, seconds: float, during: Callable[[], None] = lambda: None) -> Row:
        """A round: response times, and what they cost. Something can be done while it is measured."""
        played = self.feed.play(rate, warm_up + seconds)
        total = self.queries.expected(replace(played, first=0))
        since = played.began + warm_up
        time.sleep(max(0.0, since - time.time()))
        begin = self._counters()
        during()
        time.sleep(max(0.0, since + seconds - time.time()))
        end = self._counters()
        limit = time.time() + _PATIENCE
        while self.ear.results < total and time.time() < limit:
            time.sleep(0.01)
        missing = max(0, total - self.ear.results)
        waited = np.concatenate([self.ear.waited(since), np.full(missing, _PATIENCE)])
        p50, p99 = np.quantile(waited, [0.5, 0.99]).tolist() if len(waited) else (None, None)
        spent = {name: end[name] - begin[name] for name in begin}
        shares = {name: value / seconds for name, value in spent.items() if name != "cpu"}
        cpu = spent["cpu"] / (rate * seconds) * 1e6
        return {
            "queries": len(self.queries.texts),
            "rate": rate,
            "p50": p50,
            "p99": p99,
            "results": len(waited),
            "per_second": len(waited) / seconds,
            "missing": missing,
            "cpu": cpu or None,
            "shares": shares,
        }

    def _counters(self) -> dict[str, float]:
        overhead, tree = self.engine._scheduler.accounts.overhead, used(os.getpid())  # noqa: SLF001 - shown nowhere else
        return {
            "appending": self._ticks.appending,
            "deciding": overhead.deciding,
            "lane": overhead.busy - overhead.around,
            "committing": overhead.around,
            "cpu": tree.cpu if tree else 0.0,
        }


@contextmanager
def bed(spark: SparkSession, state: Path, queries: Set, sink: Sinks) -> Iterator[Bed]:
    """An engine with queries, running."""
    with Engine(spark, state) as engine:
        yield Bed(engine, queries, sink)


def one_function(ear: PythonEar) -> Shared:
    """A function for the results of all queries."""
    return shared("heard", callback(lambda rows, _: ear.take(rows["arrived"].to_numpy())))
