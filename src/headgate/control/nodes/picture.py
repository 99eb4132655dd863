"""The cluster as the coordinator sees it in a round: what the last reports say, with moves that are ordered done.

The load of a class on a node is that of its queries, and what no query accounts for. A node that sheds can do no more
than it does: its capacity is then what was served of the load, if that is less than what it says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from headgate.control.nodes.entitled import lost
from headgate.control.nodes.options import Options
from headgate.control.nodes.placement import Placement
from headgate.control.nodes.reports import ClassReport, NodeReport, QueryReport

_LEAST = 0.1
"""The least part of its capacity that a node is believed to have."""


@dataclass
class Node:
    """A node while orders are made: what is decided for it is already in its loads and queries.

    `classes` are the reports of the round, as means; `losing` those that have lost for most of it. `free` is the
    number of queries that it can still take in, and `came` are the classes of those that it has.
    """

    name: str
    capacity: float
    full: float
    classes: Mapping[str, ClassReport]
    losing: frozenset[str]
    priorities: dict[str, float]
    loads: dict[str, float]
    free: int
    target: bool = True
    queries: dict[str, QueryReport] = field(default_factory=dict)
    resting: set[str] = field(default_factory=set)
    came: set[str] = field(default_factory=set)

    @property
    def load(self) -> float:
        """The load of all classes."""
        return sum(self.loads.values())

    def movable(self) -> list[str]:
        """The queries that may be moved."""
        return [q for q, seen in self.queries.items() if seen.movable and q not in self.resting]

    def lost(self, capacity: float | None = None) -> dict[str, float]:
        """The load that each class loses by estimate."""
        return lost(self.full if capacity is None else capacity, self.priorities, self.loads)

    def with_load(self, cls: str, load: float, capacity: float) -> dict[str, float]:
        """What each class would lose of such a capacity with more of a class, or less."""
        return lost(capacity, self.priorities, self.loads | {cls: max(0.0, self.loads[cls] + load)})


@dataclass
class Picture:
    """The nodes that are awake, by name, those that sleep with their capacity, and the classes, the highest first."""

    nodes: dict[str, Node]
    asleep: Mapping[str, float]
    classes: tuple[str, ...]
    originals: Mapping[str, float]

    @property
    def usage(self) -> float:
        """The load as a part of the capacity that is awake."""
        capacity = sum(node.capacity for node in self.nodes.values())
        return sum(node.load for node in self.nodes.values()) / capacity if capacity else 0.0

    def losing(self) -> list[tuple[str, Node]]:
        """Classes that lose on nodes: the highest class first, and of it what loses most."""
        found = [(cls, node) for node in self.nodes.values() for cls in node.losing]
        rank = {cls: i for i, cls in enumerate(self.classes)}
        return sorted(found, key=lambda each: (rank[each[0]], -_lost(*each), each[1].name))

    def above(self, cls: str) -> tuple[str, ...]:
        """A class and those that matter more."""
        return self.classes[: self.classes.index(cls) + 1]

    def move(self, query: str, origin: Node, target: Node) -> None:
        """Do what is decided: the query is at the target, and stays."""
        seen = origin.queries.pop(query)
        target.queries[query] = seen
        target.resting.add(query)
        target.came.add(seen.cls)
        origin.loads[seen.cls] = max(0.0, origin.loads[seen.cls] - seen.load)
        target.loads[seen.cls] += seen.load
        target.free -= 1

    def sharing(self, seen: QueryReport, node: Node) -> bool:
        """Whether a query could share work on a node."""
        return any(seen.shares & other.shares for other in node.queries.values())


def _lost(cls: str, node: Node) -> float:
    seen = node.classes[cls]
    return seen.drop * seen.load


def picture(
    history: Mapping[str, Sequence[NodeReport]], placement: Placement, number: int, options: Options
) -> Picture:
    """The cluster by the last reports of each node, the oldest first."""
    latest = {name: reports[-1] for name, reports in history.items()}
    originals: dict[str, float] = {}
    for name in sorted(latest):
        for cls, seen in latest[name].classes.items():
            originals[cls] = max(originals.get(cls, 0.0), seen.original)
    classes = tuple(sorted(originals, key=lambda cls: (-originals[cls], cls)))
    found = Picture({}, {n: r.capacity for n, r in sorted(latest.items()) if not r.awake}, classes, originals)
    for name in sorted(latest):
        if latest[name].awake:
            found.nodes[name] = _node([r for r in history[name] if r.awake], classes, originals, options)
    for query, place in sorted(placement.of().items()):
        if place not in found.nodes:
            continue
        told = _query(query, place, history)
        if told is None or told.cls not in originals:
            continue
        node = found.nodes[place]
        node.queries[query] = told
        node.loads[told.cls] += told.load
        if placement.unsettled(query, number, options.rest):
            node.resting.add(query)
    return found


def _node(
    reports: Sequence[NodeReport], classes: tuple[str, ...], originals: Mapping[str, float], options: Options
) -> Node:
    last = reports[-1]
    seen = {cls: [r.classes[cls] for r in reports if cls in r.classes] for cls in classes}
    means = {cls: _mean(found) for cls, found in seen.items() if found}
    losing = frozenset(
        cls for cls, found in seen.items() if sum(each.drop > options.loss for each in found) >= options.spikes
    )
    rest = {cls: fmean(_unaccounted(r, cls) for r in reports) for cls in classes}
    capacity = last.capacity
    if losing:
        done = sum(each.load * (1 - each.drop) for each in means.values())
        capacity = max(_LEAST * capacity, min(capacity, done))
    priorities = {cls: last.classes[cls].priority if cls in last.classes else originals[cls] for cls in classes}
    return Node(last.node, last.capacity, capacity, means, losing, priorities, rest, options.intake)


def _mean(found: Sequence[ClassReport]) -> ClassReport:
    last = found[-1]
    headroom, load, drop = (fmean(getattr(each, name) for each in found) for name in ("headroom", "load", "drop"))
    return ClassReport(headroom, load, drop, last.original, last.priority)


def _unaccounted(report: NodeReport, cls: str) -> float:
    """The load of a class that is of none of its queries."""
    if cls not in report.classes:
        return 0.0
    return max(0.0, report.classes[cls].load - sum(q.load for q in report.queries.values() if q.cls == cls))


def _query(name: str, place: str, history: Mapping[str, Sequence[NodeReport]]) -> QueryReport | None:
    """A query with its mean load, by the node that has told of it most often: a new one has not seen much of it."""
    told = {n: [r.queries[name] for r in reports if name in r.queries] for n, reports in history.items()}
    if not any(told.values()):
        return None
    best = told[max(sorted(told), key=lambda n: (len(told[n]), n == place))]
    last = best[-1]
    return QueryReport(last.cls, fmean(each.load for each in best), last.stateless, last.shares, last.movable)
