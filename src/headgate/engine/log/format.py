"""The format of the manifest: its tables, and how one of an older version is brought up to date."""

import sqlite3
from pathlib import Path

from headgate.errors import InputError

VERSION = 5
_APPLICATION = 0x48474154
"""What SQLite keeps in the head of a database, so that one can tell whose it is."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    """CREATE TABLE IF NOT EXISTS stream (
        name TEXT PRIMARY KEY, definition TEXT, state TEXT,
        ended INTEGER NOT NULL DEFAULT 0, late INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS train (
        stream TEXT, seq INTEGER, first INTEGER, count INTEGER, bytes INTEGER,
        arrived_first INTEGER, arrived_last INTEGER, arrived_sum REAL,
        event_first INTEGER, event_last INTEGER,
        event_before INTEGER, event_after INTEGER, arrival_before INTEGER, arrival_after INTEGER,
        PRIMARY KEY (stream, seq)
    ) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS rejected (
        stream TEXT, reason TEXT, count INTEGER, PRIMARY KEY (stream, reason)
    ) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS query (
        name TEXT PRIMARY KEY, definition TEXT, run INTEGER NOT NULL DEFAULT 0,
        closed INTEGER NOT NULL, low INTEGER NOT NULL, receipt TEXT,
        results INTEGER NOT NULL DEFAULT 0, tuples INTEGER NOT NULL DEFAULT 0, late INTEGER NOT NULL DEFAULT 0,
        cohort INTEGER, shed INTEGER NOT NULL DEFAULT 0, instance TEXT NOT NULL DEFAULT ''
    ) WITHOUT ROWID""",
    # Holds the names too, so that they are listed without reading a definition.
    "CREATE INDEX IF NOT EXISTS member ON query (cohort)",
    """CREATE TABLE IF NOT EXISTS cohort (
        id INTEGER PRIMARY KEY, stream TEXT, position INTEGER, tuples INTEGER, shed INTEGER NOT NULL DEFAULT 0
    )""",
    # The owner is a query, or #id for a cohort.
    """CREATE TABLE IF NOT EXISTS thinned (
        owner TEXT, stream TEXT, first INTEGER, percent INTEGER, how TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (owner, stream, first)
    ) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS letter (
        class TEXT, stream TEXT, low INTEGER, high INTEGER, percent INTEGER, how TEXT NOT NULL DEFAULT ''
    )""",
    """CREATE TABLE IF NOT EXISTS cursor (
        query TEXT, stream TEXT, position INTEGER, PRIMARY KEY (query, stream)
    ) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS pane (
        query TEXT, run INTEGER, starts TEXT, PRIMARY KEY (query, run)
    ) WITHOUT ROWID""",
    "CREATE TABLE IF NOT EXISTS iteration (query TEXT PRIMARY KEY, closes INTEGER, kept REAL) WITHOUT ROWID",
    # The snapshot of a table that a query joins with.
    """CREATE TABLE IF NOT EXISTS reading (
        query TEXT, name TEXT, snapshot INTEGER, PRIMARY KEY (query, name)
    ) WITHOUT ROWID""",
    "CREATE TABLE IF NOT EXISTS shared (name TEXT PRIMARY KEY, receipt TEXT) WITHOUT ROWID",
)

_CHANGES = {
    1: (
        "ALTER TABLE query ADD COLUMN cohort INTEGER",
        "CREATE TABLE cohort (id INTEGER PRIMARY KEY, stream TEXT, position INTEGER, tuples INTEGER)",
    ),
    2: (
        "ALTER TABLE query ADD COLUMN shed INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE cohort ADD COLUMN shed INTEGER NOT NULL DEFAULT 0",
        """CREATE TABLE IF NOT EXISTS thinned (
            owner TEXT, stream TEXT, first INTEGER, percent INTEGER, PRIMARY KEY (owner, stream, first)
        ) WITHOUT ROWID""",
        "CREATE TABLE IF NOT EXISTS letter (class TEXT, stream TEXT, low INTEGER, high INTEGER, percent INTEGER)",
    ),
    3: (
        "ALTER TABLE thinned ADD COLUMN how TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE letter ADD COLUMN how TEXT NOT NULL DEFAULT ''",
    ),
    4: ("ALTER TABLE query ADD COLUMN instance TEXT NOT NULL DEFAULT ''",),
}
"""What a manifest of a version lacks to be one of the next, apart from whole tables that stayed as they are."""


def check_owner(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a database of something else, before anything is written to it."""
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (owner,) = db.execute("PRAGMA application_id").fetchone()
    if tables and owner != _APPLICATION:
        rule, remedy = "a state folder has a manifest of Headgate's", "Name another folder."
        raise InputError(rule, f"{path}, a database of something else", remedy)
    db.execute(f"PRAGMA application_id={_APPLICATION}")


def bring_up_to_date(db: sqlite3.Connection, path: Path) -> None:
    """Make the tables that are not there, within a transaction. A manifest of a later version is refused."""
    found = _version(db)
    if found > VERSION:
        remedy = "Use the version of Headgate that wrote it, or begin in another folder."
        raise InputError(f"{path} has the format of version {VERSION} or before", f"version {found}", remedy)
    for version in range(found, VERSION):
        for statement in _CHANGES[version]:
            db.execute(statement)
    for statement in _TABLES:
        db.execute(statement)
    db.execute("INSERT OR REPLACE INTO meta VALUES ('version', ?)", (VERSION,))


def check_version(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a manifest of another version than this one, for who may not bring it up to date."""
    if (found := _version(db)) != VERSION:
        remedy = "Use one version of Headgate for all engines."
        raise InputError(f"{path} has the format of version {VERSION}", f"version {found}", remedy)


def _version(db: sqlite3.Connection) -> int:
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
        return VERSION
    return int(db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()[0])
