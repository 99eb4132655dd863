"""What the engine costs on real Spark, each part beside its alternative where there is one, in one run.

A prepared plan against one that Spark makes afresh; what Headgate adds to a job; how fast tuples get into the log;
and how soon ten queries respond, on Headgate and on Structured Streaming, over files that are put into a folder.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from headgate.bench.report import Check, Report, at_least, at_most
from headgate.engine.accounts import Overhead
from headgate.engine.engine import Engine
from headgate.engine.evaluation.protocol import Setting, stream_input
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.stored import StoredTrain
from headgate.engine.log.stream import StreamLog
from headgate.engine.prepared import Views
from headgate.engine.quiet import spoken_to
from headgate.engine.reader import PROPERTY, JobInput
from headgate.engine.regime import AUTO
from headgate.engine.session import session
from headgate.engine.sink import callback, discard
from headgate.engine.source import folder as files_in
from headgate.engine.source import ticks

TEXTS = {
    "filter": "SELECT sym, price * vol AS value FROM ticks WHERE price * vol > 100000",
    "aggregate": "SELECT sym, sum(price * vol) / sum(vol) AS vwap, count(*) AS n FROM ticks GROUP BY sym",
}
TRAINS = (1_000, 10_000, 100_000)
APPENDED = (1_000, 10_000, 50_000)
ROWS, KINDS = 100, 10
"""Rows of a file, and kinds of them; a query wants one kind."""
PACE = 0.1
"""Seconds from one file to the next."""
WARM_UP, SECONDS = 5.0, 15.0
_PATIENCE = 60.0
_MICROS = 1_000_000

Progress = Callable[[str], None]
Row = dict[str, Any]


def run(progress: Progress) -> Report:
    """Measure all four, and check them against the goals."""
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        progress("starting Spark")
        with spoken_to(folder / "spark.log"):
            spark = session()
        spark.sparkContext.setLogLevel("ERROR")
        try:
            rows = [
                *planning(spark, folder / "planning", progress),
                overhead(spark, folder / "overhead", progress),
                *ingest(folder / "ingest", progress),
                *responses(spark, folder / "responses", progress),
            ]
        finally:
            spark.stop()
    load = {"part": "load", "before": before, "after": os.getloadavg()[0], "cores": os.cpu_count()}
    return Report("engine", (*rows, load), tuple(checks(rows)))


def checks(rows: Sequence[Row]) -> list[Check]:
    """The goals."""
    parts = {part: [row for row in rows if row["part"] == part] for part in ("planning", "ingest", "response")}
    gain = next(r["ratio"] for r in parts["planning"] if r["query"] == "filter" and r["tuples"] == min(TRAINS))
    (job,) = (row for row in rows if row["part"] == "overhead")
    rate = next(row["per_second"] for row in parts["ingest"] if row["train"] == APPENDED[1])
    apart, fused, spark = parts["response"]
    return [
        at_least(f"a filter over {min(TRAINS):,} tuples: planned afresh / prepared", gain, 2.0, "×"),
        at_most("deciding, staging and committing a job, ms", 1000 * (job["deciding"] + job["around"]), 5.0),
        at_most("all that is not Spark's in a job, the lane's waiting included, ms", 1000 * job["added"], 5.0),
        at_least(f"tuples per second into the log, in trains of {APPENDED[1]:,}", rate, 200_000),
        at_least(
            "mean response: Structured Streaming / Headgate, not fused", spark["mean"] / apart["mean"], 1.0, "×"
        ),
        at_least("p99 response: Structured Streaming / Headgate, not fused", spark["p99"] / apart["p99"], 1.0, "×"),
        at_most("results that Headgate was too late with", apart["missing"] + fused["missing"], 0),
    ]


# Planning


def planning(
    spark: SparkSession,
    folder: Path,
    progress: Progress,
    trains: Sequence[int] = TRAINS,
    warm_up: int = 10,
    runs: int = 30,
) -> list[Row]:
    """Prepared plans beside plans made afresh over the same view.

    Every round runs everything once, so that noise and a JVM that is still warming up hit all alike.
    """
    with _log(folder) as log:
        views = Views(spark)
        views.add_stream(log.name, log.schema)
        for n in trains:
            log.append(_ticks(log.head, n), None)
        setting = Setting("bench", {log.name: log}, views, folder)
        # A text is planned over the columns that it uses, so its view is made anew before it is planned afresh.
        cases = [_Case(spark, setting, query, train) for query in TEXTS for train in log.trains]
        for i in range(warm_up + runs):
            progress(f"prepared plans, round {i + 1} of {warm_up + runs}")
            for case in cases:
                case.run(prepared_first=i % 2 == 0)
        return [case.row(warm_up) for case in cases]


class _Case:
    """A query over a train, in both ways."""

    def __init__(self, spark: SparkSession, setting: Setting, query: str, train: StoredTrain) -> None:
        self._spark, self._setting, self._query, self._train = spark, setting, query, train
        (log,) = setting.logs.values()
        self._given = JobInput({log.name: stream_input(log, log.slices(train.first, train.end), None)})
        self._prepared = setting.prepare(TEXTS[query])
        self._took: list[float] = []
        self._took_afresh: list[float] = []

    def run(self, *, prepared_first: bool) -> None:
        """Once each. The tuples are named by a property of this thread, which both go by."""
        self._setting.prepare(TEXTS[self._query])
        self._spark.sparkContext.setLocalProperty(PROPERTY, self._given.text())
        ways = [
            (self._took, lambda: self._prepared.run(self._given, self._query)),
            (self._took_afresh, lambda: self._spark.sql(TEXTS[self._query]).toArrow()),
        ]
        for took, way in ways if prepared_first else reversed(ways):
            took.append(_timed(way))

    def row(self, warm_up: int) -> Row:
        """The medians of the rounds behind the warm-up."""
        a, b = median(self._took[warm_up:]), median(self._took_afresh[warm_up:])
        runs = len(self._took) - warm_up
        row = {"part": "planning", "query": self._query, "tuples": self._train.count, "runs": runs}
        return row | {"prepared": a, "afresh": b, "ratio": b / a}


def _timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


# What is added to a job


def overhead(
    spark: SparkSession, folder: Path, progress: Progress, queries: int = 20, warm_up: int = 60, runs: int = 200
) -> Row:
    """Queries that keep one lane busy: the time around Spark's execution, and that between two runs."""
    with Engine(spark, folder) as engine:
        engine.stream("ticks", ticks(rate=2000), event_time="ts")
        for i in range(queries):
            progress(f"planning query {i + 1} of {queries}")
            engine.query(f"q{i}", f"SELECT sym, price FROM ticks WHERE vol > {100 * i}", sink=discard())  # noqa: S608
        progress("what Headgate adds to a job")
        engine.start(AUTO, fuse=False)
        _await_runs(engine, warm_up)
        # Counts begin anew.
        engine.switch(AUTO, fuse=False)
        spent = _await_runs(engine, runs)
        status = engine.status()
    runs, busy = max(1, spent.runs), sum(query.busy for query in status.queries)
    around, between = spent.around / runs, max(0.0, status.elapsed - busy) / runs
    return {
        "part": "overhead",
        "queries": queries,
        "runs": runs,
        "run": busy / runs,
        "around": around,
        "deciding": spent.deciding / runs,
        "between": between,
        "added": around + between,
    }


