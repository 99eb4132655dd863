"""The network of an engine: streams and tables, the units that read them, their queries, and the sinks.

Units that are alike are shown as one where there are many, and so are the queries of a unit.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from headgate.engine.gentle import gently
from headgate.engine.status import QueryStatus
from headgate.web.frames import Frame
from headgate.web.served import Wiring

Kind = Literal["stream", "table", "unit", "queries", "sink"]

_UNITS, _NAMES = 24, 5
"""So many units, or queries of a unit, are shown one by one."""


@dataclass(frozen=True, slots=True)
class Node:
    """Something that tuples pass: a layer of its own for each kind.

    `count` is how many units or queries it stands for, `riding` how many queries of a unit are of a lower class.
    """

    id: str
    kind: Kind
    label: str
    cls: str | None = None
    count: int = 1
    riding: int = 0
    kernel: bool = False


@dataclass(frozen=True, slots=True)
class Network:
    """Nodes, and who hands on to whom; `unlisted` queries are not among them."""

    nodes: Sequence[Node]
    edges: Sequence[tuple[str, str]]
    unlisted: int


@dataclass
class _Unit:
    """The queries of one unit, or of alike units."""

    wiring: Wiring
    names: set[str] = field(default_factory=set)
    queries: list[tuple[QueryStatus, Wiring]] = field(default_factory=list)


def network(frame: Frame) -> Network:
    """The network of the queries that a frame lists."""
    units = _units(frame.snapshot.queries, frame.wirings)
    nodes: dict[str, Node] = {}
    edges: dict[tuple[str, str], None] = {}

    def add(node: Node) -> str:
        nodes.setdefault(node.id, node)
        return node.id

    for stream in frame.snapshot.streams:
        add(Node(f"stream {stream.name}", "stream", stream.name))
    for number, unit in enumerate(units):
        read = [add(Node(f"stream {name}", "stream", name)) for name in unit.wiring.streams]
        read += [add(Node(f"table {name}", "table", name)) for name in unit.wiring.tables]
        here = add(_node(f"unit {number}", unit))
        edges |= dict.fromkeys((each, here) for each in read)
        for group, some in enumerate(_groups(unit.queries)):
            query, wiring = some[0]
            label = query.name if len(some) == 1 else f"{len(some):,} queries"
            made = add(Node(f"queries {number}.{group}", "queries", label, query.cls, len(some)))
            sink = add(Node(f"sink {_sink(wiring, some)}", "sink", _sink(wiring, some)))
            edges |= dict.fromkeys([(here, made), (made, sink)])
    return Network(tuple(nodes.values()), tuple(edges), frame.snapshot.accounting.unlisted)


def _units(queries: Iterable[QueryStatus], wirings: Mapping[str, Wiring]) -> Sequence[_Unit]:
    """Queries by unit; where there are many units, those that are alike are one."""
    found: dict[object, _Unit] = {}
    for query in gently(queries):
        wiring = wirings.get(query.name)
        if wiring:
            unit = found.setdefault(query.unit, _Unit(wiring))
            unit.names.add(query.unit)
            unit.queries.append((query, wiring))
    if len(found) <= _UNITS:
        return list(found.values())
    merged: dict[object, _Unit] = {}
    for unit in found.values():
        first, wiring = unit.queries[0]
        alike = len(unit.queries) == 1 and (*wiring.streams, *wiring.tables, first.cls, wiring.kernel)
        into = merged.setdefault(alike or first.unit, _Unit(wiring))
        into.names |= unit.names
        into.queries += unit.queries
    return list(merged.values())


def _node(name: str, unit: _Unit) -> Node:
    first, wiring = unit.queries[0]
    classes = Counter(query.cls for query, _ in unit.queries)
    # Whoever rides is of a class that has fewer to say: the unit has the class of most.
    cls, own = classes.most_common(1)[0]
    one = first.name if len(unit.queries) == 1 else f"{len(unit.queries):,} queries together"
    label = one if len(unit.names) == 1 else f"{len(unit.names):,} units"
    riding = len(unit.queries) - own if len(unit.names) == 1 else 0
    return Node(name, "unit", label, cls, len(unit.names), riding, wiring.kernel)


def _groups(queries: Sequence[tuple[QueryStatus, Wiring]]) -> Sequence[Sequence[tuple[QueryStatus, Wiring]]]:
    if len(queries) <= _NAMES:
        return [[each] for each in queries]
    found: dict[tuple[str, str], list[tuple[QueryStatus, Wiring]]] = {}
    for query, wiring in queries:
        found.setdefault((query.cls, _sort(wiring)), []).append((query, wiring))
    return list(found.values())


def _sort(wiring: Wiring) -> str:
    return wiring.sink.partition("(")[0]


def _sink(wiring: Wiring, queries: Sequence[object]) -> str:
    """What the sink of some queries is called: its own name if there is one, or what sort of sink they have."""
    return wiring.sink if len(queries) == 1 or wiring.sink.startswith("shared") else f"{_sort(wiring)}, one each"
