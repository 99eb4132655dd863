"""Who runs which query: instances of queries on nodes, and how a query gets from one node to another.

    heard(now, report)      a node says what it runs and how far that has come
    lost(node)              a node is gone, or hangs
    move(query, node)       somebody wants a query elsewhere
    due() -> entries        what is to be entered into the ledger next; `enter` once it stands there
    wanted(node) -> Wanted  what a node should be doing

A query has a *current* instance, the newest in the ledger. While it moves there is also a node that is `coming`, and
prepares the query, and then *old* instances, which have a boundary up to which they go on. If the node of an instance
is lost, the next one inherits what that had committed; if it was an old one, a tail does the rest up to the boundary.

Nobody is told to do something, but what should be: a message that is lost, or comes twice, changes nothing. No clock,
no thread and no file here.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from headgate.errors import InputError

Status = Literal["START_PREPARING", "START_PENDING", "ACTIVE", "STOP_PREPARING", "INACTIVE"]
"""An instance: is being prepared, waits for its boundary, runs, runs up to its boundary, has reached it."""

How = Literal["unimico", "copy"]

Point = Mapping[str, Any]
"""A boundary, as `headgate.engine.moving.Boundary` has it in JSON."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query as far as placing needs to know it."""

    name: str
    cls: str
    streams: tuple[str, ...]
    stateless: bool = True


@dataclass(frozen=True, slots=True)
class Instance:
    """One placement of a query, as it stands in the ledger.

    It begins behind a boundary (`since`), or with what another instance had committed (`inherits`, its number), or
    as a new query. With `until` it is a tail, and ends there.
    """

    query: str
    number: int
    node: str
    since: Point | None = None
    inherits: int | None = None
    until: Point | None = None

    @property
    def label(self) -> str:
        """Under which it keeps apart what it writes."""
        return f"{self.number:06d}"

    @property
    def alias(self) -> str:
        """Under which an engine knows it: a tail may be there beside the instance that comes after it."""
        return self.query if self.until is None else f"{self.query}__tail{self.number}"


@dataclass(frozen=True, slots=True)
class Over:
    """An entry of the ledger: an instance has reached its boundary."""

    query: str
    number: int


Entry = Instance | Over


