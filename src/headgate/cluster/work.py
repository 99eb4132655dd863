"""What a node does with its engine: connects streams that queries need, begins queries and lets them go."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from headgate.cluster.borders import Borders
from headgate.cluster.chains import Chains
from headgate.cluster.instances import Failure, Instance, Membership, Order
from headgate.cluster.storage import Storage
from headgate.cluster.waiting import LostSparkError
from headgate.engine.engine import Engine
from headgate.engine.log.mark import Mark
from headgate.engine.moving import Boundary, Windowed
from headgate.engine.pipeline import Pipeline, load
from headgate.engine.pipeline.pipeline import Query
from headgate.engine.sink.into_stream import IntoStream
from headgate.engine.windows import NEVER
from headgate.errors import HeadgateError, InputError

_SHAPE = ("window", "slide", "time", "cls", "deadline", "weight", "scale")
_SETTINGS = (*_SHAPE, "qos", "loss", "limit")
_PAUSE = 2.0
"""Seconds until a stream that has failed is read again."""


class Work:
    """An engine, and the pipeline of which it runs a part. One thread gives it orders; any may ask."""

    def __init__(
        self,
        engine: Engine,
        pipeline: Pipeline,
        storage: Storage,
        streams: Mapping[str, Sequence[str]],
        member: Membership,
    ) -> None:
        """`storage` is where it keeps what others may need; `streams` are those that each query reads."""
        self._engine, self._pipeline, self._storage, self._streams = engine, pipeline, storage, streams
        self.home, self.member = storage.home, member
        sinks = {name: query.sink for name, query in pipeline.queries.items() if isinstance(query.sink, IntoStream)}
        self._chains = Chains(engine, storage.logs, sinks)
        self._feeds: set[str] = set()
        self._connected: dict[str, set[str]] = {}
        self._planned: set[str] = set()
        self._floors: dict[str, int] = {}
        self._gone: dict[str, int] = {}
        self._priorities: dict[str, float] = {}
        self._dry: dict[str, tuple[Failure, float]] = {}
        self.address: str | None = None

    # Orders

    def prepare(self, order: Order) -> int:
        """Plan and compile a query, with its streams at hand; gives the time from which on it can be read."""
        name, query = order.instance.alias, self._query(order.instance)
        self._connect(order.instance)
        schema, readable = self._draft(name, query)
        self._connect_results(order.instance, query, schema)
        self._storage.check(self._engine, order)
        return readable

    def begin(self, order: Order) -> None:
        """Run an instance: from where it was here, from its boundary, or with what it inherits."""
        instance, engine = order.instance, self._engine
        name, query = instance.alias, self._query(instance)
        self._connect(instance)
        self._storage.check(engine, order)
        if isinstance(query.sink, IntoStream):
            self._connect_results(instance, query, self._draft(name, query)[0])
            self._chains.begin(instance, order.inherited, query.sink)
        known = engine.handover.instance_of(name)
        start: Any = query.start
        if known != instance.label:
            start = self._storage.start(engine, order, query, lambda: self._draft(name, query)[0]) or start
            if known is not None:
                # An older one, whose place others have taken.
                engine.forget(name)
        settings = {key: getattr(query, key) for key in _SETTINGS}
        until = None if order.until is None else Boundary(**order.until)
        own: dict[str, Any] = {"instance": instance.label, "of": instance.query}
        engine.query(name, query.sql, **settings, sink=query.sink, start=start, until=until, **own)

    def leave(self, instance: Instance, readable: int | None, until: Boundary | None) -> Boundary:
        """Let an instance go on up to a boundary that is agreed upon, or that it names."""
        found = self._engine.handover.leave(instance.alias, NEVER if readable is None else readable, until)
        goes_on = isinstance(self._engine.queries[instance.alias].evaluation, Windowed)
        self._chains.leave(instance.alias, (until or found).as_json(), stopped=not goes_on)
        return found

    def left(self, instance: Instance) -> bool:
        """Whether an instance has reached its boundary."""
        name = instance.alias
        left = self._engine.handover.left(name) and self._chains.over(name)
        return left and self._storage.left(self._engine, name)

    def stay(self, instance: Instance) -> None:
        """Go on with an instance that was leaving."""
        self._chains.stay(instance.alias)

    @property
    def waiting(self) -> bool:
        """Whether an instance waits until others have given out what comes before its own."""
        return self._chains.waiting

    def look(self) -> None:
        """Let instances go on for which others have made way."""
        self._chains.look()

    def remove(self, instance: Instance) -> None:
        """Let go of an instance, and of streams that nobody reads any more."""
        name = instance.alias
        try:
            if name in self._engine.queries:
                self._engine.remove(name)
        finally:
            self._part_with(name)

    def _part_with(self, name: str) -> None:
        """Let go of streams that nobody uses any more, and of what was planned over them."""
        self._chains.gone(name)
        for stream, users in list(self._connected.items()):
            users.discard(name)
            if not users and stream not in self._feeds:
                for planned in [each for each in self._planned if stream in self._streams[each]]:
                    self._engine.handover.unprepare(planned)
                    self._planned.discard(planned)
                self._engine.disconnect(stream)
                del self._connected[stream]

    def abandon(self, instance: Instance) -> None:
        """Stop an instance whose place another one takes. What it has committed stays for that one."""
        self._engine.abandon(instance.alias)
        self._part_with(instance.alias)

    def forget(self, gone: Mapping[str, int]) -> None:
        """Forget what is committed of instances up to these numbers."""
        for query, number in gone.items():
            if number > self._gone.get(query, 0):
                label = self._engine.handover.instance_of(query)
                if label and int(label) <= number and query not in self._engine.queries:
                    self._engine.forget(query)
                self._gone[query] = number

    def hear(self, begins: Mapping[str, Mark]) -> None:
        """Hear where to begin to read streams."""
        self._storage.begin(begins)

    def feed(self, streams: Sequence[str]) -> None:
        """Run the sources of these streams, and of no others."""
        for stream in streams:
            self._reach(stream)
            # Time and again: the one who fed it before may have been faster once more.
            self._storage.feed(self._engine, stream, True)
        for stream in self._feeds.difference(streams).intersection(self._connected):
            self._storage.feed(self._engine, stream, False)
            self._dry.pop(stream, None)
        self._feeds = set(streams)

    def mend(self) -> None:
        """Read streams again that have failed, after a pause: a file may be back, or a disk have room."""
        now = time.monotonic()
        for stream in self._engine.recent().streams:
            failure, again = self._dry.get(stream.name, (None, 0.0))
            if now < again:
                continue
            if stream.status != "failed" or stream.name not in self._connected:
                self._dry.pop(stream.name, None)
                continue
            times = failure.times + 1 if failure else 1
            self._dry[stream.name] = Failure(stream.reason or "", times), now + _PAUSE
            self._engine.resume(stream.name)

    def check(self) -> None:
        """See whether Spark is still there: without it nothing can be planned, and most of it not be run."""
        try:
            stopped = self._engine.spark.sparkContext._jsc.sc().isStopped()  # noqa: SLF001 - PySpark has no such question
        except Exception as error:
            raise LostSparkError(f"the Spark of this node has ended: {type(error).__name__}") from error
        if stopped:
            raise LostSparkError("the Spark of this node has been stopped")

    def release(self, floors: Mapping[str, int]) -> None:
        """Let go of tuples before these positions, which no node needs."""
        for stream, floor in floors.items():
            if floor > self._floors.get(stream, 0):
                self._floors[stream] = floor
                if stream in self._connected:
                    self._engine.release(stream, floor)

    def prioritise(self, priorities: Mapping[str, float]) -> None:
        """Give classes other priorities here."""
        for cls, priority in priorities.items():
            if self._priorities.get(cls) != priority:
                self._engine.prioritise(cls, priority)
                self._priorities[cls] = priority

    def get_ready(self) -> None:
        """Plan one query that may come one day, over streams that are at hand, so that it can come sooner."""
        for name, query in self._pipeline.queries.items():
            known = name in self._engine.queries or name in self._planned
            if not known and all(stream in self._connected for stream in self._streams[name]):
                self._planned.add(name)
                with suppress(HeadgateError):
                    self._draft(name, query)
                return

    # How it is

    def needed(self) -> dict[str, int]:
        """The first tuple of each stream that queries here read again."""
        return self._engine.handover.needed()

    def borders(self) -> Borders:
        """What others have to be told of queries, since they cannot see it."""
        return self._storage.borders(self._engine)

    def marks(self) -> Mapping[str, Mark]:
        """The same of streams."""
        return self._storage.marks(self._engine)

    def feeding(self) -> tuple[str, ...]:
        """The streams that are fed from here."""
        return tuple(sorted(self._connected if self.home else self._feeds))

    def down(self) -> dict[str, str]:
        """Queries that have failed here, and why."""
        queries = self._engine.queries
        return {name: each.reason or "" for name, each in queries.items() if each.status == "failed"}

    def dry(self) -> dict[str, Failure]:
        """Streams that have failed here, and why."""
        return {stream: failure for stream, (failure, _) in self._dry.copy().items()}

    def load(self) -> dict[str, Any]:
        """What whoever balances has to know."""
        seen = self._engine.recent()
        classes = [{key: value for key, value in asdict(each).items() if key in _OF_CLASSES} for each in seen.classes]
        queries = {q.name: {"busy": q.busy, "tuples": q.tuples, "shed": q.shed} for q in seen.queries}
        return {"address": self.address, "capacity": self._engine.width, "classes": classes, "queries": queries}

    def serve(self) -> str:
        """Serve a dashboard, and say where; nobody's queries wait for that."""
        try:
            server = self._engine.serve()
        except InputError as error:
            return f"; there is no dashboard: {error}"
        self.address = server.address
        return f", dashboard {server.address} · changes need the token {server.token}"

    def close(self) -> None:
        """Stop the engine."""
        self._engine.stop()

    # Inside

    def _query(self, instance: Instance) -> Query:
        if instance.query not in self._pipeline.queries:
            known = ", ".join(self._pipeline.queries)
            raise InputError(
                "all nodes have the same pipeline", f"a query '{instance.query}' more", f"Here: {known}."
            )
        query = self._pipeline.queries[instance.query]
        if instance.until is None:
            return query
        # Sinks of its own, for the other instance has these.
        return load(self._pipeline.document.path).queries[instance.query]

    def _connect(self, instance: Instance) -> None:
        for name in self._streams[instance.query]:
            self._reach(name).add(instance.alias)

    def _connect_results(self, instance: Instance, query: Query, results: pa.Schema) -> None:
        """Have the stream at hand that the results of a query are, if they are one."""
        if isinstance(query.sink, IntoStream):
            self._chains.describe(query.sink, instance.query, results)
            self._reach(query.sink.name).add(instance.alias)

    def _reach(self, name: str) -> set[str]:
        """Have a stream at hand; gives those who use it."""
        if name not in self._connected:
            if stream := self._pipeline.streams.get(name):
                self._storage.connect(self._engine, name, stream)
            else:
                self._chains.connect(name)
            self._connected[name] = set()
            # What others may have let go of by now is not there to begin with.
            self._engine.release(name, self._floors.get(name, 0))
        return self._connected[name]

    def _draft(self, name: str, query: Query) -> tuple[pa.Schema, int]:
        return self._engine.handover.prepare(name, query.sql, **{key: getattr(query, key) for key in _SHAPE})


_OF_CLASSES = ("name", "priority", "delay_target", "share", "headroom", "usage", "drop", "response_mean")
