"""What a query does with a train, as values: typed expressions in which Spark has put every cast.

Types are Spark's own short names: boolean, tinyint, smallint, int, bigint, float, double, decimal(p,s), string, date,
binary, timestamp (in microseconds, UTC), timestamp_ntz. An operation is named like Catalyst's class for it, as
`GreaterThan`; what it does is what Spark does, with spark.sql.ansi.enabled=false and the time zone UTC.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the train; of a table it is `number:name`, with the number of the lookup that brings it in."""

    name: str
    type: str


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant: None, or a Python value of the type (Decimal, date, datetime with UTC, bytes and so on)."""

    value: object
    type: str

    def __eq__(self, other: object) -> bool:
        """Whether nothing can tell them apart: 0.0 is not -0.0 here, and NaN is NaN."""
        return isinstance(other, Literal) and self._exact == other._exact

    def __hash__(self) -> int:
        return hash(self._exact)

    @property
    def _exact(self) -> tuple[str, object]:
        return self.type, self.value.hex() if isinstance(self.value, float) else self.value


@dataclass(frozen=True, slots=True)
class Parameter:
    """A constant that each query of a shape has its own value for."""

    number: int
    type: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operation on values. `options` are what is no expression, such as the escape character of LIKE."""

    op: str
    args: "tuple[Node, ...]"
    type: str
    options: tuple[object, ...] = ()


Node: TypeAlias = Column | Literal | Parameter | Call


@dataclass(frozen=True, slots=True)
class Lookup:
    """A join with a reference table: rows of which the keys are equal (never so if NULL) and the condition holds."""

    table: str
    kind: OneOf["inner", "left", "semi", "anti"]
    keys: tuple[tuple[Node, Node], ...]
    columns: tuple[Column, ...]
    condition: Node | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """An aggregate over the rows of a group: its name in Catalyst (Sum, Count, ...), and a filter of its own."""

    op: str
    args: tuple[Node, ...]
    type: str
    where: Node | None = None
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Grouping:
    """GROUP BY. Behind it there are the columns k0, k1, ... (keys) and a0, a1, ... (parts)."""

    keys: tuple[Node, ...]
    parts: tuple[Part, ...]
    having: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Segment:
    """A query: look up, keep the rows for which every condition is true, group if need be, compute the columns."""

    source: str
    lookups: tuple[Lookup, ...]
    where: tuple[Node, ...]
    grouping: Grouping | None
    columns: tuple[tuple[str, Node], ...]


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    yield node
    if isinstance(node, Call):
        for arg in node.args:
            yield from walk(arg)
