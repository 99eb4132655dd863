"""Structured Streaming with a query for each real-time query, triggered as often as a window ends."""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

_WARM = 20.0
"""Seconds before anything is measured."""


class Asked(NamedTuple):
    """A query: its text over streams by name, and how many seconds a window has."""

    name: str
    sql: str
    period: float


class Batch(NamedTuple):
    """A batch of a query: when it was triggered and when it was done, and how many tuples it had."""

    query: str
    started: float
    finished: float
    tuples: int


def triggers(queries: Sequence[Asked], columns: str, rate: float, seconds: float) -> tuple[float, list[Batch]]:
    """The batches of all queries in so many seconds, and when these began.

    Tuples come at a rate to each of the streams a, b and c, with these columns. It has as many slots for tasks as
    Headgate's one lane, and runs in a process of its own.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        return alone.submit(_triggers, queries, columns, rate, seconds).result()


def _triggers(queries: Sequence[Asked], columns: str, rate: float, seconds: float) -> tuple[float, list[Batch]]:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.ansi.enabled", "false").config("spark.sql.shuffle.partitions", "1")
    spark = builder.config("spark.sql.streaming.numRecentProgressUpdates", "10000").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = [_start(spark, each, columns, rate, Path(folder)) for each in queries]
            time.sleep(_WARM)
            began = time.time()
            # What is due within the time has until then to be done.
            time.sleep(seconds)
            heard = [_batch(each.name, progress) for each in found for progress in each.recentProgress]
            for each in found:
                each.stop()
            return began, [batch for batch in heard if batch.tuples]
    finally:
        spark.stop()


def _start(spark: SparkSession, asked: Asked, columns: str, rate: float, folder: Path) -> Any:  # noqa: ANN401
    source = spark.readStream.format("rate").option("rowsPerSecond", round(3 * rate)).load()

    def run(batch: DataFrame, number: int) -> None:  # noqa: ARG001 - as Spark calls it
        mine = batch.sparkSession
        for i, stream in enumerate("abc"):
            of = batch.where(f"value % 3 = {i}").selectExpr("value div 3 AS id")
            of.selectExpr(*columns.split(";")).createOrReplaceTempView(stream)
        mine.sql(asked.sql).write.format("noop").mode("overwrite").save()

    stream = source.writeStream.queryName(asked.name).foreachBatch(run)
    stream = stream.option("checkpointLocation", str(folder / asked.name))
    return stream.trigger(processingTime=f"{round(1000 * asked.period)} milliseconds").start()


def _batch(query: str, progress: Any) -> Batch:  # noqa: ANN401 - a progress of Spark's
    started = datetime.fromisoformat(progress["timestamp"]).timestamp()
    took = progress["durationMs"].get("triggerExecution", 0) / 1000
    return Batch(query, started, started + took, progress["numInputRows"])
