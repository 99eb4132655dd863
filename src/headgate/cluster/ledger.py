"""The ledger: which instance of a query is on which node, as files that are made once and never changed.

    <folder>/<query>/000003.json     the third instance of a query
    <folder>/<query>/000003.over     it has reached its boundary

A file is made whole under another name and then linked, which fails where the name is taken. So nobody needs a lock,
and one that hangs in the middle holds up nobody.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from headgate.cluster.placement import Entry, Instance, Over


class Ledger:
    """The ledger of a cluster."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def entries(self) -> Iterator[Entry]:
        """All that stands in it; instances of a query in their order."""
        for file in sorted(
            self._folder.glob("*/[0-9]*"), key=lambda file: (file.parent.name, file.stem, file.suffix)
        ):
            number = int(file.stem)
            if file.suffix == ".over":
                yield Over(file.parent.name, number)
            elif file.suffix == ".json":
                yield Instance(**json.loads(file.read_text()))

    def enter(self, entry: Entry) -> bool:
        """Write something down; False if that number stands there already."""
        over = isinstance(entry, Over)
        folder = self._folder / entry.query
        folder.mkdir(exist_ok=True)
        text = "" if over else json.dumps(asdict(entry), indent=1)
        return create(folder / f"{entry.number:06d}.{'over' if over else 'json'}", text)


def create(file: Path, text: str) -> bool:
    """Make a file that is there whole or not at all; False if there is one of that name."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        file.hardlink_to(temporary)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    return True
