"""Who runs which query: instances of queries on nodes, and how a query gets from one node to another.

    heard(now, report)      a node says what it runs and how far that has come
    lost(node)              a node is gone, or hangs
    move(query, node)       somebody wants a query elsewhere
    due() -> entries        what is to be entered into the ledger next; `enter` once it stands there
    wanted(node) -> Wanted  what a node should be doing

A query has a *current* instance, the newest in the ledger. While it moves there is also a node that is `coming`, and
prepares the query, and then *old* instances, which have a boundary up to which they go on. If the node of an instance
is lost, the next one inherits what that had committed; if it was an old one, a tail does the rest up to the boundary.
So it is too if the node of a current instance fails to begin it, time and again. A move is called off if who is
`coming` fails so.

Nodes that are `apart` cannot see what others have committed. Whoever takes over there goes on from the last border
that the lost one has reported, and of its results those up to that border count. So that this is so whatever happens,
borders are entered as well, now and then (`Checkpoint`), before any node lets go of tuples that they need.

Nobody is told to do something, but what should be: a message that is lost, or comes twice, changes nothing. No clock,
no thread and no file here.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headgate.cluster.borders import Checkpoint, Point, Reached
from headgate.cluster.instances import Entry, How, Instance, Order, Over, Question, Report, Running, Wanted
from headgate.cluster.placed import Placed
from headgate.cluster.streams import TRIES, Streams
from headgate.control.nodes.takeover import fewest
from headgate.engine.log.mark import Mark
from headgate.errors import InputError

_AT_ONCE = 4
"""Queries that leave a node at a time."""


@dataclass(frozen=True, slots=True)
class CalledOff:
    """A move that came to nothing: its target could not prepare the query, or is gone."""

    query: str
    node: str
    why: str


class Placement:
    """The queries of a cluster on its nodes."""

    def __init__(self, questions: Sequence[Question], ledger: Sequence[Entry] = (), *, apart: bool = False) -> None:
        """With what the ledger has. Nodes share storage, unless they are `apart`."""
        self.apart = apart
        self.checkpoint = Checkpoint(0)
        self._streams = Streams()
        self.questions = {each.name: each for each in questions}
        self._given = {each.gives for each in questions}
        self._queries = {each.name: Placed(each) for each in questions}
        self._nodes: dict[str, Report] = {}
        self.called_off: list[CalledOff] = []
        """Moves that came to nothing, for whoever tells of them and empties this."""
        self.asleep: set[str] = set()
        self.draining: set[str] = set()
        self.priorities: dict[str, dict[str, float]] = {}
        for entry in ledger:
            if isinstance(entry, Checkpoint) or entry.query in self._queries:
                self.enter(entry)

    # What happens

    def heard(self, report: Report) -> None:
        """A node has reported."""
        if (known := self._nodes.get(report.node)) and known.life != report.life:
            self.draining.discard(report.node)
            for query in self._queries.values():
                for such in (query.unfit, query.refused, query.unable):
                    such.discard(report.node)
        self._nodes[report.node] = report
        if report.draining:
            self.draining.add(report.node)
        self._streams.heard(report)
        for name, query in self._queries.items():
            current, mine = query.current, report.running.get(name)
            for each in query.there():
                if each.node == report.node and (found := self._running(each)) and found.reached:
                    query.reached[each.number] = found.reached.later(query.reached.get(each.number, found.reached))
            if current and mine and (current.number, current.node) == (mine.number, report.node):
                shown = (
                    not self.apart or not query.asks.stateless or (mine.reached and mine.reached.at == mine.boundary)
                )
                query.fetched = mine.boundary if query.coming and shown else None
            self._note_failure(query, report)

    def _note_failure(self, query: Placed, report: Report) -> None:
        """See whether a node cannot do what it should, or can at last."""
        name, node, current = query.asks.name, report.node, query.current
        failed = report.failed.get(name)
        if query.coming == node:
            query.before = min(query.before, failed.times if failed else 0)
            if failed and failed.times - query.before >= TRIES:
                query.refused.add(node)
                self._call_off(query, failed.why)
        elif current and current.node == node:
            if self._runs(current):
                query.unfit.clear()
            elif failed and failed.number == current.number and failed.times >= TRIES:
                query.unfit.add(node)
        for old in query.unfinished():
            failed = report.failed.get(old.alias) if old.node == node else None
            if failed and failed.number == old.number and failed.times >= TRIES:
                query.unable.add(node)

    def _call_off(self, query: Placed, why: str) -> None:
        if query.coming:
            self.called_off.append(CalledOff(query.asks.name, query.coming, why))
        query.coming = query.fetched = None

    def expected(self) -> set[str]:
        """The nodes that have instances by the ledger, and of which nothing has been heard yet."""
        queries = self._queries.values()
        found = {each.node for query in queries for each in query.there()}
        return found - set(self._nodes)

    def has(self, node: str) -> bool:
        """Whether a node has instances by the ledger."""
        return any(each.node == node for query in self._queries.values() for each in query.there())

    def lost(self, node: str) -> None:
        """A node is gone: others have to take over what it had."""
        self._nodes.pop(node, None)
        self.draining.discard(node)
        self._streams.lost(node)
        for query in self._queries.values():
            if query.coming == node:
                self._call_off(query, f"node {node} is gone")

    def move(self, query: str, node: str, how: How = "unimico") -> None:
        """Have a query run on another node: without stopping it, or by stop and copy, to compare.

        To where it is, while it is on its way: the move is called off, which is possible until it is handed over.
        """
        found = self._known(query)
        if node not in self._nodes:
            raise InputError("a node that is there", f"'{node}'", f"There are: {', '.join(self.nodes) or 'none'}.")
        if node in self.asleep:
            remedy = "Name another one, or start the coordinator without --sleep."
            raise InputError("a query moves to a node that is awake", f"'{node}', which sleeps", remedy)
        if node in self.draining:
            remedy = "Name another one, or start that one again."
            raise InputError("a query moves to a node that stays", f"'{node}', which is being drained", remedy)
        current = found.current
        if current is None or current.node not in self._nodes:
            raise InputError(
                "a query moves from a node that is there", f"'{query}', which has none", "Try again soon."
            )
        if current.node == node and found.coming:
            self._call_off(found, f"it stays on {node}, as asked for")
            return
        if current.node == node:
            raise InputError("a query moves to another node", f"'{query}', which is on '{node}'", "Name another one.")
        if found.coming and found.coming != node:
            remedy = f"Wait until it is there, or call that off: move it to '{current.node}', where it is."
            raise InputError("a query moves once at a time", f"'{query}', on its way to '{found.coming}'", remedy)
        if found.coming != node:
            failed = self._nodes[node].failed.get(query)
            found.before = failed.times if failed else 0
        found.coming, found.copied = node, how == "copy"
        found.come = self._streams.come(found.asks.streams) if self.apart else {}

    def shut(self, node: str, *, asleep: bool) -> None:
        """Give a node no queries any more, or do so again."""
        (self.asleep.add if asleep else self.asleep.discard)(node)

    def drain(self, node: str) -> None:
        """Have a node give all its queries away, and get none, until it has been started again."""
        if node not in self._nodes:
            raise InputError("a node that is there", f"'{node}'", f"There are: {', '.join(self.nodes) or 'none'}.")
        if not set(self._nodes) - self.draining - self.asleep - {node}:
            remedy = "Start another node first."
            raise InputError("there is another node for the queries of one that is drained", "none", remedy)
        self.draining.add(node)

    def leaving(self) -> Iterator[tuple[str, str]]:
        """What should move now from nodes that are drained, and where to: a few at a time."""
        queries = self._queries.items()
        load = Counter(node for _, q in queries for node in (q.current.node if q.current else None, q.coming) if node)
        room = _AT_ONCE - sum(query.coming is not None for _, query in queries)
        for name, query in queries:
            if room <= 0 or query.coming or query.current is None or query.current.node not in self.draining:
                continue
            fit = [node for node in self._open() if node not in self.draining | query.refused]
            if fit and self._runs(query.current):
                target = fewest(fit, load)
                load[target] += 1
                room -= 1
                yield name, target

    def _known(self, name: str) -> Placed:
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

    def _ended(self, query: Placed) -> Iterator[Over]:
        for old in query.unfinished():
            mine = self._running(old)
            found = query.reached.get(old.number)
            if mine and mine.status == "INACTIVE" and (found or not self.apart):
                yield Over(old.query, old.number, found.results if found else None)
            elif found and old.node not in self._nodes and query.complete(old.number):
                yield Over(old.query, old.number, found.results)

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

    def _due(self, query: Placed, load: Counter[str]) -> Iterator[Instance]:
        current, number = query.current, query.next_number
        if current is None:
            yield Instance(query.asks.name, number, self._least(load))
            return
        if current.node not in self._nodes or current.node in query.unfit:
            # Where an older one has yet to reach its boundary, there is no place for another before that.
            taken = {old.node for old in query.unfinished() if old.until is None}
            free = self._open(taken | query.unfit)
            if not free and current.node not in self._nodes:
                # Who has failed to begin it may try again where there is nobody else, but not in turn with others.
                free = self._open(taken)
            if free:
                node = query.coming if query.coming in free else fewest(free, load)
                yield self._heir(query, current, number, node)
                number += 1
        elif query.coming and query.copied:
            yield self._heir(query, current, number, query.coming)
            number += 1
        elif query.coming and query.fetched is not None:
            yield Instance(query.asks.name, number, query.coming, since=query.fetched)
            number += 1
        for old in list(query.unfinished()):
            boundary = query.boundary_of(old.number)
            if boundary is None or query.complete(old.number):
                continue
            able = self._open(query.unable)
            if old.node not in self._nodes or (old.node in query.unable and able):
                near = current.node in self._nodes and current.node not in query.unable
                # On the node that has the query's tuples at hand.
                node = current.node if near else fewest(able or self._open(), load)
                yield self._heir(query, old, number, node, until=boundary)
                number += 1

    def _heir(self, query: Placed, old: Instance, number: int, node: str, until: Point | None = None) -> Instance:
        """An instance in the place of another: with what that has committed, or apart, from its border on."""
        if not self.apart:
            return Instance(query.asks.name, number, node, inherits=old.number, until=until)
        found = query.reached.get(old.number, Reached({}, 0, {}))
        return Instance(query.asks.name, number, node, found.at or old.since, old.number, until, found.results)

    def enter(self, instance: Entry) -> None:
        """Something stands in the ledger."""
        if isinstance(instance, Checkpoint):
            self._restore(instance)
            return
        query = self._queries[instance.query]
        if isinstance(instance, Over):
            query.end(instance.number, instance.results)
            return
        query.add(instance)
        if instance.until is None:
            query.coming = query.fetched = None
            query.refused.clear()

    def _restore(self, found: Checkpoint) -> None:
        """Know what a checkpoint does, unless it is known better."""
        self.checkpoint = found
        self._streams.restore(found)
        for name, borders in found.reached.items():
            if query := self._queries.get(name):
                there = {each.number for each in query.there()}
                query.reached = {n: each for n, each in borders.items() if n in there} | query.reached

    def _open(self, but: Collection[str] = ()) -> list[str]:
        """Who may be given something, `but` for some; one that sleeps or was to leave if there is nobody else."""
        there = [node for node in self._nodes if node not in but]
        return [node for node in there if node not in self.asleep | self.draining] or there

    def _least(self, load: Counter[str]) -> str:
        return fewest(self._open(), load)

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
        needs = {s for order in orders for s in self.questions[order.instance.query].near}
        # Results are fed by the instance whose turn it is, and apart every node feeds what it reads.
        fed = set() if self.apart else needs - self._given
        feeds = tuple(sorted(s for s in fed if self._streams.feeder(s, self._readers, self._nodes) == node))
        floors = {stream: at for stream, at in self._streams.floors.items() if stream in needs}
        gone = {name: number for name, query in self._queries.items() if (number := self._gone(query, node))}
        begins = {stream: mark for stream, mark in self.checkpoint.begins.items() if stream in needs}
        counted = {name: found for name, query in self._queries.items() if (found := query.taken.get(node))}
        priorities, draining = self.priorities.get(node, {}), node in self.draining
        return Wanted(queries, tails, feeds, floors, gone, priorities, begins, counted, draining)

    def _gone(self, query: Placed, node: str) -> int:
        """Up to which number nobody needs any more what a node has committed of the instances of a query."""
        pending = [each for each in query.there() if not self._runs(each)]
        waited_for = {old.number for each in pending for old in query.inherited(each)}
        needed = waited_for | {each.number for each in query.there()}
        mine = query.at.get(node, [])
        before = bisect_left(mine, min(needed, default=0))
        return mine[before - 1] if before else 0

    def _order(self, query: Placed, node: str) -> Order | None:
        current = query.current
        if current and current.node == node:
            ready = self._ready(query)
            run = self._run(query, current)
            return run if ready is None else replace(run, do="leave", readable=ready)
        for old in query.unfinished():
            if old.node == node and old.until is None:
                return self._leave(query, old)
        if query.coming == node and not query.copied:
            return Order("prepare", Instance(query.asks.name, query.next_number, node), come=query.come)
        return None

    def _ready(self, query: Placed) -> int | None:
        """From when on the node that is coming can read, once it has prepared the query."""
        report = self._nodes.get(query.coming or "")
        mine = report.running.get(query.asks.name) if report else None
        return mine.readable if mine and mine.status == "START_PENDING" else None

    def _leave(self, query: Placed, old: Instance) -> Order:
        """An old instance goes on up to where the next one has begun."""
        return Order("leave", old, until=query.boundary_of(old.number), inherited=query.inherited(old))

    def _run(self, query: Placed, instance: Instance) -> Order:
        return Order("run", instance, until=instance.until, inherited=query.inherited(instance))

    def _readers(self, stream: str) -> set[str]:
        """The nodes that have a query over a stream."""
        there = [query.current for query in self._queries.values() if stream in query.asks.streams]
        return {current.node for current in there if current and current.node in self._nodes}

    def raise_floors(self) -> None:
        """Let go of what no node needs any more. As long as an instance does not run, its streams' are not known.

        Nor may anything go that somebody who prepares a query has counted on.
        """
        if self.apart:
            return
        streams, unknown = set[str](), set[str]()
        for query in self._queries.values():
            streams.update(query.asks.near)
            if not self._all_runs(query):
                unknown.update(query.asks.near)
        for stream in streams - unknown:
            self._streams.release(
                stream, (each.needed[stream] for each in self._nodes.values() if stream in each.needed)
            )

    def _all_runs(self, query: Placed) -> bool:
        """Whether all instances of a query run, and it is not on its way."""
        return query.coming is None and all(self._runs(each) for each in query.there())

    # What nodes apart have to know of each other

    def next_checkpoint(self, begins: Mapping[str, Mark]) -> Checkpoint:
        """What is known now, to be entered; streams that are new begin as given."""
        queries = self._queries.items()
        reached = {name: dict(query.reached) for name, query in queries if query.reached}
        floors = dict(self._streams.floors)
        for stream in {s for question in self.questions.values() for s in question.streams}:
            readers = [query for _, query in queries if stream in query.asks.streams]
            there = [each for query in readers for each in query.there()]
            borders = [reached.get(each.query, {}).get(each.number) for each in there]
            if all(borders) and all(self._all_runs(query) for query in readers):
                needed = [found.needed[stream] for found in borders if found and stream in found.needed]
                floors[stream] = max(floors.get(stream, 0), min(needed, default=0))
        marks = self._streams.begins(floors, begins)
        homes = {**self.checkpoint.homes, **{name: each.home for name, each in self._nodes.items() if each.home}}
        return Checkpoint(self.checkpoint.number + 1, reached, floors, marks, homes)

    def told(self, query: str) -> list[dict[str, Any]]:
        """The instances of a query, and how many results of each count for good, apart."""
        return self._queries[query].told(self.checkpoint.reached.get(query, {}))
