"""Results as a file of JSON lines, exactly once: what was not committed is cut off after a crash.

The file has a hidden name until its first run is published. So a file that is there before a query's first commit
is somebody else's, and not what a crash has left.

Of a query that has instances, each has a file of its own: out.3.jsonl is that of instance 3 of out.jsonl. It is
written to under a second name, in a hidden folder that can be taken away from the instance. Whoever takes over puts a
copy of what is committed in its place; what the old process still has open is no longer what readers see.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pyarrow as pa

from headgate.engine.log.synced import sync
from headgate.engine.sink import json_text
from headgate.engine.sink.destination import distinct, lock, writing
from headgate.engine.sink.growing import Growing
from headgate.engine.sink.protocol import Guarantee, Opening, Receipt
from headgate.engine.sink.staging import Staging, checked, copied
from headgate.errors import InputError

_LINES = "lines"
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
        self.path, self._given = path, path
        self._new = path.with_name(f".{path.name}.new")
        self._staging: Staging | None = None
        self._query = ""
        self._file: Growing | None = None
        self._hidden = True
        self._sync = False

    def __repr__(self) -> str:
        """As it is written."""
        return f"jsonl('{self._given}')"

    def open(self, opening: Opening) -> None:
        """Take the file and cut it to its committed length."""
        self.close()
        last = self._be(opening)
        distinct(opening.schema)
        json_text.check(opening.schema)
        with self._writing():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self._staging:
                self._staging.make()
            self._hidden = not self.path.exists()
            file = Growing(self._new if self._hidden or self._staging else self.path, sync=self._sync)
            try:
                lock(file.file, self.path)
                if self._staging and last and not self._hidden:
                    self._check_same()
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
        with self._writing():
            if self._staging:
                self._staging.check()
            batches = rows.combine_chunks().to_batches(_MOST_ROWS)
            length = self._opened().stage(json_text.lines(batch) for batch in batches)
        return {"file": self.path.name, "length": length}

    def publish(self, receipt: Receipt) -> None:
        """Note that the lines are there to stay, and give the file its name."""
        self._opened().commit(int(receipt["length"]))
        with self._writing():
            self._show()
            if self._staging:
                self._staging.check()

    def shows(self, receipt: Receipt) -> bool:
        """Whether so many lines have been published."""
        file = self._file
        return file is not None and file.committed >= int(receipt["length"]) and not self._hidden

    def tick(self, now: float) -> None:
        """Nothing waits: readers see lines as soon as they are written."""

    def close(self) -> None:
        """Let others write to the file."""
        if self._file:
            self._file.close()
            self._file = None

    def fence(self, opening: Opening) -> None:
        """Take its file away from an instance."""
        if opening.instance:
            _, staging = self._old(opening)
            with writing(opening.query, self.path):
                staging.fence()

    def take_over(self, opening: Opening) -> None:
        """Put what an instance has committed in the place of its file."""
        if opening.instance:
            old, staging = self._old(opening)
            last = old._be(opening)  # noqa: SLF001 - one of its own kind
            with writing(opening.query, self.path):
                staging.gone_through(lambda hidden: old._take(hidden, last))  # noqa: SLF001

    def _old(self, opening: Opening) -> tuple["JsonLines", Staging]:
        """The file as it was for an instance, which is not this one."""
        old = JsonLines(self._given)
        old._be(opening)
        if old._staging is None:
            msg = "only an instance has a file that can be taken away from it"
            raise ValueError(msg)
        return old, old._staging

    def _take(self, hidden: Path, last: Receipt | None) -> None:
        lines = hidden / _LINES
        if last is None or (self.path.exists() and not lines.exists()):
            # It has a name only once something is committed; and what is there alone was put there before.
            return
        length = self._committed(last, lines.stat().st_size)
        copied(lines, length, sync=self._sync).replace(self.path)
        if self._sync:
            sync(self.path.parent)

    def _be(self, opening: Opening) -> Receipt | None:
        """Be as an opening says; gives the last receipt if it is one of this file."""
        self._query, self._sync = opening.query, opening.sync
        given, self._staging = self._given, None
        if opening.instance:
            self.path = given.with_name(f"{given.stem}.{checked(opening.instance)}{given.suffix}")
            self._staging = Staging(given.with_name(f".{self.path.name}.new"), self._query)
            self._new = self._staging.place / _LINES
        else:
            self.path, self._new = given, given.with_name(f".{given.name}.new")
        # The name alone tells whether the receipt is of this file, so that folders can be moved.
        return opening.last if opening.last and opening.last.get("file") == self.path.name else None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._staging.writing() if self._staging else nullcontext(), writing(self._query, self.path):
            yield

    def _committed(self, last: Receipt | None, size: int) -> int:
        """The committed length, which the file must have."""
        if last is None:
            if (size or self._staging) and not self._hidden:
                rule = f"the file for the results of query '{self._query}' is empty at first: it would be overwritten"
                raise InputError(rule, f"{self.path} with {size} bytes", "Name another file, or move this one away.")
            return 0
        length = int(last["length"])
        if size < length:
            rule = f"the results of query '{self._query}' that were committed are still in {self.path}"
            remedy = "Put the file back, or give the results a file of another name."
            raise InputError(rule, f"{size} bytes of {length}", remedy)
        return length

    def _check_same(self) -> None:
        """Refuse a file that has taken the place of the one that is written to."""
        if not self._new.samefile(self.path):
            rule = f"{self.path} is the file that query '{self._query}' has written to"
            raise InputError(rule, "another one", "Put the file back, or give the results another name.")

    def _show(self) -> None:
        if self._hidden:
            if self._staging:
                os.link(self._new, self.path)
            else:
                self._new.replace(self.path)
            self._hidden = False
            if self._sync:
                sync(self.path.parent)

    def _opened(self) -> Growing:
        if self._file is None:
            msg = f"{self!r} is not open"
            raise RuntimeError(msg)
        return self._file
