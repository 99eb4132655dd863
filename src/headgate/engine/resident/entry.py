"""Where Spark's Python workers begin. What they import depends on how they are set up, so that comes first."""

import importlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headgate.engine.kernel.program import Program
from headgate.engine.resident.channel import Call

ANSWER = "head binary, body binary"
"""The columns of an answer that comes out of a job."""


@dataclass(frozen=True, slots=True)
class Resident:
    """What the worker of a resident lane does with its partition: it serves the lane, and gives no rows.

    It may allocate `memory` bytes, or as many as its machine has; answers above `most` go into files in `folder`.
    """

    call: Call
    memory: int | None
    most: int
    folder: str

    def __call__(self, rows: Iterable[object]) -> Iterator[object]:  # noqa: ARG002 - see below
        """Serve. The partition is not read, so that Spark ends the process and does not use it for other tasks."""
        _one_core()
        importlib.import_module("headgate.engine.resident.worker").serve(self)
        return iter(())


@dataclass(frozen=True, slots=True)
class InJob:
    """What a job does that runs a program: it reads the tuples that its property names, and gives the answer."""

    program: Program

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The answer as a row."""
        _one_core()
        answer: Any = importlib.import_module("headgate.engine.resident.in_job").answer
        # All of it is read: otherwise the next job would have to start a worker of its own.
        for _ in batches:
            pass
        head, body = answer(self.program)
        yield pa.record_batch([pa.array([head], pa.binary()), pa.array([body], pa.binary())], names=["head", "body"])


def _one_core() -> None:
    """Polars looks at this when it is imported."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
