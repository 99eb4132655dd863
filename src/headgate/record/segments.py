"""The segments of a record: files of entries, each to be read by itself, and which of them a reader needs."""

import json
import math
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from pydantic import TypeAdapter, ValidationError

from headgate.errors import InputError
from headgate.record.entries import NAME, Arrived, Entry, Opened

_KINDS: dict[str, TypeAdapter[Entry]] = {kind.__name__.lower(): TypeAdapter(kind) for kind in get_args(Entry)}
_SINGLE = "record.jsonl"
"""The record as one file, as it was before it had segments."""


def segments(folder: Path) -> list[Path]:
    """The segments of the record in a state folder, from the oldest on."""
    single = folder / _SINGLE
    return [*([single] if single.exists() else []), *sorted((folder / NAME).glob("*.jsonl"))]


def following(folder: Path) -> Path:
    """The segment after the newest."""
    numbers = [int(path.stem) for path in (folder / NAME).glob("*.jsonl") if path.stem.isdecimal()]
    return folder / NAME / f"{max(numbers, default=0) + 1:08}.jsonl"


def arrivals(folder: Path, most: int) -> list[Arrived]:
    """The last trains that arrived before whoever asks."""
    found = segments(folder)
    if not found:
        return []
    with found[-1].open("rb") as lines:
        trains = (line for line in lines if line.startswith(b'{"arrived"') and line.endswith(b"\n"))
        entries = [parsed(line, str(found[-1])) for line in deque(trains, most)]
    return [each for each in entries if isinstance(each, Arrived)]


def needed(folder: Path, at: float | None) -> list[Path]:
    """The segments around a time, of one start of the engine; or the last two of its last start.

    A run is recorded as it ends, perhaps in the segment after that of its decision; and one segment alone may have
    just been opened.
    """
    found = segments(folder)
    if not found:
        raise InputError("a run's state folder has its record", f"none in '{folder}'", "Give the folder of a run.")
    opened = [opening(path) for path in found]
    place = len(found) - 1
    if at is not None:
        place = max((i for i, each in enumerate(opened) if each.time <= at), default=0)
    # What is opened before the engine has begun belongs to no run.
    place = next((i for i in (*range(place, -1, -1), *range(place, len(found))) if _begins(found[i])), place)
    first = place - 1 if place and opened[place].goes_on else place
    after = opened[place + 1 : place + 2]
    return found[first : place + 1 + any(each.goes_on for each in after)]


def joined(paths: list[Path]) -> list[Entry]:
    """The entries of segments that follow each other, each once; the first begins with what held before, if any."""
    found: list[Entry] = []
    for path in paths:
        entries = list(_entries(path))
        repeats = _repeats(entries[:1]) if found else 0
        found += entries[repeats:]
    return found


def parsed(line: bytes, place: str) -> Entry:
    """The entry in a line of a record."""
    try:
        ((kind, values),) = json.loads(line).items()
        return _KINDS[kind].validate_python(values)
    except (ValueError, AttributeError, KeyError, ValidationError):
        got = f"'{line[:60].decode(errors='replace').strip()}'"
        raise InputError("a line of a record is an entry", got, "Give the record of a run.", place) from None


def opening(path: Path) -> Opened:
    """How a segment begins."""
    with path.open("rb") as lines:
        first = lines.readline()
    entry = parsed(first, f"{path}:1") if first.startswith(b'{"opened"') else None
    return entry if isinstance(entry, Opened) else Opened(-math.inf, 0, goes_on=False)


def _begins(path: Path) -> bool:
    """Whether a segment has a start of the engine; one that is opened before there is one has not."""
    with path.open("rb") as lines:
        return any(line.startswith(b'{"began"') for line in lines)


def _repeats(first: list[Entry]) -> int:
    """How many entries a segment has that those before have too."""
    return sum(1 + each.repeats for each in first if isinstance(each, Opened))


def _entries(path: Path) -> Iterator[Entry]:
    try:
        with path.open("rb") as lines:
            # The last line is torn where a crash cut it off, or under way.
            yield from (parsed(line, f"{path}:{i}") for i, line in enumerate(lines, 1) if line.endswith(b"\n"))
    except OSError as error:
        got = f"'{path}' ({error.strerror})"
        raise InputError("a run's state folder has its record", got, "Give the folder of a run.") from None
