"""Structured Streaming: a streaming query per query, in micro-batches or in real-time mode, all in the JVM.

Source and function are Java, which is the fastest there is: no files to list, no results on their way to Python.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headgate.bench.rivals.alerts import SYMBOLS, Alert
from headgate.bench.rivals.jvm import SPARK_JARS, JvmEar, JvmFeed, compile_java

_SETTINGS: dict[str, bool | float | int | str | None] = {
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": "-XX:-DontCompileHugeMethods",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "1",
    "spark.python.unix.domain.socket.enabled": "true",
}


@contextmanager
def spark_with_feed(master: str) -> Iterator[tuple[SparkSession, Path]]:
    """A session that has the ticks as a stream, and a folder for checkpoints."""
    with tempfile.TemporaryDirectory() as name:
        classes = Path(name) / "classes"
        classes.mkdir()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(master).config("spark.driver.extraClassPath", str(classes))
        spark = builder.config(map=_SETTINGS).getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        try:
            gateway = spark.sparkContext._gateway  # noqa: SLF001 - the way to Java classes
            compile_java(gateway, ("SparkSource", "SparkSink"), sorted(SPARK_JARS.glob("*.jar")), classes)
            ticks = spark.readStream.format("headgate.bench.SparkSource").option("symbols", SYMBOLS).load()
            ticks.createOrReplaceTempView("ticks")
            yield spark, Path(name)
        finally:
            spark.stop()


def in_real_time(writer: DataStreamWriter) -> DataStreamWriter:
    """The writer of a query that takes each tuple when it comes, and commits now and then."""
    return writer.outputMode("update").trigger(realTime="5 minutes")  # type: ignore[call-overload,no-any-return]


@contextmanager
def started(queries: Sequence[Alert], mode: str = "batches") -> Iterator[tuple[JvmFeed, JvmEar]]:
    """A streaming query each. In real-time mode each keeps a slot of Spark's for itself."""
    master = "local[*]" if mode == "batches" else f"local[{len(queries) + 2}]"
    with spark_with_feed(master) as (spark, folder):
        jvm = spark.sparkContext._jvm  # noqa: SLF001
        if jvm is None:
            raise RuntimeError("Spark has no Java process")
        for i, query in enumerate(queries):
            writer = spark.sql(query.sql).writeStream.option("checkpointLocation", str(folder / f"q{i}"))
            if mode != "batches":
                writer = in_real_time(writer)
            elif len(queries) == 1:
                # The threads that write progress help one query, and are in the way of many.
                writer = writer.option("asyncProgressTrackingEnabled", "true")
            writer._jwrite.foreach(jvm.headgate.bench.SparkSink())  # noqa: SLF001 - a writer in Java
            writer.start()
        yield JvmFeed(jvm), JvmEar(jvm)
