"""Nodes whose engine is a few numbers: what a query has published and what it has committed, with crashes between.

A stream is a number that grows. A query publishes every number once, in the end. With windows it may go on up to a
boundary that lies ahead; without, it ends where it is. Committing and publishing are two steps, and whoever takes
over fences the old instance first: after that nothing of it can be published any more.

The results of a query may be a stream that others read: a list of trains, to which whoever has seen the last one may
append. The sinks of such queries, and whose turn it is, are the real ones.

Nodes that are apart have nothing but themselves: each instance publishes to a place of its own, and how much of that
counts is told by the coordinator. They can read what they have kept of the stream.

Nodes end in the middle of a step (`point`), the coordinator between two entries of the ledger. Reports and answers
may be under way for any time and overtake each other, the disk of the ledger may be full, and a coordinator whose
place another one has taken may wake up.
"""

import json
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field

import pyarrow as pa

from headgate.cluster.borders import Reached
from headgate.cluster.chains import Chains
from headgate.cluster.coordinator import Coordinator
from headgate.cluster.instances import Question
from headgate.cluster.messages import report as reported
from headgate.cluster.messages import wanted as parsed
from headgate.cluster.messages import written
from headgate.cluster.node import Node
from headgate.engine.log.mark import Mark
from headgate.engine.moving import Boundary
from headgate.engine.sink import stream
from headgate.engine.sink.protocol import Opening
from headgate.errors import HeadgateError, SupersededError

COLUMNS = pa.schema([("n", pa.int64())])


class KilledError(BaseException):
    """A process ends here: a node, or if none is named the coordinator."""

    def __init__(self, node=None):
        super().__init__(node)
        self.node = node


@dataclass
class Committed:
    instance: int
    at: int
    staged: list[tuple[int, int]] = field(default_factory=list)
    run: int = 0
    receipt: dict | None = None


@dataclass
class Trains:
    """A stream of results as one node has it at hand: it sees those of others when it looks."""

    made: list[tuple[list[int], dict]]
    seen: int = 0
    schema: pa.Schema = COLUMNS
    over: bool = False

    @property
    def state(self):
        return self.made[self.seen - 1][1] if self.seen else None

    def look(self):
        self.seen = len(self.made)
        return self.state

    def append(self, rows, state, *, arrived=None):
        if self.seen != len(self.made):
            raise SupersededError("somebody else's")
        self.made.append((rows.column("n").to_pylist(), state))
        self.seen += 1


@dataclass
class Shared:
    """What outlives nodes."""

    head: int = 0
    trains: dict[str, list[tuple[list[int], dict]]] = field(default_factory=dict)
    manifests: dict[str, dict[str, Committed]] = field(default_factory=dict)
    fenced: set[tuple[str, int]] = field(default_factory=set)
    taken: dict[tuple[str, int], Committed | None] = field(default_factory=dict)
    shown: set[tuple[str, int]] = field(default_factory=set)
    published: dict[str, list[int]] = field(default_factory=dict)
    parts: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)

    def results(self, stream):
        """The tuples of a stream of results."""
        return [n for rows, _ in self.trains.get(stream, ()) for n in rows]

    def come(self, stream):
        """How many tuples a stream has."""
        return self.head if stream == "s" else len(self.results(stream))

    def publish(self, query, instance, span):
        """Show numbers, unless the instance is fenced."""
        if (query, instance) in self.fenced:
            return False
        self.published.setdefault(query, []).extend(range(*span))
        return True


class ModelHandover:
    """What chains of queries ask of the engine of a node."""

    def __init__(self, work):
        self.work = work

    def attach(self, sink):
        made = self.work.shared.trains.setdefault(sink.name, [])
        feed = self.work.trains.setdefault(sink.name, Trains(made, len(made)))
        sink.attach(feed, self.work.folder / "streams" / sink.name)

    def stay(self, alias):
        self.work.until.pop(alias)


