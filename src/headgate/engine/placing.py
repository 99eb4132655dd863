"""Which unit runs a query: one of the kernel's, where it can be; fused with others, where that is worth it."""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial

from headgate.engine.evaluation.by_iteration import IterationEvaluation
from headgate.engine.fused import KernelUnit, Kin
from headgate.engine.fusing import Fuser
from headgate.engine.intake import LiveStream
from headgate.engine.iterations import DeadlineUnit
from headgate.engine.log.manifest import Manifest
from headgate.engine.query import LiveQuery
from headgate.engine.residents import Residents
from headgate.engine.riding import Riding
from headgate.engine.scheduler import Scheduler
from headgate.engine.table.tables import Tables
from headgate.engine.units import LiveUnit, SingleUnit


def together(
    queries: Sequence[LiveQuery],
    riding: Riding | None,
    earlier: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda _: {},
    *,
    apart: bool,
) -> list[list[LiveQuery]]:
    """The queries of the kernel in the units that they begin with; those first to whose class it belongs.

    They stand at the same tuple with the same drop rates behind it, and with the same snapshots of tables, of which
    some may be `earlier` than the newest; `apart`, each is alone.
    """
    groups: dict[Hashable, dict[str, list[LiveQuery]]] = {}
    for query in queries:
        kin = Kin.of(query)
        alone = query.name if apart or query.status != "running" else None
        position = query.progress.cursors[kin.stream]
        ahead = query.rates[kin.stream].ahead(position)
        behind = tuple(sorted(earlier(query.draft.reads).items()))
        key = kin.stream, kin.window, position, ahead, behind, alone
        groups.setdefault(key, {}).setdefault(kin.cls, []).append(query)
    found: list[list[LiveQuery]] = []
    for by_class in groups.values():
        some = list(by_class.values())
        found += riding.arranged(some) if riding and len(some) > 1 else some
    return found


class Placing:
    """Gives queries units, and others when that has changed which decides it: the policy, lanes, errors."""

    def __init__(
        self,
        scheduler: Scheduler,
        residents: Residents,
        manifest: Manifest,
        streams: Mapping[str, LiveStream],
        tables: Tables,
    ) -> None:
        self._scheduler, self._residents, self._manifest = scheduler, residents, manifest
        self._streams, self._tables = streams, tables
        self._fuser: Fuser | None = None
        self._riding: Riding | None = None

    def use(self, clusters: int | None, riding: Riding | None, *, fuse: bool, superboxes: bool) -> None:
        """Fuse from now on, by clusters of the policy's if it has some, across classes if they ride; or do not.

        Units may be superboxes.
        """
        self._riding = riding if fuse else None
        self._fuser = Fuser(self._scheduler, clusters, self._riding, superboxes=superboxes) if fuse else None

    def rest(self) -> None:
        """Fuse no more."""
        if self._fuser:
            self._fuser.close()

    def place(self, queries: Sequence[LiveQuery]) -> None:
        """Give new queries units: those of the kernel together, where they stand at the same tuple."""
        kernel = [query for query in queries if self._in_kernel(query)]
        units: list[LiveUnit] = [self.single(query) for query in queries if not self._in_kernel(query)]
        groups = together(kernel, self._riding, self._tables.earlier_among, apart=not self._fuser)
        units += [self._kernel_unit(group) for group in groups]
        if kernel:
            self._residents.open()
        self._scheduler.add(units)

    def place_again(self, queries: Sequence[LiveQuery]) -> None:
        """Give queries the units that go with how they are fused now."""
        for query in queries:
            if not self._fuser:
                self._scheduler.apart(query)
            kernel = isinstance(self._scheduler.unit_of(query), KernelUnit)
            if kernel and not self._in_kernel(query):
                self._scheduler.exchange(query, partial(self.single, query))
            elif self._in_kernel(query) and not kernel:
                self._residents.open()
                self._scheduler.exchange(query, partial(self._kernel_unit, [query]))
        self.look()

    def compiled_again(self, queries: Sequence[LiveQuery]) -> None:
        """See that queries run as what they have become, over tables that have changed."""
        for query in queries:
            if self._scheduler.home(query) and not self._in_kernel(query):
                self._scheduler.apart(query)
                self._scheduler.exchange(query, partial(self.single, query))
        homes = {id(unit): unit for query in queries if (unit := self._scheduler.home(query))}
        for unit in homes.values():
            if isinstance(unit, KernelUnit):
                self._scheduler.when_free(unit, unit.install_again)

    def look(self) -> None:
        """Take back whoever was let go and is well again, and fuse what can be fused."""
        for unit in list(self._scheduler.units):
            query = unit.queries[0]
            well = query.status == "running" and not query.attempts and not query.unsaved
            if isinstance(unit, SingleUnit) and well and self._in_kernel(query):
                self._scheduler.exchange(query, partial(self._kernel_unit, [query]))
        if fuser := self._fuser:
            for stream in list(self._streams.values()):
                fuser.look(stream.log, time.time())

    def _in_kernel(self, query: LiveQuery) -> bool:
        """Whether the kernel is to run a query: on job lanes only if that fuses it with others."""
        return query.compiled is not None and (self._fuser is not None or self._residents.wanted > 0)

    def single(self, query: LiveQuery) -> SingleUnit:
        """A unit in which Spark runs a query."""
        deadline, evaluation = query.draft.deadline, query.evaluation
        if deadline and isinstance(evaluation, IterationEvaluation):
            return DeadlineUnit(query, deadline, evaluation, self._scheduler.keep)
        return SingleUnit(query)

    def _kernel_unit(self, queries: Sequence[LiveQuery]) -> KernelUnit:
        log = self._streams[queries[0].evaluation.streams[0]].log
        return KernelUnit(queries, log, self._manifest)
