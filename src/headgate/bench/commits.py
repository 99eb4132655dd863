"""What a commit costs, with the files on the disk and with them in the hands of the system, no Spark around it.

Trains into the log; runs of many queries with results, staged, committed and published, so many to a commit; and a
cohort of many queries, of which a few have results. Each with and without waiting for the disk, in turns.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from headgate.bench.report import Check, Report, at_most
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.progress import Moved, Passed, Progress
from headgate.engine.log.stream import StreamLog
from headgate.engine.sink import jsonl, parquet, shared
from headgate.engine.sink.protocol import Opening, Receipt, Sink
from headgate.engine.source import ticks

TRAIN = 1_000
"""Tuples of a train."""
GROUPS = (1, 10, 100)
"""Runs to a commit."""
ROWS = 5
"""Results of a run."""
MEMBERS, WITH_RESULTS = 100_000, 10
_SCHEMA = pa.schema([("sym", pa.string()), ("price", pa.float64()), ("vol", pa.int64())])

_NO_SPARK: Any = None
"""No sink of these asks for it."""

Out = Callable[[str], None]
Row = dict[str, Any]


def run(progress: Out) -> Report:
    """Measure all three, and check the goals."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [
            *appends(folder / "appends", progress),
            *groups(folder / "groups", progress),
            *cohorts(folder / "cohorts", progress),
        ]
    return Report("commits", tuple(rows), tuple(checks(rows)))


def checks(rows: Sequence[Row]) -> list[Check]:
    """The goals."""
    unsynced = next(row for row in rows if row["part"] == "cohort" and not row["sync"])
    many = f"{unsynced['members']:,}"
    return [
        at_most(
            f"a commit of a cohort of {many}, {unsynced['runs']} with results, ms", 1000 * unsynced["commit"], 1.0
        ),
        at_most(f"{many} queries into a cohort, s", unsynced["join"], 1.5),
    ]


def appends(folder: Path, progress: Out, trains: int = 200) -> list[Row]:
    """Trains into the log, each committed with the state of its source, by one thread."""
    table = ticks().rows(np.arange(TRAIN), np.arange(TRAIN) * 100)
    rows = []
    for sync in (False, True):
        progress(f"{trains} trains into the log{_said(sync)}")
        place = _made(folder / str(sync))
        with closing(Manifest(place / "manifest.db", sync=sync)) as manifest:
            log = StreamLog("ticks", table.schema, place / "trains", place / "dead", manifest, sync=sync)
            log.append(table, {"next": 0})
            began = time.perf_counter()
            for i in range(trains):
                log.append(table, {"next": i})
            took = time.perf_counter() - began
        rows.append({"part": "append", "sync": sync, "tuples": TRAIN, "per_second": trains / took})
    return rows


def groups(
    folder: Path, progress: Out, sizes: Sequence[int] = GROUPS, runs: int = 1000, seconds: float = 3.0
) -> list[Row]:
    """Runs with results, each of a query of its own: staged, committed so many at a time, and published.

    Each case takes about as many runs or as much time as is given, whichever is over first.
    """
    results = pa.table([["AAPL"] * ROWS, [101.5] * ROWS, [100] * ROWS], _SCHEMA)
    rows = []
    for sink in ("parquet", "jsonl", "shared parquet"):
        for size in sizes:
            for sync in (False, True):
                progress(f"{size} runs to a commit, {sink}{_said(sync)}")
                place = _made(folder / sink.replace(" ", "-") / f"{size}-{sync}")
                with closing(_Group(place, sink, size, sync=sync)) as group:
                    group.commit(results)
                    spent: list[float] = []
                    while len(spent) * size < runs and sum(spent) < seconds:
                        spent.append(group.commit(results))
                each = median(spent)
                row = {"part": "group", "sink": sink, "group": size, "sync": sync, "commit": each}
                rows.append(row | {"commits_per_second": 1 / each, "runs_per_second": size / each})
    return rows