def _await_runs(engine: Engine, runs: int) -> Overhead:
    limit = time.time() + _PATIENCE
    while (spent := engine._scheduler.accounts.overhead).runs < runs and time.time() < limit:  # noqa: SLF001 - shown nowhere else
        time.sleep(0.02)
    return replace(spent)


# The log


def ingest(folder: Path, progress: Progress, trains: Sequence[int] = APPENDED, tuples: int = 500_000) -> list[Row]:
    """Ready tables with event times into the log, each committed in the manifest, by one thread."""
    rows = []
    for n in trains:
        progress(f"trains of {n:,} tuples into the log")
        tables = [_ticks(first, n) for first in range(0, max(tuples, 2 * n), n)]
        with _log(folder / str(n), event_time="ts") as log:
            log.append(tables[0], {"next": 1})
            began = time.perf_counter()
            for i, table in enumerate(tables[1:], 2):
                log.append(table, {"next": i})
            seconds = time.perf_counter() - began
        done = n * (len(tables) - 1)
        rows.append({"part": "ingest", "train": n, "tuples": done, "seconds": seconds, "per_second": done / seconds})
    return rows


@contextmanager
def _log(folder: Path, event_time: str | None = None) -> Iterator[StreamLog]:
    folder.mkdir(parents=True)
    with closing(Manifest(folder / "manifest.db")) as manifest:
        schema = _ticks(0, 0).schema
        yield StreamLog("ticks", schema, folder / "trains", folder / "dead", manifest, event_time=event_time)


def _ticks(first: int, n: int) -> pa.Table:
    numbers = np.arange(first, first + n)
    return ticks().rows(numbers, numbers * 100)


# Response times


