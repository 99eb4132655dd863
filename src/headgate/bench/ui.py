"""What the dashboard costs: an engine that is served, watched on three pages and scraped, against the same without.

One engine with a thousand queries gets tuples at a steady rate, served and not in turns. What counts is the processor
time of a million tuples, of the engine and all that it has started: by so much fewer tuples fit. The watchers are a
process of their own, as browsers are, which stands apart from that. Where there is Chromium, it is
timed as well how long the table of all queries takes to be sorted and searched.

The same work takes several percent more or less processor time from one round to the next, more than being watched
adds. So there are many pairs of rounds, a pair is of one stretch of tuples, and the median is given with the interval
in which it is with 95 %. Beside the whole there is the driver's process, in which all is done that watching adds, and
the server's own threads: what they take is known to the microsecond, but not what they keep others from.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Self

import numpy as np

from headgate.bench.report import Check, Report, at_most
from headgate.bench.rivals.bed import Bed, Row, bed, one_function
from headgate.bench.rivals.sets import of_shapes
from headgate.bench.rivals.tree import used
from headgate.bench.touches import touched
from headgate.engine.session import session

QUERIES, SHAPES = 1000, 20
RATE, WARM_UP, SECONDS = 50_000.0, 1.0, 6.0
"""Tuples per second that leave the engine room, and how long a round is."""
PAIRS = 30
_SETTLED = 1.5
"""Seconds for the watchers to be there, or for what they left to be gone."""
_BETWEEN = 2.0
"""Seconds for a server and its watchers to begin and to end."""
_COUNTED = ("cpu", "driver", "server")
_SERVER = ("headgate-web", "headgate-watch", "AnyIO worker thread")
"""The threads of a server."""
_SURE = 0.95

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
                progress("sorting and searching in a browser")
                with made.engine.serve(port=0) as server:
                    touches = touched(server.address)
        finally:
            spark.stop()
    found = [touches] if touches else []
    return Report("ui", (*rows, *costs(rows), *found), (*checks(rows), *map(swift, found)))


def swift(touches: Row) -> Check:
    """The goal for who sorts or searches: it is there at once, which is a tenth of a second."""
    longest = max(touches["longest_sort"], touches["longest_search"])
    return at_most("longest time from a click or a key to the table, ms", longest, 100.0)


def checks(rows: Sequence[Row]) -> list[Check]:
    """The goals: what is lost, and how old a page can be.

    Of all processes it is the middle of all rounds that counts, since the interval is wide; of the driver and of the
    server's threads the upper end of it.
    """
    found = {each["of"]: each for each in costs(rows)}
    longest = max(row["longest_gap"] for row in rows if row["served"])
    return [
        at_most("fewer tuples in the same processor time by being watched, %", found["cpu"]["lost"], 2.0),
        at_most("of that the driver, at most with 95 %, %", found["driver"]["high"], 2.0),
        at_most("of that the server's threads, at most with 95 %, %", found["server"]["high"], 2.0),
        at_most("longest time without news on a page, s", longest, 2.0),
    ]


def costs(rows: Sequence[Row]) -> list[Row]:
    """What being watched takes, in percent of the whole: the median over pairs of rounds, and between what it is."""
    by = {(row["round"], row["served"]): row for row in rows}
    pairs = [(by[pair, True], by[pair, False]) for pair, served in by if served]
    found = []
    for name in _COUNTED:
        added = [(watched[name] - alone[name]) / alone["cpu"] for watched, alone in pairs]
        low, high = (_lost(each) for each in interval(added))
        found.append({"of": name, "lost": _lost(median(added)), "low": low, "high": high, "pairs": len(pairs)})
    return found


def _lost(added: float) -> float:
    """The percent of tuples that fit no more where each takes so many times more."""
    return 100 * (1 - 1 / (1 + added))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Between which of some values the median of all that there might be is with 95 %, however they are spread."""
    n, ordered = len(values), sorted(values)
    outside, rank = 0.5**n, 0
    while rank < (n - 1) // 2 and 2 * (outside + math.comb(n, rank + 1) * 0.5**n) <= 1 - _SURE:
        rank += 1
        outside += math.comb(n, rank) * 0.5**n
    return ordered[rank], ordered[n - 1 - rank]


def rounds(
    made: Bed, progress: Progress, pairs: int = PAIRS, rate: float = RATE, seconds: float = SECONDS
) -> list[Row]:
    """Rounds that are served and not in turns; who goes first changes, since a machine gets warm and tired."""
    rows = []
    for pair in range(pairs):
        length = WARM_UP + 2 * (_SETTLED + seconds + _BETWEEN)
        played = made.feed.play(rate, length)
        time.sleep(WARM_UP)
        for served in (pair % 2 == 0, pair % 2 == 1):
            progress(f"round {pair + 1} of {pairs}, {'watched' if served else 'alone'}")
            rows.append({"round": pair + 1, "served": served, **_round(made, rate, seconds, served=served)})
        time.sleep(max(0.0, played.began + length - time.time()))
    return rows


def _round(made: Bed, rate: float, seconds: float, *, served: bool) -> Row:
    if not served:
        time.sleep(_SETTLED)
        return _measured(made, rate, seconds)
    with _watched(made) as (watchers, seen):
        found = _measured(made, rate, seconds, watchers.pid)
    return {**found, **seen}


def _measured(made: Bed, rate: float, seconds: float, apart: int | None = None) -> Row:
    """What a million tuples took, and how long results did, while tuples come."""
    before = _Spent.now(apart)
    time.sleep(seconds)
    after = _Spent.now(apart)
    millions = rate * (after.at - before.at) / 1e6
    waited = made.ear.waited(before.at)
    p50, p99 = np.quantile(waited, [0.5, 0.99]).tolist() if len(waited) else (None, None)
    spent = {name: value / millions for name, value in after.since(before).items()}
    return {"queries": len(made.queries.texts), "rate": rate, "p50": p50, "p99": p99, **spent}


@dataclass(frozen=True, slots=True)
class _Spent:
    """Seconds of the processor until a moment: of the whole tree, of this process, and of threads of the server."""

    at: float
    cpu: float
    driver: float
    threads: Mapping[int, float]

    @classmethod
    def now(cls, apart: int | None) -> Self:
        """What was spent until now, but for a process that stands apart."""
        servers = [each.native_id for each in threading.enumerate() if each.name.startswith(_SERVER)]
        threads = {thread: _taken(thread) for thread in servers if thread is not None}
        tree = used(os.getpid(), apart)
        return cls(time.time(), tree.cpu if tree else math.nan, time.process_time(), threads)

    def since(self, before: Self) -> dict[str, float]:
        """What was spent since an earlier moment."""
        server = sum(spent - before.threads.get(thread, 0.0) for thread, spent in self.threads.items())
        return {"cpu": self.cpu - before.cpu, "driver": self.driver - before.driver, "server": server}


def _taken(thread: int) -> float:
    """Seconds of the processor that a thread of this process has taken; none of one that has just ended."""
    try:
        return int(Path(f"/proc/self/task/{thread}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        return 0.0


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
