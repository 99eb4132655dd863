"""Results printed as small tables."""

from datetime import datetime
from typing import IO

import pyarrow as pa
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from headgate.engine.sink.protocol import Guarantee, Opening, Receipt, Unfenced
from headgate.printed import WIDE


def console(rows: int = 20, file: IO[str] | None = None) -> "ConsoleTables":
    """Prints the first `rows` results of each run that has some, to standard output if no file is given.

    At least once: after a crash the last run can be printed again, under the same number.
    """
    return ConsoleTables(rows, file)


class ConsoleTables(Unfenced):
    """A table per run."""

    guarantee: Guarantee = "at least once"

    def __init__(self, rows: int = 20, file: IO[str] | None = None) -> None:
        self.rows = rows
        self._console = Console(file=file, highlight=False)
        if not self._console.is_terminal:
            self._console.width = WIDE
        self._query = ""

    def __repr__(self) -> str:
        """As it is written."""
        return f"console(rows={self.rows})"

    def open(self, opening: Opening) -> None:
        """Learn whose results these are."""
        self._query = opening.query

    def stage(self, run: int, rows: pa.Table) -> Receipt:
        """Print the rows."""
        if rows.num_rows:
            self._console.print(self._table(run, rows))
        return {}

    def publish(self, receipt: Receipt) -> None:
        """Nothing is left to do: the rows have been printed."""

    def tick(self, now: float) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing to let go of: the file is the user's."""

    def _table(self, run: int, rows: pa.Table) -> Group:
        shown = rows.slice(0, self.rows)
        more = f", the first {shown.num_rows}" if shown.num_rows < rows.num_rows else ""
        count = f"{rows.num_rows} row{'s' * (rows.num_rows != 1)}"
        table = Table()
        for field in rows.schema:
            numeric = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
            table.add_column(_plain(field.name), justify="right" if numeric else "left", no_wrap=True)
        columns = [[_plain(value) for value in column.to_pylist()] for column in shown.columns]
        for cells in zip(*columns, strict=True):
            table.add_row(*cells)
        return Group(_plain(f"{self._query}, run {run}: {count}{more}"), table)


def _plain(value: object) -> Text:
    """A value as text that cannot steer the terminal."""
    text = "NULL" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, datetime):
        # Shorter, so that other columns have room.
        text = text.replace("+00:00", "Z")
    return Text("".join(c if c.isprintable() else "·" for c in text))
