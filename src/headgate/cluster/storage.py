"""Where nodes keep what others may need of them: in a folder that all of them reach, or each in one of its own.

    connect(engine, name, stream)    have a stream at hand
    start(engine, order, query)      from where an instance goes on that is new here
    borders(engine), marks(engine)   what others have to be told, since they cannot see it

In a shared folder the log of a stream is one for all, whoever takes over reads the manifest of the one who was lost,
and its sink is taken away from it. Apart, each node makes its own log of a stream, and whoever takes over begins at
the border that the other has reported.
"""

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from headgate.cluster.borders import Borders, Reached
from headgate.cluster.instances import Instance, Order
from headgate.cluster.ledger import create
from headgate.cluster.membership import founded, known
from headgate.cluster.waiting import NotYetError
from headgate.engine.engine import Engine
from headgate.engine.log.mark import Mark
from headgate.engine.log.peeking import peek
from headgate.engine.log.progress import Progress
from headgate.engine.moving import Boundary, Inherited, as_json, from_json
from headgate.engine.pipeline.pipeline import Query, Stream
from headgate.engine.sink.protocol import Opening
from headgate.errors import SupersededError


class Storage(Protocol):
    """What a node keeps, and where."""

    cluster: str
    """The cluster that the folder belongs to; empty if to none."""
    home: str
    """What the state folder is known by, apart; empty if it is shared."""
    logs: Path
    """Where logs of streams are that this node makes of results."""

    def state(self, node: str) -> Path:
        """The state folder of this node."""

    def begin(self, begins: Mapping[str, Mark]) -> None:
        """Hear where to begin to read streams."""

    def connect(self, engine: Engine, name: str, stream: Stream) -> None:
        """Register a stream with the engine."""

    def feed(self, engine: Engine, name: str, on: bool) -> None:
        """Run the source of a stream for all, or no more."""

    def check(self, engine: Engine, order: Order) -> None:
        """Refuse an order that cannot be carried out, or not yet."""

    def start(
        self, engine: Engine, order: Order, query: Query, schema: Callable[[], pa.Schema]
    ) -> Inherited | Boundary | None:
        """From where an instance goes on that this engine does not know; None if it is a new query."""

    def left(self, engine: Engine, name: str) -> bool:
        """Whether all of a query that has reached its boundary is where others count on it."""

    def borders(self, engine: Engine) -> Borders:
        """The borders of queries that others have to be told."""

    def marks(self, engine: Engine) -> Mapping[str, Mark]:
        """The marks of streams that others have to be told."""


class SharedFolder:
    """A folder that all nodes reach."""

    home = ""

    def __init__(self, folder: Path) -> None:
        self._folder, self.logs = folder, folder / "streams"
        self.cluster = known(folder)

    def state(self, node: str) -> Path:
        """One of those in it."""
        return self._folder / "nodes" / node

    def begin(self, begins: Mapping[str, Mark]) -> None:
        """Whoever feeds a stream goes on behind what is in its log."""

    def connect(self, engine: Engine, name: str, stream: Stream) -> None:
        """With the log that all share, which somebody else feeds for now."""
        engine.stream(
            name,
            stream.source,
            event_time=stream.event_time,
            delay=stream.delay,
            idle=stream.idle,
            shared=self._folder / "streams" / name,
            feeds=False,
        )

    def feed(self, engine: Engine, name: str, on: bool) -> None:
        """The one log is fed by this node."""
        engine.feed(name, on)

    def check(self, engine: Engine, order: Order) -> None:  # noqa: ARG002 - apart it matters how far it has come
        """Refuse an instance that has come to its end, whoever says that it should run."""
        instance = order.instance
        files = (self._folder / "queries" / instance.query / f"{instance.label}.{end}" for end in ("over", "taken"))
        if order.do != "prepare" and any(file.exists() for file in files):
            raise SupersededError(f"instance {instance.number} of query {instance.query} has come to its end")

    def start(
        self, engine: Engine, order: Order, query: Query, schema: Callable[[], pa.Schema]
    ) -> Inherited | Boundary | None:
        """From its boundary, or with what others have committed, after which they can show nothing any more."""
        instance, before = order.instance, order.inherited
        if instance.since is not None or not before:
            return None if instance.since is None else Boundary(**instance.since)
        columns = schema()
        for old in before:
            opening = Opening(instance.alias, columns, engine.spark, None, instance=old.label)
            # Whatever it commits from now on, it cannot show: what is read now is what it has done.
            query.sink.fence(opening)
            found = self._taken(old)
            query.sink.take_over(replace(opening, last=found.receipt if found else None))
            if found is not None:
                start = Inherited(found, self.state(old.node) / "panes" / old.alias)
                # An older one may be here, and be itself what is inherited.
                known = engine.handover.instance_of(instance.alias)
                return start if known is None else start.apart(engine.state / "panes" / instance.label)
        since = before[-1].since
        return None if since is None else Boundary(**since)

    def left(self, engine: Engine, name: str) -> bool:  # noqa: ARG002 - as above
        """What is committed can be shown by others."""
        return True

    def borders(self, engine: Engine) -> Borders:  # noqa: ARG002 - as above
        """None: others look into the manifest."""
        return {}

    def marks(self, engine: Engine) -> Mapping[str, Mark]:  # noqa: ARG002 - as above
        """None: others read the log."""
        return {}

    def _taken(self, old: Instance) -> Progress | None:
        """How far an instance has come, as whoever took its place first has seen it; None if it never began.

        It may go on for a while with what nobody sees. Whoever asks again, after a crash, must not be told more.
        """
        file = self._folder / "queries" / old.query / f"{old.label}.taken"
        if not file.exists():
            found = _committed(self.state(old.node) / "manifest.db", old)
            create(file, json.dumps(None if found is None else as_json(found)))
        known = json.loads(file.read_text())
        return None if known is None else from_json(known)


