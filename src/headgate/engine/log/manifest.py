"""The manifest: what has been committed, in one SQLite database.

Everything that has to happen together is one transaction: a train with the state of its source; a run with its
cursors, its panes and the receipt of its sink. Files are written before the row that names them, so a crash leaves at
most files that no row names. In WAL mode a commit outlives the process at once, and the machine too if it is synced.
"""

import fcntl
import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import IO, Any, NamedTuple, Self

import pyarrow as pa

from headgate.engine.log.format import bring_up_to_date, check_owner, check_version
from headgate.engine.windows import NEVER
from headgate.errors import InputError
from headgate.shed.droppers import Drop

Entry = tuple[str, Mapping[str, Any], "Progress"]
"""A query to enter: its name, its definition, and the progress to begin with."""


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


class Appended(NamedTuple):
    """What a train brings with it: the state of its source behind it, and what was counted on the way to it."""

    train: StoredTrain | None
    state: Mapping[str, Any] | None = None
    late: int = 0
    rejected: Mapping[str, int] = MappingProxyType({})
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a query has come: everything that a restart needs, and what has been counted on the way.

    `closed` is the end of the last window that was closed, `low` the time before which no tuple is needed any more.
    Of the `tuples` that it has passed, so many were `shed`.
    `fresh` are partial results that have no file yet; only in memory.
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
    shed: int = 0
    fresh: tuple[pa.Table, ...] = field(default=(), compare=False)


class Passed(NamedTuple):
    """Tuples that were passed, and how many of them were shed."""

    tuples: int = 0
    shed: int = 0

    def plus(self, other: "Passed") -> "Passed":
        """Both together."""
        return Passed(self.tuples + other.tuples, self.shed + other.shed)

    def minus(self, other: "Passed") -> "Passed":
        """What there is more than before."""
        return Passed(self.tuples - other.tuples, self.shed - other.shed)


@dataclass(frozen=True, slots=True)
class Moved:
    """How far a cohort has come, and what it has passed since it was written down."""

    cohort: int
    position: int
    passed: Passed


