"""Snapshots of a table on the disk: a folder of Parquet files for each, of which every file belongs to one part.

The files of parts that have not changed are the same in the next snapshot: links to them, which cost nothing.

A job in which Spark writes files takes a second or so, however few the rows are. Parts that were small are collected
instead, and written here: the same rows, with the same fingerprint, in a file that says which columns Spark has.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, Observation, functions
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from headgate.engine.kernel.lookups import part_prefix
from headgate.engine.log.synced import sync

_WRITING, _MAKING = "_writing", "_making"
_ABOUT = "_parts.json"
_DONE = "_SUCCESS"

_SMALL_ROWS, _SMALL_BYTES = 20_000, 2_000_000
"""A part with no more rows and bytes on the disk than that is collected when it is read again."""
_PLAIN = (NumericType, BooleanType, StringType, BinaryType, DateType, TimestampType, TimestampNTZType, DecimalType)
"""Types of columns that Parquet has alike, whoever writes it."""
_FINGERPRINT = "headgate fingerprint"


@dataclass(frozen=True, slots=True)
class Content:
    """What a part holds: a fingerprint of its rows whatever their order, and what it was when its source told it."""

    rows: int
    total: int
    parity: int
    size: int
    version: str | None = None

    @property
    def small(self) -> bool:
        """Whether its rows are as soon collected as written by a job."""
        return self.rows <= _SMALL_ROWS and self.size <= _SMALL_BYTES

    def same(self, other: "Content | None") -> bool:
        """Whether the rows are the same."""
        return other is not None and (self.rows, self.total, self.parity) == (other.rows, other.total, other.parity)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All rows of a table at a time: the folder, and what each part holds, in the order of the parts.

    What another version of the program has written says nothing of parts.
    """

    folder: Path
    contents: tuple[Content, ...] = ()

    @property
    def number(self) -> int:
        """Its place in the row of snapshots."""
        return int(self.folder.name)


class Snapshots:
    """The snapshots of one table."""

    def __init__(self, folder: Path, *, sync: bool = False) -> None:
        self._folder, self._sync = folder, sync
        self._newest = -1

    def latest(self, names: Sequence[str]) -> Snapshot | None:
        """The newest one that is complete, with what it holds if it is divided into the same parts."""
        found = max((each for each in self._folder.glob("[0-9]*") if (each / _DONE).exists()), default=None)
        return self._read(found, names) if found else None

    def path(self, number: int) -> Path:
        """The folder of a snapshot."""
        return self._folder / f"{number:06d}"

    def write(self, frame: DataFrame, part: int, old: Content | None = None) -> tuple[Path, Content]:
        """Write the rows of a part, in one job: the folder, until it is taken or dropped, and what it holds.

        What it held before, `old`, tells how that is done: what was small is likely to be small.
        """
        writing = self._folder / _WRITING / str(part)
        if old and old.small and all(isinstance(field.dataType, _PLAIN) for field in frame.schema):
            found = _collected(frame, writing)
            if found:
                return writing, found
        seen, fingerprint = Observation(), _fingerprint(frame)
        watched = frame.observe(
            seen,
            functions.count(functions.lit(1)).alias("rows"),
            functions.sum(fingerprint).alias("total"),
            functions.bit_xor(fingerprint).alias("parity"),
        )
        watched.write.mode("overwrite").parquet(str(writing))
        observed = seen.get
        size = sum(file.stat().st_size for file in writing.glob("*.parquet"))
        return writing, Content(observed["rows"], observed["total"] or 0, observed["parity"] or 0, size)

    def make(self, names: Sequence[str], old: Snapshot | None, fresh: Mapping[int, tuple[Path, Content]]) -> Snapshot:
        """The next snapshot, out of parts that were written and of the other parts of an old one."""
        making = self._folder / _MAKING
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        contents: list[Content] = list(old.contents) if old else []
        for part in range(len(names)):
            prefix = part_prefix(part)
            if part in fresh:
                writing, content = fresh[part]
                contents[part : part + 1] = [content]
                for file in sorted(writing.glob("*.parquet")):
                    file.rename(making / f"{prefix}{file.name}")
            elif old:
                for file in old.folder.glob(f"{prefix}*.parquet"):
                    _linked(file, making / file.name)
        about = {"parts": list(names), "contents": [asdict(each) for each in contents]}
        (making / _ABOUT).write_text(json.dumps(about))
        (making / _DONE).touch()
        if self._sync:
            for file in making.iterdir():
                sync(file)
        made = self.path(self._next())
        making.rename(made)
        self.drop()
        return Snapshot(made, tuple(contents))

    def note(self, snapshot: Snapshot, names: Sequence[str], part: int, version: str | None) -> Snapshot:
        """The same snapshot, of which a part is known to be what its source has under a version."""
        contents = list(snapshot.contents)
        contents[part] = replace(contents[part], version=version)
        about = {"parts": list(names), "contents": [asdict(each) for each in contents]}
        temporary = snapshot.folder / f"{_ABOUT}.tmp"
        temporary.write_text(json.dumps(about))
        temporary.rename(snapshot.folder / _ABOUT)
        return Snapshot(snapshot.folder, tuple(contents))

    def drop(self) -> None:
        """Forget what was written and not taken."""
        shutil.rmtree(self._folder / _WRITING, ignore_errors=True)

    def keep(self, numbers: set[int]) -> None:
        """Remove all others."""
        for each in self._folder.glob("[0-9]*"):
            if int(each.name) not in numbers:
                shutil.rmtree(each, ignore_errors=True)

    def _next(self) -> int:
        """A number that no snapshot has had, also where somebody has removed folders."""
        there = [int(each.name) for each in self._folder.glob("[0-9]*")]
        self._newest = max([self._newest, *there]) + 1
        return self._newest

    def passed(self, number: int) -> None:
        """Use no number up to this one."""
        self._newest = max(self._newest, number)

    def _read(self, folder: Path, names: Sequence[str]) -> Snapshot:
        try:
            about: dict[str, Any] = json.loads((folder / _ABOUT).read_text())
            contents = tuple(Content(**each) for each in about["contents"])
        except (OSError, ValueError, TypeError, KeyError):
            return Snapshot(folder)
        return Snapshot(folder, contents if about["parts"] == list(names) else ())