class ModelWork:
    """What a node does, over the shared numbers. It is its own engine, as far as chains of queries need one."""

    home = ""

    def __init__(self, node, shared, questions, folder):
        self.node, self.shared, self.folder = node, shared, folder
        self.asked = {each.name: each for each in questions}
        self.stateless = {each.name: each.stateless for each in questions}
        self.manifest = shared.manifests.setdefault(node, {})
        self.running = {}
        self.until = {}
        self.broken, self.bad_feeds, self.fed, self.dies = False, {}, (), None
        self.sinks, self.trains, self.resting = {}, {}, set()
        sinks = {each.name: stream(each.gives) for each in questions if each.gives}
        self.chains = Chains(self, folder / "streams", sinks)

    # The engine of the chains

    @property
    def queries(self):
        return self.running

    @property
    def handover(self):
        return ModelHandover(self)

    def resume(self, alias):
        self.resting.discard(alias)

    # Orders

    def _check(self):
        if self.broken:
            raise RuntimeError("out of order")

    def point(self):
        """Here it may end."""
        if self.dies is not None:
            self.dies -= 1
            if self.dies < 0:
                raise KilledError(self.node)

    def prepare(self, order):
        self._check()
        self.point()
        return max(0, self._head(order.instance.query) - 2)

    def begin(self, order):
        self._check()
        instance, name = order.instance, order.instance.alias
        sink = None
        if given := self.asked[instance.query].gives:
            sink = self.sinks[name] = stream(given)
            self.chains.begin(instance, order.inherited, sink)
            self.point()
        known = self.manifest.get(name)
        if known is None or known.instance != instance.number:
            start = self._start(order, sink)
            self.point()
            known = self.manifest[name] = start
            self.point()
        if sink:
            sink.open(Opening(name, COLUMNS, None, known.receipt, instance=instance.label))
            self.point()
            known.staged.clear()
            self.resting.discard(name)
            if not sink.holds:
                self.resting.add(name)
        else:
            self._flush(instance.query, known)
        self.running[name] = instance
        self.until.pop(name, None)

    def _head(self, query):
        return min(self.shared.come(each) for each in self.asked[query].streams)

    def _start(self, order, sink):
        number = order.instance.number
        if order.instance.since is not None:
            return Committed(number, order.instance.since["closed"])
        for old in order.inherited:
            found = self._taken(old, sink)
            if found:
                return Committed(number, found.at, run=found.run)
        if order.inherited and order.inherited[-1].since is not None:
            return Committed(number, order.inherited[-1].since["closed"])
        return Committed(number, 0)

    def _taken(self, old, sink):
        """Fence an instance, show what it had committed by then, and give that. Who asks again hears the same."""
        key = old.query, old.number
        if sink:
            sink.fence(Opening(old.alias, COLUMNS, None, None, instance=old.label))
        self.shared.fenced.add(key)
        self.point()
        if key not in self.shared.taken:
            found = self.shared.manifests.get(old.node, {}).get(old.alias)
            self.shared.taken[key] = deepcopy(found) if found and found.instance == old.number else None
        self.point()
        found = self.shared.taken[key]
        if sink:
            sink.take_over(Opening(old.alias, COLUMNS, None, found.receipt if found else None, instance=old.label))
        elif found and key not in self.shared.shown:
            self.shared.shown.add(key)
            for span in found.staged:
                self.shared.published.setdefault(old.query, []).extend(range(*span))
        self.point()
        return found

    def _flush(self, query, known):
        while known.staged and self.shared.publish(query, known.instance, known.staged[0]):
            known.staged.pop(0)

    def leave(self, instance, readable, until):
        name = instance.alias
        at = self.manifest[name].at
        end = until.closed if until else at if self.stateless[instance.query] else max(at, (readable or 0) + 1)
        self.until[name] = end
        found = Boundary(closed=end)
        self.chains.leave(name, found.as_json(), stopped=self.stateless[instance.query])
        return found

    def left(self, instance):
        name = instance.alias
        known = self.manifest[name]
        return known.at >= self.until[name] and not known.staged and self.chains.over(name)

    def stay(self, instance):
        self.chains.stay(instance.alias)

    @property
    def waiting(self):
        return self.chains.waiting

    def look(self):
        self.chains.look()

    def remove(self, instance):
        name = instance.alias
        self.running.pop(name, None)
        self.until.pop(name, None)
        self.chains.gone(name)
        known = self.manifest.get(name)
        if known:
            if name not in self.sinks:
                self._flush(instance.query, known)
            self.point()
            del self.manifest[name]

    def abandon(self, instance):
        self.running.pop(instance.alias, None)
        self.until.pop(instance.alias, None)
        self.chains.gone(instance.alias)

    def forget(self, gone):
        for query, number in gone.items():
            for name, known in list(self.manifest.items()):
                if name.split("__")[0] == query and known.instance <= number and name not in self.running:
                    del self.manifest[name]

    # What the engine does by itself

    def commit(self, name, n):
        known, instance = self.manifest[name], self.running[name]
        head = self._head(instance.query)
        stop = min(self.until.get(name, head), head, known.at + n)
        if name in self.resting or stop <= known.at or known.staged:
            return
        if sink := self.sinks.get(name):
            rows = pa.table({"n": range(known.at, stop)}, COLUMNS)
            try:
                receipt = sink.stage(known.run + 1, rows)
            except SupersededError:
                return
            self.point()
            known.receipt, known.run = receipt, known.run + 1
        known.staged.append((known.at, stop))
        known.at = stop

    def publish(self, name):
        known = self.manifest[name]
        if sink := self.sinks.get(name):
            try:
                if known.staged:
                    sink.publish(known.receipt)
                self.point()
            except SupersededError:
                return
            known.staged.clear()
        else:
            self._flush(self.running[name].query, known)

    # How it is

    def needed(self):
        return {}

    def borders(self):
        return {}

    def marks(self):
        return {}

    def hear(self, begins):
        pass

    def feeding(self):
        return tuple(self.fed)

    def load(self):
        return {}

    def feed(self, streams, on=True):
        if on is True and not isinstance(streams, str):
            self.fed = streams

    def release(self, floors):
        pass

    def prioritise(self, priorities):
        pass

    def mend(self):
        pass

    def down(self):
        return {}

    def dry(self):
        return {stream: failure for stream, failure in self.bad_feeds.items() if stream in self.fed}

    def get_ready(self):
        pass