class Heard:
    """Results as they come: when their rows were made, and when they were seen."""

    def __init__(self) -> None:
        self._tables: list[tuple[float, NDArray[np.float64]]] = []

    def take(self, rows: pa.Table) -> None:
        """Note results that are there now."""
        self._tables.append((time.time(), rows.column("made").to_numpy() / _MICROS))

    @property
    def results(self) -> int:
        """How many there have been."""
        return sum(len(made) for _, made in self._tables)

    def await_results(self, number: int) -> None:
        """Wait until there have been so many, but not for ever."""
        limit = time.time() + _PATIENCE
        while self.results < number and time.time() < limit:
            time.sleep(0.02)

    def waited(self, since: float) -> NDArray[np.float64]:
        """The response times of rows made since a time."""
        return np.concatenate([np.zeros(0), *(seen - made[made >= since] for seen, made in self._tables)])


System = Callable[[SparkSession, Path, Path, Heard, Sequence[str]], AbstractContextManager[Callable[[], int]]]
"""Runs queries over the files of a folder, with a folder of its own; gives how many units there are now."""


def responses(
    spark: SparkSession,
    folder: Path,
    progress: Progress,
    queries: int = 10,
    warm_up: float = WARM_UP,
    seconds: float = SECONDS,
) -> list[Row]:
    """The same queries over the same files at the same pace, on each system in turn."""
    texts = [f"SELECT id, x * {i} AS y, made FROM dropped WHERE x % {KINDS} = {i % KINDS}" for i in range(queries)]  # noqa: S608
    # Whoever comes last has the JVM at its warmest: that is Spark's own.
    systems: dict[str, System] = {
        "Headgate, not fused": partial(_headgate, fuse=False),
        "Headgate": partial(_headgate, fuse=True),
        "Structured Streaming": _streaming,
    }
    rows = []
    for number, (name, system) in enumerate(systems.items()):
        progress(f"response times of {queries} queries: {name}")
        inbox, state, heard = folder / f"{number}" / "inbox", folder / f"{number}" / "state", Heard()
        inbox.mkdir(parents=True)
        each = queries * ROWS // KINDS
        with system(spark, inbox, state, heard, texts) as units:
            _drop(inbox, 0)
            heard.await_results(each)
            began, files = time.time(), round((warm_up + seconds) / PACE)
            for k in range(files):
                time.sleep(max(0.0, began + k * PACE - time.time()))
                _drop(inbox, 1 + k)
            total = each * (1 + files)
            heard.await_results(total)
            rows.append(_responded(name, queries, units(), total, heard, began + warm_up))
    return rows


def _responded(system: str, queries: int, units: int, total: int, heard: Heard, since: float) -> Row:
    waited = heard.waited(since)
    p50, p99 = np.quantile(waited, [0.5, 0.99]) if len(waited) else (np.nan, np.nan)
    return {
        "part": "response",
        "system": system,
        "queries": queries,
        "units": units,
        "results": len(waited),
        "missing": total - heard.results,
        "mean": float(waited.mean()) if len(waited) else float("nan"),
        "p50": float(p50),
        "p99": float(p99),
    }


def _drop(inbox: Path, number: int) -> None:
    """Put a file into the folder, whole; its rows bear the time."""
    made = round(time.time() * _MICROS)
    lines = [json.dumps({"id": number * ROWS + x, "x": x, "made": made}) for x in range(ROWS)]
    hidden = inbox / f".{number:06d}.tmp"
    hidden.write_text("\n".join(lines) + "\n")
    hidden.rename(inbox / f"{number:06d}.json")


@contextmanager
def _headgate(
    spark: SparkSession, inbox: Path, state: Path, heard: Heard, texts: Sequence[str], *, fuse: bool
) -> Iterator[Callable[[], int]]:
    with Engine(spark, state) as engine:
        source = files_in(inbox, format="json", schema="id BIGINT, x BIGINT, made BIGINT", every="20ms")
        engine.stream("dropped", source)
        for i, sql in enumerate(texts):
            engine.query(f"q{i}", sql, sink=callback(lambda rows, _: heard.take(rows)))
        engine.start(AUTO, fuse=fuse)
        yield lambda: len({query.unit for query in engine.status().queries})


@contextmanager
def _streaming(
    spark: SparkSession, inbox: Path, state: Path, heard: Heard, texts: Sequence[str]
) -> Iterator[Callable[[], int]]:
    own = spark.newSession()
    own.readStream.schema("id BIGINT, x BIGINT, made BIGINT").json(str(inbox)).createOrReplaceTempView("dropped")
    started = []
    try:
        for i, sql in enumerate(texts):
            writer = own.sql(sql).writeStream.foreachBatch(lambda batch, _: heard.take(batch.toArrow()))
            started.append(writer.option("checkpointLocation", str(state / f"q{i}")).start())
        yield lambda: len(started)
    finally:
        for query in started:
            query.stop()