def _collected(frame: DataFrame, folder: Path) -> Content | None:
    """Collect a part and write it; None if it has grown to more than is good to have here."""
    rows = frame.withColumn(_FINGERPRINT, _fingerprint(frame)).limit(2 * _SMALL_ROWS + 1).toArrow()
    if rows.num_rows > 2 * _SMALL_ROWS:
        return None
    # Sums of hashes wrap around, as they do in Spark.
    hashes = rows.column(_FINGERPRINT).to_numpy()
    # Spark goes by these: which columns there are, and that old dates are of the calendar that we have now.
    about = {
        "org.apache.spark.sql.parquet.row.metadata": frame.schema.json(),
        "org.apache.spark.version": frame.sparkSession.version,
    }
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    file = folder / "part-00000.parquet"
    pq.write_table(rows.drop_columns([_FINGERPRINT]).replace_schema_metadata(about), file)
    parity = int(np.bitwise_xor.reduce(hashes)) if len(hashes) else 0
    return Content(rows.num_rows, int(hashes.sum()), parity, file.stat().st_size)


def _fingerprint(frame: DataFrame) -> Column:
    """A hash of a row."""
    if not frame.columns:
        return functions.lit(0)
    return functions.xxhash64(*map(_hashable, frame.schema, frame.columns))


def _linked(file: Path, to: Path) -> None:
    try:
        os.link(file, to)
    except OSError:
        # Not every file system has links.
        shutil.copyfile(file, to)


def _hashable(field: Any, name: str) -> Column:  # noqa: ANN401 - a field of Spark's
    """A column as Spark can hash it: maps cannot be, but their texts can."""
    column = functions.col(f"`{name}`")
    return functions.to_json(functions.struct(column)) if _has_map(field.dataType) else column


def _has_map(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _has_map(kind.elementType)
    if isinstance(kind, StructType):
        return any(_has_map(field.dataType) for field in kind.fields)
    return isinstance(kind, MapType)
