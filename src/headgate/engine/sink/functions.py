"""Results handed to a function of the user's, at least once."""

from collections.abc import Callable
from typing import Generic, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headgate.engine.sink.protocol import Guarantee, Opening, Receipt, Unfenced
from headgate.errors import HeadgateError

Taken = TypeVar("Taken")


def callback(function: Callable[[pa.Table, int], object]) -> "Calls[pa.Table]":
    """Calls `function(table, run)` for each run that has results, one run after the other.

    At least once: after a crash the last call can be repeated, under the same run number and perhaps with other rows.
    A function that notes the number of the last run it is done with can tell.
    """
    return Calls("callback", function, lambda _, rows: rows)


def foreach_batch(function: Callable[[DataFrame, int], object]) -> "Calls[DataFrame]":
    """Calls `function(dataframe, run)` as the foreachBatch of Structured Streaming does; otherwise as `callback`."""
    return Calls("foreach_batch", function, lambda spark, rows: spark.createDataFrame(rows))


class Calls(Unfenced, Generic[Taken]):
    """A function that is called with the rows of a run, in the form that it takes, and the run's number."""

    guarantee: Guarantee = "at least once"
    _opening: Opening

    def __init__(
        self, sink: str, function: Callable[[Taken, int], object], form: Callable[[SparkSession, pa.Table], Taken]
    ) -> None:
        self._sink, self._function, self._form = sink, function, form
        self._name = getattr(function, "__qualname__", None) or repr(function)

    def __repr__(self) -> str:
        """As it is written."""
        return f"{self._sink}({self._name})"

    def open(self, opening: Opening) -> None:
        """Learn whose results these are."""
        self._opening = opening

    def stage(self, run: int, rows: pa.Table) -> Receipt:
        """Call the function."""
        if rows.num_rows:
            taken = self._form(self._opening.spark, rows)
            try:
                self._function(taken, run)
            except Exception as error:
                said = ": ".join([type(error).__name__, *str(error).splitlines()[:1]])
                msg = f"query '{self._opening.query}': {self!r} failed at run {run}: {said}"
                raise HeadgateError(msg) from error
        return {}

    def publish(self, receipt: Receipt) -> None:
        """Nothing is left to do: the function has had the rows."""

    def tick(self, now: float) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing to let go of."""
