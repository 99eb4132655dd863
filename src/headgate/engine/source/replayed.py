"""Replay: the rows of files as a stream, at a chosen speed."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from headgate.engine.source.files import Piece, Reader, form_of, inferred, listed
from headgate.engine.source.protocol import Intake, State
from headgate.engine.source.pump import Block, Floats, pump, started
from headgate.engine.source.schemas import TIMESTAMP, Columns, declared, named
from headgate.engine.spans import seconds
from headgate.errors import InputError

Speed = float | Literal["max"]


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """Files as a stream. See `replay`."""

    path: str
    speed: Speed
    time: str | None
    columns: Columns | None
    every: float
    repeat: int
    arrivals: Floats | None = field(repr=False)

    def schema(self, spark: SparkSession) -> pa.Schema:  # noqa: ARG002 - one has to be running for a schema as text
        first = listed(self.path)[0]
        schema = inferred(first, form_of(first)) if self.columns is None else declared(self.columns)
        if self.time is not None:
            _check_time(self.time, schema)
        return schema

    def run(self, intake: Intake) -> None:
        blocks = _Pass.resumed(self, intake).blocks()
        pump(intake, blocks, self.every, paced=self.speed != "max")

    def start(self, at: float) -> State:
        return started(at)


def replay(
    path: str | Path,
    *,
    speed: Speed = 1.0,
    time: str | None = None,
    schema: Columns | None = None,
    every: str | float = "50ms",
    repeat: int = 1,
    arrivals: Sequence[float] | Floats | None = None,
) -> Replay:
    """The rows of a file, of the files in a folder, or of those that a pattern matches, by name.

    With `time`, a column with timestamps or seconds, rows come at the intervals of that column, `speed` times as
    fast; without, `speed` is in tuples per second. `speed="max"` is as fast as it goes. They are stamped with the
    time at which they are due. `repeat` is how often all of it is read; the times of `time` then go on from pass to
    pass. `arrivals`, in seconds from the start, are when rows come instead: one row for each, reading the files
    again as often as it takes, `speed` times as fast.
    """
    listed(str(path))
    _check_speed(speed)
    if repeat < 1:
        raise InputError("repeat is a whole number, 1 or more", repeat, "Leave it out to read the files once.")
    offsets = None if arrivals is None else np.asarray(arrivals, np.float64)
    if offsets is not None and not (np.isfinite(offsets).all() and (np.diff(offsets, prepend=0) >= 0).all()):
        raise InputError("arrivals are seconds from the start, ascending", offsets, "Sort them, and begin at 0.")
    return Replay(str(path), speed, time, schema, seconds(every, "every", above=0), repeat, offsets)


def _check_speed(speed: object) -> None:
    if speed != "max" and not (isinstance(speed, int | float) and 0 < speed < math.inf):
        raise InputError("speed is a number above 0, or 'max'", speed, "Give a number such as 10.")


def _check_time(name: str, schema: pa.Schema) -> None:
    if name not in schema.names:
        raise InputError("the time of a replay is a column", f"'{name}'", f"Choose one of {', '.join(schema.names)}.")
    kind = schema.field(name).type
    if not (kind == TIMESTAMP or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        rule, remedy = "the time of a replay is a TIMESTAMP or a number of seconds", "Choose another column."
        raise InputError(rule, f"'{name}' {named(kind)}", remedy)


@dataclass(slots=True)
class _Pass:
    """Where a replay stands: the file and row to read next, and what the schedule of the rows to come needs."""

    source: Replay
    reader: Reader
    number: int = 0
    file: str | None = None
    row: int = 0
    sent: int = 0
    first: float | None = None  # of the times
    last: float | None = None  # the latest of the times so far
    moved: float = 0.0  # how much later times are than in the files

    @classmethod
    def resumed(cls, source: Replay, intake: Intake) -> "_Pass":
        state = {key: value for key, value in (intake.state or {}).items() if key != "origin"}
        return cls(source, Reader(intake.schema), **state)

    def blocks(self) -> Iterator[Block]:
        """All that is still to come; runs ahead of what has been appended."""
        files = listed(self.source.path)
        while self._more():
            left, sent = self._left(files), self.sent
            for file in left:
                if str(file) != self.file:
                    self.file, self.row = str(file), 0
                for piece in self.reader.pieces(file, form_of(file), self.row):
                    yield self._block(piece)
                    if not self._more():
                        return
            if len(left) == len(files) and self.sent == sent:
                return  # files without a tuple would be read for ever
            self.number, self.file = self.number + 1, None
            self.moved = 0.0 if self.first is None or self.last is None else self.last - self.first

    def _more(self) -> bool:
        arrivals = self.source.arrivals
        return self.number < self.source.repeat if arrivals is None else self.sent < len(arrivals)

    def _left(self, files: Sequence[Path]) -> Sequence[Path]:
        if self.file is None:
            return files
        same = [i for i, file in enumerate(files) if str(file) == self.file]
        # On another machine, they may be in another folder.
        found = same or [i for i, file in enumerate(files) if file.name == Path(self.file).name]
        if len(found) != 1:
            raise InputError("the file that a replay has begun is there", f"no '{self.file}'", "Bring it back.")
        self.file = str(files[found[0]])
        return files[found[0] :]

    def _block(self, piece: Piece) -> Block:
        arrivals = self.source.arrivals
        n = len(piece.numbers) if arrivals is None else min(len(piece.numbers), len(arrivals) - self.sent)
        rows, latest = self._timed(piece.rows[:n])
        due = self._due(latest)
        before, after = self._state(), piece.numbers + 1
        self.row, self.sent, self.last = piece.end, self.sent + n, _last(latest, self.last)

        def row(k: int) -> int:
            return piece.end if k == len(piece.numbers) else int(after[k - 1])

        def state(k: int) -> State:
            return {**before, "row": row(k), "sent": before["sent"] + k, "last": _last(latest[:k], before["last"])}

        return Block(rows, due, state, piece.refused(row(n)))

    def _state(self) -> dict[str, Any]:
        names = ("number", "file", "row", "sent", "first", "last", "moved")
        return {name: getattr(self, name) for name in names}

    def _timed(self, rows: pa.Table) -> tuple[pa.Table, Floats]:
        """The rows with their times moved, and the latest time so far at each; NaN where there is none yet."""
        name = self.source.time
        if name is None:
            return rows, np.full(len(rows), np.nan)
        column = rows[name]
        if self.moved:
            rows = rows.set_column(rows.column_names.index(name), rows.schema.field(name), _moved(column, self.moved))
            column = rows[name]
        times = _seconds(column)
        if self.first is None and not np.isnan(times).all():
            self.first = float(times[~np.isnan(times)][0])
        start = np.nan if self.last is None else self.last
        return rows, np.fmax.accumulate(np.concatenate([[start], times]))[1:]

    def _due(self, latest: Floats) -> Floats:
        speed, arrivals = self.source.speed, self.source.arrivals
        if speed == "max":
            return np.zeros(len(latest))
        if arrivals is not None:
            return arrivals[self.sent : self.sent + len(latest)] / speed
        if self.source.time is None:
            return (self.sent + np.arange(len(latest))) / speed
        if self.first is None:
            return np.zeros(len(latest))
        return np.nan_to_num(latest - self.first, nan=0.0) / speed


def _last(latest: Floats, before: float | None) -> float | None:
    return before if not len(latest) or np.isnan(latest[-1]) else float(latest[-1])


def _seconds(column: pa.ChunkedArray) -> Floats:
    scale = 1e6 if column.type == TIMESTAMP else 1.0
    numbers = column.cast(pa.int64()) if column.type == TIMESTAMP else column
    found: Floats = numbers.cast(pa.float64(), safe=False).to_numpy().astype(np.float64) / scale
    return found


def _moved(column: pa.ChunkedArray, moved: float) -> pa.ChunkedArray:
    if column.type == TIMESTAMP:
        return pc.add(column.cast(pa.int64()), round(moved * 1e6)).cast(TIMESTAMP)
    by = moved if pa.types.is_floating(column.type) else round(moved)
    return pc.add(column, pa.scalar(by, column.type))
