"""What the dashboard costs: an engine that is served, watched on three pages and scraped, against the same without.

One engine with a thousand queries gets tuples at a steady rate, served and not in turns. What counts is the processor
time of a million tuples, of the engine and all that it has started: by so much fewer tuples fit. The watchers are a
process of their own, as browsers are; what they use themselves is not counted.
"""

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from headgate.bench.report import Check, Report, at_most
from headgate.bench.rivals.bed import Bed, Row, bed, one_function
from headgate.bench.rivals.sets import of_shapes
from headgate.bench.rivals.tree import used
from headgate.engine.session import session

QUERIES, SHAPES = 1000, 20
RATE, WARM_UP, SECONDS = 50_000.0, 1.0, 6.0
"""Tuples per second that leave the engine room, and how long a round is."""
PAIRS = 6
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
                made.play(RATE, WARM_UP, SECONDS)
                rows = rounds(made, progress)
        finally:
            spark.stop()
    return Report("ui", tuple(rows), tuple(checks(rows)))


def checks(rows: Sequence[Row]) -> list[Check]:
    """The goals: what is lost, in the middle of all rounds, and how old a page can be."""
    lost = 100 * (1 - 1 / _ratio(rows))
    longest = max(row["longest_gap"] for row in rows if row["served"])
    return [
        at_most("fewer tuples in the same processor time by being watched, %", lost, 2.0),
        at_most("longest time without news on a page, s", longest, 2.0),
    ]


def rounds(
    made: Bed, progress: Progress, pairs: int = PAIRS, rate: float = RATE, seconds: float = SECONDS
) -> list[Row]:
    """Rounds that are served and not in turns; who goes first changes, since a machine gets warm and tired."""
    rows = []
    for pair in range(pairs):
        for served in (pair % 2 == 0, pair % 2 == 1):
            progress(f"round {pair + 1} of {pairs}, {'watched' if served else 'alone'}")
            rows.append({"round": pair + 1, "served": served, **_round(made, rate, seconds, served=served)})
    return rows


def _round(made: Bed, rate: float, seconds: float, *, served: bool) -> Row:
    if not served:
        return made.play(rate, WARM_UP, seconds)
    with _watched(made) as (watchers, seen):
        theirs: list[float] = []
        before = _cpu(watchers)
        found = made.play(rate, WARM_UP, seconds, lambda: theirs.append(_cpu(watchers)))
        # Theirs is counted from the moment on from which the engine's is; that of the rest is a little more.
        own = (_cpu(watchers) - (theirs[0] if theirs else before)) / (rate * seconds) * 1e6
    return {**found, "cpu": found["cpu"] - own, **seen}


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
            "longest_gap": max(got["gaps"], default=math.inf),
            "bytes": got["bytes"],
        }


def _cpu(process: subprocess.Popen[str]) -> float:
    found = used(process.pid)
    return found.cpu if found else 0.0


def _ratio(rows: Sequence[Row]) -> float:
    """How many times the processor time is that of being alone: the median over pairs of rounds."""
    by = {(row["round"], row["served"]): row["cpu"] for row in rows}
    return float(median(by[pair, True] / by[pair, False] for pair, served in by if served))
