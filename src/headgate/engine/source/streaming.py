"""Any Structured Streaming DataFrame as a stream: one streaming query for all continuous queries that read it."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headgate.engine.source.protocol import Intake
from headgate.engine.source.schemas import conform, of_spark
from headgate.errors import HeadgateError, InputError

_POLL = 0.05


@dataclass(slots=True, eq=False)
class Streaming:
    """A streaming DataFrame, or a function of the session that makes one. See `spark`."""

    frame: DataFrame | Callable[[SparkSession], DataFrame]
    trigger: Mapping[str, Any]

    def schema(self, spark: SparkSession) -> pa.Schema:
        if not isinstance(self.frame, DataFrame):
            self.frame = _checked(self.frame(spark))
        return of_spark(self.frame.schema)

    def run(self, intake: Intake) -> None:
        if not isinstance(self.frame, DataFrame):
            msg = "the columns of a stream are asked for before it runs"
            raise TypeError(msg)
        checkpoint = Path(intake.folder) / "checkpoint"
        if intake.state is not None and not checkpoint.exists():
            rule = "the checkpoint of a Spark stream is kept with its log"
            raise InputError(rule, f"no '{checkpoint}'", "Bring it back, or begin with an empty state folder.")
        batches = _Batches(intake)
        writer = self.frame.writeStream.foreachBatch(batches).option("checkpointLocation", str(checkpoint))
        try:
            query = (writer.trigger(**self.trigger) if self.trigger else writer).start()
        except PySparkException as error:
            raise HeadgateError(_said(error)) from error
        stopped = False
        while query.isActive and not stopped:
            stopped = intake.wait(_POLL)
        batches.close()
        query.stop()
        if isinstance(batches.failure, HeadgateError):
            raise batches.failure
        failure = query.exception()
        if failure is not None and not stopped:
            raise HeadgateError(_said(failure)) from batches.failure or failure


def spark(
    frame: DataFrame | Callable[[SparkSession], DataFrame], *, trigger: Mapping[str, Any] | None = None
) -> Streaming:
    """A streaming DataFrame of any session, or a function that makes one with the engine's.

    Every micro-batch is appended once, by its number, under the checkpoint that the stream keeps. `trigger` is what
    `writeStream.trigger` takes, as in {"processingTime": "1 second"}; with {"availableNow": True} the stream ends.
    """
    return Streaming(frame if callable(frame) else _checked(frame), trigger or {})


def _checked(frame: object) -> DataFrame:
    if not isinstance(frame, DataFrame) or not frame.isStreaming:
        rule, remedy = "a Spark stream is a streaming DataFrame", "Use spark.readStream, or register it as a table."
        raise InputError(rule, f"a {type(frame).__name__} that is none", remedy)
    return frame


def _said(error: PySparkException) -> str:
    return f"Spark's streaming query failed: {str(error).strip().splitlines()[0]}"


@dataclass(slots=True, eq=False)
class _Batches:
    """What the streaming query calls with each micro-batch."""

    intake: Intake
    failure: BaseException | None = None
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, frame: DataFrame, number: int) -> None:
        done = self.intake.state
        if done is not None and number <= done["batch"]:
            return  # appended, but the process ended before Spark noted it
        try:
            self._append(conform(frame.toArrow(), self.intake.schema), number)
        except Exception as error:
            if not self._closed:
                self.failure = error
            raise

    def _append(self, rows: pa.Table, number: int) -> None:
        with self._lock:
            if self._closed:
                # Were it to return, Spark would take the batch for done.
                msg = "the stream has been stopped"
                raise HeadgateError(msg)
            if rows.num_rows:
                self.intake.append(rows, {"batch": number})

    def close(self) -> None:
        """Wait for the append that is under way, and let no other begin."""
        with self._lock:
            self._closed = True
