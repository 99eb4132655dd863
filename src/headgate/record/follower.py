"""Who reads a record while it grows."""

from pathlib import Path

from headgate.record.entries import Entry
from headgate.record.segments import opening, parsed, segments


class Follower:
    """The record in a state folder, from where one has last looked: each entry once, over all segments."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path: Path | None = None
        self._read = 0

    def look(self) -> list[Entry]:
        """The entries since the last look."""
        found: list[Entry] = []
        there = segments(self._folder)
        # Whoever is followed by another is not written to any more.
        for path in there[there.index(self._path) if self._path in there else 0 :]:
            if path != self._path:
                repeated = 0 if self._path is None else 1 + opening(path).repeats
                self._path, self._read = path, 0
            else:
                repeated = 0
            found += [parsed(line, str(path)) for line in self._lines(path)[repeated:]]
        return found

    def _lines(self, path: Path) -> list[bytes]:
        with path.open("rb") as file:
            file.seek(self._read)
            # The last line may be under way.
            whole = file.read().rpartition(b"\n")[0]
        self._read += len(whole) + bool(whole)
        return whole.splitlines()
