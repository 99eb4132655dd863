"""The latest of what the engine records, in memory: runs and why, what happened to units, who was refused."""

import threading
from collections import deque
from collections.abc import Sequence
from typing import TypeVar

from headgate.record import Changed, Entry, Iterated, Ran, Reduced, Refused

MOST = 5_000
"""Entries of a kind that are kept: some megabytes, and a minute of all but the fastest engines."""

Told = TypeVar("Told", Ran, Changed, Iterated, Refused, Reduced)


class Journal:
    """Numbered entries, the oldest of which go. Hears from any thread, in a microsecond."""

    def __init__(self, most: int = MOST) -> None:
        self._kept: dict[type, deque[tuple[int, Entry]]] = {
            kind: deque(maxlen=most) for kind in (Ran, Changed, Iterated, Refused, Reduced)
        }
        self._lock = threading.Lock()
        self.count = 0

    def hear(self, entry: Entry) -> None:
        """Take an entry of the record, if it is of a kind that is kept."""
        kept = self._kept.get(type(entry))
        if kept is not None:
            with self._lock:
                self.count += 1
                kept.append((self.count, entry))

    def since(self, kind: type[Told], after: int, until: int) -> Sequence[Told]:
        """Entries of a kind behind a number and up to another, the oldest first."""
        return [entry for _, entry in self.numbered(kind, after, until)]

    def numbered(self, kind: type[Told], after: int, until: int) -> Sequence[tuple[int, Told]]:
        """The same with their numbers."""
        found: list[tuple[int, Told]] = []
        with self._lock:
            for number, entry in reversed(self._kept[kind]):
                if number <= after:
                    break
                if number <= until and isinstance(entry, kind):
                    found.append((number, entry))
        return found[::-1]