class ApartWork(ModelWork):
    """What a node does that sees nothing of the others: what it knows of them it was told."""

    def __init__(self, node, shared, questions, folder):
        super().__init__(node, shared, questions, folder)
        self.home = f"folder of {node}"

    def hear(self, begins):
        if "s" in begins:
            self.shared.kept.setdefault(self.node, begins["s"].position)

    def release(self, floors):
        if "s" in floors and self.node in self.shared.kept:
            self.shared.kept[self.node] = max(self.shared.kept[self.node], floors["s"])

    def begin(self, order):
        super().begin(order)
        at = self.manifest[order.instance.alias].at
        assert self.shared.kept[self.node] <= at, "it would have to read what has gone"
        if order.until is not None:
            self.until[order.instance.alias] = order.until["closed"]

    def _start(self, order, sink):
        since = order.instance.since
        return Committed(order.instance.number, 0 if since is None else since["closed"])

    def _flush(self, query, known):
        for span in known.staged:
            self.shared.parts.setdefault((query, known.instance), []).extend(range(*span))
        known.staged.clear()

    def leave(self, instance, readable, until):
        if self.stateless[instance.query]:
            self._flush(instance.query, self.manifest[instance.alias])
        return super().leave(instance, readable, until)

    def abandon(self, instance):
        if known := self.manifest.get(instance.alias):
            self._flush(instance.query, known)
        super().abandon(instance)

    def borders(self):
        return {name: self._border(name, each) for name, each in self.running.items()}

    def _border(self, name, instance):
        known = self.manifest[name]
        shown = known.staged[0][0] if known.staged else known.at
        part = self.shared.parts.get((instance.query, instance.number), [])
        return instance.label, Reached(Boundary(closed=shown).as_json(), len(part), {"s": shown})

    def marks(self):
        return {"s": Mark(self.shared.head, {})} if self.node in self.shared.kept else {}


