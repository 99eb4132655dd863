"""Bytewax: one dataflow whose step is vectorised by hand, with all queries over each batch in numpy.

Symbols come as numbers into a list of names, so comparing them costs least.
"""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import numpy as np

from headgate.bench.rivals.alerts import SYMBOLS, Alert
from headgate.bench.rivals.install import BYTEWAX, folder_of
from headgate.bench.rivals.rounds import PythonEar
from headgate.bench.rivals.tuples import POOL, Ints, Pool, PythonFeed

EVERY = timedelta(milliseconds=5)
"""Time of a batch."""

Batch = tuple[Ints, Pool, Ints]
"""Numbers of tuples, the tuples, and when they arrived."""
Result = tuple[int, tuple[Ints, Any, Any, Ints]]
"""The number of a query, and its columns."""


class Source:
    """What the feed brings, in batches."""

    def __init__(self, feed: PythonFeed) -> None:
        self._feed, self._pool = feed, Pool.of(SYMBOLS)
        self._next = 0
        self._awake = datetime.now(UTC)

    def build(self, _step: str, _index: int, _workers: int) -> "Source":
        """The one part of it."""
        return self

    def next_batch(self) -> list[Batch]:
        """What is due."""
        if self._feed.ended:
            raise StopIteration
        played, now = self._feed.round, datetime.now(UTC)
        due = played.due(now.timestamp())
        self._awake = max(self._awake + EVERY, now)
        if due <= self._next:
            return []
        ids = np.arange(self._next, due)
        self._next = due
        return [(ids, self._pool.take(ids & (POOL - 1)), played.arrived(ids))]

    def next_awake(self) -> datetime:
        """When to ask again."""
        return self._awake

    def close(self) -> None:
        """Nothing to let go of."""


class Sink:
    """The function that gets the rows of a query."""

    def __init__(self, ear: PythonEar) -> None:
        self._ear = ear

    def build(self, _step: str, _index: int, _workers: int) -> "Sink":
        """The one part of it."""
        return self

    def write_batch(self, items: list[Result]) -> None:
        """Results of some queries."""
        for _, (_, _, _, arrived) in items:
            self._ear.take(arrived)

    def close(self) -> None:
        """Nothing to let go of."""


@contextmanager
def started(queries: Sequence[Alert]) -> Iterator[tuple[PythonFeed, PythonEar]]:
    """The flow, running in a thread until the feed has ended."""
    feed, ear = PythonFeed(), PythonEar()
    flow = threading.Thread(target=_run, args=(queries, Source(feed), Sink(ear)), daemon=True)
    flow.start()
    yield feed, ear
    feed.ended = True
    flow.join()


def _run(queries: Sequence[Alert], source: Source, sink: Sink) -> None:
    sys.path.append(str(folder_of(BYTEWAX)))
    dataflow, inputs, outputs, operators, testing = (
        import_module(f"bytewax.{name}") for name in ("dataflow", "inputs", "outputs", "operators", "testing")
    )
    for kind in (inputs.DynamicSource, inputs.StatelessSourcePartition):
        kind.register(Source)
    for kind in (outputs.DynamicSink, outputs.StatelessSinkPartition):
        kind.register(Sink)
    flow = dataflow.Dataflow("alerts")
    ticks = operators.input("ticks", flow, source)
    found = operators.flat_map("queries", ticks, lambda batch: list(evaluate(queries, *batch)))
    operators.output("heard", found, sink)
    testing.run_main(flow)


def evaluate(queries: Sequence[Alert], ids: Ints, ticks: Pool, arrived: Ints) -> Iterator[Result]:
    """The results of each query that has some: its number and its columns."""
    for i, query in enumerate(queries):
        where = np.flatnonzero(query.matches(ticks))
        if len(where):
            rows = ticks.take(where)
            yield i, (ids[where], query.labels(rows), query.amounts(rows), arrived[where])
