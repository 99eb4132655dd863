"""Queries that move from one engine to another while they run: what it does to their response times and results.

A join of two streams over ten seconds, a sum of five rows and a sum of four seconds run on two nodes, each with a
Spark of its own; and a chain: a sum of five rows of what a join newly gives, which is a stream, and moves as any
other query does. Once all of them have caught up with what was there before they were planned, one after the other
stays where it is, moves
to the other node by UniMiCo, and moves back by stop and copy; and so a few times. Results are compared with those of
one engine, and response times from two seconds before a move to two seconds after it with those of a query that
stays.
"""

import math
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headgate.bench.nodes import feed
from headgate.bench.rack import Rack, Rows, results, run_alone, write
from headgate.bench.report import Check, Report, at_most
from headgate.cluster.instances import How
from headgate.record import Ran, read

RATE, SECONDS = 200, 360.0
REPEATS = 3
FILL, AROUND = 12.0, 2.0
"""Seconds until the first move, so that all windows are full, and that count before and after one."""
LONGEST = 180.0
WAYS: Mapping[str, How | None] = {"no move": None, "UniMiCo": "unimico", "stop and copy": "copy"}

READ_BY = {"pairs": "five"}
"""Who reads the results of a query."""

Progress = Callable[[str], None]
Row = dict[str, Any]
Spans = dict[tuple[str, str], list[tuple[float, float]]]
"""From when to when something counts, by query and way."""


def run(progress: Progress) -> Report:
    """The benchmark."""
    with tempfile.TemporaryDirectory(prefix="headgate-moves-") as given:
        folder = Path(given)
        for stream in ("ticks", "others"):
            feed(folder / f"{stream}.parquet", RATE, SECONDS)
        progress("one engine")
        run_alone(write(folder / "alone" / "pipeline.yaml", pipeline("max")))
        rows = _together(folder, progress)
    return Report("moves", tuple(rows), tuple(_checks(rows)))


def _together(folder: Path, progress: Progress) -> list[Row]:
    path = write(folder / "together" / "pipeline.yaml", pipeline(1.0))
    progress("two nodes start")
    names = list(pipeline(1.0)["queries"])
    with Rack(path, ["a", "b"]) as rack:
        rack.until(rack.active, LONGEST)
        began = time.monotonic()
        time.sleep(FILL)
        rack.until(rack.caught_up, LONGEST)
        progress(f"all queries have caught up after {time.monotonic() - began:.0f} s")
        spans = _spans(rack, names, progress)
        progress("waiting for the end of the stream")
        rack.until(lambda: all(_equal(folder, name) for name in names), LONGEST)
    ran = [entry for node in ("a", "b") for entry in read(folder / "together" / "cluster" / "nodes" / node).ran]
    return [_row(folder, ran, way, name, spans[name, way]) for name in names for way in WAYS]


def _spans(rack: Rack, names: list[str], progress: Progress) -> Spans:
    """Let each query stay, move and move back, in turn."""
    found: Spans = {(name, way): [] for name in names for way in WAYS}
    for _ in range(REPEATS):
        for name in names:
            for way, how in WAYS.items():
                began = time.time()
                if how is not None:
                    where = next(each["node"] for each in rack.queries() if each["name"] == name)
                    to = "b" if where == "a" else "a"
                    rack.coordinator.move(name, to, how=how)
                    took = rack.until(lambda name=name, to=to: _runs(rack, name, to), LONGEST)  # type: ignore[misc]
                    progress(f"{way}: {name} runs on the other node after {took:.2f} s")
                found[name, way].append((began - AROUND, time.time() + AROUND))
                time.sleep(2 * AROUND)
    return found


def _runs(rack: Rack, name: str, node: str) -> bool:
    return any(each["name"] == name and (each["node"], each["status"]) == (node, "ACTIVE") for each in rack.queries())


def _equal(folder: Path, name: str) -> bool:
    right, got = _given(folder, name)
    return right == got


def _given(folder: Path, name: str) -> tuple[Rows, Rows]:
    """The results of one engine and of two; of a query whose results are a stream, those of the one that reads it."""
    shown = READ_BY.get(name, name)
    return results(folder / "alone" / "out" / shown), results(folder / "together" / "out" / shown)


def _row(folder: Path, ran: list[Ran], way: str, name: str, spans: list[tuple[float, float]]) -> Row:
    runs = [e for e in ran if e.unit == name and any(begin <= e.finished <= end for begin, end in spans)]
    count = sum(sum(entry.spread.values()) for entry in runs)
    total, squares = (sum(getattr(entry.response, of) for entry in runs) for of in ("total", "squares"))
    mean = total / count if count else math.nan
    right, got = _given(folder, name)
    return {
        "query": name,
        "way": way,
        "results": count,
        "mean": mean,
        "std": math.sqrt(max(0.0, squares / count - mean * mean)) if count else math.nan,
        "longest": max((entry.response.longest for entry in runs), default=math.nan),
        "lost": (right - got).total(),
        "twice": (got - right).total(),
    }


def _checks(rows: list[Row]) -> list[Check]:
    wrong = sum(row["lost"] + row["twice"] for row in rows if row["way"] == "UniMiCo")
    found = [at_most("results lost or twice, all moves together", wrong, 0)]
    for row in rows:
        if row["way"] == "UniMiCo":
            beside = {other["way"]: other["mean"] for other in rows if other["query"] == row["query"]}
            ratio = row["mean"] / beside["no move"]
            found.append(at_most(f"{row['query']}: mean response around a move, against none", ratio, 1.5, "×"))
            copied = row["mean"] / beside["stop and copy"]
            found.append(at_most(f"{row['query']}: the same against stop and copy", copied, 1.0, "×"))
    return found


def pipeline(speed: float | str) -> Mapping[str, Any]:
    """A join of two streams, a sum over rows, a sum over time, and a sum over rows of what is new in a join."""
    join = (
        "SELECT a.id, b.id AS other FROM ticks a JOIN others b ON a.sym = b.sym AND a.id < b.id"
        " WHERE a.x > 0.95 AND b.x > 0.95"
    )
    # A pair is new in the window in whose last second its later tuple came.
    new = (
        "WITH newest AS (SELECT max(id) AS id FROM ticks)"  # noqa: S608
        " SELECT a.id, b.id AS other FROM ticks a JOIN ticks b ON a.sym = b.sym AND a.id < b.id CROSS JOIN newest"
        f" WHERE a.x > 0.95 AND b.x > 0.95 AND b.id > newest.id - {RATE} ORDER BY b.id, a.id"
    )
    queries: dict[str, Any] = {
        "join": {"sql": join, "window": "10s", "slide": "1s"},
        "rows": {"sql": "SELECT sum(id) AS total FROM ticks", "window": "5 rows", "slide": "1 row"},
        "sums": {"sql": "SELECT sym, sum(x) AS total FROM ticks GROUP BY sym", "window": "4s", "slide": "1s"},
        "pairs": {"sql": new, "window": "10s", "slide": "1s", "sink": {"stream": "joined"}},
        "five": {"sql": "SELECT sum(id) AS total FROM joined", "window": "5 rows", "slide": "1 row"},
    }
    for name, query in queries.items():
        query |= {"start": "earliest", "sink": query.get("sink", {"parquet": f"out/{name}"})}
    streams = {
        name: {"source": {"replay": {"path": f"../{name}.parquet", "time": "ts", "speed": speed}}, "event_time": "ts"}
        for name in ("ticks", "others")
    }
    return {
        "lanes": {"jobs": 1, "resident": 1},
        "fuse": False,
        "shed": "none",
        "streams": streams,
        "queries": queries,
    }
