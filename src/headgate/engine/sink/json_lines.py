"""Results as a file of JSON lines, exactly once: what was not committed is cut off after a crash.

The file has a hidden name until its first run is published. So a file that is there before a query's first commit
is somebody else's, and not what a crash has left.
"""

from pathlib import Path

import pyarrow as pa

from headgate.engine.log.synced import sync
from headgate.engine.sink import json_text
from headgate.engine.sink.destination import distinct, lock, writing
from headgate.engine.sink.growing import Growing
from headgate.engine.sink.protocol import Guarantee, Opening, Receipt
from headgate.errors import InputError

_MOST_ROWS = 65_536


def jsonl(file: str | Path) -> "JsonLines":
    """A file with a JSON object per result; `headgate.engine.sink.json_text` says how values are written.

    Exactly once: a restart cuts off what a run wrote that was not committed. A reader that follows the file while
    it is written can see such lines for a moment.
    """
    return JsonLines(Path(file))


class JsonLines:
    """A run is appended to the file; its length after the last committed run tells what counts."""

    guarantee: Guarantee = "exactly once"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._new = path.with_name(f".{path.name}.new")
        self._query = ""
        self._file: Growing | None = None
        self._hidden = True
        self._sync = False

    def __repr__(self) -> str:
        """As it is written."""
        return f"jsonl('{self.path}')"

    def open(self, opening: Opening) -> None:
        """Take the file and cut it to its committed length."""
        self.close()
        self._query, self._sync = opening.query, opening.sync
        distinct(opening.schema)
        json_text.check(opening.schema)
        # The name alone tells whether the receipt is of this file, so that folders can be moved.
        last = opening.last if opening.last and opening.last.get("file") == self.path.name else None
        with writing(self._query, self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._hidden = not self.path.exists()
            file = Growing(self._new if self._hidden else self.path, sync=self._sync)
            try:
                lock(file.file, self.path)
                file.commit(self._committed(last, file.end))
                file.cut(file.committed)
                if last:
                    self._show()
                elif not self._hidden:
                    self.path.replace(self._new)
                    self._hidden = True
            except BaseException:
                file.close()
                raise
        self._file = file

    def stage(self, run: int, rows: pa.Table) -> Receipt:  # noqa: ARG002 - the length says it
        """Append the rows behind what is committed."""
        with writing(self._query, self.path):
            batches = rows.combine_chunks().to_batches(_MOST_ROWS)
            length = self._opened().stage(json_text.lines(batch) for batch in batches)
        return {"file": self.path.name, "length": length}

    def publish(self, receipt: Receipt) -> None:
        """Note that the lines are there to stay, and give the file its name."""
        self._opened().commit(int(receipt["length"]))
        with writing(self._query, self.path):
            self._show()

    def tick(self, now: float) -> None:
        """Nothing waits: readers see lines as soon as they are written."""

    def close(self) -> None:
        """Let others write to the file."""
        if self._file:
            self._file.close()
            self._file = None

    def _committed(self, last: Receipt | None, size: int) -> int:
        """The committed length, which the file must have."""
        if last is None:
            if size and not self._hidden:
                rule = f"the file for the results of query '{self._query}' is empty at first: it would be overwritten"
                raise InputError(rule, f"{self.path} with {size} bytes", "Name another file, or move this one away.")
            return 0
        length = int(last["length"])
        if size < length:
            rule = f"the results of query '{self._query}' that were committed are still in {self.path}"
            remedy = "Put the file back, or give the results a file of another name."
            raise InputError(rule, f"{size} bytes of {length}", remedy)
        return length

    def _show(self) -> None:
        if self._hidden:
            self._new.replace(self.path)
            self._hidden = False
            if self._sync:
                sync(self.path.parent)

    def _opened(self) -> Growing:
        if self._file is None:
            msg = f"{self!r} is not open"
            raise RuntimeError(msg)
        return self._file
