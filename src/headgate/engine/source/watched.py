"""A folder into which files are put: each new one is read once.

Files are read in the order of (time of change, name). What has been read is known by the latest time of change, and
by the files that changed within five minutes before it. So a file may come up to five minutes behind a younger one;
one that is older still is left alone, with a warning. A file that changes after it was read is a new one: put files
there whole, by renaming them.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.engine.source.files import FORMS, SUFFIXES, Form, Piece, Reader, form_of, inferred
from headgate.engine.source.protocol import Intake, State
from headgate.engine.source.pump import Block, pump
from headgate.engine.source.schemas import Columns, declared
from headgate.engine.spans import seconds
from headgate.errors import InputError, choose

_KEPT = 300 * 10**9

_log = logging.getLogger(__name__)


class Version(NamedTuple):
    """A file as it was at a time: when it changed, in nanoseconds, and its name."""

    changed: int
    name: str


@dataclass(frozen=True, slots=True)
class Seen:
    """The files that have been read, as far back as it matters."""

    files: frozenset[Version] = frozenset()

    @property
    def horizon(self) -> int:
        """Files that changed before this count as read."""
        return max((file.changed for file in self.files), default=0) - _KEPT

    def plus(self, file: Version) -> "Seen":
        more = Seen(self.files | {file})
        return Seen(frozenset(each for each in more.files if each.changed >= more.horizon))


@dataclass(frozen=True, slots=True, eq=False)
class Folder:
    """The files of a folder as a stream. See `folder`."""

    path: Path
    form: Form | None
    columns: Columns | None
    every: float

    def schema(self, spark: SparkSession) -> pa.Schema:  # noqa: ARG002 - one has to be running for a schema as text
        if self.columns is not None:
            return declared(self.columns)
        present = self._present()
        if not present:
            rule, remedy = (
                "the columns of a folder show in its first file",
                "Give a schema: 'sym STRING, price DOUBLE'.",
            )
            raise InputError(rule, f"no file in '{self.path}'", remedy)
        first = self.path / present[0].name
        return inferred(first, self.form or form_of(first))

    def run(self, intake: Intake) -> None:
        watch = _Watch.resumed(self, intake)
        while True:
            pump(intake, watch.blocks(self._present()), self.every, paced=False)
            if intake.wait(self.every):
                return

    def _present(self) -> list[Version]:
        """The files that are there, in the order in which they are read."""
        found = []
        for file in self.path.iterdir():
            hidden = file.name[0] in "._" or file.suffix == ".tmp"
            if not hidden and (self.form or file.suffix in SUFFIXES) and file.is_file():
                found.append(Version(file.stat().st_mtime_ns, file.name))
        return sorted(found)


def folder(
    path: str | Path,
    *,
    format: Form | None = None,  # noqa: A002 - as in spark.read.format
    schema: Columns | None = None,
    every: str | float = "1s",
) -> Folder:
    """The files that are put into a folder, each read once; looks for new ones `every` so often.

    Their form goes by the suffix, and others are left alone, unless there is a `format` for all of them. Names that
    begin with . or _ or end in .tmp are not looked at. Rows that are no tuples are refused; a file that cannot be
    read at all stops the stream.
    """
    if not Path(path).is_dir():
        raise InputError("a folder is there before it is watched", f"no '{path}'", "Make it, or mend the path.")
    if format is not None and format not in FORMS:
        raise InputError("the format of files is a known one", f"'{format}'", choose(format, FORMS))
    return Folder(Path(path), format, schema, seconds(every, "every", above=0))


@dataclass(slots=True)
class _Watch:
    """Where a folder stands: what has been read, the file that has been begun, and its next row."""

    source: Folder
    reader: Reader
    seen: Seen
    begun: Version | None
    row: int
    passed: set[Version]

    @classmethod
    def resumed(cls, source: Folder, intake: Intake) -> "_Watch":
        state: State = intake.state or {"seen": [], "begun": None, "row": 0}
        begun = Version(*state["begun"]) if state["begun"] else None
        seen = Seen(frozenset(Version(*file) for file in state["seen"]))
        return cls(source, Reader(intake.schema), seen, begun, state["row"], set())

    def blocks(self, present: list[Version]) -> Iterator[Block]:
        """The rows of the files that have not been read."""
        if self.begun is not None and self.begun not in present:
            _log.warning("%s is gone; of its rows, %d have been read", self.source.path / self.begun.name, self.row)
            self._done(self.begun)
        for file in sorted(present, key=lambda each: (each != self.begun, each)):
            if file in self.seen.files or file in self.passed:
                continue
            if file.changed < self.seen.horizon and file != self.begun:
                self.passed.add(file)
                _log.warning(
                    "%s is much older than files read before it, and left alone", self.source.path / file.name
                )
                continue
            yield from self._file(file)

    def _file(self, file: Version) -> Iterator[Block]:
        path = self.source.path / file.name
        start = self.row if file == self.begun else 0
        for piece in self.reader.pieces(path, self.source.form or form_of(path), start):
            yield self._block(file, piece)
        self._done(file)
        behind = self._state(None, 0)
        yield Block(self.reader.schema.empty_table(), np.zeros(0), lambda _: behind)

    def _block(self, file: Version, piece: Piece) -> Block:
        def state(k: int) -> State:
            return {**before, "row": piece.end if k == len(piece.numbers) else int(piece.numbers[k - 1]) + 1}

        before = self._state(file, 0)
        return Block(piece.rows, np.zeros(len(piece.numbers)), state, piece.refused(piece.end))

    def _state(self, begun: Version | None, row: int) -> dict[str, Any]:
        return {"seen": sorted(self.seen.files), "begun": begun, "row": row}

    def _done(self, file: Version) -> None:
        self.seen, self.begun, self.row = self.seen.plus(file), None, 0
