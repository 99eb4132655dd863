"""What an expert writes by hand: one streaming query that evaluates all queries at once and tags their results.

The expression is part of the streaming plan, so it is analysed once. Tuples that match nothing are gone before the
results of the others are made.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.sql import DataFrame

from headgate.bench.rivals.alerts import Alert
from headgate.bench.rivals.jvm import JvmEar, JvmFeed
from headgate.bench.rivals.rounds import Ear, PythonEar
from headgate.bench.rivals.streaming import in_real_time, spark_with_feed


def fused(queries: Sequence[Alert]) -> str:
    """One text for all queries. The arrival comes fourth, as in theirs."""
    some = " OR ".join(f"({query.where})" for query in queries)
    hits = ", ".join(
        f"IF({query.where}, struct({i} AS query, {query.label} AS label, DOUBLE({query.amount}) AS amount), NULL)"
        for i, query in enumerate(queries)
    )
    found = f"SELECT id, arrived, explode(array_compact(array({hits}))) AS hit FROM ticks WHERE {some}"  # noqa: S608 - constants of ours
    return f"SELECT id, hit.label AS label, hit.amount AS amount, arrived, hit.query AS query FROM ({found})"  # noqa: S608


@contextmanager
def started(queries: Sequence[Alert], mode: str = "batches") -> Iterator[tuple[JvmFeed, Ear]]:
    """The one query: a function in Python gets its batches by foreachBatch, or one in Java its rows in real time."""
    with spark_with_feed("local[*]") as (spark, folder):
        jvm = spark.sparkContext._jvm  # noqa: SLF001
        writer = spark.sql(fused(queries)).writeStream.option("checkpointLocation", str(folder / "all"))
        if mode == "batches":
            ear = PythonEar()

            def split(batch: DataFrame, _: int) -> None:
                rows = batch.toArrow()
                for query in set(rows["query"].to_pylist()):
                    ear.take(rows.filter(rows["query"].to_numpy() == query)["arrived"].to_numpy())

            writer.foreachBatch(split).start()
            yield JvmFeed(jvm), ear
        else:
            writer._jwrite.foreach(jvm.headgate.bench.SparkSink())  # type: ignore[union-attr]  # noqa: SLF001
            in_real_time(writer).start()
            yield JvmFeed(jvm), JvmEar(jvm)
