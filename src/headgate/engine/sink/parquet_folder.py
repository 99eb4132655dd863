"""Results as a folder of Parquet files, exactly once.

    <folder>/part-000000000042.parquet   the results of run 42
    <folder>/_staged/42.parquet          the same before the run was committed
    <folder>/_headgate                   whose results these are; locked while they are written

Readers skip names that begin with an underscore.
"""

import logging
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.engine.sink.destination import distinct, lock, writing
from headgate.engine.sink.protocol import Guarantee, Opening, Receipt
from headgate.errors import InputError

Column = tuple[str, pa.DataType]

_log = logging.getLogger(__name__)


def parquet(folder: str | Path) -> "ParquetFolder":
    """A folder that Spark, pandas, DuckDB and others read as one table: a file per run that has results.

    Exactly once: a file appears when its run has been committed, whole. Published files may be moved away.
    """
    return ParquetFolder(Path(folder))


class ParquetFolder:
    """A run is a file: written beside the others under a hidden name, and renamed to publish it."""

    guarantee: Guarantee = "exactly once"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._staged = folder / "_staged"
        self._mark = folder / "_headgate"
        self._query = ""
        self._schema = pa.schema([])
        self._owner: IO[bytes] | None = None

    def __repr__(self) -> str:
        """As it is written."""
        return f"parquet('{self.folder}')"

    def open(self, opening: Opening) -> None:
        """Take the folder, finish the last committed run and forget those that were staged behind it."""
        self.close()
        self._query, self._schema = opening.query, opening.schema
        distinct(opening.schema)
        last = opening.last if opening.last and "part" in opening.last else None
        with writing(self._query, self.folder):
            self._check(goes_on=last is not None)
            self._staged.mkdir(parents=True, exist_ok=True)
            self._owner = self._owned()
            if last:
                self.publish(last)
            for left in self._staged.iterdir():
                left.unlink()

    def stage(self, run: int, rows: pa.Table) -> Receipt:
        """Write the rows under a hidden name; no file if there are none."""
        path = self._hidden(run)
        with writing(self._query, self.folder):
            # A run that is repeated may have had rows the first time.
            path.unlink(missing_ok=True)
            if rows.num_rows:
                try:
                    pq.write_table(rows.cast(self._schema), path)
                except BaseException:
                    path.unlink(missing_ok=True)
                    raise
        return {"part": run, "rows": rows.num_rows}

    def publish(self, receipt: Receipt) -> None:
        """Rename the file of the run; one that is not there any more has been renamed before."""
        run = int(receipt["part"])
        part = self.folder / f"part-{run:012d}.parquet"
        with writing(self._query, self.folder):
            if self._hidden(run).exists():
                self._hidden(run).replace(part)
            elif receipt["rows"] and not part.exists():
                _log.warning("query %s: %s is gone; it was moved away, or is lost", self._query, part)

    def close(self) -> None:
        """Let others write to the folder."""
        if self._owner:
            self._owner.close()
            self._owner = None

    def _hidden(self, run: int) -> Path:
        return self._staged / f"{run}.parquet"

    def _check(self, *, goes_on: bool) -> None:
        """Refuse a folder with what somebody else wrote, or with results of other columns."""
        found = sorted(self.folder.glob("[!_.]*"))
        if not found:
            return
        mine = goes_on and self._mark.exists() and self._mark.read_text() == self._query
        if not mine:
            rule = f"the folder for the results of query '{self._query}' is empty at first"
            got = f"{self.folder}, which holds {found[0].name}"
            raise InputError(rule, got, "Name another folder, or move away what is there.")
        for part in [path for path in found if path.match("part-*.parquet")][-1:]:
            before, now = _columns(part), _pairs(self._schema)
            if before != now:
                rule = f"the results of query '{self._query}' have the columns of those in {self.folder}"
                got = f"{_odd(now, before)} where {part.name} has {_odd(before, now)}"
                raise InputError(rule, got, "Name another folder, or give the changed query another name.")

    def _owned(self) -> IO[bytes]:
        """The file that marks the folder as the query's own, locked."""
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
