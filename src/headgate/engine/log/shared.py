"""A log that several engines share: trains as files under rising numbers, in a folder that all of them reach.

    <folder>/000000000042.arrow     a train; what is known of it is in the metadata of its schema
    <folder>/_stream.json           the columns and times of the stream, as whoever came first has them
    <folder>/_floor/000000000040    the number before which trains have gone: the highest name that is there
    <folder>/.000000000043.a1b2.tmp a train that somebody is writing

A train is written under a name of the writer's own and then linked to its number, which fails if the number is
taken. So to create the file is to commit the train, nobody holds a lock, and of two who feed the stream at the same
time one finds out that it was superseded. Without tuples it says that time has passed, or the stream has ended.

The numbers from the floor on have no gaps. A process that was asleep for long may create a number again that has
gone; it finds that out by the floor, which is raised before anything goes.
"""

import json
import os
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.engine.log import synced
from headgate.engine.log.stored import StoredTrain
from headgate.errors import HeadgateError, InputError, SupersededError

_KEY = b"headgate"
_DEFINITION = "_stream.json"
_OLD = 3600.0
"""Seconds after which a file that nobody has given its number is left over from a crash."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A train as it is shared: with the state of the source behind it, and what was counted on the way to it.

    So many of its tuples came behind the watermark (`late`), and so many rows were refused, by reason. `ended` says
    that nothing follows. `writer` is the name of the log that wrote it.
    """

    train: StoredTrain
    state: Mapping[str, Any] | None = None
    late: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    ended: bool = False
    writer: str = ""


class SharedTrains:
    """The folder. Any number of processes may have it open."""

    def __init__(self, folder: Path, *, sync: bool = False) -> None:
        self.folder, self.sync = folder, sync
        self._floors = folder / "_floor"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._clear_old()
        except OSError as error:
            rule = "a shared stream has a folder that can be written to"
            raise InputError(rule, f"{folder} ({error.strerror})", "Name another folder.") from None

    def agree(self, definition: Mapping[str, Any]) -> Mapping[str, Any]:
        """Say what the stream is, if nobody has yet; gives what it is."""
        file = self.folder / _DEFINITION
        if not file.exists():
            temporary = self._temporary("definition")
            temporary.write_text(json.dumps(definition))
            synced.claim(temporary, file, to_disk=self.sync)
        found: Mapping[str, Any] = json.loads(file.read_text())
        return found

    def path(self, seq: int) -> Path:
        """The file of a train."""
        return self.folder / f"{seq:012d}.arrow"

    def has(self, seq: int) -> bool:
        """Whether there is a train of this number."""
        return os.path.exists(f"{self.folder}/{seq:012d}.arrow")  # noqa: PTH110 - a follower asks all the time

    def create(self, shared: Shared, rows: pa.Table) -> StoredTrain:
        """Write a train under its number. Raises SupersededError if that is taken."""
        seq, file = shared.train.seq, self.path(shared.train.seq)
        temporary = self._temporary(f"{seq:012d}")
        text = json.dumps(asdict(shared))
        schema = rows.schema.with_metadata({_KEY: text.encode()})
        try:
            with pa.OSFile(str(temporary), "wb") as out, pa.ipc.new_file(out, schema) as writer:
                writer.write_table(rows.replace_schema_metadata(schema.metadata))
            size = temporary.stat().st_size
            first = synced.claim(temporary, file, to_disk=self.sync)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            message = f"cannot write {file}: {error.strerror or error}. Make room or mend the folder, then resume."
            raise HeadgateError(message) from error
        if not first or self.floor() > seq:
            # Linked again after all have passed it, it is nobody's.
            if first:
                file.unlink(missing_ok=True)
            message = f"train {seq} of {self.folder} is somebody else's, who feeds this stream now"
            raise SupersededError(message)
        return _sized(shared.train, size)

    def read(self, seq: int) -> Shared | None:
        """What is known of a train; None if there is none of this number."""
        file = self.path(seq)
        try:
            size = file.stat().st_size
            with pa.memory_map(str(file)) as source:
                text = (pa.ipc.open_file(source).schema.metadata or {})[_KEY]
        except FileNotFoundError:
            return None
        except (pa.ArrowInvalid, KeyError) as error:
            message = f"{file} is not a train of a shared stream ({error}). Bring it back from a copy, or begin anew."
            raise HeadgateError(message) from error
        known = json.loads(text)
        return Shared(**{**known, "train": _sized(StoredTrain(**known["train"]), size)})

    def numbers(self) -> list[int]:
        """The numbers of the trains that there are."""
        found = self._found()
        # Asked for later, so that whatever was created again is below it.
        floor = self.floor()
        return sorted(seq for seq in found if seq >= floor)

    def first(self) -> int | None:
        """The number of the oldest train."""
        return min(self.numbers(), default=None)

    def last(self) -> int | None:
        """The number of the newest train."""
        return max(self.numbers(), default=None)

    def reaching(self, position: int) -> int | None:
        """The number of the first train that ends behind a position, or of the newest; None if there is none."""
        numbers = self.numbers()
        low, high = 0, len(numbers) - 1
        while low < high:
            middle = (low + high) // 2
            found = self.read(numbers[middle])
            if found is None or found.train.end <= position:
                low = middle + 1
            else:
                high = middle
        return numbers[low] if numbers else None

    def floor(self) -> int:
        """The number before which trains have gone, or may go at any time."""
        try:
            return max((int(path.name) for path in self._floors.iterdir()), default=0)
        except FileNotFoundError:
            return 0

    def drop(self, before: int) -> int:
        """Remove the trains before a number, but for the newest; how many went."""
        numbers = self.numbers()
        floor = min(before, numbers[-1]) if numbers else 0
        if floor > self.floor():
            self._raise_floor(floor)
        gone, floor = 0, self.floor()
        for seq in self._found():
            if seq < floor:
                self.path(seq).unlink(missing_ok=True)
                gone += 1
        return gone

    def _raise_floor(self, floor: int) -> None:
        """As a new name: whoever comes late with a lower one lowers nothing."""
        self._floors.mkdir(exist_ok=True)
        (self._floors / f"{floor:012d}").touch()
        if self.sync:
            synced.sync(self._floors)
        for lower in self._floors.iterdir():
            if int(lower.name) < floor:
                lower.unlink(missing_ok=True)

    def _found(self) -> list[int]:
        return [int(path.stem) for path in self.folder.iterdir() if path.suffix == ".arrow"]

    def _temporary(self, name: str) -> Path:
        return self.folder / f".{name}.{uuid.uuid4().hex[:12]}.tmp"

    def _clear_old(self) -> None:
        """Remove what crashes have left; what is young may be somebody's who is writing it."""
        for file in self.folder.glob(".*.tmp"):
            with suppress(FileNotFoundError):
                if file.stat().st_mtime < time.time() - _OLD:
                    file.unlink()


def _sized(train: StoredTrain, size: int) -> StoredTrain:
    return replace(train, bytes=size if train.count else 0)
