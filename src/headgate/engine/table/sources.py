"""Where a table lives, and a mark by which one can tell cheaply that it has not changed."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from pyspark.sql import DataFrame, SparkSession

from headgate.errors import InputError

_READERS = {".csv": "csv", ".parquet": "parquet", ".json": "json", ".jsonl": "json", ".ndjson": "json"}


@runtime_checkable
class TableSource(Protocol):
    """Where a table lives."""

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows that it has, read when something is done with them."""

    def version(self, spark: SparkSession) -> str | None:
        """A mark that differs whenever the rows do; None if there is no cheap one."""


Table: TypeAlias = DataFrame | str | Path | Callable[[SparkSession], DataFrame] | TableSource
"""What can be taken as a table: a DataFrame, a file or folder, a function of a session, or a source."""

Version: TypeAlias = Callable[[SparkSession], object]
"""What gives the mark of a table whose source has none."""


def as_source(table: Table, version: Version | None = None) -> TableSource:
    """What was given as a table, as a source."""
    if isinstance(table, TableSource):
        found: TableSource = table
    elif isinstance(table, DataFrame):
        found = _Made(lambda _: table)
    elif callable(table):
        found = _Made(table)
    else:
        # Spark has a working folder of its own.
        found = _Files(Path(table).absolute())
    return _Marked(found, version) if version else found


@dataclass(frozen=True, slots=True)
class _Made:
    make: Callable[[SparkSession], DataFrame]

    def frame(self, spark: SparkSession) -> DataFrame:
        return self.make(spark)

    def version(self, spark: SparkSession) -> None:  # noqa: ARG002 - there is none
        return None


@dataclass(frozen=True, slots=True)
class _Marked:
    inner: TableSource
    mark: Version

    def frame(self, spark: SparkSession) -> DataFrame:
        return self.inner.frame(spark)

    def version(self, spark: SparkSession) -> str:
        return str(self.mark(spark))


@dataclass(frozen=True, slots=True)
class _Files:
    path: Path

    def frame(self, spark: SparkSession) -> DataFrame:
        path = self.path
        if not path.exists():
            raise InputError("a table's file exists", f"'{path}'", "See that it exists and can be read.")
        inside = [path] if path.is_file() else sorted(p for p in path.iterdir() if p.suffix in _READERS)
        kind = _READERS.get(inside[0].suffix) if inside else None
        if kind is None:
            raise InputError("a table's file has a known format", f"'{path}'", f"Use {', '.join(_READERS)}.")
        reader = spark.read.option("header", "true").option("inferSchema", "true")
        return reader.format(kind).load(str(path))

    def version(self, spark: SparkSession) -> str | None:  # noqa: ARG002 - the file system tells
        """What the files are called, how long they are and when they were written."""
        marks = hashlib.sha256()
        for file in self._files():
            found = file.stat()
            marks.update(f"{file}|{found.st_size}|{found.st_mtime_ns}|{found.st_ino}\n".encode())
        return marks.hexdigest() if self.path.exists() else None

    def _files(self) -> Iterator[Path]:
        if self.path.is_file():
            yield self.path
        elif self.path.is_dir():
            yield from sorted(each for each in self.path.rglob("*") if each.is_file())
