"""From texts to queries that can be scheduled: drawn up, entered in the manifest, with their sinks open."""

import math
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

import pyarrow as pa

from headgate.engine.admitting import Admitting
from headgate.engine.classes import Classes
from headgate.engine.drafts import Draft, Drafts, Shown
from headgate.engine.graphs import Latencies, latency_graph, loss_graph
from headgate.engine.log.progress import Progress
from headgate.engine.moving import Boundary, Inherited, end_at, readable
from headgate.engine.query import Definition, LiveQuery
from headgate.engine.registry import Registry
from headgate.engine.scheduler import Scheduler
from headgate.engine.sink.into_stream import IntoStream
from headgate.engine.sink.protocol import Sink
from headgate.engine.sink.shared import Shared
from headgate.engine.sinks import Asked, Sinks
from headgate.engine.spans import seconds
from headgate.engine.state import StateFolder
from headgate.engine.table.swapping import Swapping
from headgate.engine.terms import Terms
from headgate.engine.warming import EmptyRuns, warm
from headgate.errors import InputError
from headgate.model.deadlines import Deadline
from headgate.model.qos import LatencyGraph


class Registering:
    """Registers queries: all that are asked for together, or none."""

    def __init__(
        self,
        state: StateFolder,
        registry: Registry,
        classes: Classes,
        drafts: Drafts,
        sinks: Sinks,
        empty_runs: EmptyRuns,
        admitting: Admitting,
        swapping: Swapping,
        scheduler: Scheduler,
    ) -> None:
        self._state, self._registry, self._classes, self._drafts = state, registry, classes, drafts
        self._sinks, self._empty_runs, self._admitting = sinks, empty_runs, admitting
        self._swapping, self._scheduler = swapping, scheduler
        self._prepared: dict[str, Draft] = {}

    def register(self, texts: Mapping[str, str], sink: Asked, terms: Terms) -> Sequence[LiveQuery]:
        """Register queries on the same terms; gives what has yet to be placed."""
        start, cls, manifest = terms.start, terms.cls, self._state.manifest
        if not isinstance(start, Boundary | Inherited) and start not in ("now", "earliest"):
            raise InputError("a query starts now or at the earliest", f"'{start}'", "Write start='earliest'.")
        began = monotonic()
        most = seconds(terms.limit, "a query's limit", above=0)
        shape = terms.shape
        self._registry.check("query", texts)
        if isinstance(sink, IntoStream) and len(texts) > 1:
            rule, remedy = "the tuples of a stream come from one query", "Give each query a stream of its own."
            raise InputError(rule, f"{len(texts)} queries into '{sink.name}'", remedy)
        due = terms.due(shape)
        worth = self._worth(cls, terms.qos, due)
        lossy = None if terms.loss is None else loss_graph(terms.loss)
        shown = self._shown(terms, due)
        drafts = [
            self._prepared.pop(name) if name in self._prepared else self._drafts.of(name, sql, shape, shown, due)
            for name, sql in texts.items()
        ]
        for stream in {stream for draft in drafts for stream in draft.streams} if due is None else ():
            self._classes.check(cls, self._registry.logs[stream], scale=terms.scale)
        span = "" if shape is None else f"{shape.size}/{shape.slide}"
        kind = "rows" if shape and shape.over_rows else terms.time or ""
        entries = [(d, Definition(d.sql, span, kind, shown, due is not None).as_json()) for d in drafts]
        for draft, definition in entries:
            self._check_known(draft.name, definition)
        begins = [(d.name, definition, self._begin(d, start)) for d, definition in entries]
        fresh = {draft.name for draft in drafts if manifest.definition(draft.name) is None}
        progress = manifest.enter_many(begins, dict.fromkeys(texts, terms.instance))
        made: list[LiveQuery] = []
        opened: list[Sink | Shared] = []
        try:
            for draft in drafts:
                out = self._sinks.opened(draft, sink, progress[draft.name], terms.instance, terms.of)
                opened.append(out)
                made.append(self._live(draft, cls, out, most, progress[draft.name]))
                made[-1].qos, made[-1].loss = worth, lossy
                if isinstance(out, IntoStream) and not out.holds:
                    # Its turn to append comes later: whoever knows when resumes it.
                    made[-1].status = "paused"
                if terms.until is not None:
                    end_at(made[-1], terms.until)
            self._restore_rates([query for query in made if query.name not in fresh])
            self._swapping.begin(made, self._registry.logs, in_order=self._state.in_order)
            self._admitting.admit(made, began)
        except BaseException:
            # Whatever it is, a trial that fails or somebody who does not wait: none of it stays.
            self._admitting.forget(texts)
            for query in made:
                query.close()
            for out in opened[len(made) :]:
                out.close()
            self._sinks.undo({draft.name for draft in drafts} & fresh)
            for name in fresh:
                manifest.remove(name)
            raise
        self._registry.add(made)
        return made

    def prepare(self, name: str, sql: str, terms: Terms) -> tuple[pa.Schema, int]:
        """Plan a query that is to come.

        Gives the columns of its results, and from which time on a query over windows finds every tuple here.
        """
        if name not in self._prepared:
            shape = terms.shape
            due = terms.due(shape)
            draft = self._drafts.of(name, sql, shape, self._shown(terms, due), due)
            if draft.compiled is None:
                warm(name, draft.evaluation)
            self._prepared[name] = draft
        found = self._prepared[name].evaluation
        return found.schema, readable(found, self._registry.logs)

    def unprepare(self, name: str) -> None:
        """Forget what was prepared of a query that does not come."""
        self._prepared.pop(name, None)

    def _worth(self, cls: str, qos: Latencies | None, due: Deadline | None) -> LatencyGraph | None:
        """The latency graph of a query: its own, or that of its class. Whoever has a deadline needs none."""
        if due is None:
            return self._classes.graph(cls) if qos is None else latency_graph(qos)
        if qos is not None:
            remedy = "Leave one of them out; a query with a deadline goes before all others anyway."
            raise InputError("a query has a deadline or a QoS graph", "both", remedy)
        return None

    def _shown(self, terms: Terms, due: Deadline | None) -> Shown:
        return Shown(due is not None or math.isfinite(self._classes.of(terms.cls).delay_target), terms.scale)

    def _check_known(self, name: str, definition: Mapping[str, Any]) -> None:
        known = self._state.manifest.definition(name)
        if known is not None and known != definition:
            keys = dict.fromkeys((*definition, *known))
            changed = ", ".join(key for key in keys if known.get(key) != definition.get(key))
            raise InputError(
                f"query '{name}' is the one that its state folder knows",
                f"another {changed}",
                "Give it another name, use a fresh state folder, or remove it first (engine.remove).",
            )

    def _begin(self, draft: Draft, start: str | Boundary | Inherited) -> Progress:
        if isinstance(start, Boundary):
            return start.begin(draft.evaluation, self._registry.logs)
        if isinstance(start, Inherited):
            return start.begin(self._state.panes(draft.name))
        return draft.evaluation.begin(self._start(draft.streams, start))

    def _start(self, streams: Sequence[str], start: str) -> dict[str, int]:
        logs = {name: self._registry.streams[name].log for name in streams}
        if start == "earliest":
            return {name: log.trains[0].first if log.trains else 0 for name, log in logs.items()}
        return {name: log.head for name, log in logs.items()}

    def _live(self, draft: Draft, cls: str, out: Sink | Shared, limit: float, progress: Progress) -> LiveQuery:
        keeps = cls in self._classes.keeps_shed
        protects = self._classes.protects.get(cls, {})
        return LiveQuery(
            *(draft, cls, out, limit, progress, self._registry.logs),
            # With a deadline beside those that run, that is a part of its trial.
            empty_job=0.0 if draft.deadline and self._scheduler.started else self._empty_runs.of(draft),
            keeps_shed=keeps,
            protects=protects,
        )

    def _restore_rates(self, queries: Sequence[LiveQuery]) -> None:
        """Give queries that were there before the drop rates that they had."""
        known, streams = self._state.manifest.rates.thinned([query.name for query in queries]), self._registry.streams
        for query in queries:
            steps = known.get(query.name, {})
            # How far it had come in memory when the engine died, nobody knows; not beyond what was there.
            decided = (
                query.progress.cursors if self._state.in_order else {s: streams[s].log.head for s in query.rates}
            )
            query.restore({stream: (decided[stream], steps.get(stream, ())) for stream in query.rates})
