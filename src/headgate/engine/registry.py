"""What is registered on an engine, by names that differ: streams with their logs, tables, queries."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from headgate.engine.intake import LiveStream
from headgate.engine.log.stream import StreamLog
from headgate.engine.query import LiveQuery
from headgate.engine.sink.into_stream import IntoStream
from headgate.errors import HeadgateError, InputError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(slots=True)
class Registry:
    """Streams and queries by name; of `tables` it knows what they are called.

    Many threads look at the dictionaries. Streams go in the scheduler's thread, between two decisions.
    """

    tables: Collection[str]
    streams: dict[str, LiveStream] = field(default_factory=dict, init=False)
    logs: dict[str, StreamLog] = field(default_factory=dict, init=False)
    queries: dict[str, LiveQuery] = field(default_factory=dict, init=False)
    _taken: set[str] = field(default_factory=set, init=False)

    def check(self, noun: str, names: Iterable[str]) -> None:
        """Refuse names that are not plain, or that something else has."""
        others = {n.lower() for n in (*self.streams, *self.tables)}
        new: set[str] = set()
        for name in names:
            if not _NAME.fullmatch(name):
                remedy = "Use letters, digits and underscores, a letter first."
                raise InputError(f"a {noun} has a plain name", f"'{name}'", remedy)
            lower = name.lower()
            if lower in others or lower in self._taken or lower in new:
                rule = "names of streams, tables and queries differ"
                raise InputError(rule, f"a second '{name}'", "Use another one.")
            new.add(lower)

    def stream(self, name: str) -> LiveStream:
        """A stream that is registered."""
        if name not in self.streams:
            known = ", ".join(self.streams) or "none yet"
            raise InputError("a registered stream", f"'{name}'", f"There are: {known}.")
        return self.streams[name]

    def query(self, name: str) -> LiveQuery:
        """A query that is registered."""
        if name not in self.queries:
            known = ", ".join(self.queries) or "none yet"
            raise InputError("a registered query", f"'{name}'", f"There are: {known}.")
        return self.queries[name]

    def derived(self, query: LiveQuery) -> LiveStream | None:
        """The stream that the results of a query are, if it is this engine's alone."""
        found = self.streams[query.sink.name] if isinstance(query.sink, IntoStream) else None
        return found if found and found.log.shared is None else None

    def attach(self, out: IntoStream) -> None:
        """Let a sink write to a registered stream of results whose log engines share."""
        stream = self.stream(out.name)
        if stream.log.shared is None:
            rule, remedy = f"engines share the log of stream '{out.name}'", "Give the sink to engine.query()."
            raise InputError(rule, "one of this engine alone", remedy)
        out.attach(stream, stream.log.shared.folder / "_staged")

    def gives_no_more(self, name: str) -> bool:
        """Whether all that a query will ever give is out. Raises a HeadgateError if it has failed."""
        query = self.queries.get(name)
        if query and query.status == "failed":
            msg = f"query {name} has failed: resume it"
            raise HeadgateError(msg)
        return query is not None and query.over

    def add(self, queries: Sequence[LiveQuery]) -> None:
        """Have queries from now on."""
        self.queries.update({query.name: query for query in queries})
        self._taken.update(query.name.lower() for query in queries)

    def drop(self, name: str) -> None:
        """Have a query no more."""
        del self.queries[name]
        self._taken.discard(name.lower())
