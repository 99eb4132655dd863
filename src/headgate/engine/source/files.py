"""Files of rows: Parquet, CSV and JSON lines, read piece by piece from any row on."""

import csv
import glob
import io
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from headgate.engine.source.csv_lines import CsvLines
from headgate.engine.source.decode import Text, check, decode, values
from headgate.engine.source.json_lines import JsonLines, is_object
from headgate.engine.source.protocol import Rejected
from headgate.engine.source.pump import Numbers
from headgate.engine.source.schemas import TIMESTAMP, MisfitError, conform, normalised
from headgate.errors import InputError, choose

Form = Literal["parquet", "csv", "json"]
FORMS: tuple[Form, ...] = ("parquet", "csv", "json")
SUFFIXES: dict[str, Form] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}

_PIECE_ROWS = 10_000
_PIECE_BYTES = 1 << 20
_HEAD_BYTES = 1 << 20

_MARK = b"\xef\xbb\xbf"
"""With which some programs begin a text file in UTF-8."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a file that follow each other: tuples with their row numbers, what was refused, and the row behind."""

    rows: pa.Table
    numbers: Numbers
    rejected: Sequence[tuple[int, Rejected]]
    end: int

    def refused(self, end: int) -> list[tuple[int, Rejected]]:
        """What was refused before row `end`, each with the number of tuples that stand before it."""
        before = [(number, row) for number, row in self.rejected if number < end]
        tuples = np.searchsorted(self.numbers, [number for number, _ in before])
        return [(int(n), row) for n, (_, row) in zip(tuples, before, strict=True)]


def listed(path: str) -> list[Path]:
    """The files that a user means by a path: itself, those of a folder, or those that a pattern matches, by name."""
    found = Path(path)
    if found.is_dir():
        files = sorted(each for each in found.iterdir() if each.suffix in SUFFIXES and each.name[0] not in "._")
    elif found.exists():
        files = [found]
    else:
        files = sorted(Path(each) for each in glob.glob(path))  # noqa: PTH207 - the pattern may be absolute
    if not files:
        remedy = f"Name a file, a folder or a pattern; files end in {', '.join(SUFFIXES)}."
        raise InputError("a source has files to read", f"none at '{path}'", remedy)
    for file in files:
        form_of(file)
    return files


def form_of(file: Path) -> Form:
    """The form of a file, by its suffix."""
    if file.suffix not in SUFFIXES:
        raise InputError("the suffix of a file says what is in it", f"'{file}'", choose(file.suffix, SUFFIXES))
    return SUFFIXES[file.suffix]


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Names the file in what goes wrong while it is read."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        said = str(error).splitlines()[0]
        raise InputError(
            "a source can read its files", f"'{file}': {said}", "Mend the file or take it away."
        ) from error


def inferred(file: Path, form: Form) -> pa.Schema:
    """The columns of a file; of a text file, by its first rows."""
    with readable(file):
        if form == "parquet":
            return normalised(pq.read_schema(file))
        with file.open("rb") as opened:
            head = opened.read(_HEAD_BYTES).removeprefix(_MARK)
    lines = head.split(b"\n")[: -1 if len(head) >= _HEAD_BYTES - len(_MARK) else None]
    try:
        table = _csv_head(lines) if form == "csv" else _json_head(lines)
    except pa.ArrowInvalid as error:
        said = str(error).splitlines()[0]
        raise InputError(
            "the columns of a text file show in its first rows",
            f"'{file}': {said}",
            "Give a schema: 'sym STRING, price DOUBLE'.",
        ) from None
    schema = normalised(pa.schema([pa.field(each, _text_type(table[each])) for each in table.column_names]))
    check(schema, nested=form == "json")
    return schema


def _csv_head(lines: Sequence[bytes]) -> pa.Table:
    skip = pa.csv.ParseOptions(invalid_row_handler=lambda _: "skip")
    return pa.csv.read_csv(io.BytesIO(b"\n".join(lines)), parse_options=skip)


