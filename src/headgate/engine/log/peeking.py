"""A look into the manifest of another engine, in whatever state that is."""

import json
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headgate.engine.log.format import check_version
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.progress import Progress
from headgate.errors import InputError
from headgate.shed.droppers import Drop


@dataclass(frozen=True, slots=True)
class Peeked:
    """What a manifest holds of all its queries, as somebody else sees it: all of one moment.

    `rates` are drop rates by query and stream, each from a position on; `iterations` the windows with a deadline that
    were begun last, and the share of them that is kept; `shared` the receipts of sinks that queries share.
    """

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
        known = Manifest.over(db)
        names = sorted(known.names())
        receipts = db.execute("SELECT name, receipt FROM shared").fetchall()
        return Peeked(
            known.progress_of(names),
            known.instances(names),
            known.rates.thinned(names),
            {name: found for name in names if (found := known.iteration(name))},
            {name: json.loads(receipt) for name, receipt in receipts},
        )
