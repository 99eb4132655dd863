"""Which queries to run in one job: those whose work in a train is less than the job around it.

Where the overhead of a job dominates, no order of separate jobs is as good as one job for all; where the work
dominates, separate units leave the policy its choice. The scheduler measures both, so this can be decided as it runs.
Queries that have hardly run yet are taken for light; if they are not, they are taken apart, and measured one by one.
"""

import logging
import math
import threading

from headgate.engine.evaluation.protocol import Setting
from headgate.engine.log.stream import StreamLog
from headgate.engine.query import LiveQuery
from headgate.engine.scheduler import Scheduler
from headgate.engine.units import FusedUnit, LiveUnit, SingleUnit, fusable, fused_sql
from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.bsd import BSD

_FEW = 3
"""Runs of a unit before its cost is believed."""

_ENOUGH = 5.0
"""A fused unit whose work in a train is so many times the job's overhead has nothing to win from growing."""

_INSTANT = 1e-9
_log = logging.getLogger(__name__)


class Fuser:
    """Fuses the light queries of a stream, once they have come to the same position."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        # A meeting is not left while it is about to fuse.
        self._lock = threading.Lock()
        self._over = False
        self._meeting: dict[str, tuple[tuple[LiveQuery, ...], int]] = {}
        self._known: set[str] = set()
        self._made = 0

    def look(self, log: StreamLog, setting: Setting) -> None:
        """Begin or go on with the fusing of a stream's light queries. Not for the scheduler's thread: it plans."""
        with self._lock:
            if log.name in self._meeting:
                self._meet(log, setting)
            elif not self._over:
                self._call(log, setting)

    def leave(self, query: LiveQuery) -> None:
        """Let go of a meeting that the query takes part in."""
        with self._lock:
            for stream, (queries, _) in list(self._meeting.items()):
                if query in queries:
                    self._end(stream)

    def close(self) -> None:
        """Let go of all meetings, and call no others."""
        with self._lock:
            self._over = True
            for stream in list(self._meeting):
                self._end(stream)

    def _call(self, log: StreamLog, setting: Setting) -> None:
        self._part(log.name)
        light = self._light(log.name)
        if len(light) < 2:
            return
        queries = tuple(query for unit in light for query in unit.queries)
        self._hold(log.name, queries)
        self._meet(log, setting)

    def _hold(self, stream: str, queries: tuple[LiveQuery, ...]) -> None:
        at = max(query.progress.cursors[stream] for query in queries)
        for query in queries:
            query.hold = at
        self._meeting[stream] = queries, at
        self._scheduler.wake()

    def _meet(self, log: StreamLog, setting: Setting) -> None:
        queries, at = self._meeting[log.name]
        if any(query.status != "running" or query.alone for query in queries):
            self._end(log.name)
            return
        cursors = {query.progress.cursors[log.name] for query in queries}
        if cursors != {at}:
            # A run that was under way when they were called may have gone beyond.
            if max(cursors) > at:
                self._hold(log.name, queries)
            return
        try:
            parts = [part for query in queries if (part := fusable(query))]
            plan = setting.prepare(fused_sql(log.name, parts))
        except InputError as error:
            _log.warning("stream %s: its light queries stay apart: %s", log.name, error)
            for query in queries:
                query.alone = True
            self._end(log.name)
            return
        self._made += 1
        fused = FusedUnit(f"fused-{log.name}-{self._made}", queries, log, plan)
        old = list({id(u): u for u in map(self._scheduler.unit_of, queries)}.values())

        def together() -> bool:
            # A run that was under way when they were called may have ended while the plan was made.
            return all(query.progress.cursors[log.name] == at for query in queries)

        if self._scheduler.swap(old, [fused], together):
            _log.info("stream %s: %d light queries run as one unit", log.name, len(queries))
        self._end(log.name)

    def _end(self, stream: str) -> None:
        queries, _ = self._meeting.pop(stream)
        for query in queries:
            query.hold = None
        self._scheduler.wake()

    def _candidate(self, unit: LiveUnit, stream: str) -> bool:
        running = all(q.status == "running" and not q.alone and fusable(q) for q in unit.queries)
        return running and unit.queries[0].evaluation.streams[0] == stream

    def _light(self, stream: str) -> list[LiveUnit]:
        """Light units in the order of their priority, as many as make one that is not."""
        found: list[tuple[float, float, LiveUnit]] = []
        for unit in self._scheduler.units:
            measured = self._scheduler.measured(unit.name)
            if measured is None or not self._candidate(unit, stream):
                continue
            alone = len(unit.queries) == 1
            known = unit.queries[0].progress.run >= _FEW
            if alone and known:
                self._known.add(unit.name)
            work = self._work(unit, measured) if known else 0.0
            if work < (1 if alone else _ENOUGH):
                found.append((BSD.static(measured), work, unit))
        chosen: list[LiveUnit] = []
        total = 0.0
        for _, work, unit in sorted(found, key=lambda each: -each[0]):
            if total >= _ENOUGH:
                break
            chosen.append(unit)
            total += work
        return chosen

    def _part(self, stream: str) -> None:
        """Take units apart that were fused before their queries were known, and turn out to be heavy."""
        for unit in list(self._scheduler.units):
            names = {query.name for query in unit.queries}
            measured = self._scheduler.measured(unit.name)
            if len(names) < 2 or names <= self._known or measured is None or not self._candidate(unit, stream):
                continue
            if unit.queries[0].served.runs >= _FEW and self._work(unit, measured) > 2 * _ENOUGH:
                _log.info("stream %s: %d queries are not light, and run one by one", stream, len(names))
                self._scheduler.swap([unit], [SingleUnit(query) for query in unit.queries])
                self._known |= names

    @staticmethod
    def _work(unit: LiveUnit, measured: Unit) -> float:
        """The work of a train, in overheads of a job. Where none has run of late, what waits is the next train."""
        served = unit.queries[0].served
        n = served.tuples / served.runs if served.runs >= _FEW else unit.waiting(math.inf).pending
        return measured.cost.b * n / max(measured.cost.a, _INSTANT)
