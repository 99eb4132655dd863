"""The regime in force: chosen by what is wished and what there is, and told to whoever goes by it."""

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict

from headgate.engine.classes import Classes
from headgate.engine.log.manifest import Manifest
from headgate.engine.placing import Placing
from headgate.engine.query import LiveQuery
from headgate.engine.regime import AUTO, Given, Wish, managed, regime, shed_as
from headgate.engine.registry import Registry
from headgate.engine.residents import Residents
from headgate.engine.riding import Riding
from headgate.engine.scheduler import Scheduler
from headgate.engine.terms import Terms
from headgate.engine.timekeeper import Timekeeper
from headgate.model.classes import QueryClass
from headgate.policy.clustered_bsd import ClusteredBsd
from headgate.record import Began, Classed, Recorder


class Steering:
    """Has queries scheduled, fused and shed as it is wished, and anew when that has changed by which it is chosen.

    A regime is in force from when it `began`.
    """

    def __init__(
        self,
        registry: Registry,
        classes: Classes,
        scheduler: Scheduler,
        residents: Residents,
        placing: Placing,
        manifest: Manifest,
        recorder: Recorder,
    ) -> None:
        self._registry, self._classes = registry, classes
        self._scheduler, self._residents, self._placing = scheduler, residents, placing
        self._manifest, self._recorder = manifest, recorder
        self._wish = Wish()
        self._scheduled: set[str] | None = None
        self.began = time.time()

    @property
    def classes(self) -> list[QueryClass]:
        """The classes that are named, and those that queries use without."""
        queries = list(self._registry.queries.values())
        return self._classes.all([each.cls for each in queries if not each.draft.deadline])

    def begin(self, wish: Wish) -> None:
        """Have it as is wished, before anything is scheduled."""
        self._wish = wish
        self._use()

    def switch(self, wish: Wish) -> None:
        """Have it in another way from now on; a mistake in the wish changes nothing."""
        given = self._given()
        regime(wish, given)
        managed(wish, given, self._registry.logs)
        self._wish = wish
        self.reschedule()

    def joined(self, queries: Sequence[LiveQuery], terms: Terms) -> None:
        """Plan anew if new queries, all on the same terms, are such as nobody has planned with."""
        if self._scheduled is not None and terms.cls not in self._scheduled and terms.deadline is None:
            # Nobody has planned with such a class.
            self.reschedule()
        elif (
            queries
            and queries[0].qos
            and self._wish.policy == AUTO
            and regime(self._wish, self._given()).name != self._scheduler.policy_name
        ):
            # The first QoS graph.
            self.reschedule()

    def reschedule(self) -> None:
        """Plan anew, as it is wished and with the classes that there are now."""
        self._placing.rest()
        self._scheduler.call(self._use)

    def _use(self) -> None:
        """Begin to schedule and to shed as it is wished, with the classes that there are."""
        given = self._given()
        chosen = regime(self._wish, given)
        shedding = managed(self._wish, given, self._registry.logs)
        # Whoever goes by classes has to know them all.
        self._scheduled = {each.name for each in given.classes} if chosen.by_class or shedding else None
        self.began = time.time()
        bounds = {"most": chosen.bounds.most, "slice": chosen.bounds.slice}
        written = {"train": bounds, **self._wish.options}
        resident, shed = self._residents.wanted, shed_as(self._wish, given)
        classes = tuple(Classed(c.name, c.priority, _known(c.delay_target)) for c in given.classes)
        self._recorder.append(
            Began(
                self.began,
                chosen.name,
                written,
                given.lanes,
                resident,
                classes,
                given.named,
                asdict(shed) if shedding else None,
                given.empty_run,
            )
        )
        for query in list(self._registry.queries.values()):
            query.forget()
        keeper = self._keeper()
        self._scheduler.use(chosen.name, chosen.make, chosen.bounds, shedding, keeper, chosen.overripe)
        made = chosen.make()
        shares = shedding is not None and shedding.management.mode == "dilos+sharing"
        riding = Riding(given.classes, shedding.hosts) if shedding and shares and chosen.by_class else None
        clusters = made.clusters if isinstance(made, ClusteredBsd) else None
        self._placing.use(clusters, riding, fuse=chosen.fuses, superboxes=chosen.by_graph)

    def _keeper(self) -> Timekeeper:
        """Who keeps deadlines: as long as they are served in the same way, the same as before."""
        before, wanted = self._scheduler.keeper, self._wish.deadlines
        if before and before.wanted == wanted:
            return before
        return Timekeeper(wanted, self._registry.streams, self._manifest, self._recorder, before)

    def _given(self) -> Given:
        queries = self._registry.queries
        empty = statistics.median([query.empty_job for query in queries.values()] or [0.0])
        jobs = sum(lane.kind == "jobs" for lane in self._scheduler.lanes)
        resident = self._residents.wanted
        graphs = any(query.qos for query in list(queries.values()))
        lanes = jobs + resident, max(jobs, resident)
        return Given(self.classes, bool(self._classes), graphs, *lanes, empty)


def _known(target: float) -> float | None:
    return target if math.isfinite(target) else None