class Manifest:
    """The database. Any thread may call it; each call is one transaction.

    Unless it is to be `alone`, other processes can `peek` at it at any time, whatever this one is in the middle of.
    """

    def __init__(self, path: Path, *, sync: bool = False, alone: bool = True) -> None:
        self._lock = threading.RLock()
        # Two engines on one state folder would each repeat what the other does.
        self._owner = None if alone else _owned(path.parent)
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            if alone:
                self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
            check_owner(self._db, path)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute(f"PRAGMA synchronous={'FULL' if sync else 'NORMAL'}")
            with self._transaction() as db:
                bring_up_to_date(db, path)
        except InputError:
            self.close()
            raise
        except sqlite3.OperationalError as error:
            self.close()
            remedy = "Stop the other one, or give this one a folder of its own."
            if "locked" not in str(error):
                remedy = "See that the folder can be written to and that the disk is not full."
            raise InputError("a state folder has one engine at a time", f"{path.parent} ({error})", remedy) from None
        except sqlite3.DatabaseError as error:
            self.close()
            remedy = "Name another folder, or mend the file."
            raise InputError("a state folder has a manifest of Headgate's", f"{path} ({error})", remedy) from None

    @classmethod
    def over(cls, db: sqlite3.Connection) -> Self:
        """What can be asked of a manifest, of a connection that somebody else has made and closes."""
        made = cls.__new__(cls)
        made._lock, made._owner, made._db = threading.RLock(), None, db  # noqa: SLF001 - its own
        return made

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._db.close()
            if self._owner:
                self._owner.close()

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
        self.append_many(stream, [Appended(train, state, late, rejected or {}, ended)])

    def append_many(self, stream: str, some: Sequence[Appended], before: int | None = None) -> None:
        """Commit trains together. Those that are there before a sequence number go, if there is one."""
        with self._transaction() as db:
            if before is not None:
                db.execute("DELETE FROM train WHERE stream = ? AND seq < ?", (stream, before))
            for train, state, late, rejected, ended in some:
                if train is not None:
                    db.execute(
                        f"INSERT INTO train VALUES ({', '.join('?' * 14)})",  # noqa: S608 - question marks only
                        (stream, *(getattr(train, name) for name in StoredTrain.__slots__)),
                    )
                if state is not None:
                    db.execute("UPDATE stream SET state = ? WHERE name = ?", (json.dumps(state), stream))
                if late or ended:
                    db.execute("UPDATE stream SET late = late + ?, ended = ? WHERE name = ?", (late, ended, stream))
                for reason, count in rejected.items():
                    db.execute(
                        "INSERT INTO rejected VALUES (?, ?, ?)"
                        " ON CONFLICT DO UPDATE SET count = count + excluded.count",
                        (stream, reason, count),
                    )

    def drop_trains(self, stream: str, before: int) -> None:
        """Forget the trains before a sequence number."""
        self.append_many(stream, [], before)

    def forget_stream(self, stream: str) -> None:
        """Forget the trains of a stream, where its source stands and what was counted."""
        with self._transaction() as db:
            db.execute("DELETE FROM train WHERE stream = ?", (stream,))
            db.execute("DELETE FROM rejected WHERE stream = ?", (stream,))
            db.execute("UPDATE stream SET state = NULL, ended = 0, late = 0 WHERE name = ?", (stream,))

    def remove_stream(self, stream: str) -> None:
        """Forget all of a stream, so that it can begin with other columns."""
        self.forget_stream(stream)
        with self._transaction() as db:
            db.execute("DELETE FROM stream WHERE name = ?", (stream,))

    # Queries

    def names(self) -> set[str]:
        """The queries that have been entered and not removed."""
        with self._lock:
            return {name for (name,) in self._db.execute("SELECT name FROM query")}

    def definition(self, query: str) -> dict[str, Any] | None:
        """With what a query was entered; None if it is not known."""
        with self._lock:
            found = self._db.execute("SELECT definition FROM query WHERE name = ?", (query,)).fetchone()
        return json.loads(found[0]) if found else None

    def enter(self, query: str, definition: Mapping[str, Any], begin: Progress) -> Progress:
        """Enter a query if it is new, at the progress to begin with; give the progress it has."""
        return self.enter_many([(query, definition, begin)])[query]

    def enter_many(
        self, entries: Sequence[Entry], instances: Mapping[str, str] = MappingProxyType({})
    ) -> dict[str, Progress]:
        """Enter those that are new, all or none, as these instances; give the progress that each has."""
        names = [query for query, _, _ in entries]
        with self._transaction() as db:
            statement = "SELECT name FROM query WHERE name IN (SELECT value FROM json_each(?))"
            known = {name for (name,) in db.execute(statement, (_list(names),))}
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
        with self._lock:
            return dict(self._db.execute(statement, (_list(queries),)).fetchall())

    def progress(self, query: str) -> Progress:
        """How far a query has come."""
        return self.progress_of([query])[query]

    def progress_of(self, queries: Sequence[str]) -> dict[str, Progress]:
        """How far each of these queries has come; those of a cohort as far as the cohort."""
        chosen = (_list(queries),)
        with self._lock:
            rows = self._db.execute(
                "SELECT name, run, closed, low, receipt, results, q.tuples + ifnull(c.tuples, 0), late,"
                " q.shed + ifnull(c.shed, 0), c.stream, c.position"
                " FROM query q LEFT JOIN cohort c ON c.id = q.cohort WHERE name IN (SELECT value FROM json_each(?))",
                chosen,
            ).fetchall()
            cursors: dict[str, dict[str, int]] = {row[0]: {} for row in rows}
            statement = "SELECT query, stream, position FROM cursor WHERE query IN (SELECT value FROM json_each(?))"
            for query, stream, at in self._db.execute(statement, chosen):
                cursors[query][stream] = at
            panes: dict[str, dict[int, tuple[int, ...]]] = {}
            statement = "SELECT query, run, starts FROM pane WHERE query IN (SELECT value FROM json_each(?))"
            for query, run, starts in self._db.execute(statement, chosen):
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

    def commit(
        self,
        runs: Sequence[tuple[str, Progress, Progress]],
        cohort: "Moved | None" = None,
        shared: Mapping[str, Mapping[str, Any]] | None = None,
        counted: Mapping[str, int] | None = None,
    ) -> None:
        """Commit what a job did, all or nothing.

        For each query that has something of its own: from one progress to the next. For a cohort: where all its
        members are now. For sinks that queries share: their receipts, and
        how many results in them are new, by query.
        """
        # What a member of a cohort has of its own are mostly results, and all of these are one statement: between two
        # statements other threads would have their turn, for longer than the statements take.
        written = {query: new for query, old, new in runs if cohort is not None and _only_results(old, new)}
        with self._transaction() as db:
            if written:
                self._write_results(db, written)
            for query, old, new in runs:
                if query not in written:
                    self._move(db, query, old, new)
            if cohort is not None:
                self._move_cohort(db, cohort)
            for name, receipt in (shared or {}).items():
                db.execute("INSERT OR REPLACE INTO shared VALUES (?, ?)", (name, json.dumps(receipt)))
            if counted:
                db.execute(
                    "UPDATE query SET run = run + 1, results = results + new.value"
                    " FROM json_each(?) AS new WHERE name = new.key",
                    (json.dumps(counted),),
                )

    @staticmethod
    def _write_results(db: sqlite3.Connection, moved: Mapping[str, Progress]) -> None:
        values = {query: (new.run, new.results, json.dumps(new.receipt)) for query, new in moved.items()}
        db.execute(
            "UPDATE query SET run = json_extract(new.value, '$[0]'), results = json_extract(new.value, '$[1]'),"
            " receipt = json_extract(new.value, '$[2]') FROM json_each(?) AS new WHERE name = new.key",
            (json.dumps(values),),
        )

    @staticmethod
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

    @staticmethod
    def _move_cohort(db: sqlite3.Connection, moved: "Moved") -> None:
        statement = "UPDATE cohort SET position = ?, tuples = tuples + ?, shed = shed + ? WHERE id = ?"
        if not db.execute(statement, (moved.position, *moved.passed, moved.cohort)).rowcount:
            msg = f"there is no cohort {moved.cohort}"
            raise LookupError(msg)

    def remove(self, query: str) -> None:
        """Forget a query."""
        with self._transaction() as db:
            for table, key in (
                ("query", "name"),
                ("cursor", "query"),
                ("pane", "query"),
                ("thinned", "owner"),
                ("iteration", "query"),
                ("reading", "query"),
            ):
                db.execute(f"DELETE FROM {table} WHERE {key} = ?", (query,))  # noqa: S608 - names from above
            self._drop_empty(db)

    # Cohorts: queries over one stream that stand at the same tuple and move along together, by one row for all

    def join(self, stream: str, position: int, queries: Sequence[str], cohort: int | None = None) -> int:
        """Let queries that stand at a position of a stream move along together; gives the id of their cohort.

        Without the id of one that is there, a new cohort is made. Who is in another cohort leaves it.
        """
        with self._transaction() as db:
            self._settle(db, queries)
            if cohort is None:
                made = db.execute(
                    "INSERT INTO cohort (stream, position, tuples) VALUES (?, ?, 0)", (stream, position)
                )
                cohort = int(made.lastrowid or 0)
                # Those of all are the same from here on.
                db.execute(
                    "INSERT INTO thinned SELECT ?, stream, first, percent, how FROM thinned WHERE owner = ?",
                    (f"#{cohort}", queries[0]),
                )
            found = db.execute("SELECT stream, position, tuples, shed FROM cohort WHERE id = ?", (cohort,)).fetchone()
            (there,) = db.execute(
                "SELECT count(*) FROM cursor"
                " WHERE stream = ? AND position = ? AND query IN (SELECT value FROM json_each(?))",
                (stream, position, _list(queries)),
            ).fetchone()
            if found is None or found[:2] != (stream, position) or there != len(queries):
                # Tuples would be skipped or read twice.
                msg = f"not all of {len(queries)} queries and cohort {cohort} are at {position} of stream {stream}"
                raise ValueError(msg)
            # What a member has passed is the sum of its own numbers and the cohort's.
            db.execute(
                "UPDATE query SET cohort = ?, tuples = tuples - ?, shed = shed - ?"
                " WHERE name IN (SELECT value FROM json_each(?))",
                (cohort, *found[2:], _list(queries)),
            )
            db.execute("DELETE FROM thinned WHERE owner IN (SELECT value FROM json_each(?))", (_list(queries),))
            self._drop_empty(db)
        return cohort

    def leave(self, queries: Sequence[str]) -> None:
        """Let queries go on by themselves from where their cohorts are."""
        with self._transaction() as db:
            self._settle(db, queries)
            self._drop_empty(db)

    def cohorts(self) -> dict[int, list[str]]:
        """The members of each cohort."""
        found: dict[int, list[str]] = {}
        with self._lock:
            for cohort, query in self._db.execute("SELECT cohort, name FROM query WHERE cohort IS NOT NULL"):
                found.setdefault(cohort, []).append(query)
        return found

    @staticmethod
    def _settle(db: sqlite3.Connection, queries: Sequence[str]) -> None:
        """Give members their cohort's position, numbers and drop rates as their own."""
        chosen = (_list(queries),)
        db.execute(
            "INSERT OR REPLACE INTO thinned SELECT q.name, t.stream, t.first, t.percent, t.how"
            " FROM thinned t JOIN query q ON t.owner = '#' || q.cohort"
            " WHERE q.name IN (SELECT value FROM json_each(?))",
            chosen,
        )
        db.execute(
            "UPDATE cursor SET position = c.position FROM query q JOIN cohort c ON c.id = q.cohort"
            " WHERE q.name = cursor.query AND c.stream = cursor.stream"
            " AND q.name IN (SELECT value FROM json_each(?))",
            chosen,
        )
        db.execute(
            "UPDATE query SET tuples = query.tuples + c.tuples, shed = query.shed + c.shed, cohort = NULL"
            " FROM cohort c"
            " WHERE c.id = query.cohort AND name IN (SELECT value FROM json_each(?))",
            chosen,
        )

    @staticmethod
    def _drop_empty(db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM cohort WHERE NOT EXISTS (SELECT 1 FROM query WHERE query.cohort = cohort.id)")
        db.execute("DELETE FROM thinned WHERE owner LIKE '#%' AND substr(owner, 2) NOT IN (SELECT id FROM cohort)")

    # Drop rates

    def thin(self, owner: str, stream: str, first: int, drop: Drop) -> None:
        """Note that a query, or a cohort by its name, drops so much of a stream from a position on."""
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO thinned VALUES (?, ?, ?, ?, ?)", (owner, stream, first, *drop))

    def thinned(self, queries: Sequence[str]) -> dict[str, dict[str, list[tuple[int, Drop]]]]:
        """The drop rates of queries, or of their cohorts, by query and stream: each from a position on."""
        statement = (
            "SELECT q.name, t.stream, t.first, t.percent, t.how FROM query q JOIN thinned t"
            " ON t.owner = ifnull('#' || q.cohort, q.name) WHERE q.name IN (SELECT value FROM json_each(?))"
        )
        found: dict[str, dict[str, list[tuple[int, Drop]]]] = {}
        with self._lock:
            for query, stream, first, *drop in self._db.execute(statement, (_list(queries),)):
                found.setdefault(query, {}).setdefault(stream, []).append((first, Drop(*drop)))
        return found

    def forget_rates(self, owner: str, stream: str, before: int) -> None:
        """Forget the drop rates of positions that nobody reads again."""
        with self._transaction() as db:
            db.execute("DELETE FROM thinned WHERE owner = ? AND stream = ? AND first < ?", (owner, stream, before))

    def note_shed(self, cls: str, stream: str, low: int, high: int, drop: Drop) -> None:
        """Note that a class drops so much between two positions, and wants to have it elsewhere."""
        with self._transaction() as db:
            db.execute("INSERT INTO letter VALUES (?, ?, ?, ?, ?, ?)", (cls, stream, low, high, *drop))

    def shed_before(self, stream: str, position: int) -> list[tuple[str, int, int, Drop]]:
        """What was noted so of positions before one: class, from, to, and what of them is dropped."""
        statement = "SELECT DISTINCT class, low, high, percent, how FROM letter WHERE stream = ? AND low < ?"
        with self._lock:
            found = self._db.execute(statement, (stream, position)).fetchall()
        return [(cls, low, high, Drop(*drop)) for cls, low, high, *drop in found]

    def forget_shed(self, stream: str, before: int) -> None:
        """Forget what was noted so of positions before one."""
        with self._transaction() as db:
            db.execute("DELETE FROM letter WHERE stream = ? AND high <= ?", (stream, before))

    def open_iteration(self, query: str, end: int, kept: float) -> None:
        """Note that a query keeps such a share of the window that ends then, before it reads it."""
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO iteration VALUES (?, ?, ?)", (query, end, kept))

    def iteration(self, query: str) -> tuple[int, float] | None:
        """The last window that was noted so of a query: its end, and the share that is kept."""
        with self._lock:
            found = self._db.execute("SELECT closes, kept FROM iteration WHERE query = ?", (query,)).fetchone()
        return (int(found[0]), float(found[1])) if found else None

    # Snapshots of reference tables

    def read(self, snapshots: Mapping[str, tuple[int, Sequence[str]]]) -> None:
        """Note with which snapshot of a table queries join from now on, by table."""
        with self._transaction() as db:
            for table, (snapshot, queries) in snapshots.items():
                statement = "INSERT OR REPLACE INTO reading SELECT value, ?, ? FROM json_each(?)"
                db.execute(statement, (table, snapshot, _list(queries)))

    def reading(self, queries: Sequence[str]) -> dict[str, dict[str, int]]:
        """The snapshots that queries join with, by query and table."""
        statement = "SELECT query, name, snapshot FROM reading WHERE query IN (SELECT value FROM json_each(?))"
        found: dict[str, dict[str, int]] = {}
        with self._lock:
            for query, table, snapshot in self._db.execute(statement, (_list(queries),)):
                found.setdefault(query, {})[table] = snapshot
        return found

    def snapshots(self, table: str) -> set[int]:
        """The snapshots of a table with which some query joins."""
        with self._lock:
            rows = self._db.execute("SELECT DISTINCT snapshot FROM reading WHERE name = ?", (table,)).fetchall()
        return {snapshot for (snapshot,) in rows}

    def left_in_order(self) -> bool:
        """Whether the last engine came to its end; from now on it has not, until it says so."""
        with self._transaction() as db:
            found = db.execute("SELECT value FROM meta WHERE key = 'closed'").fetchone()
            new = not db.execute("SELECT 1 FROM query LIMIT 1").fetchone()
            db.execute("INSERT OR REPLACE INTO meta VALUES ('closed', '0')")
        return new or (found is not None and found[0] == "1")

    def leave_in_order(self) -> None:
        """Note that nothing is under way any more."""
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('closed', '1')")

    # Sinks that several queries share

    def shared(self, name: str) -> dict[str, Any] | None:
        """The last committed receipt of a shared sink."""
        with self._lock:
            found = self._db.execute("SELECT receipt FROM shared WHERE name = ?", (name,)).fetchone()
        return json.loads(found[0]) if found else None

    def _peeked(self) -> "Peeked":
        names = sorted(self.names())
        receipts = self._db.execute("SELECT name, receipt FROM shared").fetchall()
        return Peeked(
            {name: self.definition(name) or {} for name in names},
            self.progress_of(names),
            self.instances(names),
            self.thinned(names),
            {name: found for name in names if (found := self.iteration(name))},
            {name: json.loads(receipt) for name, receipt in receipts},
        )


@dataclass(frozen=True, slots=True)
class Peeked:
    """What a manifest holds of all its queries, as somebody else sees it: all of one moment.

    `rates` are drop rates by query and stream, each from a position on; `iterations` the windows with a deadline that
    were begun last, and the share of them that is kept; `shared` the receipts of sinks that queries share.
    """

    definitions: Mapping[str, Mapping[str, Any]]
    progress: Mapping[str, Progress]
    instances: Mapping[str, str]
    rates: Mapping[str, Mapping[str, Sequence[tuple[int, Drop]]]]
    iterations: Mapping[str, tuple[int, float]]
    shared: Mapping[str, Mapping[str, Any]]


def peek(path: Path) -> Peeked:
    """Look into the manifest of another engine, which may run, be asleep in the middle of a commit, or be dead.

    That one must not want it for itself `alone`.
    """
    try:
        try:
            return _peek(path)
        except sqlite3.OperationalError:
            # Its owner may be asleep in one of the few moments in which nobody can read. A copy is nobody's, and that
            # of a database whose owner is asleep or dead is whole.
            with TemporaryDirectory() as folder:
                for name in (path.name, f"{path.name}-wal"):
                    if (path.parent / name).exists():
                        shutil.copy(path.parent / name, folder)
                return _peek(Path(folder) / path.name)
    except (OSError, sqlite3.DatabaseError) as error:
        rule, remedy = "a manifest of an engine that shares it", "Name the state folder of a node."
        raise InputError(rule, f"{path} ({error})", remedy) from None


def _peek(path: Path) -> Peeked:
    address = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, timeout=0.5, uri=True, isolation_level=None)) as db:
        db.execute("BEGIN")
        check_version(db, path)
        return Manifest.over(db)._peeked()  # noqa: SLF001 - its own


