"""Who writes the record while the engine runs."""

import errno
import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields
from io import FileIO
from pathlib import Path
from typing import Any

from headgate.record.entries import NAME, Began, Entry
from headgate.record.head import TRAINS, Head
from headgate.record.segments import arrivals, following, segments

_log = logging.getLogger(__name__)

SEGMENT = 32 << 20
"""Bytes that a segment has, and what it repeats: about ten minutes at a hundred runs per second."""
KEPT = 1 << 30
"""Bytes that all segments have, and the newest more: the oldest go."""


class Recorder:
    """Appends to the record in a folder, from any thread. Each entry is with the system when `append` returns.

    Who opens it, and each start of the engine, has a segment of its own; one that is too long is followed by another.
    Who listens hears every entry, in the thread that appends it: it has to be quick.
    """

    def __init__(self, folder: Path, segment: int = SEGMENT, kept: int = KEPT) -> None:
        self.listeners: tuple[Callable[[Entry], None], ...] = ()
        self._folder, self._segment, self._kept = folder, segment, kept
        self._lock = threading.Lock()
        self._head = Head(arrivals(folder, TRAINS))
        self._file: FileIO | None = None
        self._left = 0

    def append(self, entry: Entry) -> None:
        """Add an entry; where there is no room for it, the record has a gap and the run goes on."""
        for hear in self.listeners:
            hear(entry)
        data = _line(entry)
        with self._lock:
            try:
                starts = isinstance(entry, Began) and self._head.began is not None
                if self._file is None or starts or len(data) > self._left:
                    self._file = self._opened(entry)
                    self._left = max(self._segment, len(data))
                self._left -= _written(self._file, data)
            except OSError as error:
                _log.warning("the record has a gap: %s", error.strerror)
            self._head.note(entry)

    def listen(self, hear: Callable[[Entry], None]) -> Callable[[], None]:
        """Have somebody hear every entry from now on; gives what ends that."""
        self.listeners = (*self.listeners, hear)

        def end() -> None:
            self.listeners = tuple(each for each in self.listeners if each != hear)

        return end

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    def _opened(self, entry: Entry) -> FileIO:
        """A new segment, which is there once it has what it begins with."""
        (self._folder / NAME).mkdir(exist_ok=True)
        path = following(self._folder)
        made = path.with_suffix(".new")
        made.write_bytes(b"".join(map(_line, self._head.opens(entry))))
        made.rename(path)
        if self._file is not None:
            self._file.close()
        self._forget()
        return FileIO(path, "a")

    def _forget(self) -> None:
        sizes = {path: path.stat().st_size for path in segments(self._folder)[:-1]}
        for path in sizes:
            if sum(sizes.values()) <= self._kept:
                break
            path.unlink()
            sizes[path] = 0


def _line(entry: Entry) -> bytes:
    values = {each.name: getattr(entry, each.name) for each in fields(entry)}
    line = json.dumps({type(entry).__name__.lower(): values}, separators=(",", ":"), default=_plain)
    return line.encode() + b"\n"


def _written(file: FileIO, data: bytes) -> int:
    """Write all of it, or leave the file as it was."""
    written = file.write(data) or 0
    if written < len(data):
        file.truncate(file.tell() - written)
        raise OSError(errno.ENOSPC, "no room for a line")
    return written


def _plain(value: Any) -> Any:  # noqa: ANN401 - a mapping or a number that json does not know
    return dict(value) if isinstance(value, Mapping) else value.item()
