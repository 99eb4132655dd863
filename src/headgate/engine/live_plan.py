"""The plan that is scheduled: the units that there are, as measured, and which of them runs a query."""

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from headgate.engine.fused import KernelUnit
from headgate.engine.iterations import DeadlineUnit
from headgate.engine.log.manifest import Manifest
from headgate.engine.query import LiveQuery
from headgate.engine.running import message
from headgate.engine.sql.plan import BySession, PerTrain, PerWindow
from headgate.engine.units import LiveUnit, model, segments
from headgate.model.unit import Unit
from headgate.monitor.statistics import Measured
from headgate.policy.protocol import Outcome
from headgate.policy.worthwhile import due_in
from headgate.record import Changed, Planned, Recorder

_log = logging.getLogger(__name__)


class LivePlan:
    """Units in their order. Once the engine runs, only the scheduler's thread changes it, between two decisions.

    `models` are the units as measured, `due` how long results of each may take. Whoever schedules is told of other
    models before anything is decided by them.
    """

    def __init__(
        self,
        manifest: Manifest,
        recorder: Recorder,
        wake: Callable[[], None],
        prepare: Callable[[Sequence[Unit]], None],
    ) -> None:
        self._manifest, self._recorder, self._wake, self._tell = manifest, recorder, wake, prepare
        self.units: list[LiveUnit] = []
        self.models: Sequence[Unit] = ()
        self.due: list[float] = []
        self.targets: Mapping[str, float] = {}
        """The delay targets of classes."""
        self._measured = Measured([], in_jobs=True)
        self.homes: dict[str, LiveUnit] = {}
        """The unit that runs a query, by the query's name."""
        self._scheduled = False

    # What there is

    def model(self, name: str) -> Unit | None:
        """A unit as measured."""
        return next((unit for unit in self.models if unit.entry.operator == name), None)

    @property
    def period(self) -> float:
        """Seconds between two looks at what was measured."""
        return self._measured.period

    def observe(self, outcome: Outcome) -> None:
        """Measure a run."""
        self._measured.observe(outcome)

    def refresh(self) -> None:
        """Go by what was measured until now."""
        self._prepare(self._measured.units())

    def schedule(self) -> None:
        """Tell whoever schedules from now on."""
        self._scheduled = True
        models, self.models = self.models, ()
        self._prepare(models)

    # How it changes

    def changed(self, unit: str, what: Literal["added", "paused", "resumed", "removed", "failed"]) -> None:
        """Record that a unit was paused, resumed and so on."""
        self._recorder.append(Changed(time.time(), unit, what))
        self._wake()

    def replace(self, old: Sequence[LiveUnit], new: Sequence[LiveUnit]) -> None:
        """Put new units in the place of old ones. Units that stay may have other queries than before."""
        for unit in old:
            self.changed(unit.name, "removed")
            for query in unit.queries:
                self.homes.pop(query.name, None)
        self.units = [*(unit for unit in self.units if unit not in old), *new]
        for unit in new:
            self.homes.update(dict.fromkeys((query.name for query in unit.queries), unit))
        self.due = [self._due_in(unit) for unit in self.units]
        self._measured = self._measured.over([model(unit, i) for i, unit in enumerate(self.units)])
        self.models = ()
        self._prepare(self._measured.units())
        for unit in new:
            self.changed(unit.name, "added")

    def drop(self, unit: LiveUnit, query: LiveQuery) -> None:
        """Have a query no more that has a unit of its own."""
        if isinstance(unit, KernelUnit):
            unit.commit(self._manifest)
            unit.release([query], unit.cohort.position, self._manifest)
        self.replace([unit], [])
        self.homes.pop(query.name, None)

    def exchange(self, unit: LiveUnit, query: LiveQuery, make: Callable[[], LiveUnit]) -> None:
        """Give a query that has a unit of its own another one."""
        if isinstance(unit, KernelUnit):
            unit.commit(self._manifest)
            unit.release([query], unit.cohort.position, self._manifest)
        if not query.unsaved:
            self.replace([unit], [make()])

    def merge(self, first: KernelUnit, others: Sequence[KernelUnit], at: int) -> bool:
        """Take the queries of other units into one, if all stand at a position; False if they do not, or one runs."""
        if not self._stand([first, *others], at):
            return False
        queries = first.take_over(others, self._manifest)
        self.replace(others, [])
        self.homes.update({query.name: first for query in queries})
        return True

    def board(self, host: KernelUnit, unit: KernelUnit, riders: Sequence[LiveQuery]) -> bool:
        """Let queries of a unit ride with another from now on, if both stand at the same tuple and none runs."""
        if not self._stand([host, unit], host.cohort.position):
            return False
        apart = unit if len(riders) == len(unit.queries) else unit.part(riders, self._manifest)
        host.take_over([apart], self._manifest)
        self.replace([unit] if apart is unit else [], [])
        self.homes.update({query.name: host for query in riders})
        for each in (host, unit):
            each.hold, each.patience = None, math.inf
        return True

    def split(self, unit: KernelUnit, groups: Sequence[Sequence[LiveQuery]]) -> Sequence[LiveUnit]:
        """Take a unit apart into one for each group, the first of which stays; none if it runs."""
        return [unit, *self.part(unit, groups[1:])] if unit in self.units and not unit.busy else []

    def part(self, unit: LiveUnit, groups: Sequence[Sequence[LiveQuery]]) -> Sequence[LiveUnit]:
        """Give each group of a unit's queries a unit of its own; the rest stay."""
        if not isinstance(unit, KernelUnit) or not self.saved(unit):
            return ()
        made: list[LiveUnit] = []
        try:
            made.extend(unit.part(group, self._manifest) for group in groups)
        finally:
            self.replace([], made)
        return made

    def saved(self, unit: KernelUnit) -> bool:
        """Commit what a unit has in memory; False, with a warning, if that cannot be done now."""
        try:
            unit.commit(self._manifest)
        except Exception as error:  # noqa: BLE001 - a full disk, say: the next run meets it as well
            _log.warning("unit %s: %s", unit.name, message(error))
            return False
        return True

    def _stand(self, units: Sequence[KernelUnit], at: int) -> bool:
        """Whether units stand at a position with nothing in memory and no drop rate decided behind it; none runs."""
        free = all(unit in self.units and not unit.busy and unit.cohort.position == at for unit in units)
        free = free and _alike([unit.reads for unit in units])
        return free and not any(u.cohort.rates.ahead(at) for u in units) and all(self.saved(u) for u in units)

    def _due_in(self, unit: LiveUnit) -> float:
        """How long results may take: the delay target of the class, or where a QoS graph of the unit begins to fall.

        0 if there is neither, and for a deadline, which waits for nobody.
        """
        if isinstance(unit, DeadlineUnit):
            return 0.0
        return due_in(self.targets.get(unit.cls, math.inf), unit.graphs)

    def _prepare(self, models: Sequence[Unit]) -> None:
        """Take units as measured: record those that are new, and tell whoever schedules."""
        if models is self.models:
            return
        now, old = time.time(), {unit.entry: unit for unit in self.models}
        self.models = models
        for unit, as_measured in zip(self.units, models, strict=True):
            if old.get(as_measured.entry) != as_measured and self._scheduled:
                self._recorder.append(_planned(unit, as_measured, now))
        if models:
            self._tell(models)


def _alike(reads: Sequence[Mapping[str, str]]) -> bool:
    """Whether all join with the same snapshots of tables."""
    together = {name: folder for each in reads for name, folder in each.items()}
    return all(together[name] == folder for each in reads for name, folder in each.items())


def _planned(unit: LiveUnit, measured: Unit, now: float) -> Planned:
    S = sum(segment.S for segment in measured.segments)
    first = unit.queries[0]
    at = dict(first.progress.cursors)
    kind: Literal["jobs", "resident"] = "resident" if unit.in_kernel else "jobs"
    alone = None if unit.in_kernel else first.why_not
    windows = not isinstance(first.draft.plan, PerTrain)
    whole = first.draft.deadline is None and isinstance(first.draft.plan, PerWindow | BySession)
    graphs = tuple(graph.points for graph in measured.graphs)
    cost, valued = measured.cost, unit.graphs.total()
    return Planned(
        *(
            now,
            unit.name,
            segments(unit),
            unit.cls,
            at,
            cost.a,
            cost.b,
            S,
            kind,
            alone,
            windows,
            graphs,
            whole,
            valued,
        )
    )
