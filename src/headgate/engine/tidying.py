"""Letting go of what no query needs any more: trains, panes, drop rates."""

import logging
from collections.abc import Sequence
from functools import partial

from headgate.engine.fused import KernelUnit
from headgate.engine.letters import Letters
from headgate.engine.log.manifest import Manifest
from headgate.engine.query import LiveQuery
from headgate.engine.registry import Registry
from headgate.engine.scheduler import Scheduler
from headgate.engine.sql.plan import BySession, Plan
from headgate.engine.table.swapping import Swapping
from headgate.engine.units import LiveUnit
from headgate.engine.windows import Window

_log = logging.getLogger(__name__)


class Tidying:
    """Looks around in the scheduler's thread, about once a second.

    As long as a query of the state folder is `absent`, not registered, all trains are kept for it.
    """

    def __init__(
        self, registry: Registry, scheduler: Scheduler, swapping: Swapping, manifest: Manifest, letters: Letters
    ) -> None:
        self._registry, self._scheduler, self._swapping = registry, scheduler, swapping
        self._manifest, self._letters = manifest, letters
        self._absent: set[str] = set()

    def begin(self) -> None:
        """See who is absent, and say so."""
        self._absent = self._manifest.names() - set(self._registry.queries)
        for absent in sorted(self._absent):
            _log.warning("query %s of this state folder is not registered; its tuples are kept for it", absent)

    def forget(self, name: str) -> None:
        """Keep nothing more for a query."""
        self._absent.discard(name)

    def look_around(self) -> None:
        """About once a second: let time pass in silent streams, and let go of trains that nobody needs."""
        units = list(self._scheduler.units)
        self._swapping.look_around()
        queries = [query for unit in units for query in _different(unit)]
        if not self._scheduler.started:
            queries = list(self._registry.queries.values())
            self._absent = self._manifest.names() - set(self._registry.queries)
        for name, stream in list(self._registry.streams.items()):
            readers = [query for query in queries if name in query.evaluation.streams]
            windows = {_window_of(query.draft.plan) for query in readers}
            stream.pass_time([window for window in windows if window])
            if not self._absent.difference(self._registry.queries):
                needed = [query.evaluation.needed(query.durable, name) for query in readers]
                last_look = partial(self._letters.write, stream.log)
                stream.log.drop(min(needed, default=stream.log.head), last_look)
        for unit in units:
            if not unit.busy:
                for query in _different(unit):
                    query.evaluation.tidy(query.progress, query.durable)
                self._forget_rates(unit)

    def _forget_rates(self, unit: LiveUnit) -> None:
        """Forget drop rates of tuples that the unit reads no more."""
        first = unit.queries[0]
        for stream, rate in unit.rates.items():
            kept = rate.forget(first.evaluation.needed(first.durable, stream))
            if kept is not None:
                self._manifest.rates.forget(unit.owner, stream, kept)


def _different(unit: LiveUnit) -> Sequence[LiveQuery]:
    """The queries of a unit that are not at the same place as its first: of a cohort, those that have panes."""
    if not isinstance(unit, KernelUnit):
        return unit.queries
    return unit.queries if unit.kin.window else unit.queries[:1]


def _window_of(planned: Plan) -> Window | None:
    if isinstance(planned, BySession):
        return Window(planned.gap, planned.gap, "event")
    return getattr(planned, "window", None)
