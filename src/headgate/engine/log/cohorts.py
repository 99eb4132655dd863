"""Cohorts: queries over one stream that stand at the same tuple and move along together, by one row for all."""

import sqlite3
from collections.abc import Sequence

from headgate.engine.log.database import Database, listed
from headgate.engine.log.progress import Moved


class Cohorts:
    """The cohorts of a manifest. Each call is one transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def join(self, stream: str, position: int, queries: Sequence[str], cohort: int | None = None) -> int:
        """Let queries that stand at a position of a stream move along together; gives the id of their cohort.

        Without the id of one that is there, a new cohort is made. Who is in another cohort leaves it.
        """
        with self._db.transaction() as db:
            _settle(db, queries)
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
                (stream, position, listed(queries)),
            ).fetchone()
            if found is None or found[:2] != (stream, position) or there != len(queries):
                # Tuples would be skipped or read twice.
                msg = f"not all of {len(queries)} queries and cohort {cohort} are at {position} of stream {stream}"
                raise ValueError(msg)
            # What a member has passed is the sum of its own numbers and the cohort's.
            db.execute(
                "UPDATE query SET cohort = ?, tuples = tuples - ?, shed = shed - ?"
                " WHERE name IN (SELECT value FROM json_each(?))",
                (cohort, *found[2:], listed(queries)),
            )
            db.execute("DELETE FROM thinned WHERE owner IN (SELECT value FROM json_each(?))", (listed(queries),))
            drop_empty_cohorts(db)
        return cohort

    def leave(self, queries: Sequence[str]) -> None:
        """Let queries go on by themselves from where their cohorts are."""
        with self._db.transaction() as db:
            _settle(db, queries)
            drop_empty_cohorts(db)

    def members(self) -> dict[int, list[str]]:
        """The members of each cohort."""
        found: dict[int, list[str]] = {}
        for cohort, query in self._db.rows("SELECT cohort, name FROM query WHERE cohort IS NOT NULL"):
            found.setdefault(cohort, []).append(query)
        return found


def move_cohort(db: sqlite3.Connection, moved: Moved) -> None:
    """Note where a cohort is now, within a transaction."""
    statement = "UPDATE cohort SET position = ?, tuples = tuples + ?, shed = shed + ? WHERE id = ?"
    if not db.execute(statement, (moved.position, *moved.passed, moved.cohort)).rowcount:
        msg = f"there is no cohort {moved.cohort}"
        raise LookupError(msg)


def drop_empty_cohorts(db: sqlite3.Connection) -> None:
    """Forget cohorts that have no members, within a transaction."""
    db.execute("DELETE FROM cohort WHERE NOT EXISTS (SELECT 1 FROM query WHERE query.cohort = cohort.id)")
    db.execute("DELETE FROM thinned WHERE owner LIKE '#%' AND substr(owner, 2) NOT IN (SELECT id FROM cohort)")


def _settle(db: sqlite3.Connection, queries: Sequence[str]) -> None:
    """Give members their cohort's position, numbers and drop rates as their own."""
    chosen = (listed(queries),)
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