class OwnFolder:
    """A folder of the node's own, which nobody else can reach."""

    def __init__(self, folder: Path, cluster: str) -> None:
        """Whoever has none yet is of this cluster from now on."""
        self._folder, self.logs = folder, folder / "streams"
        self.cluster = founded(folder, cluster)
        self._begins: Mapping[str, Mark] = {}
        file = folder / "home"
        if not file.exists():
            create(file, uuid.uuid4().hex)
        self.home = file.read_text()

    def state(self, node: str) -> Path:  # noqa: ARG002 - it has one node
        """The folder itself."""
        return self._folder

    def begin(self, begins: Mapping[str, Mark]) -> None:
        """Those that are connected go on where they are."""
        self._begins = begins

    def connect(self, engine: Engine, name: str, stream: Stream) -> None:
        """With a log of its own, from the mark on at which nodes begin to read."""
        if name not in self._begins:
            raise NotYetError(f"the coordinator has not yet said where to begin to read stream '{name}'")
        engine.stream(
            name, stream.source, event_time=stream.event_time, delay=stream.delay, begins=self._begins[name]
        )

    def feed(self, engine: Engine, name: str, on: bool) -> None:
        """Whoever reads a stream feeds it."""

    def check(self, engine: Engine, order: Order) -> None:
        """Wait until the streams have come to where the instance goes on, or as far as those of others."""
        since = order.instance.since or {}
        heads = engine.handover.heads()
        for stream, at in {**since.get("positions", {}), **order.come}.items():
            if (head := heads.get(stream, 0)) < at:
                raise NotYetError(f"stream '{stream}' is being read here: {head} of {at} tuples so far")

    def start(
        self,
        engine: Engine,  # noqa: ARG002 - what others have cannot be had
        order: Order,
        query: Query,  # noqa: ARG002
        schema: Callable[[], pa.Schema],  # noqa: ARG002
    ) -> Inherited | Boundary | None:
        """Behind the border that it was given."""
        since = order.instance.since
        return None if since is None else Boundary(**since)

    def left(self, engine: Engine, name: str) -> bool:
        """What it has given out can be seen."""
        found = engine.handover.borders().get(name)
        return found is not None and found.last

    def borders(self, engine: Engine) -> Borders:
        """Those of all queries."""
        return {
            name: (each.instance, Reached(each.at.as_json(), each.results, each.needed))
            for name, each in engine.handover.borders().items()
        }

    def marks(self, engine: Engine) -> Mapping[str, Mark]:
        """Those of all streams."""
        return engine.handover.marks()


def storage(folder: Path, cluster: str, *, apart: bool) -> Storage:
    """The one that the nodes of a cluster have."""
    return OwnFolder(folder, cluster) if apart else SharedFolder(folder)


def _committed(manifest: Path, instance: Instance) -> Progress | None:
    """How far an instance has come by the manifest of its node; None if it never began."""
    if not manifest.exists():
        return None
    found = peek(manifest)
    return found.progress[instance.alias] if found.instances.get(instance.alias) == instance.label else None
