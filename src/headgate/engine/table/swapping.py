"""Queries that go on with a newer snapshot: each unit between two of its runs, once all that it did is committed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from headgate.engine.iterations import DeadlineUnit
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.stream import StreamLog
from headgate.engine.query import LiveQuery
from headgate.engine.scheduler import Scheduler
from headgate.engine.sql.plan import BySession
from headgate.engine.table.tables import Tables
from headgate.engine.units import LiveUnit
from headgate.engine.windows import NEVER, Time


@dataclass(frozen=True, slots=True)
class _There:
    """What was there when an engine came back from a crash, and may have been run before: positions, a watermark."""

    heads: Mapping[str, int]
    mark: int

    def passed(self, query: LiveQuery) -> bool:
        """Whether a query has committed all of that."""
        kept = query.durable
        if all(kept.cursors[stream] >= head for stream, head in self.heads.items()) and kept.closed >= self.mark:
            return True
        return not query.evaluation.waiting(kept).pending


class Swapping:
    """Gives queries the newest snapshots of their tables.

    What it is told to `look` at, it looks at in the scheduler's thread.
    """

    def __init__(self, scheduler: Scheduler, manifest: Manifest, tables: Tables) -> None:
        self._scheduler, self._manifest, self._tables = scheduler, manifest, tables
        self._there: dict[str, _There] = {}
        self.swaps = 0

    def begin(self, queries: Sequence[LiveQuery], logs: Mapping[str, StreamLog], *, in_order: bool) -> None:
        """Note what new queries join with: the newest snapshots, or after a crash those that they had."""
        joining = [query for query in queries if query.draft.reads]
        known = {} if in_order else self._manifest.reading([query.name for query in joining])
        earlier = cache(self._tables.earlier)
        for query in joining:
            reads = query.draft.reads
            had = {t: n for t, n in known.get(query.name, {}).items() if t in reads and n != _number(reads[t])}
            if found := {table: folder for table, number in had.items() if (folder := earlier(table, number))}:
                reads.update(found)
                self._there[query.name] = _there(query, logs)
        self._note(joining, {table for query in joining for table in query.draft.reads})

    def look(self, unit: LiveUnit, *, by_hand: bool = False) -> None:
        """Give a unit the newest snapshots, if it can have them now.

        `by_hand` also queries whose last run has failed, and may have handed over rows that were not committed.
        """
        new = self._tables.stale(unit.reads)
        if not new or not self._ready(unit, by_hand=by_hand) or not self._scheduler.settled(unit):
            return
        queries = {table: [q.name for q in unit.queries if table in q.draft.reads] for table in new}
        # Before the first run with them: whoever repeats it has to find them.
        self._manifest.read({table: (_number(folder), queries[table]) for table, folder in new.items()})
        unit.swap(new)
        self.swaps += 1

    def look_around(self) -> None:
        """Look at all units."""
        for unit in list(self._scheduler.units):
            self.look(unit)

    def refreshed(self) -> None:
        """There is a newer snapshot: whoever does nothing has it at once, the others after their runs."""
        self._scheduler.call(self.look_around)

    def now(self, table: str) -> None:
        """See that the queries over a table have its newest snapshot, each once its run is over."""
        for unit in list(self._scheduler.units):
            if table in unit.reads:
                self._scheduler.when_free(unit, partial(self.look, unit, by_hand=True))
        self._tables.tidy(table)

    def forget(self, query: str) -> None:
        """A query is no more."""
        self._there.pop(query, None)

    def _ready(self, unit: LiveUnit, *, by_hand: bool) -> bool:
        if isinstance(unit, DeadlineUnit) and unit.evaluation.opened(unit.queries[0].progress):
            # The pieces of a window are joined with the same rows.
            return False
        if not by_hand and any(query.repeats for query in unit.queries):
            return False
        if self._there:
            waiting = [query for query in unit.queries if query.name in self._there]
            if not all(self._there[query.name].passed(query) for query in waiting):
                return False
            for query in waiting:
                del self._there[query.name]
        return True

    def _note(self, queries: Sequence[LiveQuery], tables: set[str]) -> None:
        by_snapshot: dict[tuple[str, str], list[str]] = {}
        for query in queries:
            for table in tables & query.draft.reads.keys():
                by_snapshot.setdefault((table, query.draft.reads[table]), []).append(query.name)
        for (table, folder), names in by_snapshot.items():
            self._manifest.read({table: (_number(folder), names)})


def _number(folder: str) -> int:
    return int(Path(folder).name)


def _there(query: LiveQuery, logs: Mapping[str, StreamLog]) -> _There:
    own = [logs[stream] for stream in query.evaluation.streams]
    time = _time(query)
    mark = min(log.watermark(time) for log in own) if time else NEVER
    return _There({log.name: log.head for log in own}, mark)


def _time(query: LiveQuery) -> Time | None:
    """The time that its windows go by, if it has any."""
    if isinstance(query.draft.plan, BySession):
        return "event"
    return query.draft.window.time if query.draft.window else None