class Cluster:
    """A coordinator and nodes, driven step by step."""

    def __init__(self, folder, stateless, nodes, *, chained=False, apart=False):
        """So many queries over a stream; or chained, each but the first one over the results of another."""
        self.folder, self.now, self.apart = folder, 0.0, apart
        self.cut = set()
        self.full, self.entries = False, None
        self.coordinator = self.before = None
        self.mail, self.answers = [], []
        self.questions = []
        for i, each in enumerate(stateless):
            reads = f"r{i - 1}" if chained and i else "s"
            self.questions.append(Question(f"q{i}", "default", (reads,), each, f"r{i}" if chained else None))
        self.shared = Shared()
        self.nodes, self.work, self.asleep = {}, {}, set()
        self.restart()
        for i in range(nodes):
            self.join(f"n{i}")

    def restart(self):
        """Another coordinator in place of the old one."""
        apart = {"s": lambda at: {"origin": at}} if self.apart else None
        self.before, self.entries = self.coordinator, None
        self.coordinator = Coordinator(
            self.folder, self.questions, nodes=1, patience=5.0, clock=lambda: self.now, apart=apart
        )
        ledger = self.coordinator._ledger
        enter, ledger.enter = ledger.enter, lambda entry: self._enter(enter, entry)

    def _enter(self, enter, entry):
        """Write into the ledger, if there is room, and unless the coordinator ends before or after that."""
        if self.full:
            raise HeadgateError("no room")
        left, after = (1, False) if self.entries is None else self.entries
        if left == 0:
            if after:
                enter(entry)
            raise KilledError
        if self.entries is not None:
            self.entries = left - 1, after
        return enter(entry)

    def join(self, name):
        """A node starts, perhaps again."""
        self.work[name] = (ApartWork if self.apart else ModelWork)(name, self.shared, self.questions, self.folder)
        self.work[name].member = self.coordinator.member
        self.nodes[name] = Node(name, self.work[name], lambda: None, self.folder / "nodes" / name, lambda: self.now)
        self.asleep.discard(name)
        self.cut.discard(name)

    def kill(self, name):
        self.nodes.pop(name, None)
        self.asleep.discard(name)
        self.cut.discard(name)

    def leave(self, name):
        """A node is stopped, and says so."""
        self.coordinator.leave(name, self.nodes[name].report().life)
        self.kill(name)

    def awake(self):
        return [name for name in self.nodes if name not in self.asleep]

    def talk(self, name):
        """A report and its answer, unless it is cut off."""
        if name not in self.cut:
            self._answer(*self._asked(self.coordinator, self.nodes[name], self._said(name)))

    def send(self, name):
        """A report is on its way."""
        if name not in self.cut:
            self.mail.append((self.nodes[name], self._said(name)))

    def deliver(self, i, *, late=False):
        """A report comes in; with the coordinator before this one, if it is `late`. Its answer is on its way."""
        if self.mail and (self.before or not late):
            found = self._asked(self.before if late else self.coordinator, *self.mail.pop(i % len(self.mail)))
            if not late:
                self.answers.append(found)

    def hear(self, i):
        """An answer comes in."""
        if self.answers:
            self._answer(*self.answers.pop(i % len(self.answers)))

    def _said(self, name):
        return reported(json.dumps(written(self.nodes[name].report())).encode())

    def _asked(self, coordinator, node, said):
        try:
            return node, coordinator.report(said, None, 0.0)
        except HeadgateError:
            if not self.full and coordinator._left.get(said.node) != said.life:
                raise
            return node, None

    def _answer(self, node, answer):
        if answer and node in self.nodes.values():
            serial, version, found = answer
            node.take(serial, version, parsed(found))

    def look(self):
        """The coordinator looks around."""
        with suppress(*(HeadgateError,) if self.full else ()):
            self.coordinator.look()

    def lapse(self, seconds):
        """Time passes; whoever is awake talks and works meanwhile."""
        for _ in range(int(seconds)):
            self.now += 1.0
            self.look()
            for name in self.awake():
                self.talk(name)
                self.nodes[name].step()

    def work_on(self, name, n):
        """The engine of a node runs: it commits, or publishes what is committed."""
        work = self.work[name]
        for each in list(work.running):
            if n % 2:
                work.commit(each, n)
            else:
                work.publish(each)

    def calm(self, broken=None):
        """Let everything happen that is under way, while nothing but a node is out of order."""
        self.asleep.clear()
        self.cut.clear()
        self.full, self.entries = False, None
        for name, work in self.work.items():
            work.broken, work.dies = name == broken, None
        while self.mail:
            self.deliver(0)
        while self.answers:
            self.hear(0)
        for _ in range(40):
            self.now += 1.0
            self.coordinator.look()
            for name in list(self.nodes):
                self.talk(name)
                self.nodes[name].step()
                for each in list(self.work[name].running):
                    self.work[name].commit(each, 100)
                    self.work[name].publish(each)

    def counted(self):
        """How many results of each instance count, apart, by query and number."""
        instances = self.coordinator.told().instances
        return {(query, each["number"]): each["results"] for query, some in instances.items() for each in some}

    def gathered(self, query):
        """The results of a query that count, apart."""
        found = []
        for (name, number), count in self.counted().items():
            if name == query:
                part = self.shared.parts.get((name, number), [])
                assert len(part) >= count, "results count that were never there"
                found += part[:count]
        return found
