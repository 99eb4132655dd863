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


@contextmanager
def started(queries: Sequence[Alert]) -> Iterator[tuple[PythonFeed, PythonEar]]:
    """The flow, running in a thread until the feed has ended."""
    sys.path.append(str(folder_of(BYTEWAX)))
    feed, ear = PythonFeed(), PythonEar()
    flow = threading.Thread(target=_run, args=(queries, feed, ear), daemon=True)
    flow.start()
    yield feed, ear
    feed.ended = True
    flow.join()


def _run(queries: Sequence[Alert], feed: PythonFeed, ear: PythonEar) -> None:
    dataflow, inputs, outputs, operators, testing = (
        import_module(f"bytewax.{name}") for name in ("dataflow", "inputs", "outputs", "operators", "testing")
    )
    pool = Pool.of(SYMBOLS)

    class Part(inputs.StatelessSourcePartition):  # type: ignore[misc]  # known at run time only
        def __init__(self) -> None:
            self._next = 0
            self._awake = datetime.now(UTC)

        def next_batch(self) -> list[Batch]:
            if feed.ended:
                raise StopIteration
            played, now = feed.round, datetime.now(UTC)
            due = played.due(now.timestamp())
            self._awake = max(self._awake + EVERY, now)
            if due <= self._next:
                return []
            ids = np.arange(self._next, due)
            self._next = due
            return [(ids, pool.take(ids & (POOL - 1)), played.arrived(ids))]

        def next_awake(self) -> datetime:
            return self._awake

    class Source(inputs.DynamicSource):  # type: ignore[misc]
        def build(self, _step: str, _index: int, _count: int) -> Part:
            return Part()

    class Calls(outputs.StatelessSinkPartition):  # type: ignore[misc]
        def write_batch(self, items: list[tuple[int, Any]]) -> None:
            for _, (_, _, _, arrived) in items:
                ear.take(arrived)

    class Sink(outputs.DynamicSink):  # type: ignore[misc]
        def build(self, _step: str, _index: int, _count: int) -> Calls:
            return Calls()

    flow = dataflow.Dataflow("alerts")
    ticks = operators.input("ticks", flow, Source())
    found = operators.flat_map("queries", ticks, lambda batch: list(evaluate(queries, *batch)))
    operators.output("heard", found, Sink())
    testing.run_main(flow)


def evaluate(queries: Sequence[Alert], ids: Ints, ticks: Pool, arrived: Ints) -> Iterator[tuple[int, Any]]:
    """The results of each query that has some: its number and its columns."""
    for i, query in enumerate(queries):
        where = np.flatnonzero(query.matches(ticks))
        if len(where):
            rows = ticks.take(where)
            yield i, (ids[where], query.labels(rows), query.amounts(rows), arrived[where])
