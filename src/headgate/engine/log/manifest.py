"""The manifest: what has been committed, in one SQLite database.

Everything that has to happen together is one transaction: a train with the state of its source; a run with its
cursors, its panes and the receipt of its sink. Files are written before the row that names them, so a crash leaves at
most files that no row names. In WAL mode a commit outlives the process at once, and the machine once it is synced.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headgate.engine.windows import NEVER
from headgate.errors import InputError

VERSION = 1
_APPLICATION = 0x48474154
"""What SQLite keeps in the head of a database, so that one can tell whose it is."""

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stream (
    name TEXT PRIMARY KEY, definition TEXT, state TEXT,
    ended INTEGER NOT NULL DEFAULT 0, late INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS train (
    stream TEXT, seq INTEGER, first INTEGER, count INTEGER, bytes INTEGER,
    arrived_first INTEGER, arrived_last INTEGER, arrived_sum REAL,
    event_first INTEGER, event_last INTEGER,
    event_before INTEGER, event_after INTEGER, arrival_before INTEGER, arrival_after INTEGER,
    PRIMARY KEY (stream, seq)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rejected (
    stream TEXT, reason TEXT, count INTEGER, PRIMARY KEY (stream, reason)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS query (
    name TEXT PRIMARY KEY, definition TEXT, run INTEGER NOT NULL DEFAULT 0,
    closed INTEGER NOT NULL, low INTEGER NOT NULL, receipt TEXT,
    results INTEGER NOT NULL DEFAULT 0, tuples INTEGER NOT NULL DEFAULT 0, late INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cursor (
    query TEXT, stream TEXT, position INTEGER, PRIMARY KEY (query, stream)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pane (query TEXT, run INTEGER, starts TEXT, PRIMARY KEY (query, run)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class StoredTrain:
    """A train of the log: its place in the stream, when it arrived, its event times, and the watermarks around it.

    Times are microseconds; `event_first` and `event_last` are None where the stream has no event time or the train
    no tuple. A train without tuples moves watermarks only: time passed since `arrived_first`, when the last tuple
    had come, or the stream ended.
    """

    seq: int
    first: int
    count: int
    bytes: int
    arrived_first: int
    arrived_last: int
    arrived_sum: float
    event_first: int | None
    event_last: int | None
    event_before: int
    event_after: int
    arrival_before: int
    arrival_after: int

    @property
    def end(self) -> int:
        """The position behind its last tuple."""
        return self.first + self.count

    @property
    def newest(self) -> int:
        """When the last tuple came, up to this train."""
        return self.arrived_last if self.count else self.arrived_first


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a query has come: everything that a restart needs, and what has been counted on the way.

    `closed` is the end of the last window that was closed, `low` the time before which no tuple is needed any more.
    """

    run: int = 0
    cursors: Mapping[str, int] = field(default_factory=dict)
    closed: int = NEVER
    low: int = NEVER
    panes: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    receipt: Mapping[str, Any] | None = None
    results: int = 0
    tuples: int = 0
    late: int = 0


