"""Three engines on this machine under load, one killed and one paused: what is lost or twice, how long it takes.

Each node is a process with a Spark of its own. Filters, aggregates over panes and joins over windows read one stream.
When all of them run, a node is killed with everything that belongs to it; later another one is stopped for twenty
seconds, as a machine that hangs is, and goes on after that, in the belief that its queries are still its own. What
came out is compared, row by row, with what one engine makes of the same stream.
"""

import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headgate.bench.rack import Rack, results, run_alone, write
from headgate.bench.report import Report, at_most

RATE, SECONDS = 1000, 100.0
"""Tuples per second, and for how long they come."""
PAUSED, CALM = 20.0, 8.0
"""Seconds for which a node is stopped, and between two misfortunes."""
GOAL = 15.0
"""Seconds after which all queries run again."""
LONGEST = 180.0
SYMBOLS = 40

Progress = Callable[[str], None]
Row = dict[str, Any]


def run(progress: Progress) -> Report:
    """The benchmark."""
    with tempfile.TemporaryDirectory(prefix="headgate-nodes-") as folder:
        return measured(Path(folder), progress)


def measured(folder: Path, progress: Progress, rate: int = RATE, seconds: float = SECONDS) -> Report:
    """In a folder, so many tuples per second for so long."""
    feed(folder / "ticks.parquet", rate, seconds)
    progress("one engine")
    run_alone(write(folder / "alone" / "pipeline.yaml", pipeline("../ticks.parquet", "max")))
    progress("three nodes start")
    path = write(folder / "together" / "pipeline.yaml", pipeline("../ticks.parquet", 1.0))
    with Rack(path, ["a", "b", "c"]) as rack:
        began = rack.until(rack.active, LONGEST)
        progress(f"all queries run after {began:.1f} s")
        time.sleep(CALM)
        rack.signal("a", signal.SIGKILL)
        killed = rack.until(lambda: rack.active(without="a"), LONGEST)
        progress(f"one node killed: all queries run again after {killed:.1f} s")
        rack.start("a")
        time.sleep(CALM)
        rack.signal("b", signal.SIGSTOP)
        stopped = time.monotonic()
        paused = rack.until(lambda: rack.active(without="b"), LONGEST)
        progress(f"one node paused: all queries run again after {paused:.1f} s")
        time.sleep(max(0.0, PAUSED - (time.monotonic() - stopped)))
        rack.signal("b", signal.SIGCONT)
        progress("waiting for the end of the stream")
        rows: list[Row] = []
        rack.until(lambda: not any(row["lost"] for row in _rows(folder)), LONGEST)
        time.sleep(CALM)
        rows = _rows(folder)
    checks = [
        at_most("seconds until all queries run again after a node was killed", killed, GOAL, " s"),
        at_most("seconds until all queries run again after a node was paused", paused, GOAL, " s"),
        at_most("results lost", sum(row["lost"] for row in rows), 0),
        at_most("results twice", sum(row["twice"] for row in rows), 0),
    ]
    return Report("nodes", tuple(rows), tuple(checks))


def _rows(folder: Path) -> list[Row]:
    found = []
    for name in pipeline("", 1.0)["queries"]:
        right, got = results(folder / "alone" / "out" / name), results(folder / "together" / "out" / name)
        lost, twice = (right - got).total(), (got - right).total()
        parts = len({file.name[5:11] for file in (folder / "together" / "out" / name).glob("part-*.parquet")})
        found.append({"query": name, "results": right.total(), "lost": lost, "twice": twice, "instances": parts})
    return found


def pipeline(file: str, speed: float | str) -> Mapping[str, Any]:
    """Twelve queries over one stream."""
    queries: dict[str, Any] = {}
    for i in range(6):
        queries[f"large_{i}"] = {"sql": f"SELECT id, sym, x FROM ticks WHERE sym % 6 = {i} AND x > 0.9"}  # noqa: S608
    for i, size in enumerate((2, 4, 6, 8)):
        sql = f"SELECT sym, count(*) AS n, sum(x) AS total FROM ticks WHERE sym % 4 = {i} GROUP BY sym"  # noqa: S608
        queries[f"sums_{i}"] = {"sql": sql, "window": f"{size}s", "slide": "2s"}
    for i in range(2):
        sql = (
            "SELECT a.sym, count(*) AS n FROM ticks a JOIN ticks b ON a.sym = b.sym AND a.id < b.id"  # noqa: S608
            f" WHERE a.x > 0.9{i} AND b.x > 0.9{i} GROUP BY a.sym"
        )
        queries[f"pairs_{i}"] = {"sql": sql, "window": "4s"}
    for name, query in queries.items():
        query |= {"start": "earliest", "sink": {"parquet": f"out/{name}"}}
    source = {"replay": {"path": file, "time": "ts", "speed": speed}}
    return {
        "lanes": {"jobs": 1, "resident": 1},
        "shed": "none",
        "streams": {"ticks": {"source": source, "event_time": "ts"}},
        "queries": queries,
    }


def feed(file: Path, rate: int, seconds: float) -> None:
    """A stream as a file."""
    ids = np.arange(int(rate * seconds))
    stamps = 1_767_225_600_000_000 + (ids * (1_000_000 / rate)).astype(np.int64)
    table = pa.table(
        {
            "id": ids,
            "sym": (ids * 7919 % SYMBOLS).astype(np.int32),
            "x": ids * 0.6180339887 % 1.0,
            "ts": pa.array(stamps).cast(pa.timestamp("us", tz="UTC")),
        }
    )
    pq.write_table(table, file)
