"""Queries over results of others, on one node: streams that are results, and whose turn it is to append to them.

The log of such a stream is in the cluster's folder, as that of any stream. Whoever reads it follows it, wherever the
query runs that makes it; on the node of that query's instance whose turn it is, the log is fed. What its columns are
says a file beside it, which the first instance makes, so that a reader need not plan that query.

    begin       the stream is at hand, and what earlier instances had committed is in its log
    (engine)    the query is registered, and rests unless it is its turn
    look        its turn has come: it runs, and the stream is fed from here
    over        it has come to its boundary: once all is in the log, the next one may
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkstemp

import pyarrow as pa

from headgate.cluster.instances import Instance
from headgate.cluster.waiting import NotYetError
from headgate.engine.engine import Engine
from headgate.engine.sink.into_stream import IntoStream, Results, columns
from headgate.engine.sink.pen import Heir, Point
from headgate.errors import HeadgateError

_COLUMNS = "_columns"


def heir(instance: Instance, inherited: Sequence[Instance]) -> Heir:
    """An instance by what it comes after; of those that it inherits, the last one first."""
    chain = (instance, *inherited)
    line = next(each.number for each in chain if each.until is None)
    return Heir(instance.number, line, chain[-1].since, frozenset(each.number for each in inherited))


@dataclass
class _Maker:
    """An instance here whose results are a stream."""

    sink: IntoStream
    waits: bool = True
    stopped: bool = False


class Chains:
    """The streams of results that a node has at hand, and the instances here that make them."""

    def __init__(self, engine: Engine, folder: Path, sinks: Mapping[str, IntoStream]) -> None:
        """`folder` has the logs of streams, and `sinks` are those of queries whose results are one."""
        self._engine, self._folder = engine, folder
        self._of = {sink.name: (query, sink) for query, sink in sinks.items()}
        self._makers: dict[str, _Maker] = {}

    @property
    def waiting(self) -> bool:
        """Whether an instance here waits for its turn."""
        return any(each.waits for each in self._makers.values())

    def describe(self, sink: IntoStream, query: str, results: pa.Schema) -> None:
        """Say what the columns of a stream are, if nobody has yet."""
        file = self._folder / sink.name / _COLUMNS
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = mkstemp(dir=file.parent, prefix=".", suffix=".tmp")
            with os.fdopen(handle, "wb") as out:
                out.write(columns(query, results).serialize())
            # Whoever does so says the same.
            Path(temporary).replace(file)

    def connect(self, name: str) -> None:
        """Follow a stream of results."""
        query, sink = self._of[name]
        file = self._folder / name / _COLUMNS
        if not file.exists():
            msg = f"stream {name} begins with query {query}, which has not begun yet"
            raise NotYetError(msg)
        source = Results(query, pa.ipc.read_schema(pa.BufferReader(file.read_bytes())), self._ended(name))
        times = {"event_time": sink.event_time, "delay": sink.delay, "idle": sink.idle}
        self._engine.stream(name, source, **times, shared=self._folder / name, feeds=False)  # type: ignore[arg-type]

    def _ended(self, name: str) -> Callable[[], bool]:
        def ended() -> bool:
            for alias, each in list(self._makers.items()):
                if each.sink.name == name and each.sink.leaving is None and each.sink.holds:
                    return self._engine.handover.gives_no_more(alias)
            return False

        return ended

    def begin(self, instance: Instance, inherited: Sequence[Instance], sink: IntoStream) -> None:
        """Have the sink of an instance be that of it. The stream is at hand."""
        self._engine.handover.attach(sink)
        sink.succeed(heir(instance, inherited))
        sink.leaving = instance.until
        self._makers[instance.alias] = _Maker(sink)

    def look(self) -> None:
        """See whose turn has come."""
        for alias, maker in self._makers.items():
            if maker.waits and alias in self._engine.queries and maker.sink.take():
                maker.waits = False
                self._engine.feed(maker.sink.name)
                if not maker.stopped:
                    self._engine.resume(alias)
            elif not maker.waits and maker.sink.holds:
                # Time and again: others may have appended a word about somebody else.
                self._engine.feed(maker.sink.name)

    def leave(self, alias: str, until: Point, *, stopped: bool) -> None:
        """An instance goes on up to a boundary, or has stopped there."""
        if maker := self._makers.get(alias):
            maker.sink.leaving, maker.stopped = until, stopped

    def over(self, alias: str) -> bool:
        """Whether the next instance may append, now that this one has come to its boundary."""
        maker = self._makers.get(alias)
        if maker is None or maker.sink.leaving is None:
            return True
        if maker.sink.hand_on(maker.sink.leaving):
            self._feed_no_more(maker)
            maker.waits = False
            return True
        return False

    def stay(self, alias: str) -> None:
        """Go on with an instance that was leaving."""
        maker = self._makers.get(alias)
        if maker and not maker.waits and not maker.sink.take():
            msg = f"another instance appends to stream {maker.sink.name}"
            raise HeadgateError(msg)
        if maker:
            maker.sink.leaving = None
        if maker and not maker.waits:
            self._engine.feed(maker.sink.name)
        if not (maker and maker.waits and maker.stopped):
            self._engine.handover.stay(alias)
        if maker:
            maker.stopped = False

    def gone(self, alias: str) -> None:
        """An instance is not here any more."""
        if maker := self._makers.pop(alias, None):
            self._feed_no_more(maker)

    def _feed_no_more(self, maker: _Maker) -> None:
        others = [each for each in self._makers.values() if each is not maker and each.sink.name == maker.sink.name]
        if not any(each.sink.holds for each in others):
            self._engine.feed(maker.sink.name, False)
