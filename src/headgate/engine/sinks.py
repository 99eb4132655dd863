"""The sinks of queries as they are opened: each has its own, shares one, or writes the stream that others read."""

from collections.abc import Callable, Collection
from functools import partial
from typing import TypeAlias

from pyspark.sql import SparkSession

from headgate.engine.drafts import Draft
from headgate.engine.log.progress import Progress
from headgate.engine.registry import Registry
from headgate.engine.sink.into_stream import IntoStream, Results, columns
from headgate.engine.sink.memory_tables import MemoryTables
from headgate.engine.sink.protocol import Opening, Sink
from headgate.engine.sink.shared import Shared
from headgate.engine.state import StateFolder
from headgate.engine.streams import Streams
from headgate.errors import InputError

Asked: TypeAlias = Sink | Shared | Callable[[str], Sink] | None
"""Where results are to go: a sink, one for each name, or memory."""


class Sinks:
    """Opens sinks, and registers the streams that results are."""

    def __init__(self, spark: SparkSession, state: StateFolder, registry: Registry, streams: Streams) -> None:
        self._spark, self._state, self._registry, self._streams = spark, state, registry, streams
        self._shared: dict[str, Shared] = {}

    def opened(self, draft: Draft, sink: Asked, progress: Progress, instance: str, of: str = "") -> Sink | Shared:
        """The sink of a query, ready for what comes behind its progress."""
        out = MemoryTables() if sink is None else sink(draft.name) if callable(sink) else sink
        if isinstance(out, Shared) and self._shared.setdefault(out.name, out) is not out:
            remedy = "Give one and the same object to all queries that share it."
            raise InputError("a shared sink has a name of its own", f"a second '{out.name}'", remedy)
        if isinstance(out, IntoStream):
            self._derive(draft, out)
        last = self._state.manifest.shared(out.name) if isinstance(out, Shared) else progress.receipt
        out.open(Opening(of or draft.name, draft.evaluation.schema, self._spark, last, self._state.sync, instance))
        return out

    def _derive(self, draft: Draft, out: IntoStream) -> None:
        """Register the stream that the results of a query are; where engines share its log, it is there already."""
        there = self._registry.streams.get(out.name)
        if there and there.log.shared and isinstance(there.source, Results):
            self._registry.attach(out)
            return
        if out.name.lower() == draft.name.lower():
            remedy = "Use another one for the stream."
            raise InputError("names of streams, tables and queries differ", f"a second '{out.name}'", remedy)
        source = Results(
            draft.name,
            columns(draft.name, draft.evaluation.schema),
            partial(self._registry.gives_no_more, draft.name),
        )
        self._streams.register(out.name, source, event_time=out.event_time, delay=out.delay, idle=out.idle)
        out.attach(self._registry.streams[out.name], self._state.path / "derived" / out.name)

    def undo(self, queries: Collection[str]) -> None:
        """Forget the streams of results of queries that came to nothing."""
        for name, stream in list(self._registry.streams.items()):
            own = stream.source if stream.log.shared is None else None
            if isinstance(own, Results) and own.query not in self._registry.queries:
                self._streams.disconnect(name)
                if own.query in queries and not stream.log.trains:
                    self._state.manifest.streams.remove(name)
