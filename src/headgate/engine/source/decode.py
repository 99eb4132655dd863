"""Lines of text to tuples: each line is a row, and one that is no tuple of the stream is refused with the reason.

Whole blocks go through Arrow; only where a block has a bad line are lines looked at one by one. Both ways accept
the same lines and give the same values, so what becomes of a line does not depend on its neighbours.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headgate.engine.source.protocol import Rejected
from headgate.engine.source.schemas import TIMESTAMP, named
from headgate.errors import InputError

BLANK = b" \t\r\n"
_LONGEST_SHOWN = 1000
_LONGEST_VALUE = 80
_ZONED = r"[T ].*(Z|[+-]\d\d(:?\d\d)?)$"
_SHAPES = (
    (pa.types.is_integer, r"^-?(0[xX])?[0-9a-fA-F]+$"),
    (pa.types.is_floating, r"[0-9]|(?i:nan|inf)"),
    (pa.types.is_decimal, r"[0-9]"),
    (pa.types.is_boolean, r"^(?i:true|false|0|1)$"),
    (pa.types.is_temporal, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"),
)
"""What a value of a type has in it at least, so that a column of other things is refused without trying each."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The tuples of some lines, the index of the line that each came from, and the lines refused, by index."""

    rows: pa.Table
    lines: NDArray[np.int64]
    rejected: tuple[tuple[int, Rejected], ...]


class Text(Protocol):
    """A way to write rows as lines."""

    def decode(self, lines: Sequence[bytes]) -> tuple[pa.Table, dict[int, str]]:
        """The tuples, and by index why the other lines are none. No line is blank."""


def decode(text: Text, lines: Sequence[bytes], place: Callable[[int], str]) -> Decoded:
    """Decode lines, leaving out blank ones. `place` says where the line with an index stands."""
    at = [i for i, line in enumerate(lines) if line.strip(BLANK)]
    rows, reasons = text.decode([lines[i].strip(b"\r\n") for i in at])
    rejected = [(at[k], reject(lines[at[k]], reason, place(at[k]))) for k, reason in sorted(reasons.items())]
    return Decoded(rows, np.delete(np.array(at, np.int64), list(reasons)), tuple(rejected))


def reject(line: bytes, reason: str, place: str) -> Rejected:
    """A refused line; of a long one, its beginning."""
    shown = line[: 4 * _LONGEST_SHOWN].decode(errors="replace").strip()
    return Rejected(short(shown, _LONGEST_SHOWN), reason, place)


def check(schema: pa.Schema, *, nested: bool) -> None:
    """Raise InputError where a column cannot be written as text."""
    for column in schema:
        if not _writable(column.type, nested=nested):
            got = f"'{column.name}' {named(column.type)}"
            raise InputError("a column has a type that its text form can hold", got, "Use Parquet, or leave it out.")


def _writable(kind: pa.DataType, *, nested: bool) -> bool:
    if pa.types.is_list(kind):
        return nested and _writable(kind.value_type, nested=True)
    if pa.types.is_struct(kind):
        return nested and all(_writable(part.type, nested=True) for part in kind)
    return not (pa.types.is_binary(kind) or pa.types.is_map(kind))


def values(texts: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The values of a type that are written in texts; raises ArrowInvalid if there is one that is none.

    Times are those of ISO 8601, without a zone taken as UTC, and cut off after the microsecond.
    """
    if kind != TIMESTAMP:
        return texts.cast(kind)
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        zoned = pc.match_substring_regex(texts, _ZONED)
        none = pa.scalar(None, pa.string())
        with_zone = _times(pc.if_else(zoned, texts, none), "UTC")
        return pc.coalesce(with_zone, _times(pc.if_else(zoned, none, texts), None))


def _times(texts: pa.ChunkedArray, zone: str | None) -> pa.ChunkedArray:
    try:
        return texts.cast(pa.timestamp("us", zone)).cast(TIMESTAMP)
    except pa.ArrowInvalid:
        fine = texts.cast(pa.timestamp("ns", zone))
        return fine.cast(options=pc.CastOptions(TIMESTAMP, allow_time_truncate=True))


def unfit(texts: pa.ChunkedArray, kind: pa.DataType) -> set[int]:
    """Which texts are no values of a type: halves are tried until the bad ones are left."""
    bad = set()
    for is_kind, shape in _SHAPES:
        if is_kind(kind):
            shaped = pc.match_substring_regex(texts, shape).fill_null(True)
            bad = set(np.flatnonzero(~shaped.to_numpy()).tolist())
            texts = pc.if_else(shaped, texts, pa.scalar(None, pa.string()))
    waiting = [(0, len(texts))]
    while waiting:
        start, end = waiting.pop()
        try:
            values(texts[start:end], kind)
        except pa.ArrowInvalid:
            middle = (start + end) // 2
            if end - start == 1:
                bad.add(start)
            else:
                waiting += [(start, middle), (middle, end)]
    return bad


def is_utf8(block: bytes) -> bool:
    """Whether bytes are text."""
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def short(text: str, most: int = _LONGEST_VALUE) -> str:
    """A text for a message."""
    return text if len(text) <= most else f"{text[:most]}…"


def wrong_value(name: str, kind: pa.DataType, value: str) -> str:
    """The reason for refusing a row with a value of another type."""
    return f"column '{name}' is {named(kind)}, got {short(value)}"