def _json_head(lines: Sequence[bytes]) -> pa.Table:
    # Other lines are no tuples, and one of them makes Arrow's reader crash.
    objects = b"\n".join(line for line in lines if is_object(line))
    options = pa.json.ReadOptions(block_size=len(objects) + 1)
    return pa.json.read_json(io.BytesIO(objects), read_options=options)


def _text_type(column: pa.ChunkedArray) -> pa.DataType:
    if pa.types.is_time(column.type) or pa.types.is_duration(column.type):
        return pa.string()
    if column.type == pa.string() and column.null_count < len(column):
        try:
            return values(column, TIMESTAMP).type
        except pa.ArrowInvalid:
            return column.type
    return column.type


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads files as tuples of one schema, and warns once of columns that it leaves out."""

    schema: pa.Schema
    _left_out: set[str] = field(default_factory=set)

    def pieces(self, file: Path, form: Form, start: int = 0) -> Iterator[Piece]:
        """The rows of a file from number `start` on. In a text file, lines are the rows, the first being 0."""
        with readable(file):
            yield from self._parquet(file, start) if form == "parquet" else self._text(file, form, start)

    def _parquet(self, file: Path, start: int) -> Iterator[Piece]:
        opened = pq.ParquetFile(file)
        try:
            conform(opened.schema_arrow.empty_table(), self.schema)
        except MisfitError as misfit:
            yield from self._refused(file, misfit, start, opened.metadata.num_rows)
            return
        self._warn(file, opened.schema_arrow.names)
        sizes = [opened.metadata.row_group(k).num_rows for k in range(opened.num_row_groups)]
        ends = np.cumsum(sizes, dtype=np.int64)
        group = int(np.searchsorted(ends, start, side="right"))
        at = int(ends[group - 1]) if group else 0
        batches = opened.iter_batches(_PIECE_ROWS, row_groups=range(group, len(sizes)), columns=self.schema.names)
        for batch in batches:
            first, at = at, at + batch.num_rows
            skipped = max(start - first, 0)
            if skipped >= batch.num_rows:
                continue
            rows = pa.table(batch)[skipped:]
            try:
                yield Piece(conform(rows, self.schema), np.arange(first + skipped, at), (), at)
            except MisfitError as misfit:
                yield from self._refused(file, misfit, first + skipped, at)

    def _text(self, file: Path, form: Form, start: int) -> Iterator[Piece]:
        with file.open("rb") as opened:
            if opened.read(len(_MARK)) != _MARK:
                opened.seek(0)
            at = 0
            text: Text = JsonLines(self.schema)
            if form == "csv":
                header = next(csv.reader([opened.readline().decode(errors="replace").strip("\r\n")]), [])
                self._warn(file, header)
                text, at = CsvLines(self.schema, tuple(header)), 1
            while at < start and opened.readline():
                at += 1
            for lines in _lines(opened):
                found = decode(text, lines, partial(_place, file, at))
                rejected = [(at + i, row) for i, row in found.rejected]
                yield Piece(found.rows, at + found.lines, rejected, at + len(lines))
                at += len(lines)

    def _refused(self, file: Path, misfit: MisfitError, start: int, end: int) -> Iterator[Piece]:
        """Rows that do not fit: each counts, all with the one reason."""
        row = Rejected("", f"{misfit.rule}, got {misfit.got}", str(file))
        for first in range(start, end, _PIECE_ROWS):
            last = min(first + _PIECE_ROWS, end)
            yield Piece(self.schema.empty_table(), np.arange(0), [(n, row) for n in range(first, last)], last)

    def _warn(self, file: Path, names: Sequence[str]) -> None:
        more = sorted({*names} - {*self.schema.names} - self._left_out)
        if more:
            self._left_out.update(more)
            _log.warning("%s has columns that the stream has not; they are left out: %s", file, ", ".join(more))


def _place(file: Path, first: int, index: int) -> str:
    return f"{file}:{first + index + 1}"


def _lines(opened: BinaryIO) -> Iterator[list[bytes]]:
    while block := opened.read(_PIECE_BYTES):
        yield (block + opened.readline()).removesuffix(b"\n").split(b"\n")