class _Group:
    """Queries whose runs are committed together, each with a sink of its own or all with one."""

    def __init__(self, folder: Path, sink: str, size: int, *, sync: bool) -> None:
        names = [f"q{i}" for i in range(size)]
        self._manifest = Manifest(folder / "manifest.db", sync=sync)
        self._stands = self._manifest.enter_many([(name, {}, Progress(cursors={"s": 0})) for name in names])
        self._one = shared("all", parquet(folder / "all")) if sink == "shared parquet" else None
        make = parquet if sink == "parquet" else jsonl
        self._each: dict[str, Sink] = {} if self._one else {name: make(folder / name) for name in names}
        for name in names:
            opening = Opening(name, _SCHEMA, _NO_SPARK, None, sync)
            (self._one or self._each[name]).open(opening)

    def commit(self, results: pa.Table) -> float:
        """A run of each query: all staged, then committed, then published. Gives the time it took."""
        began = time.perf_counter()
        staged = {name: sink.stage(self._stands[name].run + 1, results) for name, sink in self._each.items()}
        place = {self._one.name: self._one.stage([(name, results) for name in self._stands])} if self._one else {}
        moved = {name: _moved(old, staged.get(name)) for name, old in self._stands.items()}
        self._manifest.commit([(name, old, moved[name]) for name, old in self._stands.items()], shared=place)
        self._stands = moved
        for name, sink in self._each.items():
            sink.publish(staged[name])
        if self._one:
            self._one.publish(place[self._one.name])
        return time.perf_counter() - began

    def close(self) -> None:
        """Let go of all files."""
        for name in self._stands:
            (self._one or self._each[name]).close()
        self._manifest.close()


def _moved(old: Progress, receipt: Receipt | None) -> Progress:
    return replace(
        old,
        run=old.run + 1,
        cursors={"s": old.cursors["s"] + TRAIN},
        receipt=receipt,
        results=old.results + ROWS,
        tuples=old.tuples + TRAIN,
    )


def cohorts(
    folder: Path, progress: Out, members: int = MEMBERS, runs: int = WITH_RESULTS, times: int = 200
) -> list[Row]:
    """Queries that move along together: joining, and commits in which a few have results."""
    begin = Progress(cursors={"s": 0})
    definition = {"sql": "SELECT sym, price FROM ticks WHERE sym = 'AAPL' AND price > 101.5", "window": ""}
    entries = [(f"alert_{i}", definition, begin) for i in range(members)]
    names = [name for name, _, _ in entries]
    rows = []
    for sync in (False, True):
        progress(f"a cohort of {members:,} queries{_said(sync)}")
        with closing(Manifest(_made(folder / str(sync)) / "manifest.db", sync=sync)) as manifest:
            began = time.perf_counter()
            manifest.enter_many(entries)
            entered = time.perf_counter()
            cohort = manifest.cohorts.join("s", 0, names)
            joined = time.perf_counter()
            spent = _commits(manifest, cohort, dict.fromkeys(names, begin), runs, times)
        row: Row = {"part": "cohort", "sync": sync, "members": members, "runs": runs}
        row |= {"enter": entered - began, "join": joined - entered, "commit": median(spent)}
        rows.append(row | {"commits_per_second": len(spent) / sum(spent)})
    return rows


def _commits(manifest: Manifest, cohort: int, stands: dict[str, Progress], runs: int, times: int) -> list[float]:
    """The times of commits, in each of which some members have results."""
    names, draw, spent = list(stands), np.random.default_rng(0), []
    for i in range(1, times + 1):
        some = [names[k] for k in draw.choice(len(names), runs, replace=False)]
        moved = [(name, stands[name], _moved(stands[name], {"part": i, "length": i})) for name in some]
        stands |= {name: new for name, _, new in moved}
        began = time.perf_counter()
        manifest.commit(moved, Moved(cohort, i * TRAIN, Passed(TRAIN)))
        spent.append(time.perf_counter() - began)
    return spent


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _said(sync: bool) -> str:
    return ", each on the disk" if sync else ""
