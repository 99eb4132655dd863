"""Drop rates: how much of a stream is dropped from which position on, by query, and what is to be kept elsewhere."""

from collections.abc import Sequence

from headgate.engine.log.database import Database, listed
from headgate.shed.droppers import Drop


class Rates:
    """The drop rates of a manifest. Each call is one transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def thin(self, owner: str, stream: str, first: int, drop: Drop) -> None:
        """Note that a query, or a cohort by its name, drops so much of a stream from a position on."""
        with self._db.transaction() as db:
            db.execute("INSERT OR REPLACE INTO thinned VALUES (?, ?, ?, ?, ?)", (owner, stream, first, *drop))

    def thinned(self, queries: Sequence[str]) -> dict[str, dict[str, list[tuple[int, Drop]]]]:
        """The drop rates of queries, or of their cohorts, by query and stream: each from a position on."""
        statement = (
            "SELECT q.name, t.stream, t.first, t.percent, t.how FROM query q JOIN thinned t"
            " ON t.owner = ifnull('#' || q.cohort, q.name) WHERE q.name IN (SELECT value FROM json_each(?))"
        )
        found: dict[str, dict[str, list[tuple[int, Drop]]]] = {}
        for query, stream, first, *drop in self._db.rows(statement, listed(queries)):
            found.setdefault(query, {}).setdefault(stream, []).append((first, Drop(*drop)))
        return found

    def forget(self, owner: str, stream: str, before: int) -> None:
        """Forget the drop rates of positions that nobody reads again."""
        with self._db.transaction() as db:
            db.execute("DELETE FROM thinned WHERE owner = ? AND stream = ? AND first < ?", (owner, stream, before))

    def note_shed(self, cls: str, stream: str, low: int, high: int, drop: Drop) -> None:
        """Note that a class drops so much between two positions, and wants to have it elsewhere."""
        with self._db.transaction() as db:
            db.execute("INSERT INTO letter VALUES (?, ?, ?, ?, ?, ?)", (cls, stream, low, high, *drop))

    def shed_before(self, stream: str, position: int) -> list[tuple[str, int, int, Drop]]:
        """What was noted so of positions before one: class, from, to, and what of them is dropped."""
        statement = "SELECT DISTINCT class, low, high, percent, how FROM letter WHERE stream = ? AND low < ?"
        found = self._db.rows(statement, stream, position)
        return [(cls, low, high, Drop(*drop)) for cls, low, high, *drop in found]

    def forget_shed(self, stream: str, before: int) -> None:
        """Forget what was noted so of positions before one."""
        with self._db.transaction() as db:
            db.execute("DELETE FROM letter WHERE stream = ? AND high <= ?", (stream, before))
