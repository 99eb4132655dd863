"""The manifest: what has been committed, in one SQLite database.

Everything that has to happen together is one transaction: a train with the state of its source; a run with its
cursors, its panes and the receipt of its sink. Files are written before the row that names them, so a crash leaves at
most files that no row names. In WAL mode a commit outlives the process at once, and the machine too if it is synced.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from headgate.engine.log.cohorts import Cohorts, drop_empty_cohorts, move_cohort
from headgate.engine.log.database import Database, listed
from headgate.engine.log.progress import Moved, Progress
from headgate.engine.log.rates import Rates
from headgate.engine.log.stored import StoredStreams

Entry = tuple[str, Mapping[str, Any], Progress]
"""A query to enter: its name, its definition, and the progress to begin with."""


class Manifest:
    """What is committed of queries; beside it `streams`, `cohorts` and drop `rates`, in the same database.

    Any thread may call it; each call is one transaction. Unless it is to be `alone`, other processes can `peek` at it
    at any time, whatever this one is in the middle of.
    """

    def __init__(self, path: Path, *, sync: bool = False, alone: bool = True) -> None:
        self._have(Database(path, sync=sync, alone=alone))

    @classmethod
    def over(cls, connection: sqlite3.Connection) -> Self:
        """What can be asked of a manifest, of a connection that somebody else has made and closes."""
        made = cls.__new__(cls)
        made._have(Database.over(connection))  # noqa: SLF001 - its own
        return made

    def _have(self, db: Database) -> None:
        self._db = db
        self.streams, self.cohorts, self.rates = StoredStreams(db), Cohorts(db), Rates(db)

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    # Queries

    def names(self) -> set[str]:
        """The queries that have been entered and not removed."""
        return {name for (name,) in self._db.rows("SELECT name FROM query")}

    def definition(self, query: str) -> dict[str, Any] | None:
        """With what a query was entered; None if it is not known."""
        found = self._db.rows("SELECT definition FROM query WHERE name = ?", query)
        return json.loads(found[0][0]) if found else None

    def enter(self, query: str, definition: Mapping[str, Any], begin: Progress) -> Progress:
        """Enter a query if it is new, at the progress to begin with; give the progress it has."""
        return self.enter_many([(query, definition, begin)])[query]

    def enter_many(
        self, entries: Sequence[Entry], instances: Mapping[str, str] = MappingProxyType({})
    ) -> dict[str, Progress]:
        """Enter those that are new, all or none, as these instances; give the progress that each has."""
        names = [query for query, _, _ in entries]
        with self._db.transaction() as db:
            statement = "SELECT name FROM query WHERE name IN (SELECT value FROM json_each(?))"
            known = {name for (name,) in db.execute(statement, (listed(names),))}
            new = [entry for entry in entries if entry[0] not in known]
            db.executemany(
                "INSERT INTO query"
                " (name, definition, instance, receipt, run, closed, low, results, tuples, late, shed)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (query, json.dumps(definition), instances.get(query, ""), *_begun(begin))
                    for query, definition, begin in new
                ),
            )
            db.executemany(
                "INSERT INTO cursor VALUES (?, ?, ?)",
                ((query, stream, at) for query, _, begin in new for stream, at in begin.cursors.items()),
            )
            db.executemany(
                "INSERT INTO pane VALUES (?, ?, ?)",
                ((query, run, json.dumps(at)) for query, _, begin in new for run, at in begin.panes.items()),
            )
            return self.progress_of(names)

    def instances(self, queries: Sequence[str]) -> dict[str, str]:
        """As which instances queries were entered."""
        statement = "SELECT name, instance FROM query WHERE name IN (SELECT value FROM json_each(?))"
        return dict(self._db.rows(statement, listed(queries)))

    def progress(self, query: str) -> Progress:
        """How far a query has come."""
        return self.progress_of([query])[query]

    def progress_of(self, queries: Sequence[str]) -> dict[str, Progress]:
        """How far each of these queries has come; those of a cohort as far as the cohort."""
        chosen = listed(queries)
        with self._db.lock:
            rows = self._db.rows(
                "SELECT name, run, closed, low, receipt, results, q.tuples + ifnull(c.tuples, 0), late,"
                " q.shed + ifnull(c.shed, 0), c.stream, c.position"
                " FROM query q LEFT JOIN cohort c ON c.id = q.cohort WHERE name IN (SELECT value FROM json_each(?))",
                chosen,
            )
            cursors: dict[str, dict[str, int]] = {row[0]: {} for row in rows}
            statement = "SELECT query, stream, position FROM cursor WHERE query IN (SELECT value FROM json_each(?))"
            for query, stream, at in self._db.rows(statement, chosen):
                cursors[query][stream] = at
            panes: dict[str, dict[int, tuple[int, ...]]] = {}
            statement = "SELECT query, run, starts FROM pane WHERE query IN (SELECT value FROM json_each(?))"
            for query, run, starts in self._db.rows(statement, chosen):
                panes.setdefault(query, {})[run] = tuple(json.loads(starts))
        found = {}
        for query, run, closed, low, receipt, results, tuples, late, shed, stream, position in rows:
            if stream is not None:
                cursors[query][stream] = position
            given = json.loads(receipt) if receipt else None
            found[query] = Progress(
                run, cursors[query], closed, low, panes.get(query, {}), given, results, tuples, late, shed
            )
        return found

    def committed(self) -> dict[str, tuple[str, Progress]]:
        """As which instance each query was entered, and how far it has come: all of one moment."""
        with self._db.lock:
            names = sorted(self.names())
            instances, progress = self.instances(names), self.progress_of(names)
        return {name: (instances[name], progress[name]) for name in names}

    def commit(
        self,
        runs: Sequence[tuple[str, Progress, Progress]],
        cohort: Moved | None = None,
        shared: Mapping[str, Mapping[str, Any]] | None = None,
        counted: Mapping[str, int] | None = None,
    ) -> None:
        """Commit what a job did, all or nothing.

        For each query that has something of its own: from one progress to the next. For a cohort: where all its
        members are now. For sinks that queries share: their receipts, and how many results in them are new, by query.
        """
        # What a member of a cohort has of its own are mostly results, and all of these are one statement: between two
        # statements other threads would have their turn, for longer than the statements take.
        written = {query: new for query, old, new in runs if cohort is not None and _only_results(old, new)}
        with self._db.transaction() as db:
            if written:
                _write_results(db, written)
            for query, old, new in runs:
                if query not in written:
                    _move(db, query, old, new)
            if cohort is not None:
                move_cohort(db, cohort)
            for name, receipt in (shared or {}).items():
                db.execute("INSERT OR REPLACE INTO shared VALUES (?, ?)", (name, json.dumps(receipt)))
            if counted:
                db.execute(
                    "UPDATE query SET run = run + 1, results = results + new.value"
                    " FROM json_each(?) AS new WHERE name = new.key",
                    (json.dumps(counted),),
                )

    def remove(self, query: str) -> None:
        """Forget a query."""
        with self._db.transaction() as db:
            for table, key in (
                ("query", "name"),
                ("cursor", "query"),
                ("pane", "query"),
                ("thinned", "owner"),
                ("iteration", "query"),
                ("reading", "query"),
            ):
                db.execute(f"DELETE FROM {table} WHERE {key} = ?", (query,))  # noqa: S608 - names from above
            drop_empty_cohorts(db)

    # Windows with a deadline

    def open_iteration(self, query: str, end: int, kept: float) -> None:
        """Note that a query keeps such a share of the window that ends then, before it reads it."""
        with self._db.transaction() as db:
            db.execute("INSERT OR REPLACE INTO iteration VALUES (?, ?, ?)", (query, end, kept))

    def iteration(self, query: str) -> tuple[int, float] | None:
        """The last window that was noted so of a query: its end, and the share that is kept."""
        found = self._db.rows("SELECT closes, kept FROM iteration WHERE query = ?", query)
        return (int(found[0][0]), float(found[0][1])) if found else None

    # Snapshots of reference tables

    def read(self, snapshots: Mapping[str, tuple[int, Sequence[str]]]) -> None:
        """Note with which snapshot of a table queries join from now on, by table."""
        with self._db.transaction() as db:
            for table, (snapshot, queries) in snapshots.items():
                statement = "INSERT OR REPLACE INTO reading SELECT value, ?, ? FROM json_each(?)"
                db.execute(statement, (table, snapshot, listed(queries)))

    def reading(self, queries: Sequence[str]) -> dict[str, dict[str, int]]:
        """The snapshots that queries join with, by query and table."""
        statement = "SELECT query, name, snapshot FROM reading WHERE query IN (SELECT value FROM json_each(?))"
        found: dict[str, dict[str, int]] = {}
        for query, table, snapshot in self._db.rows(statement, listed(queries)):
            found.setdefault(query, {})[table] = snapshot
        return found

    def snapshots(self, table: str) -> set[int]:
        """The snapshots of a table with which some query joins."""
        rows = self._db.rows("SELECT DISTINCT snapshot FROM reading WHERE name = ?", table)
        return {snapshot for (snapshot,) in rows}

    # Sinks that several queries share

    def shared(self, name: str) -> dict[str, Any] | None:
        """The last committed receipt of a shared sink."""
        found = self._db.rows("SELECT receipt FROM shared WHERE name = ?", name)
        return json.loads(found[0][0]) if found else None

    # How the engine ended

    def left_in_order(self) -> bool:
        """Whether the last engine came to its end; from now on it has not, until it says so."""
        with self._db.transaction() as db:
            found = db.execute("SELECT value FROM meta WHERE key = 'closed'").fetchone()
            new = not db.execute("SELECT 1 FROM query LIMIT 1").fetchone()
            db.execute("INSERT OR REPLACE INTO meta VALUES ('closed', '0')")
        return new or (found is not None and found[0] == "1")

    def leave_in_order(self) -> None:
        """Note that nothing is under way any more."""
        with self._db.transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('closed', '1')")


_COLUMNS = {name: f"{name} = ?" for name in ("run", "closed", "low", "receipt", "results", "late")} | {
    # Those of a member are counted by its cohort.
    name: f"{name} = CASE WHEN cohort IS NULL THEN ? ELSE {name} END"
    for name in ("tuples", "shed")
}


def _only_results(old: Progress, new: Progress) -> bool:
    """Whether only results have come, in a run that is not the query's own alone."""
    before = (old.cursors, old.closed, old.low, old.panes, old.late)
    return before == (new.cursors, new.closed, new.low, new.panes, new.late)


