"""What becomes of units that fail: queries are tried again, held back, let go to run alone, or stopped."""

import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial

from headgate.engine.fused import KernelUnit
from headgate.engine.live_plan import LivePlan
from headgate.engine.log.manifest import Manifest
from headgate.engine.query import LiveQuery
from headgate.engine.running import Done, message
from headgate.engine.units import LiveUnit, SingleUnit

_AGAIN = 0.5
"""Seconds until a change is tried again that could not be written."""

_LOSSES, _ERRORS = 2, 3
"""So many lanes lost, or errors, in a row, and a unit is taken apart to find out whose fault it is."""

_log = logging.getLogger(__name__)


class Failing:
    """Changes the plan so that what has failed runs again, and harms no other query. In the scheduler's thread."""

    def __init__(self, plan: LivePlan, manifest: Manifest) -> None:
        self._plan, self._manifest = plan, manifest
        self._delayed: dict[str, tuple[float, LiveUnit, Callable[[], None]]] = {}

    def failed(self, unit: LiveUnit, n: int, done: Done, *, too_long: bool) -> None:
        """Take note of a run that has failed as a whole."""
        if isinstance(unit, KernelUnit) and (len(unit.queries) > 1 or done.lost):
            self._suspect(unit, n, done, too_long=too_long)
        else:
            self._note(unit.queries[0], done.error or "", n, too_long=too_long)

    def expel(self, unit: LiveUnit, n: int, done: Done, queries: Sequence[LiveQuery]) -> None:
        """Let queries go whose own part has failed, to run by themselves; the others have lost nothing.

        One that the kernel cannot compute is Spark's from now on, one whose sink fails until that is mended.
        """
        if not isinstance(unit, KernelUnit):
            for query in queries:
                self._note(query, done.bad[query.name], n)
            return
        made: list[LiveUnit] = []
        try:
            for query in queries:
                self._let_go(unit, query, done)
                made.append(SingleUnit(query))
                if query.name in done.failed:
                    _log.warning("query %s: %s; Spark runs it from now on", query.name, done.failed[query.name])
                    query.alone = done.failed[query.name]
                else:
                    self._note(query, done.bad[query.name], n)
        except sqlite3.Error as error:
            # Not even that can be written now. The unit has gone on without them, and must not be committed so.
            left = queries[len(made) :]
            for query in left:
                query.reason = f"{done.bad[query.name]}; and its state folder: {message(error)}"
            _log.warning("unit %s waits: %s", unit.name, message(error))
            self._put_off(unit, partial(self.expel, unit, n, done, left))
        finally:
            self._plan.replace([] if unit.queries else [unit], made)

    def look(self, now: float) -> None:
        """Try again what could not be written."""
        for name, (due, unit, change) in list(self._delayed.items()):
            if now >= due:
                del self._delayed[name]
                unit.busy = False
                change()

    def holds(self, unit: LiveUnit) -> bool:
        """Whether a unit must not be committed yet."""
        return unit.name in self._delayed

    def _let_go(self, unit: KernelUnit, query: LiveQuery, done: Done) -> None:
        ((low, high),) = done.positions.values()
        if query.name in done.unstaged:
            unit.release([query], unit.cohort.kept, self._manifest)
            query.roll_back()
        else:
            unit.release([query], high if query.name in done.hidden else low, self._manifest)

    def _put_off(self, unit: LiveUnit, change: Callable[[], None]) -> None:
        """Make a change that failed a little later; the unit does not run before."""
        unit.busy = True
        self._delayed[unit.name] = time.time() + _AGAIN, unit, change

    def _note(self, query: LiveQuery, error: str, n: int, *, too_long: bool = False) -> None:
        """Take note of an error that is the query's own."""
        before = query.status
        query.failed(error, n, time.time(), too_long=too_long)
        if query.status == "failed" != before:
            self._plan.changed(query.name, "failed")

    def _suspect(self, unit: KernelUnit, n: int, done: Done, *, too_long: bool) -> None:
        """A unit of the kernel has failed as a whole: try again, and if that does not help, in two halves."""
        if too_long:
            unit.most = max(1, n // 4)
        unit.losses += done.lost
        errors = unit.rest(time.time())
        if done.blocked or (unit.losses < _LOSSES and errors < _ERRORS):
            _log.warning("unit %s: %s; trying again", unit.name, done.error)
            return
        unit.losses = 1
        if len(unit.queries) > 1:
            _log.warning("unit %s: %s; it goes on in two halves", unit.name, done.error)
            self._plan.part(unit, [unit.queries[len(unit.queries) // 2 :]])
            return
        (query,) = unit.queries
        _log.warning("query %s: %s; Spark runs it from now on", query.name, done.error)
        if self._plan.saved(unit):
            unit.release([query], unit.cohort.position, self._manifest)
        else:
            unit.release([query], unit.cohort.kept, self._manifest)
            query.roll_back()
        query.alone = done.error
        self._plan.replace([unit], [SingleUnit(query)])
