"""Streams as they come and go: each is a log and a source that feeds it, or follows who does."""

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.engine.drafts import Drafts
from headgate.engine.intake import LiveStream
from headgate.engine.log.mark import Mark
from headgate.engine.log.shared import SharedTrains
from headgate.engine.log.stored import StoredTrain
from headgate.engine.log.stream import StreamLog
from headgate.engine.prepared import Views
from headgate.engine.registry import Registry
from headgate.engine.scheduler import Scheduler
from headgate.engine.sink.into_stream import Results
from headgate.engine.source.protocol import Source
from headgate.engine.spans import seconds
from headgate.engine.state import StateFolder
from headgate.errors import InputError, choose
from headgate.record import Arrived, Recorder

_MICROS = 1_000_000


class Streams:
    """Registers streams, and forgets them."""

    def __init__(
        self,
        spark: SparkSession,
        state: StateFolder,
        registry: Registry,
        views: Views,
        drafts: Drafts,
        scheduler: Scheduler,
        recorder: Recorder,
    ) -> None:
        self._spark, self._state, self._registry = spark, state, registry
        self._views, self._drafts = views, drafts
        self._scheduler, self._recorder = scheduler, recorder

    def register(
        self,
        name: str,
        source: Source,
        *,
        event_time: str | None = None,
        delay: str | float = 0.0,
        idle: str | float | None = None,
        shared: str | Path | None = None,
        feeds: bool = True,
        begins: Mark | None = None,
    ) -> None:
        """Register a stream; if the engine runs, it begins to be read."""
        self._registry.check("stream", [name])
        schema = source.schema(self._spark)
        if event_time is not None:
            _check_time(name, schema, event_time)
        trains = None if shared is None else SharedTrains(Path(shared).absolute(), sync=self._state.sync)
        log = StreamLog(
            name,
            schema,
            self._state.path / "streams" / name,
            self._state.path / "dead" / name,
            self._state.manifest,
            event_time=event_time,
            delay=seconds(delay, "the delay of a stream"),
            on_append=lambda train: self._arrived(name, train),
            sync=self._state.sync,
            shared=trains,
        )
        if begins:
            log.begin_at(begins)
        self._views.add_stream(name, schema)
        self._registry.logs[name] = log
        silent = None if idle is None else seconds(idle, "the idle time of a stream", above=0)
        # What a source keeps beside its state is for whoever feeds the stream next.
        own = trains.folder / "_source" if trains else self._state.path / "sources" / name
        live = LiveStream(log, source, own, silent, feeds=feeds or trains is None)
        self._registry.streams[name] = live
        if self._scheduler.started:
            live.start()

    def release(self, name: str, before: int) -> None:
        """Let go of what the log has before a position, which no engine needs; of a shared one, for all."""
        log = self._registry.stream(name).log
        if log.floor is None:
            rule, remedy = f"the log of stream '{name}' is for several engines", "This one lets go by itself."
            raise InputError(rule, "one that is not", remedy)
        log.floor = max(log.floor, before)
        if log.shared and (first := log.shared.reaching(before)) is not None:
            log.shared.drop(first)

    def disconnect(self, name: str) -> None:
        """Forget a stream that no query reads; what is in its log stays."""
        stream, queries = self._registry.stream(name), self._registry.queries
        if readers := [query.name for query in queries.values() if name in query.evaluation.streams]:
            rule, remedy = f"no query reads stream '{name}' that is to go", "Remove them first."
            raise InputError(rule, ", ".join(readers), remedy)
        if isinstance(stream.source, Results) and stream.source.query in queries:
            rule, remedy = f"no query writes to stream '{name}' that is to go", "Remove it first."
            raise InputError(rule, stream.source.query, remedy)
        stream.stop()

        def forget() -> None:
            del self._registry.streams[name], self._registry.logs[name]

        self._scheduler.call(forget)
        self._views.drop_stream(name)
        self._drafts.forget()

    def _arrived(self, name: str, train: StoredTrain) -> None:
        if train.count:
            at, until = train.arrived_first / _MICROS, train.arrived_last / _MICROS
            self._recorder.append(Arrived(name, train.first, train.count, at, until))
        self._scheduler.came()


def _check_time(stream: str, schema: pa.Schema, column: str) -> None:
    times = [name for name in schema.names if pa.types.is_timestamp(schema.field(name).type)]
    declared = f"The stream has none: declare a column as one in its schema, as in '{column} TIMESTAMP'."
    remedy = choose(column, times) if times else declared
    if column not in schema.names:
        raise InputError(f"the event time of stream '{stream}' is a column of it", f"'{column}'", remedy)
    if not pa.types.is_timestamp(schema.field(column).type):
        got = f"'{column}' of type {schema.field(column).type}"
        raise InputError(f"the event time of stream '{stream}' is a TIMESTAMP", got, remedy)
