"""Structured Streaming with a FAIR pool per class, weighted by its priority: what Spark itself has for priorities."""

import os
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

Heard = tuple[float, NDArray[np.float64]]

_POOL = "<pool name='{0}'><schedulingMode>FAIR</schedulingMode><weight>{1:g}</weight><minShare>0</minShare></pool>"
_WARM = 20.0
"""Seconds before anything is measured."""


def fair_pools(
    classes: Sequence[tuple[str, float, Sequence[str]]], rate: float, seconds: float, repeated: int
) -> Mapping[str, list[Heard]]:
    """What each class gives in so many seconds at a rate: batch by batch, when it came and how long its results took.

    A class is a name, a priority and its queries over the stream `load`, each a streaming query in the class's pool.
    The texts of the stream are short ones that are `repeated` so often. It runs in a process of its own, whose Java
    has deep stacks: for long formulas Spark needs them.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        return alone.submit(_fair_pools, classes, rate, seconds, repeated).result()


def _fair_pools(
    classes: Sequence[tuple[str, float, Sequence[str]]], rate: float, seconds: float, repeated: int
) -> Mapping[str, list[Heard]]:
    with tempfile.TemporaryDirectory() as folder:
        pools = Path(folder) / "pools.xml"
        pools.write_text(f"<allocations>{''.join(_POOL.format(n, p) for n, p, _ in classes)}</allocations>")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ["PYSPARK_SUBMIT_ARGS"] = "--driver-java-options -Xss16m pyspark-shell"
        builder = SparkSession.builder.master("local[*]").config("spark.scheduler.mode", "FAIR")
        builder = builder.config("spark.scheduler.allocation.file", f"file://{pools}")
        builder = builder.config("spark.ui.enabled", "false").config("spark.sql.ansi.enabled", "false")
        spark = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        try:
            ears = {name: _Ear() for name, _, _ in classes}
            source = spark.readStream.format("rate").option("rowsPerSecond", round(rate)).load()
            text = f"repeat(concat('abacadab', lpad(value % 100003, 6, '0')), {repeated}) AS text"
            source.selectExpr("value AS id", text, "timestamp").createOrReplaceTempView("load")
            for name, _, texts in classes:
                spark.sparkContext.setLocalProperty("spark.scheduler.pool", name)
                for i, text in enumerate(texts):
                    shown = spark.sql(text.replace("SELECT id, ", "SELECT timestamp, id, "))
                    place = str(Path(folder) / f"{name}{i}")
                    shown.writeStream.foreachBatch(ears[name].hear).option("checkpointLocation", place).start()
            time.sleep(_WARM + seconds)
            return {name: ear.since(time.time() - seconds) for name, ear in ears.items()}
        finally:
            for query in spark.streams.active:
                query.stop()
            spark.stop()


class _Ear:
    """Notes how long the results of a class took."""

    def __init__(self) -> None:
        self._heard: list[Heard] = []
        self._lock = threading.Lock()

    def hear(self, batch: DataFrame, number: int) -> None:  # noqa: ARG002 - as Spark calls it
        """A batch of results."""
        stamps = np.array([row[0] for row in batch.selectExpr("unix_micros(timestamp)").collect()], dtype=np.float64)
        now = time.time()
        with self._lock:
            self._heard.append((now, now - stamps / 1e6))

    def since(self, start: float) -> list[Heard]:
        """What came since a time, by the time since then."""
        with self._lock:
            return [(at - start, times) for at, times in self._heard if at >= start and len(times)]
