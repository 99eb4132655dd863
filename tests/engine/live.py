"""Small engines for tests: a stream that is fed by hand, and waiting until something holds."""

import time
from collections import deque

import pyarrow as pa

from engine.log.logs import SCHEMA, table

PATIENCE = 300.0
SECOND = 1_000_000


def second(n):
    """The tuple number n of a stream with one tuple per second."""
    return n * SECOND


def train(first, count):
    """Tuples from a number on, one per second of event time."""
    return table([second(n) for n in range(first, first + count)], first=first)


class Fed:
    """A source that gives what is put into it; `None` ends the stream. What could not be appended comes again."""

    def __init__(self):
        self._tables = deque()
        self.given = 0

    def schema(self, spark):
        return SCHEMA

    def run(self, intake):
        self.given = max(self.given, (intake.state or {"next": 0})["next"])
        at = (intake.state or {"next": 0})["next"]
        while not intake.wait(0.005):
            if not self._tables:
                continue
            rows = self._tables[0]
            if rows is not None:
                at += rows.num_rows
                intake.append(rows, {"next": at})
            self._tables.popleft()
            if rows is None:
                return

    def feed(self, *counts):
        """Put in trains of so many tuples, which go on where the last ended."""
        for count in counts:
            self._tables.append(train(self.given, count))
            self.given += count

    def end(self):
        self._tables.append(None)


def until(holds):
    """Wait until something holds."""
    limit = time.time() + PATIENCE
    while not holds():
        assert time.time() < limit, "it did not come to hold"
        time.sleep(0.01)


def caught_up(engine, *names, position):
    """Wait until queries have read their stream up to a position."""
    until(lambda: all(engine.queries[name].progress.cursors["s"] == position for name in names))


def column(engine, query, name="v"):
    return engine.results(query).column(name).to_pylist()


def counts(engine, query):
    """The results of a count over windows: (second of the window's start, count)."""
    found = engine.results(query)
    starts = found.column("window_start").cast(pa.int64()).to_pylist()
    return sorted(zip((start // SECOND for start in starts), found.column("n").to_pylist(), strict=True))
