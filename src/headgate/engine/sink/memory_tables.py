"""Results in memory, for notebooks and tests."""

from collections import deque
from threading import Lock
from typing import NamedTuple

import pyarrow as pa

from headgate.engine.sink.protocol import Guarantee, Opening, Receipt, Unfenced


def memory(most: int | None = None) -> "MemoryTables":
    """Results that `table()` gives as one table; beyond `most` rows, the oldest runs go.

    At least once, as seen by who reads them: a new process starts with none.
    """
    return MemoryTables(most)


class Published(NamedTuple):
    """The results of one run."""

    run: int
    rows: pa.Table


class MemoryTables(Unfenced):
    """The published tables, the oldest first."""

    guarantee: Guarantee = "at least once"

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self._schema = pa.schema([])
        self._staged: Published | None = None
        self._published: deque[Published] = deque()
        self._rows = 0
        # Runs are published by an engine's thread while a user's looks.
        self._lock = Lock()

    def __repr__(self) -> str:
        """As it is written."""
        return f"memory({'' if self.most is None else self.most})"

    @property
    def runs(self) -> list[Published]:
        """The runs that had results."""
        with self._lock:
            return list(self._published)

    def table(self) -> pa.Table:
        """All results in one table."""
        return pa.concat_tables([self._schema.empty_table(), *(rows for _, rows in self.runs)])

    def open(self, opening: Opening) -> None:
        """Keep what was published if the query goes on, and forget it if the query is new."""
        self._schema = opening.schema
        if opening.last is None:
            with self._lock:
                self._published, self._rows = deque(), 0
        else:
            self.publish(opening.last)
        self._staged = None

    def stage(self, run: int, rows: pa.Table) -> Receipt:
        """Hold the rows back."""
        self._staged = Published(run, rows)
        return {"run": run}

    def publish(self, receipt: Receipt) -> None:
        """Show the rows that were held back."""
        staged, self._staged = self._staged, None
        if staged is None or staged.run != receipt.get("run") or not staged.rows.num_rows:
            return
        with self._lock:
            self._published.append(staged)
            self._rows += staged.rows.num_rows
            while self.most is not None and self._rows > self.most and len(self._published) > 1:
                self._rows -= self._published.popleft().rows.num_rows

    def tick(self, now: float) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing to let go of: the results stay readable."""
