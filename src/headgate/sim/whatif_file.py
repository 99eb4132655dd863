"""Queries that a run did not have, as a file: queries of a pipeline, with what they are like or what they cost."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import ConfigDict, Field

from headgate.document import read
from headgate.errors import InputError
from headgate.fields import AtLeast0, Seconds, Spec, Text
from headgate.record import Recorded
from headgate.sim.whatif import Added

_AS_IN_PIPELINES = (
    *("sql", "for_each", "qos", "loss", "deadline", "weight", "scale", "sink", "window", "slide", "time", "limit"),
    "start",
)
"""Keys that a query has in a pipeline file. But for the text they change nothing here."""


class CostSpec(Spec):
    """What a run over n tuples takes: a + b·n."""

    noun: ClassVar[str] = "a cost"
    example: ClassVar[str] = "{a: 2ms, b: 5us}"
    a: Seconds | None = None
    b: Seconds | None = None


class QuerySpec(Spec):
    """A query that a run did not have."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    noun: ClassVar[str] = "a query"
    example: ClassVar[str] = "{like: big, class: alerts}"
    like: Text | None = None
    sql: Text | None = None
    cls: Text | None = Field(None, alias="class")
    cost: CostSpec = CostSpec()
    results: AtLeast0 | None = None

    @classmethod
    def known(cls, data: Mapping[str, object]) -> Collection[str]:
        """Its own keys, and those of a query in a pipeline file."""
        return [*dict.fromkeys((*super().known(data), *_AS_IN_PIPELINES))]


class QueriesFile(Spec):
    """Queries by name."""

    noun: ClassVar[str] = "a file of queries"
    example: ClassVar[str] = "queries: {big2: {like: big}}"
    queries: dict[Text, QuerySpec]


def load(path: Path, recorded: Recorded) -> tuple[Added, ...]:
    """The queries of a file; what says not what it is like, is like a unit that reads the same stream."""
    document = read(path, noun="file of queries")
    found = []
    for name, query in document.check(QueriesFile).queries.items():
        with document.at("queries", name):
            like = query.like or _resembling(name, query, recorded)
            found.append(Added(name, like, query.cls, query.cost.a, query.cost.b, query.results))
    return tuple(found)


def _resembling(name: str, query: QuerySpec, recorded: Recorded) -> str:
    """A unit that reads what the text names, of the same class if there is one: that of middling cost."""
    words = set(re.findall(r"\w+", (query.sql or "").lower()))
    alike = [unit for unit in recorded.units.values() if {stream.lower() for stream in unit.reads} <= words]
    alike = [unit for unit in alike if unit.cls == query.cls] or alike
    if not alike:
        remedy = "Say what it is like, as in like: big, or give a text that reads a stream of the run."
        raise InputError(f"query '{name}' is like one of the run", "none that reads the same", remedy)
    return sorted(alike, key=lambda unit: unit.b)[len(alike) // 2].unit
