"""Results as a folder of Parquet files, exactly once.

    <folder>/part-000000000042.parquet   the results of run 42 and of those that followed before the file was made
    <folder>/_staged/42.arrow            the same before that: what is committed, and behind it what is staged
    <folder>/_staged/42.parquet          the same while the file is being made
    <folder>/_headgate                   whose results these are; locked while they are written

Runs are many and small, files should be few and large. So a run is appended to a hidden file of Arrow batches, and
from time to time that becomes a file for readers: written whole, then the Arrow file goes, then it gets its name. If
both are there after a crash, the Parquet file may be torn and is made again; if it is there alone, it is whole. A
hidden file that is older than the one in the last receipt is committed to its end.

Readers skip names that begin with an underscore.

Of a query that has instances, each has a folder of its own in `_staged`, with a lock in it, which can be taken away
from it, and its files are named part-<instance>-000000000042.parquet. Whoever takes over may not rely on what the old
process still has open: it copies what is committed of the Arrow file.
"""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Lock
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.engine.log.synced import sync
from headgate.engine.sink.destination import distinct, lock, writing
from headgate.engine.sink.growing import Growing
from headgate.engine.sink.protocol import Guarantee, Opening, Receipt
from headgate.engine.sink.staging import Staging, checked, copied
from headgate.engine.spans import seconds
from headgate.errors import InputError

Column = tuple[str, pa.DataType]

_EVERY = 1.0
_LOCK = "lock"
_MOST = 64 * 2**20
"""So many bytes make a file, however young they are."""
_log = logging.getLogger(__name__)


def parquet(folder: str | Path, every: str | float = _EVERY) -> "ParquetFolder":
    """A folder that Spark, pandas, DuckDB and others read as one table: a file `every` so often, if there are rows.

    Exactly once: a file has whole runs that have been committed, and does not change. Published files may be moved
    away. With `every=0` each commit has a file of its own, at once.
    """
    return ParquetFolder(Path(folder), seconds(every, "the time between files"))


