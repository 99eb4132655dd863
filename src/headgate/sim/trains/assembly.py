"""Putting a network together: its channels and ports, and the crew of each unit."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headgate.errors import InputError
from headgate.model.network import Network
from headgate.model.network import Port as Place
from headgate.model.operator import FREE, Kind
from headgate.model.unit import Unit
from headgate.sim.events import Agenda
from headgate.sim.trains.channels import Admitted, Channel, Port, Stream
from headgate.sim.trains.gates import Gate
from headgate.sim.trains.lines import Exit, Line, Lines
from headgate.sim.trains.machine import Machine
from headgate.sim.trains.tasks import Crew, Task
from headgate.sim.trains.timeline import Timeline


@dataclass
class Assembly:
    """A network whose operators are divided among units.

    `gate` gives the shedder of an input, or None where nothing is dropped; `curves` are the selectivities that change
    with time. An operator runs in one unit, and all operators that a query needs run somewhere.
    """

    network: Network
    units: Sequence[Unit]
    machine: Machine
    streams: Mapping[str, Stream]
    agenda: Agenda
    seed: int
    gate: Callable[[Place], Gate | None]
    curves: Mapping[str, Timeline]
    ports: dict[Place, Port] = field(default_factory=dict, init=False)
    tasks: dict[str, Task] = field(default_factory=dict, init=False)
    crews: list[Crew] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._check()
        self._home = {name: i for i, unit in enumerate(self.units) for name in unit.members}
        self._channels = {name: Channel(self.machine.room_behind(name)) for name in self._home if self._outside(name)}
        self._queries = {query.name: i for i, query in enumerate(self.network.queries)}
        for unit in self.units:
            self._add_ports(unit)
        self.crews.extend(self._crew(unit) for unit in self.units)

    def _check(self) -> None:
        seen: set[str] = set()
        for unit in self.units:
            for name in unit.members:
                if name in seen:
                    rule = f"operator '{name}': it runs in one unit"
                    raise InputError(rule, "two", "Plan the units by_operator or by_query.")
                seen.add(name)
        for op in self.network.operators:
            stream = op.kind is Kind.SOURCE and op.cost == FREE
            if self.network.readers[op.name] and not stream and op.name not in seen:
                raise InputError(f"operator '{op.name}': some unit runs it", "none", "Add a team for its unit.")

    def _outside(self, name: str) -> list[Place]:
        """The inputs in other units that read an operator."""
        return [
            place
            for place in self.network.consumers[name]
            if place[0] in self._home and self._home[place[0]] != self._home[name]
        ]

    def _places(self, name: str) -> list[tuple[Place, str]]:
        """The inputs of an operator with what feeds each; a source reads its own stream."""
        inputs = self.network.by_name[name].inputs or (name,)
        return [((name, i), feeder) for i, feeder in enumerate(inputs)]

    def _add_ports(self, unit: Unit) -> None:
        for name in unit.members:
            for place, feeder in self._places(name):
                if feeder != name and self._home.get(feeder) == self._home[name]:
                    continue
                self.ports[place] = self._port(place, feeder)

    def _port(self, place: Place, feeder: str) -> Port:
        gate = self.gate(place)
        if feeder in self._channels and feeder != place[0]:
            port = Port(self._channels[feeder], gate)
            self._channels[feeder].readers.append(port)
            return port
        stream = self.streams[feeder]
        if gate is None or gate.at == "read":
            return Port(stream, gate)
        admitted = Admitted(stream, gate)
        port = Port(admitted, gate)
        admitted.readers.append(port)
        return port

    def _crew(self, unit: Unit) -> Crew:
        places = [place for name in unit.members for place, _ in self._places(name) if place in self.ports]
        ports = [self.ports[place] for place in places]
        shape = _Shape({place: i for i, place in enumerate(places)})
        tasks = []
        for name in unit.members:
            shape.add(name, self._places(name), math.ceil(self.network.by_name[name].selectivity))
            tasks.append(self._task(name, shape.inputs[name]))
            if name in self._channels:
                self._channels[name].feeders.extend(ports[i] for i in sorted(shape.reached[name]))
        self.tasks.update((task.name, task) for task in tasks)
        exits = [
            Exit(task.channel, shape.growth[task.name])
            for task in tasks
            if task.channel is not None and task.channel.capacity < math.inf
        ]
        line = Line(self.agenda, ports, exits, self.machine.batch)
        if len(ports) > 1:
            groups = shape.groups if self.machine.synchronised else []
            line = Lines(self.agenda, ports, exits, self.machine.batch, [sorted(group) for group in groups])
        return Crew(line, tasks, self.machine)

    def _task(self, name: str, inputs: Sequence[int]) -> Task:
        op = self.network.by_name[name]
        ends = [self._queries[query.name] for query in self.network.outputs[name]]
        channel = self._channels.get(name)
        return Task(op, self.network.ids[name], self.seed, inputs, channel, ends, self.curves.get(name))


@dataclass
class _Shape:
    """How the operators of a unit hang together, built up in their order; ports are given by their numbers.

    By operator: the trains it reads, first those of the ports and then what operators make; the ports whose tuples
    get to it; the most tuples it makes of one. Ports that lead to one operator of several inputs are in one group.
    """

    ports: Mapping[Place, int]
    inputs: dict[str, list[int]] = field(default_factory=dict)
    reached: dict[str, set[int]] = field(default_factory=dict)
    growth: dict[str, float] = field(default_factory=dict)
    groups: list[set[int]] = field(default_factory=list)

    def add(self, name: str, places: Sequence[tuple[Place, str]], most: float) -> None:
        """Take an operator that makes so many tuples of one at most."""
        made = {other: len(self.ports) + i for i, other in enumerate(self.inputs)}
        inside = [feeder for place, feeder in places if place not in self.ports]
        self.inputs[name] = [self.ports[place] if place in self.ports else made[feeder] for place, feeder in places]
        own = {self.ports[place] for place, _ in places if place in self.ports}
        reached = self.reached[name] = own.union(*(self.reached[feeder] for feeder in inside))
        self.growth[name] = most * max((self.growth[feeder] for feeder in inside), default=1.0)
        if len(places) > 1 and len(reached) > 1:
            apart = [group for group in self.groups if not group & reached]
            self.groups = [*apart, reached.union(*(group for group in self.groups if group & reached))]
