"""Queries that move from one engine to another while they run: what it does to their response times and results.

A join over ten seconds, a sum of five rows and a sum of four seconds run on two nodes, each with a Spark of its own.
One after the other moves to the other node: not at all, by UniMiCo, or by stop and copy. Results are compared with
those of one engine, and response times from two seconds before a move to two seconds after it with those of a query
that stays.
"""

import math
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headgate.bench.nodes import feed
from headgate.bench.rack import Rack, results, run_alone, write
from headgate.bench.report import Check, Report, at_most
from headgate.cluster.placement import How
from headgate.record import read

RATE, SECONDS = 200, 75.0
FILL, BETWEEN, AROUND = 12.0, 8.0, 2.0
"""Seconds until the first move, between two of them, and that count before and after one."""
LONGEST = 180.0
WAYS: Mapping[str, How | None] = {"no move": None, "UniMiCo": "unimico", "stop and copy": "copy"}

Progress = Callable[[str], None]
Row = dict[str, Any]


def run(progress: Progress) -> Report:
    """The benchmark."""
    with tempfile.TemporaryDirectory(prefix="headgate-moves-") as given:
        folder = Path(given)
        feed(folder / "ticks.parquet", RATE, SECONDS)
        progress("one engine")
        run_alone(write(folder / "alone" / "pipeline.yaml", pipeline("max")))
        rows: list[Row] = []
        for way, how in WAYS.items():
            rows += _round(folder, way, how, progress)
    return Report("moves", tuple(rows), tuple(_checks(rows)))


def _round(folder: Path, way: str, how: How | None, progress: Progress) -> list[Row]:
    place = folder / (how or "stay")
    path = write(place / "pipeline.yaml", pipeline(1.0))
    progress(f"{way}: two nodes start")
    spans: dict[str, tuple[float, float]] = {}
    with Rack(path, ["a", "b"]) as rack:
        rack.until(rack.active, LONGEST)
        time.sleep(FILL)
        for name in pipeline(1.0)["queries"]:
            began = time.time()
            if how is not None:
                where = next(each["node"] for each in rack.queries() if each["name"] == name)
                to = "b" if where == "a" else "a"
                rack.coordinator.move(name, to, how=how)
                took = rack.until(lambda name=name, to=to: _runs(rack, name, to), LONGEST)  # type: ignore[misc]
                progress(f"{way}: {name} runs on the other node after {took:.2f} s")
            spans[name] = began - AROUND, time.time() + AROUND
            time.sleep(BETWEEN)
        queries = list(spans)
        rack.until(lambda: all(_equal(folder, place, name) for name in queries), LONGEST)
    return [_row(folder, place, way, name, span) for name, span in spans.items()]


def _runs(rack: Rack, name: str, node: str) -> bool:
    return any(each["name"] == name and (each["node"], each["status"]) == (node, "ACTIVE") for each in rack.queries())


def _equal(folder: Path, place: Path, name: str) -> bool:
    return results(folder / "alone" / "out" / name) == results(place / "out" / name)


def _row(folder: Path, place: Path, way: str, name: str, span: tuple[float, float]) -> Row:
    runs = [
        entry
        for node in ("a", "b")
        for entry in read(place / "cluster" / "nodes" / node).ran
        if entry.unit == name and span[0] <= entry.finished <= span[1]
    ]
    count = sum(sum(entry.spread.values()) for entry in runs)
    total, squares = (sum(getattr(entry.response, of) for entry in runs) for of in ("total", "squares"))
    mean = total / count if count else math.nan
    right, got = results(folder / "alone" / "out" / name), results(place / "out" / name)
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
    found = [at_most(f"results lost or twice, {way}", _wrong(rows, way), 0) for way in WAYS]
    for row in rows:
        if row["way"] == "UniMiCo":
            beside = {other["way"]: other["mean"] for other in rows if other["query"] == row["query"]}
            ratio = row["mean"] / beside["no move"]
            found.append(at_most(f"{row['query']}: mean response around a move, against none", ratio, 1.5, "×"))
            copied = row["mean"] / beside["stop and copy"]
            found.append(at_most(f"{row['query']}: the same against stop and copy", copied, 1.0, "×"))
    return found


def _wrong(rows: list[Row], way: str) -> int:
    return sum(row["lost"] + row["twice"] for row in rows if row["way"] == way)


def pipeline(speed: float | str) -> Mapping[str, Any]:
    """A join, a sum over rows and a sum over time."""
    join = (
        "SELECT a.id, b.id AS other FROM ticks a JOIN ticks b ON a.sym = b.sym AND a.id < b.id"
        " WHERE a.x > 0.95 AND b.x > 0.95"
    )
    queries: dict[str, Any] = {
        "join": {"sql": join, "window": "10s", "slide": "1s"},
        "rows": {"sql": "SELECT sum(id) AS total FROM ticks", "window": "5 rows", "slide": "1 row"},
        "sums": {"sql": "SELECT sym, sum(x) AS total FROM ticks GROUP BY sym", "window": "4s", "slide": "1s"},
    }
    for name, query in queries.items():
        query |= {"start": "earliest", "sink": {"parquet": f"out/{name}"}}
    source = {"replay": {"path": "../ticks.parquet", "time": "ts", "speed": speed}}
    return {
        "lanes": {"jobs": 1, "resident": 1},
        "fuse": False,
        "shed": "none",
        "streams": {"ticks": {"source": source, "event_time": "ts"}},
        "queries": queries,
    }
