"""What the dashboard costs: an engine that is served, watched on three pages and scraped, against the same without.

One engine with a thousand queries takes a stretch of tuples faster than it can, again and again, served and not in
turns. The watchers are a process of their own, as browsers are; what they use themselves is not counted.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from headgate.bench.report import Check, Report, at_most
from headgate.bench.rivals.bed import Bed, Row, bed, one_function
from headgate.bench.rivals.sets import of_shapes
from headgate.bench.rivals.tree import used
from headgate.engine.session import session

QUERIES, SHAPES = 1000, 20
RATE, SECONDS = 1_000_000.0, 2.0
"""A stretch: more than the engine can take at once."""
PAIRS = 6
_PATIENCE = 60.0
_SETTLED = 1.0
"""Seconds for the watchers to be there."""

Progress = Callable[[str], None]


def run(progress: Progress) -> Report:
    """Measure, and check the goals."""
    with tempfile.TemporaryDirectory() as name:
        progress("starting Spark")
        spark = session()
        spark.sparkContext.setLogLevel("ERROR")
        try:
            with bed(spark, Path(name), of_shapes(QUERIES, SHAPES), one_function) as made:
                stretch(made, RATE, SECONDS)
                rows = rounds(made, progress)
        finally:
            spark.stop()
    return Report("ui", tuple(rows), tuple(checks(rows)))


def checks(rows: Sequence[Row]) -> list[Check]:
    """The goals: what is lost, in the middle of all rounds, and how old a page can be."""
    lost, cpu = (100 * (1 - 1 / _ratio(rows, name)) for name in ("seconds", "cpu"))
    longest = max(row["longest_gap"] for row in rows if row["served"])
    return [
        at_most("throughput lost by being watched, %", lost, 2.0),
        at_most("processor time lost by being watched, %", cpu, 2.0),
        at_most("longest time without news on a page, s", longest, 2.0),
    ]


def rounds(
    made: Bed, progress: Progress, pairs: int = PAIRS, rate: float = RATE, seconds: float = SECONDS
) -> list[Row]:
    """Stretches, served and not in turns; who goes first changes, since a machine gets warm and tired."""
    rows = []
    for pair in range(pairs):
        for served in (pair % 2 == 0, pair % 2 == 1):
            progress(f"round {pair + 1} of {pairs}, {'watched' if served else 'alone'}")
            if served:
                with _watched(made) as (watchers, seen):
                    found = stretch(made, rate, seconds, watchers.pid)
            else:
                found, seen = stretch(made, rate, seconds), {}
            rows.append({"round": pair + 1, "served": served, **found, **seen})
    return rows


def stretch(made: Bed, rate: float, seconds: float, besides: int | None = None) -> Row:
    """Tuples at a rate, until all of their results are there: how long that took, and how much of the processor.

    What the process `besides` uses is somebody else's.
    """
    before = _cpu(besides)
    played = made.feed.play(rate, seconds)
    total = made.queries.expected(replace(played, first=0))
    limit = played.began + _PATIENCE
    while made.ear.results < total and time.time() < limit:
        time.sleep(0.005)
    took, n = time.time() - played.began, played.end - played.first
    cpu = (_cpu(besides) - before) / n * 1e6
    return {"tuples": n, "seconds": took, "per_second": n / took, "cpu": cpu, "missing": total - made.ear.results}


@contextmanager
def _watched(made: Bed) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """A server and its watchers; what these got is there in the end."""
    seen: dict[str, Any] = {}
    with made.engine.serve(port=0) as server:
        command = [sys.executable, "-m", "headgate.bench.watchers", server.address]
        piped = subprocess.PIPE
        with subprocess.Popen(command, text=True, stdin=piped, stdout=piped) as watchers:  # noqa: S603 - our own
            time.sleep(_SETTLED)
            yield watchers, seen
            got = json.loads(watchers.communicate()[0])
        seen |= {
            "messages": len(got["gaps"]),
            "longest_gap": max(got["gaps"], default=_PATIENCE),
            "bytes": got["bytes"],
        }


def _cpu(besides: int | None) -> float:
    ours, theirs = used(os.getpid()), used(besides) if besides else None
    return (ours.cpu if ours else 0.0) - (theirs.cpu if theirs else 0.0)


def _ratio(rows: Sequence[Row], figure: str) -> float:
    """How many times as much a figure is if it is watched: the median over pairs of rounds."""
    pairs = {row["round"] for row in rows}
    by = {(row["round"], row["served"]): row[figure] for row in rows}
    return float(median(by[pair, True] / by[pair, False] for pair in pairs))
