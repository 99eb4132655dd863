"""A file that grows by whole runs: its committed length counts, and what was staged behind it can be cut off."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import pyarrow as pa

from headgate.engine.log.synced import sync as synced


class Growing:
    """The file, open. With `sync`, what is staged is on the disk before anybody commits it."""

    def __init__(self, path: Path, *, sync: bool) -> None:
        self.file: IO[bytes] = path.open("a+b", buffering=0)
        self._sync = sync
        self.committed = 0
        self.end = os.fstat(self.file.fileno()).st_size
        if sync:
            synced(path.parent)

    @property
    def pending(self) -> bool:
        """Whether something was staged of which it is not known whether it is committed."""
        return self.end > self.committed

    def stage(self, parts: Iterable[pa.Buffer]) -> int:
        """Append behind what is committed, in place of what was staged before; gives the length."""
        self.cut(self.committed)
        try:
            for part in parts:
                self._append(memoryview(part))
            if self._sync:
                os.fsync(self.file.fileno())
        except BaseException:
            self.cut(self.committed)
            raise
        return self.end

    def commit(self, length: int) -> None:
        """Note that a length is there to stay."""
        self.committed = max(self.committed, length)

    def cut(self, length: int) -> None:
        """Cut off what is behind a length."""
        if self.end > length:
            self.file.truncate(length)
            self.end = length

    def close(self) -> None:
        """Let go of the file."""
        self.file.close()

    def _append(self, data: memoryview) -> None:
        while data:
            done = self.file.write(data)
            self.end += done
            data = data[done:]