class Manifest:
    """The database. Any thread may call it; each call is one transaction."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            # Two engines on one state folder would each repeat what the other does.
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._check_owner(path)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(f"PRAGMA application_id={_APPLICATION}")
            self._db.executescript(_TABLES)
            self._check_version(path)
        except InputError:
            self._db.close()
            raise
        except sqlite3.OperationalError as error:
            self._db.close()
            remedy = "Stop the other one, or give this one a folder of its own."
            if "locked" not in str(error):
                remedy = "See that the folder can be written to and that the disk is not full."
            raise InputError("a state folder has one engine at a time", f"{path.parent} ({error})", remedy) from None
        except sqlite3.DatabaseError as error:
            self._db.close()
            remedy = "Name another folder, or mend the file."
            raise InputError("a state folder has a manifest of Headgate's", f"{path} ({error})", remedy) from None

    def _check_owner(self, path: Path) -> None:
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (owner,) = self._db.execute("PRAGMA application_id").fetchone()
        if tables and owner != _APPLICATION:
            rule, remedy = "a state folder has a manifest of Headgate's", "Name another folder."
            raise InputError(rule, f"{path}, a database of something else", remedy)

    def _check_version(self, path: Path) -> None:
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO meta VALUES ('version', ?)", (VERSION,))
            found = db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()[0]
        if int(found) != VERSION:
            remedy = "Use the version of Headgate that wrote it, or begin in another folder."
            raise InputError(f"{path} has the format of version {VERSION}", f"version {found}", remedy)

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    # Streams

    def stream(
        self, name: str, definition: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], Mapping[str, Any] | None, bool]:
        """Enter a stream if it is new. Gives its first definition, its source's state, and whether it has ended."""
        with self._transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO stream (name, definition) VALUES (?, ?)", (name, json.dumps(definition))
            )
            found = db.execute("SELECT definition, state, ended FROM stream WHERE name = ?", (name,)).fetchone()
        return json.loads(found[0]), json.loads(found[1]) if found[1] else None, bool(found[2])

    def trains(self, stream: str) -> list[StoredTrain]:
        """The trains of a stream that are still there, oldest first."""
        with self._lock:
            rows = self._db.execute(
                "SELECT seq, first, count, bytes, arrived_first, arrived_last, arrived_sum, event_first, event_last,"
                " event_before, event_after, arrival_before, arrival_after FROM train WHERE stream = ? ORDER BY seq",
                (stream,),
            ).fetchall()
        return [StoredTrain(*row) for row in rows]

    def counted(self, stream: str) -> tuple[int, dict[str, int]]:
        """Tuples that came late, and rows that were rejected by reason."""
        with self._lock:
            late = self._db.execute("SELECT late FROM stream WHERE name = ?", (stream,)).fetchone()[0]
            rows = self._db.execute("SELECT reason, count FROM rejected WHERE stream = ?", (stream,)).fetchall()
        return late, dict(rows)

    def append(
        self,
        stream: str,
        train: StoredTrain | None,
        state: Mapping[str, Any] | None,
        *,
        late: int = 0,
        rejected: Mapping[str, int] | None = None,
        ended: bool = False,
    ) -> None:
        """Commit a train with the state of its source; both are optional."""
        with self._transaction() as db:
            if train is not None:
                db.execute(
                    f"INSERT INTO train VALUES ({', '.join('?' * 14)})",  # noqa: S608 - question marks only
                    (stream, *(getattr(train, name) for name in StoredTrain.__slots__)),
                )
            if state is not None:
                db.execute("UPDATE stream SET state = ? WHERE name = ?", (json.dumps(state), stream))
            if late or ended:
                db.execute("UPDATE stream SET late = late + ?, ended = ? WHERE name = ?", (late, ended, stream))
            for reason, count in (rejected or {}).items():
                db.execute(
                    "INSERT INTO rejected VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                    (stream, reason, count),
                )

    def drop_trains(self, stream: str, before: int) -> None:
        """Forget the trains before a sequence number."""
        with self._transaction() as db:
            db.execute("DELETE FROM train WHERE stream = ? AND seq < ?", (stream, before))

    # Queries

    def queries(self) -> dict[str, dict[str, Any]]:
        """The definitions of all queries that have been entered and not removed."""
        with self._lock:
            return {n: json.loads(d) for n, d in self._db.execute("SELECT name, definition FROM query").fetchall()}

    def enter(self, query: str, definition: Mapping[str, Any], begin: Progress) -> Progress:
        """Enter a query if it is new, at the progress to begin with; give the progress it has."""
        with self._transaction() as db:
            known = db.execute("SELECT 1 FROM query WHERE name = ?", (query,)).fetchone()
            if not known:
                db.execute(
                    "INSERT INTO query (name, definition, closed, low) VALUES (?, ?, ?, ?)",
                    (query, json.dumps(definition), begin.closed, begin.low),
                )
                db.executemany(
                    "INSERT INTO cursor VALUES (?, ?, ?)", [(query, s, p) for s, p in begin.cursors.items()]
                )
        return self.progress(query)

    def progress(self, query: str) -> Progress:
        """How far a query has come."""
        with self._lock:
            run, closed, low, receipt, results, tuples, late = self._db.execute(
                "SELECT run, closed, low, receipt, results, tuples, late FROM query WHERE name = ?", (query,)
            ).fetchone()
            cursors = dict(
                self._db.execute("SELECT stream, position FROM cursor WHERE query = ?", (query,)).fetchall()
            )
            rows = self._db.execute("SELECT run, starts FROM pane WHERE query = ?", (query,)).fetchall()
        panes = {number: tuple(json.loads(starts)) for number, starts in rows}
        loaded = json.loads(receipt) if receipt else None
        return Progress(run, cursors, closed, low, panes, loaded, results, tuples, late)

    def commit(self, runs: Sequence[tuple[str, Progress, Progress]]) -> None:
        """Commit what a job did for each of its queries, all or nothing: from one progress to the next."""
        with self._transaction() as db:
            for query, old, new in runs:
                self._move(db, query, old, new)

    @staticmethod
    def _move(db: sqlite3.Connection, query: str, old: Progress, new: Progress) -> None:
        gone = [(query, run) for run in old.panes if run not in new.panes]
        fresh = [(query, run, json.dumps(starts)) for run, starts in new.panes.items() if run not in old.panes]
        moved = [(p, query, s) for s, p in new.cursors.items() if old.cursors.get(s) != p]
        db.execute(
            "UPDATE query SET run=?, closed=?, low=?, receipt=?, results=?, tuples=?, late=? WHERE name=?",
            (new.run, new.closed, new.low, json.dumps(new.receipt), new.results, new.tuples, new.late, query),
        )
        db.executemany("UPDATE cursor SET position = ? WHERE query = ? AND stream = ?", moved)
        db.executemany("INSERT INTO pane VALUES (?, ?, ?)", fresh)
        db.executemany("DELETE FROM pane WHERE query = ? AND run = ?", gone)

    def remove(self, query: str) -> None:
        """Forget a query."""
        with self._transaction() as db:
            for table, key in (("query", "name"), ("cursor", "query"), ("pane", "query")):
                db.execute(f"DELETE FROM {table} WHERE {key} = ?", (query,))  # noqa: S608 - names from above
