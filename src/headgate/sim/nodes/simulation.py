"""Nodes and their coordinator: every control period each node serves what comes to it, every tenth one it reports.

Orders are carried out as engines would: a query that moves is prepared at the target, then runs on both nodes for the
overlap of its windows; a node that is woken takes a while to start; one that sleeps does and costs nothing.

Nodes may die. What waits there is lost then, and so is what comes for their queries until these run again: elsewhere,
once the coordinator has noticed and others have begun them, or where they were, once the node is back. That is more
than is lost by nodes that share a log, where it waits for whoever takes over.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from headgate.control.dilos import Management
from headgate.control.nodes.balancer import Balancer
from headgate.control.nodes.orders import Migrate, Order, Prioritise, Sleep, Wake
from headgate.control.nodes.reports import ClassReport, NodeReport, QueryReport
from headgate.control.nodes.takeover import fewest
from headgate.errors import InputError
from headgate.model.classes import QueryClass
from headgate.shed.registry import listed, maker
from headgate.sim.metrics import Floats, Ints
from headgate.sim.nodes.failing import Failing, Failure
from headgate.sim.nodes.fluid import FluidNode, Served
from headgate.sim.nodes.moving import Homes, Way
from headgate.sim.nodes.report import ClassFigures, ClusterReport
from headgate.sim.nodes.workload import Workload

_BIN = 10.0
"""Seconds of a bin of what is shown over time."""


@dataclass(frozen=True)
class Setup:
    """The nodes and their load management.

    A move takes `prepare` seconds until the target is ready, and a node that is woken starts for `boot`. Loads of
    queries are measured with a relative error of `error`. A node that has died is taken for gone after `patience`,
    and others run its queries `begin` seconds later; without patience nobody takes over, and they wait for it.
    """

    nodes: int = 8
    capacity: float = 1.0
    manager: str = "backlog"
    every: int = 10
    prompt: bool = True
    prepare: float = 3.0
    boot: float = 10.0
    error: float = 0.05
    patience: float | None = 5.0
    begin: float = 1.0

    def management(self, classes: tuple[QueryClass, ...]) -> Management:
        """The load management of one node: DILoS."""
        cores = {"cores": self.capacity} if "cores" in listed(self.manager).options else {}
        made = maker(self.manager, cores)
        return Management(classes, "dilos", made, every=self.every, capacity=self.capacity, prompt=self.prompt)


class _Tally:
    """What a class has come to on all nodes."""

    def __init__(self, bins: int) -> None:
        self.offered = self.dropped = self.served = self.response = self.timely = self.time = 0.0
        self.come, self.gone = np.zeros(bins), np.zeros(bins)

    def take(self, found: Served, queries: float, place: int) -> None:
        self.offered += found.arrived
        self.dropped += found.dropped
        self.served += found.served
        self.response += found.response
        self.time += queries
        self.timely += 0.0 if found.late else queries
        self.come[place] += found.arrived
        self.gone[place] += found.dropped

    def lose(self, tuples: float, place: int) -> None:
        """Tuples that had come, and went with the node where they waited."""
        self.dropped += tuples
        self.gone[place] += tuples

    def figures(self) -> ClassFigures:
        return ClassFigures(
            self.offered,
            self.dropped,
            self.served,
            self.offered - self.dropped - self.served,
            self.response / self.served if self.served else 0.0,
            self.timely / self.time if self.time else 1.0,
        )


class _Node:
    """A node: its fluid, whether it is awake, and what it has to report."""

    def __init__(self, name: str, setup: Setup, classes: tuple[QueryClass, ...]) -> None:
        self.name = name
        self.fluid = FluidNode(setup.management(classes), classes)
        self.priorities = {each.name: each.priority for each in classes}
        self.starts: float | None = None
        self.asleep = False
        self.to_sleep = False
        self.load, self.arrived, self.dropped = (dict.fromkeys(self.priorities, 0.0) for _ in range(3))
        self.periods = 0
        self.last: NodeReport | None = None

    def collect(self, load: dict[str, float], found: dict[str, Served]) -> None:
        self.periods += 1
        for name, each in found.items():
            self.load[name] += load[name]
            self.arrived[name] += each.arrived
            self.dropped[name] += each.dropped

    def report(self, now: float, classes: tuple[QueryClass, ...], queries: dict[str, QueryReport]) -> NodeReport:
        directive = self.fluid.directive
        seen = {}
        for each in classes:
            name = each.name
            share = self.fluid.management.shares[name] * self.fluid.capacity
            headroom = directive.orders[name].headroom if directive else share
            load = self.load[name] / max(1, self.periods)
            drop = self.dropped[name] / self.arrived[name] if self.arrived[name] else 0.0
            seen[name] = ClassReport(headroom, load, min(1.0, drop), each.priority, self.priorities[name])
        for counted in (self.load, self.arrived, self.dropped):
            counted.update(dict.fromkeys(counted, 0.0))
        self.periods = 0
        self.last = NodeReport(self.name, now, self.fluid.capacity, seen, queries, awake=not self.asleep)
        return self.last


class ClusterSimulation:
    """Runs a workload on nodes, from a placement of its queries, with a coordinator or without."""

    def __init__(
        self,
        workload: Workload,
        place: Ints,
        setup: Setup,
        balancer: Balancer | None = None,
        *,
        seed: int = 0,
        asleep: Iterable[int] = (),
        failures: Sequence[Failure] = (),
    ) -> None:
        if len(place) != workload.queries or not ((place >= 0) & (place < setup.nodes)).all():
            raise InputError("every query has a node", place, f"Give numbers from 0 to {setup.nodes - 1}.")
        self.workload, self.setup, self.balancer = workload, setup, balancer
        self.homes = Homes(place.copy())
        self.classes = workload.classes
        self.nodes = [_Node(f"node{i}", setup, self.classes) for i in range(setup.nodes)]
        for i in asleep:
            if self.homes.uses(i):
                raise InputError("a node that sleeps has no query", f"node {i}", "Place its queries elsewhere.")
            self.nodes[i].asleep = True
        if unknown := {each.node for each in failures} - set(range(setup.nodes)):
            raise InputError("a node that dies is one of them", unknown, f"Give numbers from 0 to {setup.nodes - 1}.")
        self._failing = Failing(failures, setup.patience)
        self._rng = np.random.default_rng([seed, 13])
        self._orders = Counter[str]()
        self._number = {node.name: i for i, node in enumerate(self.nodes)}

    def run(self) -> ClusterReport:
        """Live through the workload."""
        work = self.workload
        steps, seconds = len(work.rates), work.period
        bins = int(steps * seconds / _BIN) + 1
        tallies = [_Tally(bins) for _ in self.classes]
        awake, worked, up = np.zeros(bins), 0.0, 0.0
        self._spread(0.0)
        for step in range(steps):
            now = step * seconds
            place = int(now / _BIN)
            failed = self._fail(now, tallies, place)
            if self.homes.advance(now) or failed:
                self._spread(now)
            loads, rates = self._offered(work.rates[step])
            for i, node in enumerate(self.nodes):
                if i in self._failing.dead:
                    for k in range(len(self.classes)):
                        came = float(rates[i, k]) * seconds
                        tallies[k].take(
                            Served(came, came, 0.0, 0.0, 0.0, late=True), float(self._counts[i, k]), place
                        )
                    continue
                self._wakes(node, now)
                if node.asleep:
                    continue
                up += seconds
                awake[place] += seconds
                load = {each.name: float(loads[i, k]) for k, each in enumerate(self.classes)}
                rate = {each.name: float(rates[i, k]) for k, each in enumerate(self.classes)}
                found = node.fluid.period(now, seconds, load, rate)
                node.collect(load, found)
                for k, each in enumerate(self.classes):
                    tallies[k].take(found[each.name], float(self._counts[i, k]), place)
                    worked += found[each.name].worked
                if node.to_sleep and node.fluid.empty and not self.homes.uses(i):
                    node.asleep, node.to_sleep = True, False
            if self.balancer and (step + 1) % self.setup.every == 0:
                end = now + seconds
                for order in self.balancer.decide(end, self._reports(end, step)):
                    self._obey(order, end)
        total = self.setup.nodes * self.setup.capacity * steps * seconds
        names = [each.name for each in self.classes]
        lost = {
            n: np.divide(t.gone, t.come, out=np.zeros(bins), where=t.come > 0)
            for n, t in zip(names, tallies, strict=True)
        }
        return ClusterReport(
            {name: tally.figures() for name, tally in zip(names, tallies, strict=True)},
            worked / total,
            up * self.setup.capacity / total,
            dict(self._orders),
            _BIN * np.arange(bins, dtype=np.float64),
            lost,
            awake / _BIN,
        )

    def _fail(self, now: float, tallies: Sequence[_Tally], place: int) -> bool:
        """Let nodes die, be missed and return; whether anything has happened."""
        happened = self._failing.advance(now)
        for i in happened.died:
            self.homes.lose(i, now)
            waited = self.nodes[i].fluid.waiting
            for each, tally in zip(self.classes, tallies, strict=True):
                tally.lose(waited[each.name], place)
        for i in happened.back:
            self.nodes[i] = _Node(self.nodes[i].name, self.setup, self.classes)
        if self._failing.gone:
            # At any time: a query that had been handed over to one that is gone stays on its old node for a while.
            self._take_over(now)
        return any(happened)

    def _take_over(self, now: float) -> None:
        """Other nodes get the queries of those that are gone, as the coordinator gives them out."""
        homes, gone = self.homes, self._failing.gone
        orphans = [q for q in np.flatnonzero(np.isin(homes.place, sorted(gone))).tolist() if q not in homes.heirs]
        there = [node for i, node in enumerate(self.nodes) if i not in gone]
        able = [node.name for node in there if not node.asleep and not node.to_sleep] or [node.name for node in there]
        if not (orphans and able):
            return
        placed = np.bincount(homes.place, minlength=self.setup.nodes)
        queries = {node.name: int(placed[self._number[node.name]]) for node in there}
        for query in orphans:
            heir = fewest(able, queries)
            queries[heir] += 1
            taken = self._number[heir]
            self.nodes[taken].asleep = self.nodes[taken].to_sleep = False
            homes.inherit(query, taken, now + self.setup.begin)

    def _spread(self, now: float) -> None:
        """Where everything runs: the cells of nodes and classes to which queries and streams belong."""
        work, place, K = self.workload, self.homes.place, len(self.classes)
        self._cells = place * K + work.cls
        self._counts = np.bincount(self._cells, minlength=self.setup.nodes * K).reshape(-1, K)
        twice = self.homes.twice(now)
        self._twice = np.array([query for query, _ in twice], dtype=np.int64)
        targets = np.array([target for _, target in twice], dtype=np.int64)
        self._twice_cells = targets * K + work.cls[self._twice]
        # A stream is read once on a node, in the highest class that reads it there.
        streams = work.rates.shape[1]
        owner = np.full((self.setup.nodes, streams), K)
        np.minimum.at(owner, (place, work.stream), work.cls)
        np.minimum.at(owner, (targets, work.stream[self._twice]), work.cls[self._twice])
        nodes, self._read = np.nonzero(owner < K)
        self._read_cells = nodes * K + owner[nodes, self._read]

    def _offered(self, rates: Floats) -> tuple[Floats, Floats]:
        """The load that comes to each class on each node, and the tuples per second, which only one node counts."""
        work, cells = self.workload, self.setup.nodes * len(self.classes)
        mine = rates[work.stream]
        loads = np.bincount(self._cells, weights=work.cost * mine, minlength=cells)
        loads += np.bincount(self._read_cells, weights=(work.read * rates)[self._read], minlength=cells)
        if len(self._twice):
            again = (work.cost * mine)[self._twice]
            loads += np.bincount(self._twice_cells, weights=again, minlength=cells)
        counts = np.bincount(self._cells, weights=mine, minlength=cells)
        shape = (self.setup.nodes, len(self.classes))
        return loads.astype(np.float64).reshape(shape), counts.astype(np.float64).reshape(shape)

    def _wakes(self, node: _Node, now: float) -> None:
        if node.starts is not None and now >= node.starts:
            node.starts, node.asleep = None, False

    def _reports(self, now: float, step: int) -> list[NodeReport]:
        work, setup = self.workload, self.setup
        rates = work.rates[step + 1 - setup.every : step + 1].mean(axis=0)
        error = 1 + setup.error * self._rng.uniform(-1, 1, work.queries)
        loads = (work.cost * rates[work.stream] * error).tolist()
        queries: list[dict[str, QueryReport]] = [{} for _ in self.nodes]
        places = self.homes.place.tolist()
        both = [(q, places[q]) for q in range(work.queries)] + self.homes.twice(now)
        for q, i in both:
            queries[i][f"q{q}"] = QueryReport(
                self.classes[work.cls[q]].name,
                loads[q],
                stateless=bool(work.overlap[q] == 0),
                shares=frozenset((f"s{work.stream[q]}",)),
            )
        found = []
        for i, node in enumerate(self.nodes):
            if i not in self._failing.dead:
                found.append(node.report(now, self.classes, queries[i]))
            elif i not in self._failing.gone and node.last:
                found.append(node.last)
        return found

    def _obey(self, order: Order, now: float) -> None:
        nodes = {order.origin, order.target} if isinstance(order, Migrate) else {order.node}
        if any(self._number[name] in self._failing.dead for name in nodes):
            # Who is told to does not answer any more.
            return
        self._orders[type(order).__name__] += 1
        match order:
            case Migrate():
                query, target = int(order.query[1:]), self._number[order.target]
                ready = now + self.setup.prepare
                done = ready + float(self.workload.overlap[query])
                self.homes.move(query, Way(self._number[order.origin], target, ready, done))
            case Prioritise():
                node = self.nodes[self._number[order.node]]
                node.priorities[order.cls] = order.priority
                node.fluid.management.prioritise(order.cls, order.priority)
            case Sleep():
                self.nodes[self._number[order.node]].to_sleep = True
            case Wake():
                self.nodes[self._number[order.node]].starts = now + self.setup.boot


def ideal(workload: Workload, setup: Setup) -> ClusterReport:
    """One node as large as all of them."""
    whole = replace(setup, nodes=1, capacity=setup.nodes * setup.capacity)
    return ClusterSimulation(workload, np.zeros(workload.queries, dtype=np.int64), whole).run()
