"""Nodes whose engine is a few numbers: what a query has published and what it has committed, with crashes between.

A stream is a number that grows. A query publishes every number once, in the end. With windows it may go on up to a
boundary that lies ahead; without, it ends where it is. Committing and publishing are two steps, and whoever takes
over fences the old instance first: after that nothing of it can be published any more.
"""

from dataclasses import dataclass, field

from headgate.cluster.coordinator import Coordinator
from headgate.cluster.messages import wanted as parsed
from headgate.cluster.node import Node
from headgate.cluster.placement import Question
from headgate.engine.moving import Boundary


@dataclass
class Committed:
    instance: int
    at: int
    staged: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Shared:
    """What outlives nodes."""

    head: int = 0
    manifests: dict[str, dict[str, Committed]] = field(default_factory=dict)
    fenced: set[tuple[str, int]] = field(default_factory=set)
    published: dict[str, list[int]] = field(default_factory=dict)

    def publish(self, query, instance, span):
        """Show numbers, unless the instance is fenced."""
        if (query, instance) in self.fenced:
            return False
        self.published.setdefault(query, []).extend(range(*span))
        return True


class ModelWork:
    """What a node does, over the shared numbers."""

    def __init__(self, node, shared, questions):
        self.node, self.shared = node, shared
        self.stateless = {each.name: each.stateless for each in questions}
        self.manifest = shared.manifests.setdefault(node, {})
        self.running = {}
        self.until = {}

    # Orders

    def prepare(self, order):
        return max(0, self.shared.head - 2)

    def begin(self, order):
        instance, name = order.instance, order.instance.alias
        known = self.manifest.get(name)
        if known is None or known.instance != instance.number:
            self.manifest[name] = Committed(instance.number, self._start(order))
        else:
            self._flush(instance.query, known)
        self.running[name] = instance
        self.until.pop(name, None)

    def _start(self, order):
        if order.instance.since is not None:
            return order.instance.since["closed"]
        for old in order.inherited:
            self.shared.fenced.add((old.query, old.number))
            found = self.shared.manifests.get(old.node, {}).get(old.alias)
            if found and found.instance == old.number:
                for span in found.staged:
                    self.shared.published.setdefault(old.query, []).extend(range(*span))
                return found.at
        if order.inherited and order.inherited[-1].since is not None:
            return order.inherited[-1].since["closed"]
        return 0

    def _flush(self, query, known):
        while known.staged and self.shared.publish(query, known.instance, known.staged[0]):
            known.staged.pop(0)

    def leave(self, instance, readable, until):
        name = instance.alias
        at = self.manifest[name].at
        end = until.closed if until else at if self.stateless[instance.query] else max(at, (readable or 0) + 1)
        self.until[name] = end
        return Boundary(closed=end)

    def left(self, instance):
        name = instance.alias
        known = self.manifest[name]
        return known.at >= self.until[name] and not known.staged

    def stay(self, instance):
        self.until.pop(instance.alias)

    def remove(self, instance):
        name = instance.alias
        self.running.pop(name, None)
        self.until.pop(name, None)
        known = self.manifest.get(name)
        if known:
            self._flush(instance.query, known)
            del self.manifest[name]

    def abandon(self, instance):
        self.running.pop(instance.alias, None)
        self.until.pop(instance.alias, None)

    def forget(self, gone):
        for query, number in gone.items():
            for name, known in list(self.manifest.items()):
                if name.split("__")[0] == query and known.instance <= number and name not in self.running:
                    del self.manifest[name]

    # What the engine does by itself

    def commit(self, name, n):
        known, instance = self.manifest[name], self.running[name]
        stop = min(self.until.get(name, self.shared.head), self.shared.head, known.at + n)
        if stop > known.at and not known.staged:
            known.staged.append((known.at, stop))
            known.at = stop
        return instance

    def publish(self, name):
        self._flush(self.running[name].query, self.manifest[name])

    # How it is

    def needed(self):
        return {}

    def feeding(self):
        return ()

    def load(self):
        return {}

    def feed(self, streams):
        pass

    def release(self, floors):
        pass

    def prioritise(self, priorities):
        pass

    def get_ready(self):
        pass


class Cluster:
    """A coordinator and nodes, driven step by step."""

    def __init__(self, folder, stateless, nodes):
        self.folder, self.now = folder, 0.0
        self.questions = [Question(f"q{i}", "default", ("s",), each) for i, each in enumerate(stateless)]
        self.shared = Shared()
        self.nodes, self.work, self.asleep = {}, {}, set()
        self.restart()
        for i in range(nodes):
            self.join(f"n{i}")

    def restart(self):
        """Another coordinator in place of the old one."""
        self.coordinator = Coordinator(self.folder, self.questions, nodes=1, patience=5.0, clock=lambda: self.now)

    def join(self, name):
        """A node starts, perhaps again."""
        self.work[name] = ModelWork(name, self.shared, self.questions)
        self.nodes[name] = Node(name, self.work[name], lambda: None, self.folder / "nodes" / name)
        self.asleep.discard(name)

    def kill(self, name):
        self.nodes.pop(name, None)
        self.asleep.discard(name)

    def awake(self):
        return [name for name in self.nodes if name not in self.asleep]

    def talk(self, name):
        """A report and its answer."""
        node = self.nodes[name]
        serial, version, found = self.coordinator.report(node.report(), None, 0.0)
        node.take(serial, version, parsed(found))

    def lapse(self, seconds):
        """Time passes; whoever is awake talks and works meanwhile."""
        for _ in range(int(seconds)):
            self.now += 1.0
            self.coordinator.look()
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

    def calm(self):
        """Let everything happen that is under way."""
        for name in list(self.asleep):
            self.asleep.discard(name)
        for _ in range(40):
            self.now += 1.0
            self.coordinator.look()
            for name in list(self.nodes):
                self.talk(name)
                self.nodes[name].step()
                for each in list(self.work[name].running):
                    self.work[name].commit(each, 100)
                    self.work[name].publish(each)
