"""The event kernel: any query network, any policy, any train length, on one server.

Slower than the compiled kernel and without its limits: shared operators, window joins, unions, aggregates, several
streams, operator level, statistics measured while it runs. Memory holds the tuples that wait, and no others.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal, Protocol

import numpy as np

from headgate.model.network import Network, Port
from headgate.model.operator import Kind
from headgate.model.parameters import ideal_time
from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, Outcome, Policy, Run, View
from headgate.sim import draws
from headgate.sim.events import Agenda, Rank
from headgate.sim.items import Item, Line, Step
from headgate.sim.metrics import Tally, record_all, tally_for
from headgate.sim.operators import Operators, hashed


class Monitor(Protocol):
    """What turns outcomes into fresh statistics while the simulation runs."""

    period: float

    def observe(self, outcome: Outcome) -> None:
        """Take one outcome."""

    def units(self) -> Sequence[Unit]:
        """The units as they have been measured."""


@dataclass(frozen=True, slots=True)
class Result:
    """A departure: which query, from which base tuple, when it arrived, when it left and its slowdown."""

    query: str
    identity: draws.Word
    arrival: float
    departure: float
    slowdown: float


@dataclass
class Report:
    """What a simulation yields besides its tally; None for what a compiled kernel does not count."""

    tally: Tally
    decisions: int = 0
    runs: int = 0
    busy: float = 0.0
    overhead: float = 0.0
    ended: float = 0.0
    reads: int | None = None
    average_held: float | None = None
    most_held: int | None = None

    @property
    def utilisation(self) -> float:
        """Share of the time in which the server worked on tuples."""
        return self.busy / self.ended if self.ended else 0.0


@dataclass
class Simulation:
    """One run of a network under a policy until all that arrived is served.

    `arrivals` gives the times of each stream. `price` is the time of one scheduling operation. A result leaves when
    its last operator has made it, or with `commit="run"` when the whole run ends, as a Spark job's results do.
    `chance` decides whether a tuple passes an operator; tests replace it to prescribe outcomes.
    """

    network: Network
    units: Sequence[Unit]
    policy: Policy
    arrivals: Mapping[str, Iterator[float]]
    seed: int = 0
    price: float = 0.0
    commit: Literal["result", "run"] = "result"
    chance: Callable[[int, int], float] | None = None
    monitor: Monitor | None = None
    on_decision: Callable[[float, Decision], None] | None = None
    on_result: Callable[[Result], None] | None = None
    _agenda: Agenda = field(default_factory=Agenda, init=False)

    def run(self) -> Report:
        """Serve every tuple of every stream."""
        self._set_up()
        for stream in self.arrivals:
            self._next_arrival(stream)
        if self.monitor:
            self._agenda.at(self.monitor.period, Rank.CONTROL, self._refresh)
        while self._agenda.step():
            if self._idle:
                self._dispatch()
        self._flush()
        self.report.ended = self._last_finish
        self.report.reads = self._reads
        self.report.average_held = self._held_area / self._last_finish if self._last_finish else 0.0
        self.report.most_held = self._most_held
        return self.report

    def _set_up(self) -> None:
        network = self.network
        queries = network.queries
        self.report = Report(tally_for(network))
        self._lines = [Line(in_order=unit.leaf) for unit in self.units]
        self._at: dict[Port, Line] = {
            (u.entry.operator, u.entry.port): line for u, line in zip(self.units, self._lines, strict=True)
        }
        self._inside = [frozenset(unit.members) for unit in self.units]
        self._readers = {name: self._ports_of(name) for name in self.arrivals}
        self._streams = {name: i for i, name in enumerate(network.streams)}
        self._counts = dict.fromkeys(self.arrivals, 0)
        self._numbers = count()
        numbers = {query.name: i for i, query in enumerate(queries)}
        self._emits = {name: [numbers[q.name] for q in found] for name, found in network.outputs.items()}
        self._T = [ideal_time(network, q) for q in queries]
        branching = {Kind.WINDOW_JOIN, Kind.UNION}
        self._chain = [
            not any(network.by_name[m].kind in branching for m in network.members[q.name]) for q in queries
        ]
        self._operators = Operators(network, self.chance or hashed(self.seed), self._oldest_at)
        self._open = len(self.arrivals)
        self._idle = True
        self._runs: Iterator[Run] = iter(())
        self._last_finish = 0.0
        self._held, self._held_since, self._held_area, self._most_held = 0, 0.0, 0.0, 0
        self._reads = 0
        self._buffer: list[tuple[int, float, float]] = []
        self.policy.prepare(self.units)

    def _ports_of(self, stream: str) -> list[Port]:
        if (stream, 0) in self._at:
            return [(stream, 0)]
        return [port for port in self.network.consumers[stream] if port in self._at]

    def _oldest_at(self, port: Port) -> float:
        return self._at[port].earliest() if port in self._at else math.inf

    def _next_arrival(self, stream: str) -> None:
        time = next(self.arrivals[stream], None)
        if time is None:
            self._open -= 1
        else:
            self._agenda.at(time, Rank.ARRIVAL + self._streams[stream], lambda: self._arrive(stream, time))

    def _arrive(self, stream: str, time: float) -> None:
        identity = draws.identity(self._streams[stream], self._counts[stream])
        self._counts[stream] += 1
        item = Item(time, next(self._numbers), identity, (Step(time, 0.0),))
        for port in self._readers[stream]:
            self._put(port, item)
        self._next_arrival(stream)

    def _put(self, port: Port, item: Item) -> None:
        self._at[port].items.append(item)
        self._hold(1)

    def _hold(self, change: int) -> None:
        now = self._agenda.now
        self._held_area += self._held * (now - self._held_since)
        self._held, self._held_since = self._held + change, now
        self._most_held = max(self._most_held, self._held)

    def _refresh(self) -> None:
        if self.monitor is None:
            return
        fresh = self.monitor.units()
        if fresh is not self.units:
            self.units = fresh
            self.policy.prepare(fresh)
        if self._open or self._held or not self._idle:
            self._agenda.at(self._agenda.now + self.monitor.period, Rank.CONTROL, self._refresh)

    def _dispatch(self) -> None:
        now = self._agenda.now
        decision = self.policy.choose(View(now, self._lines))
        if decision is None:
            return
        self.report.decisions += 1
        if self.on_decision:
            self.on_decision(now, decision)
        overhead = self.price * decision.work.operations
        self.report.overhead += overhead
        self._reads += decision.work.reads
        self._idle = False
        self._runs = iter(decision.runs)
        self._start(now + overhead)

    def _start(self, now: float) -> None:
        run = next(self._runs, None)
        if run is None:
            self._idle = True
            return
        line = self._lines[run.unit]
        items = [line.items.popleft() for _ in range(run.train)]
        self._hold(-len(items))
        elapsed, leaving, onward = self._execute(self.units[run.unit], items)
        finish = now + elapsed
        if self.commit == "run":
            leaving = [(query, item, elapsed) for query, item, _ in leaving]

        def end() -> None:
            for query, item, after in leaving:
                self._leave(query, item, now + after)
            for port, item in onward:
                self._put(port, item)
            self._observe(run, now, finish, leaving)
            self._start(finish)

        self._agenda.at(finish, Rank.FINISH, end)

    def _observe(self, run: Run, start: float, finish: float, leaving: list[tuple[int, Item, float]]) -> None:
        self.report.runs += 1
        self.report.busy += finish - start
        self._last_finish = finish
        counts = Counter(self.network.queries[query].name for query, _, _ in leaving)
        # A query that the unit reaches in two places has its results counted at the first.
        results = tuple(counts.pop(s.query, 0) for s in self.units[run.unit].segments)
        outcome = Outcome(run, start, finish, results)
        self.policy.observe(outcome)
        if self.monitor:
            self.monitor.observe(outcome)

    def _execute(
        self, unit: Unit, items: list[Item]
    ) -> tuple[float, list[tuple[int, Item, float]], list[tuple[Port, Item]]]:
        """Run the unit's operators one after the other over what each passes on to the next."""
        inbox: dict[str, list[tuple[int, Item]]] = {unit.entry.operator: [(unit.entry.port, i) for i in items]}
        leaving: list[tuple[int, Item, float]] = []
        onward: list[tuple[Port, Item]] = []
        elapsed = 0.0
        inside = self._inside[unit.id]
        for name in unit.members:
            batch = inbox.pop(name, None)
            if not batch:
                continue
            op = self.network.by_name[name]
            out: list[Item] = []
            for k, (port, item) in enumerate(batch, 1):
                made = self._operators.process(op, port, item)
                out.extend(made)
                at = elapsed + op.cost.of(k)
                leaving.extend((query, result, at) for query in self._emits[name] for result in made)
            elapsed += op.cost.of(len(batch))
            if op.kind is Kind.WINDOW_JOIN:
                self._operators.evict(op, self._agenda.now)
            for consumer in self.network.consumers[name]:
                if consumer[0] in inside:
                    inbox.setdefault(consumer[0], []).extend((consumer[1], item) for item in out)
                elif consumer in self._at:
                    onward.extend((consumer, item) for item in out)
        return elapsed, leaving, onward

    def _leave(self, query: int, item: Item, departure: float) -> None:
        T = self._T[query]
        R = departure - item.arrival
        H = R / T if self._chain[query] else 1 + (departure - item.ideal_departure()) / T
        self._buffer.append((query, R, H))
        if len(self._buffer) >= 4096:
            self._flush()
        if self.on_result:
            name = self.network.queries[query].name
            self.on_result(Result(name, item.identity, item.arrival, departure, H))

    def _flush(self) -> None:
        if self._buffer:
            query, r, h = zip(*self._buffer, strict=True)
            record_all(self.report.tally, np.array(query), np.array(r), np.array(h))
            self._buffer.clear()
