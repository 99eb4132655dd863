"""Queries that go to other engines, and come from there: each ends where its next instance can go on."""

import math
from collections.abc import Callable

import pyarrow as pa

from headgate.engine.borders import Border, Borders
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.mark import Mark
from headgate.engine.moving import Boundary, Windowed, handed_over, last_window
from headgate.engine.query import LiveQuery
from headgate.engine.registering import Registering
from headgate.engine.registry import Registry
from headgate.engine.scheduler import Scheduler
from headgate.engine.sink.into_stream import IntoStream
from headgate.engine.sink.protocol import Shows
from headgate.engine.terms import Terms
from headgate.engine.windows import ENDED, NEVER, Clock, Window
from headgate.model.classes import DEFAULT


class Handover:
    """What is asked for other engines: to plan what may come, to end at a boundary, to say how far all is."""

    def __init__(
        self,
        registry: Registry,
        registering: Registering,
        scheduler: Scheduler,
        manifest: Manifest,
        resume: Callable[[str], None],
    ) -> None:
        self._registry, self._registering, self._resume = registry, registering, resume
        self._scheduler, self._manifest, self._borders = scheduler, manifest, Borders(manifest)

    # Queries that may come

    def prepare(
        self,
        name: str,
        sql: str,
        *,
        window: str | float | None = None,
        slide: str | float | None = None,
        time: Clock | None = None,
        cls: str = DEFAULT,
        deadline: str | float | None = None,
        weight: float = 1.0,
        scale: bool = False,
    ) -> tuple[pa.Schema, int]:
        """Plan a query that is to come, so that `Engine.query` takes less time then.

        Gives the columns of its results, and from which time on a query over windows finds every tuple here.
        """
        terms = Terms(window=window, slide=slide, time=time, cls=cls, deadline=deadline, weight=weight, scale=scale)
        return self._registering.prepare(name, sql, terms)

    def unprepare(self, name: str) -> None:
        """Forget what was prepared of a query that does not come."""
        self._registering.unprepare(name)

    def attach(self, sink: IntoStream) -> None:
        """Let a sink write to a registered stream of results whose log engines share."""
        self._registry.attach(sink)

    # How far all is

    def marks(self) -> dict[str, Mark]:
        """Where somebody else can begin to read each stream now, if it has come to anything."""
        logs = ((name, stream.log) for name, stream in list(self._registry.streams.items()))
        return {name: mark for name, log in logs if (mark := log.mark())}

    def heads(self) -> dict[str, int]:
        """How many tuples of each stream have been read."""
        return {name: stream.log.head for name, stream in list(self._registry.streams.items())}

    def borders(self) -> dict[str, Border]:
        """How far each query has come of which readers can see all results."""
        return self._borders.look(self._registry.queries, self._registry.logs)

    def instance_of(self, name: str) -> str | None:
        """As which instance the state folder knows a query; None if it does not."""
        return self._manifest.instances([name]).get(name)

    def needed(self) -> dict[str, int]:
        """The first tuple of each stream that queries will read again."""
        found: dict[str, int] = {}
        for query in list(self._registry.queries.values()):
            for stream in query.evaluation.streams:
                at = query.evaluation.needed(query.durable, stream)
                found[stream] = min(at, found.get(stream, at))
        for query in list(self._registry.queries.values()):
            if isinstance(query.sink, IntoStream):
                # Of what nobody reads, nobody needs anything.
                found.setdefault(query.sink.name, self._registry.logs[query.sink.name].head)
        return found

    def gives_no_more(self, name: str) -> bool:
        """Whether all that a query will ever give is out. Raises a HeadgateError if it has failed."""
        return self._registry.gives_no_more(name)

    # Queries that leave

    def leave(self, name: str, since: int = NEVER, until: Boundary | None = None) -> Boundary:
        """Let a query end here, and say where; whoever takes it over can read from the time `since` on.

        With windows it goes on until the last one that is its own is given out; others end at once. If it has been
        said before, `until` is where it ends.
        """
        query = self._registry.query(name)
        evaluation, found = query.evaluation, Boundary()
        if not isinstance(evaluation, Windowed):
            query.status = "paused"
            self._scheduler.apart(query)

        def settle() -> None:
            nonlocal found
            if isinstance(evaluation, Windowed):
                last = until.closed if until else self._last_window(query, evaluation.plan.window, since)
                evaluation.stop_at(last)
                found = Boundary(closed=last)
            else:
                unit.commit(self._manifest)
                found = Boundary.of(query.durable)
                # Others go on behind it: all of it is to be seen.
                query.sink.tick(math.inf)

        unit = self._scheduler.unit_of(query)
        self._scheduler.when_free(unit, settle)
        self._scheduler.wake()
        return found

    def _last_window(self, query: LiveQuery, window: Window, since: int) -> int:
        closed, logs = query.progress.closed, [self._registry.logs[name] for name in query.evaluation.streams]
        return last_window(window, closed, max(since, handed_over(window, closed, logs)))

    def left(self, name: str) -> bool:
        """Whether a query that is leaving has given out all that is its own, for good: readers see it.

        What is committed and not shown yet would be nobody's to show, if this process ended before it is.
        """
        query, evaluation = self._registry.query(name), self._registry.query(name).evaluation
        if isinstance(evaluation, Windowed):
            return evaluation.stopped(query.durable) and _shown(query)
        if query.status == "paused" and query.hidden:
            self._scheduler.when_free(self._scheduler.unit_of(query), query.publish)
        return query.status == "paused" and _shown(query)

    def stay(self, name: str) -> None:
        """Go on with a query that was leaving."""
        evaluation = self._registry.query(name).evaluation
        if isinstance(evaluation, Windowed):
            evaluation.stop_at(ENDED)
            self._scheduler.wake()
        else:
            self._resume(name)


def _shown(query: LiveQuery) -> bool:
    """Whether readers see all that a query has committed."""
    receipt = query.durable.receipt
    later = isinstance(query.sink, Shows) and receipt is not None and not query.sink.shows(receipt)
    return not query.hidden and not later