def _write_results(db: sqlite3.Connection, moved: Mapping[str, Progress]) -> None:
    values = {query: (new.run, new.results, json.dumps(new.receipt)) for query, new in moved.items()}
    db.execute(
        "UPDATE query SET run = json_extract(new.value, '$[0]'), results = json_extract(new.value, '$[1]'),"
        " receipt = json_extract(new.value, '$[2]') FROM json_each(?) AS new WHERE name = new.key",
        (json.dumps(values),),
    )


def _move(db: sqlite3.Connection, query: str, old: Progress, new: Progress) -> None:
    changed = [name for name in _COLUMNS if getattr(old, name) != getattr(new, name)]
    if changed:
        values = [json.dumps(new.receipt) if name == "receipt" else getattr(new, name) for name in changed]
        sets = ", ".join(_COLUMNS[name] for name in changed)
        db.execute(f"UPDATE query SET {sets} WHERE name = ?", (*values, query))  # noqa: S608 - columns from above
    for stream, at in new.cursors.items():
        if old.cursors.get(stream) != at:
            db.execute("UPDATE cursor SET position = ? WHERE query = ? AND stream = ?", (at, query, stream))
    for run, starts in new.panes.items():
        if run not in old.panes:
            db.execute("INSERT INTO pane VALUES (?, ?, ?)", (query, run, json.dumps(starts)))
    for run in old.panes:
        if run not in new.panes:
            db.execute("DELETE FROM pane WHERE query = ? AND run = ?", (query, run))


def _begun(begin: Progress) -> tuple[Any, ...]:
    receipt = None if begin.receipt is None else json.dumps(begin.receipt)
    counts = begin.results, begin.tuples, begin.late, begin.shed
    return receipt, begin.run, begin.closed, begin.low, *counts
