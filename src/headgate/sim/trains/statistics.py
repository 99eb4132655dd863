"""What a control period shows of each class: load from measured rates, costs and selectivities, and what waits."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from headgate.control.boundaries import Division
from headgate.model.classes import QueryClass
from headgate.model.network import Network
from headgate.model.network import Port as Place
from headgate.monitor.operator_statistics import InputRate, OperatorStatistics
from headgate.monitor.outputs import Output, OutputMonitor
from headgate.shed.lsrm import Point
from headgate.shed.protocol import Cycle
from headgate.sim.trains.channels import Port
from headgate.sim.trains.tasks import Left, Task


class _Entry(NamedTuple):
    """Tuples that came to an entry in a control period, those let in, and the rate."""

    arrived: int
    admitted: int
    rate: float


class Statistics:
    """Counts of operators, entries and outputs, closed once a control period into a `Cycle` for each class."""

    def __init__(
        self,
        network: Network,
        division: Division,
        classes: Sequence[QueryClass],
        tasks: Mapping[str, Task],
        ports: Mapping[Place, Port],
    ) -> None:
        self._network, self._owners = network, division.owners
        self._entries = {cls: [p for p in places if p in ports] for cls, places in division.entries.items()}
        self._tasks, self._ports = tasks, ports
        self._operators = {name: OperatorStatistics() for name in tasks}
        self._counted = dict.fromkeys(tasks, (0, 0, 0.0))
        self._rates = {place: InputRate() for places in self._entries.values() for place in places}
        self._before = dict.fromkeys(self._rates, (0, 0, 0))
        targets = {each.name: each.delay_target for each in classes}
        self._outputs = [(query.cls, OutputMonitor(targets[query.cls])) for query in network.queries]
        self._departed = dict.fromkeys(self._entries, 0)
        self._since = 0.0

    def left(self, results: Left, response_total: float) -> None:
        """Take results that left, by the sum of their response times."""
        for query in results.queries:
            cls, monitor = self._outputs[query]
            monitor.add(response_total, results.train.length)
            self._departed[cls] += results.train.length

    def close(self, now: float) -> dict[str, Cycle]:
        """End a control period."""
        seconds, self._since = now - self._since, now
        worked = dict.fromkeys(self._entries, 0.0)
        for name, task in self._tasks.items():
            read, made, work = self._counted[name]
            self._counted[name] = (task.read, task.made, task.work)
            read, made, work = task.read - read, task.made - made, task.work - work
            self._operators[name].add(read, made, work)
            self._operators[name].close()
            worked[self._owners[name]] += work
            self._departed[self._owners[name]] += max(0, read - made)
        coefficients = self._coefficients()
        outputs: dict[str, list[Output]] = {cls: [] for cls in self._entries}
        for cls, monitor in self._outputs:
            if (seen := monitor.close()) is not None:
                outputs[cls].append(seen)
        return {cls: self._cycle(cls, now, seconds, coefficients, worked[cls], outputs[cls]) for cls in self._entries}

    def waiting(self, now: float) -> dict[str, int]:
        """Tuples that wait for each class."""
        found = dict.fromkeys(self._entries, 0)
        for (name, _), port in self._ports.items():
            found[self._owners[name]] += port.waiting(now)
        return found

    def points(self, places: Sequence[Place]) -> dict[Place, Point]:
        """Where a class may drop, as points of a road map: rates with nothing dropped, and work as it was measured.

        A place behind a join is taken to be under the first of the inputs.
        """
        work, rates = self._coefficients(), self._undropped()
        found: dict[Place, Point] = {}
        for place in sorted(places, key=lambda each: self._network.order.index(each[0])):
            name, number = place
            above = None if place in self._rates else next(self._above(place, found))
            queries = tuple(query.name for query in self._network.readers[name])
            point = Point(f"{name}.{number}", rates[place], work[name], queries, under=above and found[above].name)
            found[place] = point
        return found

    def _above(self, place: Place, among: Collection[Place]) -> Iterator[Place]:
        """The nearest of some places from which the tuples of another come."""
        name, number = place
        feeder = self._network.by_name[name].inputs[number]
        for above in ((feeder, i) for i in range(max(1, len(self._network.by_name[feeder].inputs)))):
            if above in among:
                yield above
            else:
                yield from self._above(above, among)

    def _undropped(self) -> dict[Place, float]:
        """The rates at all inputs, if nothing were dropped at any entry."""
        found: dict[Place, float] = {}
        out: dict[str, float] = {}
        for name in self._network.order:
            if name in self._tasks:
                inputs = self._network.by_name[name].inputs or (name,)
                for place in ((name, i) for i in range(len(inputs))):
                    known = self._rates.get(place)
                    found[place] = out[inputs[place[1]]] if known is None else known.rate
                out[name] = self._operators[name].selectivity * sum(found[name, i] for i in range(len(inputs)))
        return found

    def _cycle(
        self,
        cls: str,
        now: float,
        seconds: float,
        coefficients: Mapping[str, float],
        worked: float,
        outputs: Sequence[Output],
    ) -> Cycle:
        arrived = admitted = 0
        offered = rates = 0.0
        for place in self._entries[cls]:
            entry = self._entry(place, now)
            arrived += entry.arrived
            admitted += entry.admitted
            offered += entry.rate * coefficients[place[0]]
            rates += entry.rate
        mine = [(name, port) for (name, _), port in self._ports.items() if self._owners[name] == cls]
        departed, self._departed[cls] = self._departed[cls], 0
        return Cycle(
            seconds=seconds,
            offered=offered,
            outputs=tuple(outputs),
            oldest=max(0.0, now - min((port.oldest(now) for _, port in mine), default=math.inf)),
            arrived=arrived,
            admitted=admitted,
            departed=departed,
            cost=offered / rates if rates else 0.0,
            queued=math.fsum(port.waiting(now) * coefficients[name] for name, port in mine),
            worked=worked,
        )

    def _entry(self, place: Place, now: float) -> _Entry:
        """What came to an entry in the period, and was let in; and its rate."""
        port, rate = self._ports[place], self._rates[place]
        arrived, read, dropped = port.arrived(now), port.cursor, port.gate.dropped if port.gate else 0
        before = self._before[place]
        self._before[place] = (arrived, read, dropped)
        came, gone = arrived - before[0], dropped - before[2]
        if port.gate and port.gate.at == "arrival":
            rate.add(came)
            rate.close(now)
            return _Entry(came, came - gone, rate.rate)
        rate.add(read - before[1])
        rate.close(port.last if port.waiting(now) else now)
        return _Entry(came, read - before[1] - gone, rate.rate)

    def _coefficients(self) -> dict[str, float]:
        """The work that a tuple brings from each operator on, within the operator's class."""
        work: dict[str, float] = {}
        for name in reversed(self._network.order):
            if name not in self._tasks:
                continue
            seen, task, owner = self._operators[name], self._tasks[name], self._owners[name]
            behind = sum(
                work[reader] for reader, _ in self._network.consumers[name] if self._owners.get(reader) == owner
            )
            cost = task.a + task.b if math.isnan(seen.cost) else seen.cost
            work[name] = cost + seen.selectivity * behind
        return work
