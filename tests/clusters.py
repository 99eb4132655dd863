"""Nodes written by hand, for tests of the coordinator's policy: what they report, and what becomes of orders."""

from dataclasses import dataclass, field, replace

from headgate.control.nodes.balancer import Balancer
from headgate.control.nodes.entitled import served
from headgate.control.nodes.options import WEIGHED
from headgate.control.nodes.orders import Migrate, Prioritise, Sleep, Wake
from headgate.control.nodes.reports import ClassReport, NodeReport, QueryReport
from headgate.control.nodes.sleeping import FILL

PRIORITIES = {"gold": 6.0, "silver": 3.0, "bronze": 1.0}


def query(cls, load, *, stateless=False, shares="", movable=True):
    return QueryReport(cls, load, stateless, frozenset(shares.split()), movable)


@dataclass
class World:
    """Nodes that give each class what DILoS gives it in the end, and obey at once."""

    nodes: dict
    options: object = WEIGHED
    capacity: dict = field(default_factory=dict)
    asleep: set = field(default_factory=set)
    priorities: dict = field(default_factory=dict)
    time: float = 0.0
    obeys: bool = True

    def __post_init__(self):
        self.balancer = Balancer(self.options)
        self.nodes = {node: dict(queries) for node, queries in self.nodes.items()}
        for node in (*self.nodes, *self.asleep):
            self.priorities.setdefault(node, dict(PRIORITIES))

    def report(self, node):
        capacity = self.capacity.get(node, 1.0)
        if node in self.asleep:
            return NodeReport(node, self.time, capacity, self._classes(node, {}), {}, awake=False)
        return NodeReport(node, self.time, capacity, self._classes(node, self.nodes[node]), dict(self.nodes[node]))

    def _classes(self, node, queries):
        loads = {cls: sum(q.load for q in queries.values() if q.cls == cls) for cls in PRIORITIES}
        mine = self.priorities[node]
        capacity = self.capacity.get(node, 1.0)
        got = served(capacity, mine, loads)
        spare = capacity - sum(got.values())
        total = sum(mine.values())
        return {
            cls: ClassReport(
                headroom=got[cls] + spare * mine[cls] / total or 0.01,
                load=load,
                drop=max(0.0, 1 - got[cls] / load) if load else 0.0,
                original=PRIORITIES[cls],
                priority=mine[cls],
            )
            for cls, load in loads.items()
        }

    def reports(self):
        return [self.report(node) for node in (*self.nodes, *self.asleep)]

    def tick(self):
        """One report of each node, and what is ordered."""
        self.time += 1.5
        orders = self.balancer.decide(self.time, self.reports())
        if self.obeys:
            for order in orders:
                self.obey(order)
        return orders

    def round(self):
        """The reports of a round, and what is ordered: at its end, but for waking, and filling who is woken."""
        orders = [self.tick() for _ in range(self.balancer.options.reports)]
        assert all(isinstance(order, Wake) or order.why.formula == FILL for each in orders[:-1] for order in each)
        return tuple(order for each in orders for order in each)

    def rounds(self, count):
        return [order for _ in range(count) for order in self.round()]

    def obey(self, order):
        match order:
            case Migrate():
                self.nodes[order.target][order.query] = self.nodes[order.origin].pop(order.query)
            case Prioritise():
                self.priorities[order.node][order.cls] = order.priority
            case Sleep():
                assert not self.nodes.pop(order.node)
                self.asleep.add(order.node)
            case Wake():
                self.asleep.remove(order.node)
                self.nodes[order.node] = {}

    def set_load(self, name, load):
        for queries in self.nodes.values():
            if name in queries:
                queries[name] = replace(queries[name], load=load)


def moves(orders):
    return [(o.query, o.origin, o.target) for o in orders if isinstance(o, Migrate)]


def raised(orders):
    return {(o.node, o.cls): o.priority for o in orders if isinstance(o, Prioritise)}


def slept(orders):
    return [o.node for o in orders if isinstance(o, Sleep)]


def woken(orders):
    return [o.node for o in orders if isinstance(o, Wake)]
