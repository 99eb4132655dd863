"""Refreshes within a budget: a thread that reads the part of a table that is due, one Spark job at a time."""

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from headgate.engine.kernel.lookups import UNFOUND
from headgate.engine.kernel.program import Joined
from headgate.engine.running import Done
from headgate.engine.table.looked_up import LookedUp, Ran
from headgate.engine.table.spending import OFF, Refresh
from headgate.engine.table.swapping import Swapping
from headgate.engine.table.tables import Kept, Tables, said
from headgate.engine.units import LiveUnit
from headgate.freshness.refreshing import Estimate, Refreshing

Part: TypeAlias = tuple[str, ...]
"""A table, and the name of a part of it."""

_GROUP = "headgate refresh"
_NAME = "learned.json"
_LOOK = 0.5
"""Seconds after which it looks around even if nothing is due: accesses change what is."""
_WRITE = 10.0
"""Seconds between two times at which what was learned is written."""
_PATIENCE = 5.0
"""Seconds for a refresh that was cancelled to end. Where a source does not answer, Spark cannot end it."""
_RAN = 1000
"""The last runs on Spark whose lookups are not counted yet, at most."""

_log = logging.getLogger(__name__)


class Refresher:
    """Keeps the tables of an engine fresh, as far as the budget goes."""

    def __init__(self, spark: SparkSession, tables: Tables, swapping: Swapping) -> None:
        self._spark, self._tables, self._swapping = spark, tables, swapping
        self.wish = OFF
        self._lock = threading.Lock()
        self._refreshing: Refreshing[Part] = Refreshing(OFF.budget)
        self._began = time.time()
        self._ending = threading.Event()
        self._written = 0.0
        self._tidied = 0
        self._thread: threading.Thread | None = None
        self._looked_up = LookedUp(tables)
        self._ran: deque[Ran] = deque(maxlen=_RAN)
        self._warned = False
        tables.check = self._check
        self._recall()

    def use(self, wish: Refresh) -> None:
        """Refresh within this budget from now on."""
        wish.check(self._tables.kept)
        with self._lock:
            self.wish, self._began, self._warned = wish, time.time(), False
            self._refreshing.change(wish.budget)
            self._refreshing.spent = 0.0
            for table, kept in list(self._tables.kept.items()):
                for name, full in self._costs(table, kept):
                    self._refreshing.rescale(name, full)

    def taken(self, table: str) -> None:
        """A table was read whole."""
        with self._lock:
            kept, now = self._tables.kept[table], time.time()
            for name in [name for name in self._refreshing.copies if name[0] == table]:
                if name[1] not in kept.names or not kept.refreshed:
                    self._refreshing.remove(name)
            if kept.refreshed:
                for name, full in self._costs(table, kept):
                    self._refreshing.add(name, now, full, kept.seen, kept.max_age)

    def ready(self) -> None:
        """Refuse to begin without a budget for tables that need one."""
        self.wish.check(self._tables.kept)

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._began = time.time()
        self._thread = InheritableThread(target=self._serve, name="headgate-refresh", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, and keep what was learned."""
        self._ending.set()
        if self._thread:
            # Spark warns people of a group that has no jobs.
            if self._refreshing.copies:
                self._spark.sparkContext.cancelJobGroup(_GROUP)
            self._thread.join(_PATIENCE)
            if self._thread.is_alive():
                _log.warning("a table's source has not answered for %.0f s; the engine stops without it", _PATIENCE)
        self._catch_up()
        self._write()

    def ran(self, unit: LiveUnit, done: Done) -> None:
        """In the scheduler's thread: note what a run has looked up, and give the unit what has come meanwhile."""
        if not unit.reads:
            return
        if unit.in_kernel:
            self._count(done.joined)
        else:
            self._ran.append(Ran(unit.queries[0], done.positions, done.read))
        self._swapping.look(unit)

    def estimates(self, now: float) -> dict[Part, Estimate]:
        """How each part fares."""
        with self._lock:
            return self._refreshing.estimates(now)

    @property
    def older(self) -> float:
        """How many times as old as their max_age parts become, as the budget allows no more refreshes now."""
        with self._lock:
            return 1 / self._refreshing.allowed

    @property
    def gain(self) -> float | None:
        """What one more refresh in a minute, or one more MB, would add to what joins see fresh."""
        more = (1e6 if self.wish.in_bytes else 1.0) * self.wish.budget.period / 60
        with self._lock:
            return self._refreshing.gain(more)

    @property
    def swaps(self) -> int:
        """How often a unit went on with another snapshot."""
        return self._swapping.swaps

    @property
    def spent(self) -> float:
        """What refreshes have taken of the budget since it was given."""
        return self._refreshing.spent

    @property
    def allowed(self) -> float:
        """What the budget came to since then."""
        return (time.time() - self._began) * self.wish.budget.amount / self.wish.budget.period

    # Inside

    def _costs(self, table: str, kept: Kept) -> list[tuple[Part, float]]:
        """What reading each part of a table takes of the budget."""
        return [((table, part), full) for part, full in zip(kept.names, self.wish.costs(kept), strict=True)]

    def _check(self, tables: Mapping[str, Kept]) -> None:
        # Tables may be registered before the budget is known.
        if self._thread or self.wish is not OFF:
            self.wish.check(tables)

    def _warn(self) -> None:
        """Tell once that tables have become older than they should, for want of budget or time."""
        if self._warned or (times := self.older) == 1:
            return
        # What was just begun to be learned may only look as if there were none.
        parts = self.estimates(time.time())
        old = sorted({name for (name, _), each in parts.items() if each.age > each.copy.max_age})
        if old:
            self._warned = True
            much = f"up to {times:.3g} times as old as their max_age"
            _log.warning(
                "tables become %s (%s): %s, or the time, allow no more refreshes", much, ", ".join(old), self.wish
            )

    def _count(self, joined: Sequence[Joined]) -> None:
        now = time.time()
        with self._lock:
            for each in joined:
                for table, parts in each.items():
                    self._accessed(table, parts, now)

    def _catch_up(self) -> None:
        """Count what queries on Spark have looked up, which may take a look at their tuples."""
        while self._ran:
            self._count([self._looked_up.of(self._ran.popleft())])

    def _accessed(self, table: str, parts: Mapping[int, int], now: float) -> None:
        kept = self._tables.kept.get(table)
        if kept is None:
            return
        names = kept.names
        # What was not found may be in any part, by now.
        even = parts.get(UNFOUND, 0) / len(names)
        for i, name in enumerate(names):
            if times := parts.get(i, 0) + even:
                self._refreshing.accessed((table, name), times, now)

    def _serve(self) -> None:
        context = self._spark.sparkContext
        context.setJobGroup(_GROUP, _GROUP, interruptOnCancel=True)
        # Where Spark schedules by pools, refreshes have one of their own beside all lanes.
        context.setLocalProperty("spark.scheduler.pool", _GROUP)
        while not self._ending.is_set():
            try:
                wait = self._look()
            except Exception:  # noqa: BLE001 - whatever it is, tables are refreshed as long as the engine runs
                _log.exception("looking after tables went wrong; it goes on")
                wait = _LOOK
            self._ending.wait(min(_LOOK, wait))

    def _look(self) -> float:
        """Refresh what is due. Seconds until something else can be."""
        with self._lock:
            name, wait = self._refreshing.due(time.time()), self._refreshing.wait(time.time())
        self._warn()
        if self._tidied != self._swapping.swaps:
            self._tidied = self._swapping.swaps
            for table in list(self._tables.kept):
                self._tables.tidy(table)
        self._catch_up()
        if name is None:
            return wait
        self._refresh(name)
        if time.time() - self._written > _WRITE:
            self._write()
        return 0.0

    def _refresh(self, name: Part) -> None:
        table, part = name
        kept = self._tables.kept[table]
        if part not in kept.names:
            # It was just taken with other parts, which are entered in a moment.
            with self._lock:
                self._refreshing.remove(name)
            return
        self._spark.sparkContext.setJobDescription(f"refresh of {table}" + (f", {part}" if kept.parts else ""))
        began, problem = time.time(), self._tables.problems.get(table)
        try:
            read = self._tables.refresh(table, kept, kept.names.index(part), self._spark)
        except Exception as error:  # noqa: BLE001 - whatever a source raises: the last snapshot stays in use
            if self._ending.is_set():
                # It was cancelled, which is no fault of the table's.
                self._tables.note(table, problem)
                return
            _log.warning("table %s: %s; the last snapshot stays in use", table, said(error))
            with self._lock:
                self._refreshing.failed(name, time.time())
            return
        if read is None:
            return
        ended = time.time()
        if read.changed:
            # Before it is counted: whoever sees that a table has changed may count on joins to see it too.
            self._swapping.refreshed()
        with self._lock:
            if self._tables.kept.get(table) is not kept:
                return
            full, took = self.wish.full(read.size), ended - began
            self._refreshing.refreshed(name, ended, full, changed=read.changed, looked=read.looked, seconds=took)

    # What was learned outlives the process

    def _recall(self) -> None:
        try:
            learned = json.loads((self._tables.folder / _NAME).read_text())
            self._refreshing.recall(learned, time.time())
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("what was learned of tables is learned anew: %s", error)

    def _write(self) -> None:
        with self._lock:
            learned = self._refreshing.learned(time.time())
        self._written = time.time()
        file = self._tables.folder / _NAME
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary = file.with_suffix(".tmp")
            temporary.write_text(json.dumps(learned))
            temporary.rename(file)
        except OSError as error:
            _log.warning("cannot write %s: %s", file, error.strerror)
