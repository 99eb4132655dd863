"""What a node does with its engine: connects streams that queries need, begins queries and lets them go."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.cluster.ledger import create
from headgate.cluster.placement import Instance, Order
from headgate.engine.engine import Engine
from headgate.engine.log.manifest import Progress, peek
from headgate.engine.moving import Boundary, Inherited, as_json, from_json
from headgate.engine.pipeline import Pipeline, load
from headgate.engine.pipeline.pipeline import Query
from headgate.engine.sink.protocol import Opening
from headgate.engine.windows import NEVER
from headgate.errors import HeadgateError, InputError, SupersededError

_SHAPE = ("window", "slide", "time", "cls", "deadline", "weight", "scale")
_SETTINGS = (*_SHAPE, "qos", "loss", "limit")


class Work:
    """An engine, and the pipeline of which it runs a part. One thread gives it orders; any may ask."""

    def __init__(
        self, engine: Engine, pipeline: Pipeline, folder: Path, streams: Mapping[str, Sequence[str]]
    ) -> None:
        """`folder` is the cluster's; `streams` are those that each query reads."""
        self._engine, self._pipeline, self._folder, self._streams = engine, pipeline, folder, streams
        self._feeds: set[str] = set()
        self._connected: dict[str, set[str]] = {}
        self._planned: set[str] = set()
        self._floors: dict[str, int] = {}
        self._gone: dict[str, int] = {}
        self._priorities: dict[str, float] = {}
        self.address: str | None = None

    # Orders

    def prepare(self, order: Order) -> int:
        """Plan and compile a query, with its streams at hand; gives the time from which on it can be read."""
        name = order.instance.alias
        self._connect(order.instance)
        _, readable = self._draft(name, self._query(order.instance))
        return readable

    def begin(self, order: Order) -> None:
        """Run an instance: from where it was here, from its boundary, or with what it inherits."""
        instance, engine = order.instance, self._engine
        self._check_open(instance)
        name, query = instance.alias, self._query(instance)
        self._connect(instance)
        known = engine.instance_of(name)
        start: Any = query.start
        if known != instance.label:
            if instance.since is not None:
                start = Boundary(**instance.since)
            elif order.inherited:
                start = self._inherited(order.inherited, name, query) or start
            if known is not None:
                # An older one, whose place others have taken. It may be itself what is inherited.
                start = (
                    start.apart(engine.state / "panes" / instance.label) if isinstance(start, Inherited) else start
                )
                engine.forget(name)
        settings = {key: getattr(query, key) for key in _SETTINGS}
        engine.query(name, query.sql, **settings, sink=query.sink, start=start, instance=instance.label)

    def _check_open(self, instance: Instance) -> None:
        """Refuse an instance that has come to its end, whoever says that it should run."""
        files = (self._folder / "queries" / instance.query / f"{instance.label}.{end}" for end in ("over", "taken"))
        if any(file.exists() for file in files):
            raise SupersededError(f"instance {instance.number} of query {instance.query} has come to its end")

    def leave(self, instance: Instance, readable: int | None, until: Boundary | None) -> Boundary:
        """Let an instance go on up to a boundary that is agreed upon, or that it names."""
        return self._engine.leave(instance.alias, NEVER if readable is None else readable, until)

    def left(self, instance: Instance) -> bool:
        """Whether an instance has reached its boundary."""
        return self._engine.left(instance.alias)

    def stay(self, instance: Instance) -> None:
        """Go on with an instance that was leaving."""
        self._engine.stay(instance.alias)

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
        for stream, users in list(self._connected.items()):
            users.discard(name)
            if not users and stream not in self._feeds:
                for planned in [each for each in self._planned if stream in self._streams[each]]:
                    self._engine.unprepare(planned)
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
                label = self._engine.instance_of(query)
                if label and int(label) <= number and query not in self._engine.queries:
                    self._engine.forget(query)
                self._gone[query] = number

    def feed(self, streams: Sequence[str]) -> None:
        """Run the sources of these streams, and of no others."""
        for stream in streams:
            self._reach(stream)
            # Time and again: the one who fed it before may have been faster once more.
            self._engine.feed(stream)
        for stream in self._feeds.difference(streams).intersection(self._connected):
            self._engine.feed(stream, False)
        self._feeds = set(streams)

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
        return self._engine.needed()

    def feeding(self) -> tuple[str, ...]:
        """The streams that are fed from here."""
        return tuple(sorted(self._feeds))

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

    def _reach(self, name: str) -> set[str]:
        """Have a stream at hand; gives those who use it."""
        if name not in self._connected:
            stream = self._pipeline.streams[name]
            self._engine.stream(
                name,
                stream.source,
                event_time=stream.event_time,
                delay=stream.delay,
                idle=stream.idle,
                shared=self._folder / "streams" / name,
                feeds=False,
            )
            self._connected[name] = set()
            # What others may have let go of by now is not there to begin with.
            self._engine.release(name, self._floors.get(name, 0))
        return self._connected[name]

    def _draft(self, name: str, query: Query) -> tuple[pa.Schema, int]:
        return self._engine.prepare(name, query.sql, **{key: getattr(query, key) for key in _SHAPE})

    def _inherited(self, before: Sequence[Instance], name: str, query: Query) -> Inherited | Boundary | None:
        """What the instances have committed whose place it takes, after which they can show nothing any more."""
        schema, _ = self._draft(name, query)
        for old in before:
            state = self._folder / "nodes" / old.node
            opening = Opening(name, schema, self._engine.spark, None, instance=old.label)
            # Whatever it commits from now on, it cannot show: what is read now is what it has done.
            query.sink.fence(opening)
            found = self._taken(old)
            query.sink.take_over(replace(opening, last=found.receipt if found else None))
            if found is not None:
                return Inherited(found, state / "panes" / old.alias)
        since = before[-1].since
        return None if since is None else Boundary(**since)

    def _taken(self, old: Instance) -> Progress | None:
        """How far an instance has come, as whoever took its place first has seen it; None if it never began.

        It may go on for a while with what nobody sees. Whoever asks again, after a crash, must not be told more.
        """
        file = self._folder / "queries" / old.query / f"{old.label}.taken"
        if not file.exists():
            found = _committed(self._folder / "nodes" / old.node / "manifest.db", old)
            create(file, json.dumps(None if found is None else as_json(found)))
        known = json.loads(file.read_text())
        return None if known is None else from_json(known)


_OF_CLASSES = ("name", "priority", "delay_target", "share", "headroom", "usage", "drop", "response_mean")


def _committed(manifest: Path, instance: Instance) -> Progress | None:
    """How far an instance has come by the manifest of its node; None if it never began."""
    if not manifest.exists():
        return None
    found = peek(manifest)
    return found.progress[instance.alias] if found.instances.get(instance.alias) == instance.label else None