class ParquetFolder:
    """Runs are gathered in a hidden file, from which the files for readers are made."""

    guarantee: Guarantee = "exactly once"

    def __init__(self, folder: Path, every: float = _EVERY) -> None:
        self.folder, self.every = folder, every
        self._staged = folder / "_staged"
        self._mark = folder / "_headgate"
        self._staging: Staging | None = None
        self._instance = ""
        self._query = ""
        self._schema = pa.schema([])
        self._sync = False
        self._owner: IO[bytes] | None = None
        self._journal: Growing | None = None
        self._number = -1
        self._since: float | None = None
        self._full: list[int] = []
        # Results are staged while a file is made of older ones, by another thread.
        self._lock, self._making = Lock(), Lock()

    def __repr__(self) -> str:
        """As it is written."""
        return f"parquet('{self.folder}'{'' if self.every == _EVERY else f', every={self.every:g}'})"

    def open(self, opening: Opening) -> None:
        """Take the folder, show what is committed and forget what was staged behind it."""
        self.close()
        last = self._be(opening)
        distinct(opening.schema)
        with self._writing():
            self._check_owner(goes_on=last is not None)
            if self._staging:
                self._staging.make()
            else:
                self._staged.mkdir(parents=True, exist_ok=True)
            self._owner = self._owned()
            try:
                self._recover(last)
                self._check_columns()
            except BaseException:
                self.close()
                raise

    def stage(self, run: int, rows: pa.Table) -> Receipt:
        """Append the rows to the hidden file; nothing is written if there are none."""
        with self._lock, self._writing():
            if self._staging:
                self._staging.check()
            if not rows.num_rows:
                if self._journal is None:
                    return self._receipt(run, 0)
                self._journal.cut(self._journal.committed)
                return self._receipt(self._number, self._journal.committed)
            if self._journal is None:
                self._journal, self._number = Growing(self._hidden(run, "arrow"), sync=self._sync), run
            length = self._journal.stage(self._messages(rows))
            return self._receipt(self._number, length)

    def publish(self, receipt: Receipt) -> None:
        """Note that the rows are there to stay. Readers see them with the next file."""
        with self._lock:
            if self._journal and receipt["part"] == self._number:
                self._journal.commit(int(receipt["length"]))
                if self._since is None and self._journal.committed:
                    self._since = time.time()
                if not self.every or self._journal.committed >= _MOST:
                    self._finish()
        if self._staging:
            # Only now: what is committed must not be cut off, whoever shows it.
            self._staging.check()
        if not self.every:
            self._make()

    def shows(self, receipt: Receipt) -> bool:
        """Whether the file that it is in has been made, or will be of other results only."""
        with self._lock:
            hidden = [*self._full, *([self._number] if self._journal else [])]
        return not receipt.get("length") or receipt["part"] not in hidden

    def tick(self, now: float) -> None:
        """Make a file if it is time."""
        with self._lock:
            if self._since is not None and now - self._since >= self.every:
                self._finish()
        if self._full:
            self._make()

    def close(self) -> None:
        """Make a file of the rest, and let others write to the folder."""
        with self._lock:
            self._finish()
            if self._journal:
                # What was staged last may be committed or not: the next receipt will tell.
                self._journal.close()
                self._journal = self._since = None
        try:
            self._make()
        finally:
            self._full.clear()
            if self._owner:
                self._owner.close()
                self._owner = None

    def fence(self, opening: Opening) -> None:
        """Take the hidden files away from an instance."""
        if opening.instance:
            _, staging = self._old(opening)
            with writing(opening.query, self.folder):
                staging.fence()

    def take_over(self, opening: Opening) -> None:
        """Show what an instance has committed, from copies of its hidden files."""
        if opening.instance:
            old, staging = self._old(opening)
            last = old._be(opening)  # noqa: SLF001 - one of its own kind
            with writing(opening.query, self.folder):
                staging.gone_through(lambda hidden: old._take(hidden, last))  # noqa: SLF001

    def _old(self, opening: Opening) -> tuple["ParquetFolder", Staging]:
        """The folder as it was for an instance, which is not this one."""
        old = ParquetFolder(self.folder, self.every)
        old._be(opening)
        if old._staging is None:
            msg = "only an instance has a folder that can be taken away from it"
            raise ValueError(msg)
        return old, old._staging

    def _take(self, hidden: Path, last: Receipt | None) -> None:
        number, length = _committed(last)
        self._staged = hidden
        for left in self._left():
            journal, made = self._hidden(left, "arrow"), self._hidden(left, "parquet")
            if left > number or (left == number and not length):
                continue
            if journal.exists():
                size = journal.stat().st_size
                self._check_length(journal, size, length if left == number else 0)
                copy = copied(journal, length if left == number else size, sync=self._sync)
                other = copy.with_name(f"{copy.name}.made")
                self._convert(copy, other)
                other.replace(made)
                journal.unlink()
            made.replace(self._part(left))
            if self._sync:
                sync(self.folder)

    def _be(self, opening: Opening) -> Receipt | None:
        """Be as an opening says; gives the last receipt if it is one of this instance."""
        self._query, self._schema, self._sync = opening.query, opening.schema, opening.sync
        self._instance = checked(opening.instance) if opening.instance else ""
        self._staged, self._staging = self.folder / "_staged", None
        if self._instance:
            self._staged /= self._instance
            self._staging = Staging(self._staged, self._query)
        last = opening.last
        own = last is not None and "part" in last and last.get("instance", "") == self._instance
        return last if own else None

    def _receipt(self, part: int, length: int) -> Receipt:
        instance = {"instance": self._instance} if self._instance else {}
        return {"part": part, "length": length, **instance}

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._staging.writing() if self._staging else nullcontext(), writing(self._query, self.folder):
            yield

    def _messages(self, rows: pa.Table) -> Iterator[pa.Buffer]:
        """The rows as messages of an Arrow stream, behind the one that says what the columns are."""
        if self._journal and not self._journal.committed:
            yield self._schema.serialize()
        rows = rows if rows.schema.equals(self._schema) else rows.cast(self._schema)
        for batch in rows.combine_chunks().to_batches():
            yield batch.serialize()

    def _finish(self) -> None:
        """Stage to another file from now on, unless it is open what becomes of the last rows of this one."""
        if self._journal and self._journal.committed and not self._journal.pending:
            self._journal.close()
            self._full.append(self._number)
            self._journal = self._since = None

    def _make(self) -> None:
        """Make the files for readers of the hidden ones that are finished, the oldest first."""
        with self._making, self._writing():
            while self._full:
                self._show(self._full[0])
                self._full.pop(0)

    def _show(self, number: int) -> None:
        journal, hidden = self._hidden(number, "arrow"), self._hidden(number, "parquet")
        if journal.exists():
            self._convert(journal, hidden)
            journal.unlink()
            if self._sync:
                sync(self._staged)
        # What is neither hidden nor shown is out of reach, and that has to be told.
        if not self._part(number).is_file() or hidden.exists():
            hidden.replace(self._part(number))
            if self._sync:
                sync(self.folder)

    def _convert(self, journal: Path, hidden: Path) -> None:
        try:
            with pa.memory_map(str(journal)) as source:
                pq.write_table(pa.ipc.open_stream(source).read_all(), hidden)
            if self._sync:
                sync(hidden)
                sync(self._staged)
        except BaseException:
            hidden.unlink(missing_ok=True)
            raise

    def _recover(self, last: Receipt | None) -> None:
        """Cut the hidden file to the committed length, show it and those before it, and forget those behind it."""
        number, length = _committed(last)
        self._forget(number)
        journal = self._hidden(number, "arrow")
        if journal.exists():
            self._check_length(journal, journal.stat().st_size, length)
            os.truncate(journal, length)
            if not length:
                journal.unlink()
        for left in self._left():
            self._show(left)
        if last and (length or last.get("rows")) and not self._part(number).exists():
            _log.warning("query %s: %s is gone; it was moved away, or is lost", self._query, self._part(number))

    def _forget(self, last: int) -> None:
        for path in self._staged.iterdir():
            # Folders are those of instances.
            if path.name != _LOCK and path.is_file() and (not path.stem.isdecimal() or int(path.stem) > last):
                path.unlink()

    def _left(self) -> list[int]:
        """The numbers of the hidden files."""
        return sorted({int(path.stem) for path in self._staged.iterdir() if path.stem.isdecimal() and path.is_file()})

    def _check_length(self, journal: Path, size: int, length: int) -> None:
        if size < length:
            rule = f"the results of query '{self._query}' that were committed are still in {journal}"
            remedy = "Put the file back, or name another folder."
            raise InputError(rule, f"{size} bytes of {length}", remedy)

    def _hidden(self, number: int, form: str) -> Path:
        return self._staged / f"{number}.{form}"

    def _part(self, number: int) -> Path:
        of = f"{self._instance}-" if self._instance else ""
        return self.folder / f"part-{of}{number:012d}.parquet"

    def _check_owner(self, *, goes_on: bool) -> None:
        """Refuse a folder with what somebody else wrote."""
        found = sorted(self.folder.glob("[!_.]*"))
        mine = goes_on and self._mark.exists() and self._mark.read_text() == self._query
        if self._instance and self._mark.exists() and self._mark.read_text() == self._query:
            # Others may have written before; if nothing is committed, not this one.
            own = f"part-{self._instance}-{'[0-9]' * 12}.parquet"
            found = [] if goes_on else sorted(self.folder.glob(own))
        if found and not mine:
            rule = f"the folder for the results of query '{self._query}' is empty at first"
            got = f"{self.folder}, which holds {found[0].name}"
            raise InputError(rule, got, "Name another folder, or move away what is there.")

    def _check_columns(self) -> None:
        """Refuse a folder with results of other columns."""
        for part in sorted(self.folder.glob("part-*.parquet"))[-1:]:
            before, now = _columns(part), _pairs(self._schema)
            if before != now:
                rule = f"the results of query '{self._query}' have the columns of those in {self.folder}"
                got = f"{_odd(now, before)} where {part.name} has {_odd(before, now)}"
                raise InputError(rule, got, "Name another folder, or give the changed query another name.")

    def _owned(self) -> IO[bytes]:
        """The file that marks the folder as the query's own, locked; for an instance, one of its own."""
        if self._instance:
            return self._owned_by_instance()
        mark = self._mark.open("a+b", buffering=0)
        try:
            lock(mark, self.folder)
            if self._mark.read_text() != self._query:
                mark.truncate(0)
                mark.write(self._query.encode())
        except BaseException:
            mark.close()
            raise
        return mark

    def _owned_by_instance(self) -> IO[bytes]:
        if not self._mark.exists() or self._mark.read_text() != self._query:
            # Never half written: another instance may be looking at it.
            temporary = self._mark.with_name(f"_headgate.{self._instance}.tmp")
            temporary.write_text(self._query)
            temporary.replace(self._mark)
        own = (self._staged / _LOCK).open("a+b", buffering=0)
        try:
            lock(own, self._staged)
        except BaseException:
            own.close()
            raise
        return own


def _committed(last: Receipt | None) -> tuple[int, int]:
    """The hidden file up to which all is committed, and how much of it."""
    return (int(last["part"]), int(last.get("length", 0))) if last else (-1, 0)


def _pairs(schema: pa.Schema) -> list[Column]:
    return [(field.name, field.type) for field in schema]


def _columns(part: Path) -> list[Column]:
    try:
        return _pairs(pq.read_schema(part))
    except pa.ArrowInvalid as error:
        rule = f"{part} is a Parquet file"
        raise InputError(rule, str(error).splitlines()[0], "Move it away, or restore it.") from None


def _odd(columns: list[Column], others: list[Column]) -> str:
    """The columns that the others do not have; all of them if just their order is another."""
    shown = [column for column in columns if column not in others] or columns
    return ", ".join(f"{name} {kind}" for name, kind in shown)
