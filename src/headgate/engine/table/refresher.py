"""Refreshes within a budget: a thread that reads the part of a table that is due, one Spark job at a time."""

import json
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from headgate.engine.kernel.lookups import UNFOUND
from headgate.engine.kernel.program import Joined
from headgate.engine.running import Done
from headgate.engine.table.looked_up import LookedUp, Ran
from headgate.engine.table.swapping import Swapping
from headgate.engine.table.tables import Tables, said
from headgate.engine.units import LiveUnit
from headgate.freshness.refreshing import Budget, Estimate, Refreshing

Part: TypeAlias = tuple[str, ...]
"""A table, and the name of a part of it."""

_GROUP = "headgate refresh"
_NAME = "learned.json"
_LOOK = 0.5
"""Seconds after which it looks around even if nothing is due: accesses change what is."""
_WRITE = 10.0
"""Seconds between two times at which what was learned is written."""
_RAN = 1000
"""The last runs on Spark whose lookups are not counted yet, at most."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Refresh:
    """What may be spent on refreshes: a budget, counted in refreshes or in bytes that are read."""

    budget: Budget
    in_bytes: bool = False


OFF = Refresh(Budget(1.0, policy="none"))


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
        self._thread: threading.Thread | None = None
        self._looked_up = LookedUp(tables)
        self._ran: deque[Ran] = deque(maxlen=_RAN)
        self._recall()

    def use(self, wish: Refresh) -> None:
        """Refresh within this budget from now on."""
        with self._lock:
            self.wish, self._began = wish, time.time()
            self._refreshing.change(wish.budget)
            self._refreshing.spent = 0.0
            for table in self._tables.kept:
                self._enter(table)

    def taken(self, table: str) -> None:
        """A table was read whole."""
        with self._lock:
            for name in [name for name in self._refreshing.copies if name[0] == table]:
                if name[1] not in self._tables.kept[table].names or not self._tables.kept[table].refreshed:
                    self._refreshing.remove(name)
            self._enter(table)

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._began = time.time()
        self._thread = InheritableThread(target=self._serve, name="headgate-refresh", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, and keep what was learned."""
        self._ending.set()
        if self._thread:
            self._spark.sparkContext.cancelJobGroup(_GROUP)
            self._thread.join()
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

    def _enter(self, table: str) -> None:
        kept, now = self._tables.kept[table], time.time()
        if not kept.refreshed:
            return
        for i, part in enumerate(kept.names):
            size = kept.latest.contents[i].size if kept.latest.contents else 1
            self._refreshing.add((table, part), now, self._full(size))

    def _full(self, size: int) -> float:
        return float(max(1, size)) if self.wish.in_bytes else 1.0

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
        swaps = 0
        while not self._ending.is_set():
            with self._lock:
                name, wait = self._refreshing.due(time.time()), self._refreshing.wait(time.time())
            if swaps != self._swapping.swaps:
                swaps = self._swapping.swaps
                for table in list(self._tables.kept):
                    self._tables.tidy(table)
            self._catch_up()
            if name is None:
                self._ending.wait(min(_LOOK, wait) if math.isfinite(wait) else _LOOK)
                continue
            self._refresh(name)
            if time.time() - self._written > _WRITE:
                self._write()

    def _refresh(self, name: Part) -> None:
        table, part = name
        kept = self._tables.kept[table]
        self._spark.sparkContext.setJobDescription(f"refresh of {table}" + (f", {part}" if kept.parts else ""))
        began = time.time()
        try:
            read = self._tables.refresh(table, kept.names.index(part), self._spark)
        except Exception as error:  # noqa: BLE001 - whatever a source raises: the last snapshot stays in use
            if not self._ending.is_set():
                _log.warning("table %s: %s; the last snapshot stays in use", table, said(error))
            with self._lock:
                self._refreshing.failed(name, time.time())
            return
        ended = time.time()
        if read.changed:
            # Before it is counted: whoever sees that a table has changed may count on joins to see it too.
            self._swapping.refreshed()
        with self._lock:
            full, took = self._full(read.size), ended - began
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
