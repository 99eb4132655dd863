"""Two streams that are functions of the number of a train, every kind of query over them, and what they give."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headgate.engine import sink
from headgate.engine.source.given import rows

SYMBOLS = np.array([f"s{i}" for i in range(6)])
START = 1_767_225_600_000_000
SECOND = 1_000_000
STAMP = pa.timestamp("us", tz="UTC")

FUSABLE = {
    "dear": {"sql": "SELECT id, sym, price * vol AS value FROM ticks WHERE price > 60"},
    "cheap": {"sql": "SELECT id, price FROM ticks WHERE price < 20"},
    "seventh": {"sql": "SELECT id, upper(sym) AS sym FROM ticks WHERE id % 7 = 0"},
}
QUERIES = {
    **FUSABLE,
    "named": {
        "sql": "SELECT t.id, c.company FROM ticks t JOIN companies c ON t.sym = c.sym WHERE t.vol > 40",
    },
    "tumbling": {
        "sql": "SELECT sym, count(*) AS n, sum(price * vol) AS total, avg(price) AS mean FROM ticks GROUP BY sym",
        "window": "4s",
    },
    "sliding": {
        "sql": "SELECT sym, min(price) AS low, max(price) AS high, count(*) AS n FROM ticks GROUP BY sym",
        "window": "6s",
        "slide": "2s",
    },
    "latest": {
        "sql": "SELECT sym, sum(vol) AS vol, last(id) AS id FROM ticks GROUP BY sym",
        "window": "40 rows",
        "slide": "8 rows",
    },
    "picked": {"sql": "SELECT id, vol FROM ticks WHERE price > 90"},
    "chained": {
        "sql": "SELECT sum(vol) AS vol, max(id) AS id FROM picks",
        "window": "5 rows",
        "slide": "1 row",
    },
    "top": {"sql": "SELECT id, price FROM ticks ORDER BY price DESC, id LIMIT 3", "window": "5s"},
    "pairs": {
        "sql": "SELECT t.id, n.id AS news FROM ticks t JOIN news n ON t.sym = n.sym WHERE n.score > 7 AND price > 50",
        "window": "3s",
    },
    "visits": {
        "sql": "SELECT sym, count(*) AS n, sum(vol) AS vol FROM news GROUP BY sym, session_window(at, '2 seconds')",
    },
}
STREAMS = {"picked": "picks"}
"""Queries whose results are a stream that others read."""
LINES = ("sliding", "seventh")
"""Queries whose results are JSON lines; those of the others are Parquet folders."""


def ticks(k, count=200):
    """Train k: its second of event time, out of order by up to a second, and now and then a tuple far too late."""
    draw = np.random.default_rng(k)
    at = START + k * SECOND + draw.integers(-SECOND // 2, SECOND, count)
    at[draw.random(count) < 0.01] -= 20 * SECOND
    return pa.table(
        {
            "id": np.arange(k * count, (k + 1) * count),
            "sym": SYMBOLS[draw.integers(0, len(SYMBOLS), count)],
            "price": draw.integers(1, 100, count),
            "vol": draw.integers(1, 50, count),
            "at": pa.array(at).cast(STAMP),
        }
    )


def news(k, count=8):
    """Train k of the other stream, sparse enough for sessions to end."""
    draw = np.random.default_rng(1_000_000 + k)
    return pa.table(
        {
            "id": np.arange(k * count, (k + 1) * count),
            "sym": SYMBOLS[draw.integers(0, 2 if k % 5 else len(SYMBOLS), count)],
            "score": draw.integers(0, 10, count),
            "vol": draw.integers(1, 50, count),
            "at": pa.array(START + k * SECOND + draw.integers(0, SECOND, count)).cast(STAMP),
        }
    )


def companies():
    return pa.table({"sym": SYMBOLS[:4], "company": [f"Company {s}" for s in SYMBOLS[:4]]})


def sinks(out, queries=tuple(QUERIES)):
    """A sink for each query, in a folder."""
    lines = {name: sink.jsonl(Path(out) / f"{name}.jsonl") for name in queries if name in LINES}
    streams = {name: sink.stream(STREAMS[name]) for name in queries if name in STREAMS}
    return {name: lines.get(name) or streams.get(name) or sink.parquet(Path(out) / name) for name in queries}


def register(engine, out, sinks, *, trains, every=0.0):
    """Give an engine the streams, the table, and the queries that have a sink."""
    table = Path(out) / "companies.parquet"
    if not table.exists():
        table.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(companies(), table)
    engine.stream("ticks", rows([ticks(k) for k in range(trains)], every=every), event_time="at", delay="1s")
    engine.stream("news", rows([news(k) for k in range(trains)], every=every), event_time="at", delay="1s")
    engine.table("companies", table)
    for name, made in sinks.items():
        engine.query(name, **QUERIES[name], sink=made)


def results(out, queries=tuple(QUERIES)):
    """What a reader finds in the sinks: each query's rows, as a multiset."""
    return {name: Counter(_rows(Path(out), name)) for name in queries if name not in STREAMS}


def left_over(out):
    """What is staged and not published."""
    return [*Path(out).glob("*/_staged/*"), *Path(out).glob(".*.new")]


def wanted(trains):
    """What the queries that look at one tuple at a time must give, without an engine."""
    table = pa.concat_tables([ticks(k) for k in range(trains)]).to_pylist()
    known = dict(zip(*companies().to_pydict().values(), strict=True))
    picks = [t for t in table if t["price"] > 90]
    fives = [(at, picks[at : at + 5]) for at in range(len(picks))]
    return {
        "dear": Counter((t["id"], t["sym"], t["price"] * t["vol"]) for t in table if t["price"] > 60),
        "cheap": Counter((t["id"], t["price"]) for t in table if t["price"] < 20),
        "seventh": Counter((t["id"], t["sym"].upper()) for t in table if t["id"] % 7 == 0),
        "chained": Counter((at, at + 5, sum(t["vol"] for t in ts), ts[-1]["id"]) for at, ts in fives),
        "named": Counter((t["id"], known[t["sym"]]) for t in table if t["vol"] > 40 and t["sym"] in known),
    }


def _rows(out, name):
    if name in LINES:
        file = out / f"{name}.jsonl"
        found = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    else:
        parts = sorted((out / name).glob("part-*.parquet"))
        found = [row for part in parts for row in pq.read_table(part).to_pylist()]
    return [tuple(_plain(value) for value in row.values()) for row in found]


def _plain(value):
    """A sum of floats depends on which trains made up a pane; twelve digits of it do not."""
    return float(f"{value:.12g}") if isinstance(value, float) and math.isfinite(value) else value
