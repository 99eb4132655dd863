"""Structured Streaming with a streaming query for each query, each over its part of one feed; results go nowhere.

Nothing of a result crosses to Python: how long it took follows from when its batch was done, which Spark reports.
"""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.bench.rivals.jvm import JvmFeed
from headgate.bench.rivals.streaming import spark_with_feed
from headgate.bench.rivals.tuples import Round

_WARM, _GENTLE = 20.0, 0.2
"""Seconds before anything is measured, and the part of the first rate: nothing is to be left over from them."""
_SPREAD = 97
"""By this much the numbers of tuples are mixed, so that every part of them comes evenly."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Asked(NamedTuple):
    """A query: its text over the stream `load`, and which parts of the feed that is: from one to before another."""

    name: str
    sql: str
    low: int
    high: int


class Heard(NamedTuple):
    """Of a query: when its tuples arrived, in seconds since the load began, and how long their results took."""

    at: Floats
    took: Floats


def query_each(
    queries: Sequence[Asked], columns: Sequence[str], phases: Sequence[tuple[float, float]], tail: float
) -> dict[str, Heard]:
    """What became of the tuples of a load, as far as that was known a while after its end.

    The load is phases of so many tuples per second, for so many seconds. A tuple has an `id`, and has `arrived` at a
    time in microseconds; the columns of the stream come from these. It runs in a process of its own, whose Java has
    deep stacks: for long formulas Spark needs them.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        return alone.submit(_query_each, queries, columns, phases, tail).result()


def _query_each(
    queries: Sequence[Asked], columns: Sequence[str], phases: Sequence[tuple[float, float]], tail: float
) -> dict[str, Heard]:
    os.environ["JAVA_TOOL_OPTIONS"] = "-Xss16m"
    parts = max(each.high for each in queries)
    with spark_with_feed("local[*]") as (spark, folder):
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "10000")
        started = []
        for each in queries:
            mine = f"pmod(id * {_SPREAD}, {parts}) >= {each.low} AND pmod(id * {_SPREAD}, {parts}) < {each.high}"
            spark.table("ticks").where(mine).selectExpr(*columns).createOrReplaceTempView("load")
            writer = spark.sql(each.sql).writeStream.format("noop").queryName(each.name)
            started.append(writer.option("checkpointLocation", str(folder / each.name)).start())
        jvm = spark.sparkContext._jvm  # noqa: SLF001 - the way to Java classes
        feed = JvmFeed(jvm)
        feed.play(_GENTLE * phases[0][0], _WARM)
        time.sleep(_WARM)
        rounds = []
        for rate, seconds in phases:
            rounds.append(feed.play(rate, seconds))
            time.sleep(max(0.0, rounds[-1].began + seconds - time.time()))
        feed.play(phases[0][0], tail)
        time.sleep(tail)
        batches = [[_batch(each) for each in stream.recentProgress] for stream in started]
        for stream in started:
            stream.stop()
    return {each.name: _heard(each, parts, rounds, found) for each, found in zip(queries, batches, strict=True)}


class _Batch(NamedTuple):
    """The tuples from a number to before another, and when they were done."""

    first: int
    end: int
    done: float


def _batch(progress: Any) -> _Batch:  # noqa: ANN401 - a progress of Spark's
    (source,) = progress["sources"]
    took = progress["durationMs"]
    # Results are there before their batch is committed.
    seconds = (took.get("triggerExecution", 0) - took.get("commitOffsets", 0)) / 1000
    started = datetime.fromisoformat(progress["timestamp"]).timestamp()
    # There is none before the first batch.
    first, end = (int(source[name]) if str(source[name]).isdecimal() else 0 for name in ("startOffset", "endOffset"))
    return _Batch(first, end, started + seconds)


def _heard(asked: Asked, parts: int, rounds: Sequence[Round], batches: Sequence[_Batch]) -> Heard:
    """The tuples of a query, and how long each took; infinite if it was not done."""
    ids = np.concatenate([np.arange(each.first, each.end) for each in rounds])
    arrived = np.concatenate([each.began + np.arange(each.end - each.first) / each.rate for each in rounds])
    part = ids * _SPREAD % parts
    mine = (part >= asked.low) & (part < asked.high)
    ids, arrived = ids[mine], arrived[mine]
    done = np.full(len(ids), np.inf)
    for batch in batches:
        done[(ids >= batch.first) & (ids < batch.end)] = batch.done
    return Heard(arrived - rounds[0].began, done - arrived)
