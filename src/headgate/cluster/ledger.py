"""The ledger: which instance of a query is on which node, as files that are made once and never changed.

    <folder>/queries/<query>/000003.json    the third instance of a query
    <folder>/queries/<query>/000003.over    it has reached its boundary
    <folder>/coordinators/000002            the second coordinator has begun: nodes hear none before it
    <folder>/borders/000000000042.json      how far instances of nodes apart have come; only the newest counts

A file is made whole under another name and then linked, which fails where the name is taken. So nobody needs a lock,
and one that hangs in the middle holds up nobody.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from headgate.cluster.borders import Checkpoint
from headgate.cluster.instances import Entry, Instance, Over
from headgate.engine.log.synced import claim, sync
from headgate.errors import HeadgateError

_T = TypeVar("_T")
_instances, _checkpoints, _counts = (
    TypeAdapter(Instance),
    TypeAdapter(Checkpoint),
    TypeAdapter[int | None](int | None),
)
_KEPT = 2


class Ledger:
    """The ledger of a cluster."""

    def __init__(self, folder: Path) -> None:
        self._queries, self._borders = folder / "queries", folder / "borders"
        self._coordinators = folder / "coordinators"
        _folder(self._queries)

    def begin(self) -> int:
        """Give a coordinator that begins its number, higher than those of all before: no clock can go back on it."""
        _folder(self._coordinators)
        while True:
            number = max((int(file.name) for file in self._coordinators.glob("[0-9]*")), default=0) + 1
            if create(self._coordinators / f"{number:06d}", ""):
                return number

    def entries(self) -> Iterator[Entry]:
        """All that stands in it; instances of a query in their order, and the newest borders last."""
        last = "", 0
        for file in sorted(
            self._queries.glob("*/[0-9]*"), key=lambda file: (file.parent.name, file.stem, file.suffix)
        ):
            query, number = file.parent.name, int(file.stem)
            if file.suffix == ".over":
                yield Over(query, number, _read(_counts, file, "null"))
            elif file.suffix == ".json":
                if number != (following := last[1] + 1 if last[0] == query else 1):
                    raise _damaged(file.with_name(f"{following:06d}.json"), "it is not there")
                last = query, number
                yield _read(_instances, file)
        for file in self._checkpoints()[-1:]:
            yield _read(_checkpoints, file)

    def enter(self, entry: Entry) -> bool:
        """Write something down; False if that number stands there already, or a later one of borders."""
        try:
            return self._write(entry)
        except OSError as error:
            said = f"cannot write to {self._queries.parent}: {error.strerror or error}"
            raise HeadgateError(f"{said}. Make room or mend the folder; nothing moves before.") from error

    def _write(self, entry: Entry) -> bool:
        if isinstance(entry, Checkpoint):
            return self._enter(entry)
        over = isinstance(entry, Over)
        folder = _folder(self._queries / entry.query)
        text = json.dumps(entry.results) if isinstance(entry, Over) else json.dumps(asdict(entry), indent=1)
        return create(folder / f"{entry.number:06d}.{'over' if over else 'json'}", text)

    def _enter(self, entry: Checkpoint) -> bool:
        _folder(self._borders)
        text = _checkpoints.dump_json(entry).decode()
        if not create(self._borders / f"{entry.number:012d}.json", text):
            return False
        *older, newest = self._checkpoints()
        for file in older[: -(_KEPT - 1)]:
            file.unlink(missing_ok=True)
        return int(newest.stem) == entry.number

    def _checkpoints(self) -> list[Path]:
        return sorted(self._borders.glob("[0-9]*.json"))


def create(file: Path, text: str) -> bool:
    """Make a file that is there whole or not at all, and on the disk; False if there is one of that name."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w") as out:
            out.write(text)
        return claim(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)


def _read(kind: TypeAdapter[_T], file: Path, empty: str = "") -> _T:
    try:
        return kind.validate_json(file.read_text() or empty)
    except ValueError as error:
        raise _damaged(file, "it is not whole") from error


def _damaged(file: Path, why: str) -> HeadgateError:
    remedy = "Bring it back from a copy; if there is none, begin anew with another folder"
    return HeadgateError(f"cannot read {file} of the ledger: {why}. {remedy}.")


def _folder(path: Path) -> Path:
    """A folder that is there, and on the disk."""
    if not path.exists():
        path.mkdir(parents=True, exist_ok=True)
        sync(path.parent)
    return path
