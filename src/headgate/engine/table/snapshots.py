"""Snapshots of a table on the disk: a folder of Parquet files for each, of which every file belongs to one part.

The files of parts that have not changed are the same in the next snapshot: links to them, which cost nothing.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, Observation, functions
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from headgate.engine.kernel.lookups import part_prefix
from headgate.engine.log.synced import sync

_WRITING, _MAKING = "_writing", "_making"
_ABOUT = "_parts.json"
_DONE = "_SUCCESS"


@dataclass(frozen=True, slots=True)
class Content:
    """What a part holds: a fingerprint of its rows whatever their order, and what it was when its source told it."""

    rows: int
    total: int
    parity: int
    size: int
    version: str | None = None

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

    def write(self, frame: DataFrame, part: int) -> tuple[Path, Content]:
        """Write the rows of a part, in one job: the folder, until it is taken or dropped, and what it holds."""
        writing = self._folder / _WRITING / str(part)
        seen = Observation()
        fingerprint = (
            functions.xxhash64(*map(_hashable, frame.schema, frame.columns)) if frame.columns else functions.lit(0)
        )
        watched = frame.observe(
            seen,
            functions.count(functions.lit(1)).alias("rows"),
            functions.sum(fingerprint).alias("total"),
            functions.bit_xor(fingerprint).alias("parity"),
        )
        watched.write.mode("overwrite").parquet(str(writing))
        found = seen.get
        size = sum(file.stat().st_size for file in writing.glob("*.parquet"))
        return writing, Content(found["rows"], found["total"] or 0, found["parity"] or 0, size)

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