@dataclass(frozen=True, slots=True)
class Running:
    """An instance on a node, as the node sees it: from when it can read, up to where it goes."""

    number: int
    status: Status
    readable: int | None = None
    boundary: Point | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What a node says of itself: its instances by query, tails by their alias, and from where on it needs streams.

    `life` is another one each time that the process starts. `load` is for whoever balances.
    """

    node: str
    life: str
    running: Mapping[str, Running] = field(default_factory=dict)
    tails: Mapping[str, Running] = field(default_factory=dict)
    needed: Mapping[str, int] = field(default_factory=dict)
    feeding: Sequence[str] = ()
    load: Mapping[str, Any] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Order:
    """What a node should do with a query: prepare it, run it, or leave it to another one.

    That one can read from a time on (`readable`); once a boundary is agreed upon, it goes `until` there. `inherited`
    are the instances whose place it takes, the last one first: one that never ran has left that to the one before it.
    """

    do: Literal["prepare", "run", "leave"]
    instance: Instance
    readable: int | None = None
    until: Point | None = None
    inherited: tuple[Instance, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """All that a node should be doing."""

    queries: Mapping[str, Order] = field(default_factory=dict)
    tails: Mapping[str, Order] = field(default_factory=dict)
    feeds: tuple[str, ...] = ()
    floors: Mapping[str, int] = field(default_factory=dict)
    gone: Mapping[str, int] = field(default_factory=dict)
    """Instances up to this number whose place others have taken for good, by query."""
    priorities: Mapping[str, float] = field(default_factory=dict)


@dataclass
class _Query:
    asks: Question
    instances: dict[int, Instance] = field(default_factory=dict)
    over: set[int] = field(default_factory=set)
    """Instances that have reached their boundary or were inherited."""
    coming: str | None = None
    copied: bool = False
    """Whether it stops and takes its state along, instead of going on until the other one has begun."""
    fetched: Point | None = None
    """The boundary that the current instance has named, before the next is in the ledger."""

    @property
    def current(self) -> Instance | None:
        found = [each for each in self.instances.values() if each.until is None]
        return max(found, key=lambda each: each.number, default=None)

    @property
    def next_number(self) -> int:
        return max(self.instances, default=0) + 1

    def unfinished(self) -> Iterator[Instance]:
        """Old instances and tails that have not reached their boundary."""
        current = self.current
        yield from (each for each in self.instances.values() if each is not current and each.number not in self.over)

    def boundary_of(self, number: int) -> Point | None:
        """Up to where an instance goes: where the next one begins, or its own if it is a tail."""
        own = self.instances[number]
        if own.until is not None:
            return own.until
        later = [each for each in self.instances.values() if each.number > number and each.until is None]
        following = min(later, key=lambda each: each.number, default=None)
        return following.since if following else None


class Placement:
    """The queries of a cluster on its nodes."""

    def __init__(self, questions: Sequence[Question], ledger: Sequence[Entry] = ()) -> None:
        """With what the ledger has."""
        self.questions = {each.name: each for each in questions}
        self._queries = {each.name: _Query(each) for each in questions}
        self._nodes: dict[str, Report] = {}
        self._feeders: dict[str, str] = {}
        self._floors: dict[str, int] = {}
        self._shut: set[str] = set()
        self.priorities: dict[str, dict[str, float]] = {}
        for entry in ledger:
            if entry.query in self._queries:
                self.enter(entry)

    # What happens

    def heard(self, report: Report) -> None:
        """A node has reported."""
        self._nodes[report.node] = report
        for stream in report.feeding:
            self._feeders.setdefault(stream, report.node)
        for name, query in self._queries.items():
            current, mine = query.current, report.running.get(name)
            if current and mine and (current.number, current.node) == (mine.number, report.node):
                query.fetched = mine.boundary if query.coming else None

    def expected(self) -> set[str]:
        """The nodes that have instances by the ledger, and of which nothing has been heard yet."""
        queries = self._queries.values()
        found = {each.node for query in queries for each in (query.current, *query.unfinished()) if each}
        return found - set(self._nodes)

    def lost(self, node: str) -> None:
        """A node is gone: others have to take over what it had."""
        self._nodes.pop(node, None)
        self._feeders = {stream: other for stream, other in self._feeders.items() if other != node}
        for query in self._queries.values():
            if query.coming == node:
                query.coming = query.fetched = None

    def move(self, query: str, node: str, how: How = "unimico") -> None:
        """Have a query run on another node: without stopping it, or by stop and copy, to compare."""
        found = self._known(query)
        if node not in self._nodes or node in self._shut:
            raise InputError("a node that is there", f"'{node}'", f"There are: {', '.join(self.nodes) or 'none'}.")
        current = found.current
        if current is None or current.node not in self._nodes:
            raise InputError(
                "a query moves from a node that is there", f"'{query}', which has none", "Try again soon."
            )
        if current.node == node:
            raise InputError("a query moves to another node", f"'{query}', which is on '{node}'", "Name another one.")
        if found.coming and found.coming != node:
            remedy = "Wait until it is there; headgate nodes shows it."
            raise InputError("a query moves once at a time", f"'{query}', on its way to '{found.coming}'", remedy)
        found.coming, found.copied = node, how == "copy"

    def shut(self, node: str, *, asleep: bool) -> None:
        """Give a node no queries any more, or do so again."""
        (self._shut.add if asleep else self._shut.discard)(node)

    def _known(self, name: str) -> _Query:
        if name not in self._queries:
            known = ", ".join(self._queries) or "none"
            raise InputError("a query of the pipeline", f"'{name}'", f"There are: {known}.")
        return self._queries[name]

    # What is to be entered

    def due(self) -> list[Entry]:
        """What the ledger lacks: queries that are new or whose node is lost, boundaries, and who has come there."""
        found: list[Entry] = [over for query in self._queries.values() for over in self._ended(query)]
        if not self._open():
            return found
        load = Counter(q.current.node for q in self._queries.values() if q.current and q.current.node in self._nodes)
        for query in self._queries.values():
            for instance in self._due(query, load):
                load[instance.node] += 1
                found.append(instance)
        return found

    def _ended(self, query: _Query) -> Iterator[Over]:
        for old in query.unfinished():
            mine = self._running(old)
            if mine and mine.status == "INACTIVE":
                yield Over(old.query, old.number)

    def _running(self, instance: Instance) -> Running | None:
        """An instance as its node sees it."""
        report = self._nodes.get(instance.node)
        if report is None:
            return None
        mine = (report.tails if instance.until is not None else report.running).get(instance.alias)
        return mine if mine and mine.number == instance.number else None

    def _runs(self, instance: Instance) -> bool:
        mine = self._running(instance)
        return mine is not None and mine.status in ("ACTIVE", "STOP_PREPARING", "INACTIVE")

    def _due(self, query: _Query, load: Counter[str]) -> Iterator[Instance]:
        current, number = query.current, query.next_number
        if current is None:
            yield Instance(query.asks.name, number, self._least(load))
            return
        if current.node not in self._nodes:
            # Where an older one has yet to reach its boundary, there is no place for another before that.
            taken = {old.node for old in query.unfinished() if old.until is None}
            free = [node for node in self._open() if node not in taken]
            if free:
                least = min(free, key=lambda node: (load[node], node))
                node = query.coming if query.coming in free else least
                yield Instance(query.asks.name, number, node, inherits=current.number)
                number += 1
        elif query.coming and query.copied:
            yield Instance(query.asks.name, number, query.coming, inherits=current.number)
            number += 1
        elif query.coming and query.fetched is not None:
            yield Instance(query.asks.name, number, query.coming, since=query.fetched)
            number += 1
        for old in list(query.unfinished()):
            boundary = query.boundary_of(old.number)
            if old.node not in self._nodes and boundary is not None:
                # On the node that has the query's tuples at hand.
                node = current.node if current.node in self._nodes else self._least(load)
                yield Instance(query.asks.name, number, node, inherits=old.number, until=boundary)
                number += 1

    def enter(self, instance: Entry) -> None:
        """Something stands in the ledger."""
        query = self._queries[instance.query]
        if isinstance(instance, Over):
            query.over.add(instance.number)
            return
        query.instances[instance.number] = instance
        if instance.inherits is not None:
            query.over.add(instance.inherits)
        if instance.until is None:
            query.coming = query.fetched = None

    def _open(self) -> list[str]:
        return [node for node in self._nodes if node not in self._shut]

    def _least(self, load: Counter[str]) -> str:
        return min(self._open(), key=lambda node: (load[node], node))

    # What should be

    @property
    def nodes(self) -> Mapping[str, Report]:
        """The nodes that are there, by what they said last."""
        return dict(self._nodes)

    def where(self) -> dict[str, tuple[Instance | None, str | None]]:
        """The current instance of each query, and to where it is on its way."""
        return {name: (query.current, query.coming) for name, query in self._queries.items()}

    def wanted(self, node: str) -> Wanted:
        """What a node should be doing."""
        queries: dict[str, Order] = {}
        tails: dict[str, Order] = {}
        for name, query in self._queries.items():
            if order := self._order(query, node):
                queries[name] = order
            for each in query.unfinished():
                if each.until is not None and each.node == node:
                    tails[each.alias] = self._run(query, each)
        orders = (*queries.values(), *tails.values())
        needs = {s for order in orders for s in self.questions[order.instance.query].streams}
        feeds = tuple(sorted(s for s in needs if self._feeder(s) == node))
        floors = {stream: self._floors[stream] for stream in needs if stream in self._floors}
        gone = {name: number for name, query in self._queries.items() if (number := self._gone(query, node))}
        return Wanted(queries, tails, feeds, floors, gone, self.priorities.get(node, {}))

    def _gone(self, query: _Query, node: str) -> int:
        """Up to which number nobody needs any more what a node has committed of the instances of a query."""
        pending = [each for each in (query.current, *query.unfinished()) if each and not self._runs(each)]
        waited_for = {old.number for each in pending for old in self._inherited(query, each)}
        needed = waited_for | {each.number for each in (query.current, *query.unfinished()) if each}
        mine = [each.number for each in query.instances.values() if each.node == node]
        return max((number for number in mine if number < min(needed, default=0)), default=0)

    def _order(self, query: _Query, node: str) -> Order | None:
        current = query.current
        if current and current.node == node:
            ready = self._ready(query)
            return Order("leave", current, ready) if ready is not None else self._run(query, current)
        for old in query.unfinished():
            if old.node == node and old.until is None:
                return self._leave(query, old)
        if query.coming == node and not query.copied:
            return Order("prepare", Instance(query.asks.name, query.next_number, node))
        return None

    def _ready(self, query: _Query) -> int | None:
        """From when on the node that is coming can read, once it has prepared the query."""
        report = self._nodes.get(query.coming or "")
        mine = report.running.get(query.asks.name) if report else None
        return mine.readable if mine and mine.status == "START_PENDING" else None

    def _leave(self, query: _Query, old: Instance) -> Order:
        """An old instance goes on up to where the next one has begun."""
        return Order("leave", old, until=query.boundary_of(old.number), inherited=self._inherited(query, old))

    def _run(self, query: _Query, instance: Instance) -> Order:
        return Order("run", instance, until=instance.until, inherited=self._inherited(query, instance))

    @staticmethod
    def _inherited(query: _Query, instance: Instance) -> tuple[Instance, ...]:
        found: list[Instance] = []
        while instance.inherits is not None:
            instance = query.instances[instance.inherits]
            found.append(instance)
        return tuple(found)

    def _feeder(self, stream: str) -> str | None:
        """The node that runs the source of a stream: the one that does so, or one that has a query over it."""
        feeder = self._feeders.get(stream)
        if feeder not in self._nodes:
            users = [
                query.current.node
                for query in self._queries.values()
                if query.current and stream in query.asks.streams and query.current.node in self._nodes
            ]
            feeder = min(users, default=None)
            if feeder:
                self._feeders[stream] = feeder
        return feeder

    def raise_floors(self) -> None:
        """Let go of what no node needs any more. As long as an instance is not running, that is not known.

        Nor may anything go that somebody who prepares a query has counted on.
        """
        if any(query.coming for query in self._queries.values()):
            return
        for query in self._queries.values():
            for each in (query.current, *query.unfinished()):
                if each is None or not self._runs(each):
                    return
        for stream in {s for question in self.questions.values() for s in question.streams}:
            needed = [report.needed[stream] for report in self._nodes.values() if stream in report.needed]
            if needed:
                self._floors[stream] = max(self._floors.get(stream, 0), min(needed))
