"""Engines with the streams and tables of the corpus, fed train by train."""

import queue
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

import headgate as hg
from engine.results.batch import with_positions
from engine.results.corpus import Entry
from engine.results.data import SOURCES, TABLES, TIMES, recorded, trains
from headgate.engine.status import Snapshot

_LONG = 300.0
_SHORT = 0.01
_LOOK = 0.05


class Handed:
    """A source that gives the tables that it is handed, and ends where it is handed None."""

    def __init__(self, schema):
        self._schema, self._tables = schema, queue.SimpleQueue()

    def schema(self, spark):
        return self._schema

    def hand(self, table):
        self._tables.put(table)

    def run(self, intake):
        while not intake.wait(_SHORT):
            if not self._tables.empty():
                table = self._tables.get()
                if table is None:
                    return
                intake.append(table, {})


@dataclass
class Feed:
    """An engine with all streams and tables, and the tuples that it has been handed.

    For each stream there is a paused query, so that the log keeps every train.
    """

    engine: hg.Engine
    sources: dict[str, Handed]
    handed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SOURCES, 0))

    @classmethod
    def of(cls, spark, state, lanes="jobs"):
        made = cls(hg.Engine(spark, state, lanes=lanes), {n: Handed(recorded(n).schema) for n in SOURCES})
        for name, source in made.sources.items():
            event_time, delay = TIMES[name]
            made.engine.stream(name, source, event_time=event_time, delay=delay)
            made.engine.query(f"keeper_of_{name}", f"SELECT * FROM {name}")
            made.engine.pause(f"keeper_of_{name}")
        for name, table in TABLES.items():
            made.engine.table(name, spark.createDataFrame(table))
        return made

    def add(self, entry, **options):
        self.engine.query(entry.name, entry.sql, **entry.options, **options)

    def hand(self, parts, *, stepwise):
        """Hand over the k-th trains of all streams for each k, with `stepwise` only once all before is done."""
        for part in parts:
            for name, table in part.items():
                self.sources[name].hand(table)
                self.handed[name] += len(table)
            if stepwise:
                settled(self.engine, self.handed)

    def end(self):
        """Let all streams end, and wait for the last results."""
        for source in self.sources.values():
            source.hand(None)
        settled(self.engine, self.handed)
        assert self.engine.wait(_LONG), "it does not come to an end"

    def logs(self):
        """The streams as their train logs hold them, with positions and times of arrival."""
        return {name: _logged(self.engine.state / "streams" / name) for name in SOURCES}


@dataclass(frozen=True)
class Way:
    """How the whole corpus is run: in runs of at most how many tuples, on how many lanes.

    The streams come in so many trains, stepwise or all at once; each policy has its share of them.
    """

    policies: tuple[str, ...]
    most: int
    trains: int
    stepwise: bool
    lanes: str | tuple[int, int] = "jobs"
    fuse: bool | None = None

    @property
    def wanted(self):
        """The lanes as an engine takes them."""
        return self.lanes if isinstance(self.lanes, str) else dict(zip(("jobs", "resident"), self.lanes, strict=True))

    def __str__(self):
        return f"{' then '.join(self.policies)}, lanes {self.lanes}, {'fused' if self.fuse else 'as it comes'}"


@dataclass(frozen=True)
class Run:
    """What a run of the whole corpus gave, how it went, and what each query had to give."""

    way: Way
    results: dict[str, pa.Table]
    status: Snapshot
    answer: Callable[[Entry], pa.Table]


def settled(engine, handed):
    """Wait until all tuples that were handed over have come and are done; what has failed fails the test."""
    limit, waiting = time.monotonic() + _LONG, {}
    while time.monotonic() < limit:
        status = engine.status()
        failed = {each.name: each.reason for each in (*status.streams, *status.queries) if each.reason}
        assert not failed, failed
        waiting = {q.name: q.pending for q in status.queries if q.pending and q.status == "running"}
        if not waiting and all(s.tuples == handed[s.name] for s in status.streams):
            return
        time.sleep(_LOOK)
    message = f"still waiting: {waiting}"
    raise AssertionError(message)


def parts(number):
    """All streams in so many trains: those that come at about the same time together."""
    cut = {name: trains(name, number) for name in SOURCES}
    return [{name: tables[k] for name, tables in cut.items()} for k in range(number)]


def _logged(folder):
    table = pa.concat_tables(pa.ipc.open_file(str(file)).read_all() for file in sorted(folder.glob("*.arrow")))
    return with_positions(table.drop_columns(["_arrival"]), table.column("_arrival"))
