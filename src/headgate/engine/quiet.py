"""Spark's own chatter, kept away from the terminal: what its JVM says goes into a file."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OUTPUTS = (1, 2)
_LOUD = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@contextmanager
def spoken_to(path: Path) -> Iterator[None]:
    """Let processes that are started within it write to the end of a file, for as long as they live.

    A JVM prints before any setting of Spark's is read, so it has to be born with another output. What this process
    itself prints within it goes there too.
    """
    kept = {output: os.dup(output) for output in _OUTPUTS}
    _flush()
    try:
        with path.open("ab") as file:
            for output in _OUTPUTS:
                os.dup2(file.fileno(), output)
        yield
    finally:
        _flush()
        for output, old in kept.items():
            os.dup2(old, output)
            os.close(old)


def complaint(path: Path, since: int) -> str | None:
    """The message of the first exception that the file shows after so many bytes."""
    with path.open("rb") as file:
        file.seek(since)
        lines = file.read().decode(errors="replace").splitlines()
    return next((line.partition("Exception: ")[2] for line in lines if "Exception: " in line), None)


def hush() -> None:
    """Keep pyspark from logging errors that it raises as well, a page of JSON each."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 - the other commands do without Spark

    for name in _LOUD:
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
