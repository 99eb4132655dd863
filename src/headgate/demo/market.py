"""Sixty queries over market ticks on Spark, and a load that rises past what the machine can do.

The same arrivals are served three times on one engine: first come first served; by BSD, fused; and as Headgate does
by default where classes of queries have priorities and delay targets.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from headgate.bench.played import Floats, Played
from headgate.engine.engine import Engine
from headgate.engine.quiet import spoken_to
from headgate.engine.regime import AUTO
from headgate.engine.sink import discard
from headgate.engine.source import ticks

SEED = 7
STEPS = ((8.0, 0.3), (8.0, 0.6), (8.0, 0.9))
"""Seconds, and the work relative to what one lane can do. The jobs around it, two or three seconds for all queries
once, come on top: the last step is past capacity."""
CLASSES = {"alerts": (6.0, "500ms"), "boards": (3.0, "2s"), "reports": (1.0, "5s")}
"""Priorities and delay targets."""
ROUNDS: Mapping[str, Mapping[str, Any]] = {
    "fcfs": {"policy": "fcfs", "shed": "none"},
    "bsd": {"policy": "bsd", "fuse": True, "shed": "none"},
    "classes": {"policy": AUTO},
}
_SYMBOLS = 50
_WARM_UP = (500, 2000)
_STRETCH = 40_000
"""Tuples that are served at once, to see how fast that goes."""

Snapshot = dict[str, Any]


@dataclass(frozen=True)
class Query:
    """A query of the demonstration."""

    name: str
    cls: str
    sql: str
    window: str | None = None
    slide: str | None = None


def queries() -> list[Query]:
    """Alerts that somebody waits for, boards that are looked at, and reports that have time."""
    found = []
    symbols = [f"AA{chr(ord('A') + i)}" for i in range(12)]
    for i, sym in enumerate(symbols):
        where = f"sym = '{sym}' AND vol > {100 * i}"
        found.append(Query(f"large_{sym}", "alerts", f"SELECT sym, price, vol, ts FROM ticks WHERE {where}"))  # noqa: S608
        where = f"sym = '{sym}' AND side = 'S' AND price * vol > {5000 * i}"
        found.append(Query(f"sold_{sym}", "alerts", f"SELECT sym, price * vol AS value FROM ticks WHERE {where}"))  # noqa: S608
    for venue in ("ARCA", "BATS", "EDGX", "IEX", "NSDQ", "NYSE"):
        where = f"FROM ticks WHERE venue = '{venue}' GROUP BY sym"
        for name, output in (
            ("vwap", "sum(price * vol) / sum(vol) AS vwap"),
            ("range", "min(price) AS low, max(price) AS high"),
            ("flow", "sum(CASE WHEN side = 'B' THEN vol ELSE -vol END) AS flow"),
            ("noise", "count(*) AS n, stddev(price) AS deviation"),
        ):
            found.append(Query(f"{name}_{venue}", "boards", f"SELECT sym, {output} {where}", "6s", "3s"))
    for i in range(12):
        risk = f"aggregate(sequence(1, {500 * (1 + i % 4)}), price, (t, x) -> t * 0.999 + x % 7)"
        inner = f"SELECT sym, vol, {risk} AS risk FROM ticks"  # noqa: S608
        sql = f"SELECT sym, risk FROM ({inner}) WHERE risk > 0 AND vol > {4000 + 200 * i}"  # noqa: S608
        found.append(Query(f"risk_{i:02d}", "reports", sql))
    return found


class Demo:
    """An engine with the queries of the demonstration, and rounds of arrivals that it serves."""

    def __init__(self, folder: Path, progress: Callable[[str], None]) -> None:
        made = ticks(SEED, symbols=_SYMBOLS)

        def rows(first: int, stamps: Floats) -> pa.Table:
            numbers = np.arange(first, first + len(stamps))
            return made.rows(numbers, np.round(stamps * 1e6).astype(np.int64))

        self._source = Played(rows(0, np.empty(0)).schema, rows)
        with spoken_to(folder / "spark.log"):
            self.engine = Engine(state=folder / "state")
        self.engine.spark.sparkContext.setLogLevel("ERROR")
        self.engine.stream("ticks", self._source, event_time="ts", delay="500ms", idle="2s")
        for name, (priority, target) in CLASSES.items():
            self.engine.query_class(name, priority=priority, delay_target=target)
        listed = queries()
        for i, query in enumerate(listed):
            progress(f"planning query {i + 1} of {len(listed)}")
            self.engine.query(
                query.name, query.sql, window=query.window, slide=query.slide, sink=discard(), cls=query.cls
            )

    def calibrate(self) -> float:
        """Serve a long stretch, all that waits in each run; gives its tuples per second."""
        self.engine.start("rr", fuse=False, train={"most": _STRETCH}, shed="none")
        for n in (*_WARM_UP, _STRETCH):
            began = time.perf_counter()
            self._source.play(np.zeros(n))
            self._drain(lambda _: None)
        return _STRETCH / (time.perf_counter() - began)

    def serve(self, way: Mapping[str, Any], rate: float, show: Callable[[Snapshot], None]) -> Snapshot:
        """One round in some way, until everything is read; with the share of tuples that each class has `lost`."""
        self.engine.switch(**way)
        before = {each.name: each for each in self.engine.status().classes}
        self._source.play(arrivals(rate))
        self._drain(show)
        status = self.engine.status()
        lost = {}
        for each in status.classes:
            shed, done = (getattr(each, n) - getattr(before[each.name], n) for n in ("shed", "processed"))
            lost[each.name] = shed / (shed + done)
        return {**asdict(status), "lost": lost}

    def _drain(self, show: Callable[[Snapshot], None]) -> None:
        while True:
            status = self.engine.status()
            if all(query.tuples >= self._source.sent for query in status.queries):
                return
            show(asdict(status))
            time.sleep(0.25)


def arrivals(rate: float) -> Floats:
    """Poisson arrivals at the steps' shares of a rate."""
    rng = np.random.default_rng(SEED)
    found: list[Floats] = []
    begin = 0.0
    for seconds, load in STEPS:
        found.append(np.sort(rng.uniform(begin, begin + seconds, rng.poisson(rate * load * seconds))))
        begin += seconds
    return np.concatenate(found)


def run(
    progress: Callable[[str], None],
    show: Callable[[str, Snapshot], None],
    folder: Path,
    served: Callable[[str], None] = lambda _: None,
) -> Sequence[tuple[str, Snapshot]]:
    """All rounds: each with its name and what it came to. Says where the dashboard is."""
    demo = Demo(folder, progress)
    try:
        server = demo.engine.serve()
        served(f"dashboard: {server.address} · changes need the token {server.token}")
        progress("measuring what the queries cost here")
        rate = demo.calibrate()
        found = []
        for i, (name, way) in enumerate(ROUNDS.items()):
            title = f"round {i + 1} of {len(ROUNDS)}: {name}, {rate * STEPS[-1][1]:,.0f} ticks/s at the end"
            found.append((name, demo.serve(way, rate, partial(show, title))))
        return found
    finally:
        demo.engine.stop()
