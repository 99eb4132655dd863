"""The database of a manifest: SQLite, of one engine, in the format of this version."""

import fcntl
import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Self

from headgate.engine.log.format import bring_up_to_date, check_owner
from headgate.errors import InputError


class Database:
    """A connection that any thread may use, one at a time. Unless it is `alone`, others can read meanwhile."""

    def __init__(self, path: Path, *, sync: bool = False, alone: bool = True) -> None:
        self.lock = threading.RLock()
        # Two engines on one state folder would each repeat what the other does.
        self._owner = None if alone else _owned(path.parent)
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            if alone:
                self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
            check_owner(self._db, path)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute(f"PRAGMA synchronous={'FULL' if sync else 'NORMAL'}")
            with self.transaction() as db:
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
        """A connection that somebody else has made and closes."""
        made = cls.__new__(cls)
        made.lock, made._owner, made._db = threading.RLock(), None, db  # noqa: SLF001 - its own
        return made

    def close(self) -> None:
        """Let go of it."""
        with self.lock:
            self._db.close()
            if self._owner:
                self._owner.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is done in it counts, or nothing."""
        with self.lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def rows(self, statement: str, *values: Any) -> list[Any]:  # noqa: ANN401 - whatever SQLite knows
        """What a statement finds."""
        with self.lock:
            return self._db.execute(statement, values).fetchall()


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


def listed(names: Sequence[str]) -> str:
    """Names for `json_each`: one statement does for many queries."""
    return json.dumps(list(names))