_COLUMNS = {name: f"{name} = ?" for name in ("run", "closed", "low", "receipt", "results", "late")} | {
    # Those of a member are counted by its cohort.
    name: f"{name} = CASE WHEN cohort IS NULL THEN ? ELSE {name} END"
    for name in ("tuples", "shed")
}


def _only_results(old: Progress, new: Progress) -> bool:
    """Whether only results have come, in a run that is not the query's own alone."""
    before = (old.cursors, old.closed, old.low, old.panes, old.late)
    return before == (new.cursors, new.closed, new.low, new.panes, new.late)


def _begun(begin: Progress) -> tuple[Any, ...]:
    receipt = None if begin.receipt is None else json.dumps(begin.receipt)
    counts = begin.results, begin.tuples, begin.late, begin.shed
    return receipt, begin.run, begin.closed, begin.low, *counts


def _owned(folder: Path) -> IO[bytes]:
    """A file that says that the folder is taken, for as long as it is open."""
    try:
        file = (folder / "owner.lock").open("a+b", buffering=0)
    except OSError as error:
        remedy = "See that the folder can be written to and that the disk is not full."
        raise InputError("a state folder has one engine at a time", f"{folder} ({error})", remedy) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        remedy = "Stop the other one, or give this one a folder of its own."
        raise InputError("a state folder has one engine at a time", f"{folder}, which is taken", remedy) from None
    return file


def _list(names: Sequence[str]) -> str:
    """Names for `json_each`: one statement does for many queries."""
    return json.dumps(list(names))
