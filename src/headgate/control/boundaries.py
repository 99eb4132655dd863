"""Operators that queries of several classes share: who runs them, and where each class sheds.

A shared operator runs in the class of the highest priority among its readers, so that it is never late for them. For
a lower class the first operators behind the shared ones are what sources are for others: its load begins there, its
shedder stands there, and their queues must hold what the lower class has not come to yet.

A source that costs nothing is no work, only the stream itself: each class reads it on its own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headgate.errors import InputError
from headgate.model.classes import QueryClass, ranked
from headgate.model.network import Network, Port
from headgate.model.operator import FREE, Kind
from headgate.model.parameters import rates

ROOM = 1.5
"""How many times its bound a queue gets as room, as a delay target is kept on average and not by every tuple."""


def queue_bound(delay_target: float, coefficient: float, headroom: float) -> float:
    """The most tuples that wait before a class which keeps its delay target: more would wait longer than that."""
    return delay_target * headroom / coefficient


def queue_room(delay_target: float, coefficient: float, capacity: float = 1.0) -> float:
    """Room for what may wait before a class, whatever share of the capacity it has; without a target, no end."""
    bound = ROOM * queue_bound(delay_target, coefficient, capacity)
    return math.ceil(bound) if math.isfinite(bound) else math.inf


@dataclass(frozen=True, slots=True)
class Flow:
    """What comes to each class, given the rates of the streams and what the classes drop.

    At the entries of the classes: tuples per second that `arrive`, before the shedder there, and the work that one
    brings to the class behind it (`coefficients`). By class: the offered load, and the part of all tuples that is
    lost on the way to it or by its own shedder.
    """

    arrive: Mapping[Port, float]
    coefficients: Mapping[Port, float]
    load: Mapping[str, float]
    loss: Mapping[str, float]


@dataclass(frozen=True)
class Division:
    """A network divided among classes.

    `owners` are the classes that run the operators. `entries` are where tuples come to each class, from a stream or
    from another class; of these `boundaries` are the latter, with the class that the tuples come from.
    """

    network: Network
    classes: Sequence[QueryClass]
    owners: Mapping[str, str] = field(init=False)
    entries: Mapping[str, tuple[Port, ...]] = field(init=False)
    boundaries: Mapping[Port, str] = field(init=False)

    def __post_init__(self) -> None:
        rank = {each.name: i for i, each in enumerate(ranked(self.classes))}
        for query in self.network.queries:
            if query.cls not in rank:
                rule = f"query '{query.name}': its class is one of those declared"
                raise InputError(rule, f"'{query.cls}'", f"Known classes: {', '.join(rank)}.")
        owners = {
            name: min((query.cls for query in self.network.readers[name]), key=rank.__getitem__)
            for name in self.network.order
            if self.network.readers[name] and not self._is_stream(name)
        }
        entries: dict[str, tuple[Port, ...]] = dict.fromkeys(rank, ())
        boundaries: dict[Port, str] = {}
        for name, owner in owners.items():
            for port, feeder in self._ports(name):
                if feeder not in owners or feeder == name:
                    entries[owner] += (port,)
                elif owners[feeder] != owner:
                    entries[owner] += (port,)
                    boundaries[port] = owners[feeder]
        for attribute, value in (("owners", owners), ("entries", entries), ("boundaries", boundaries)):
            object.__setattr__(self, attribute, value)

    def handed_on(self, port: Port) -> bool:
        """Whether tuples that come in here also come to a class other than the one that runs this operator."""
        name, owner = port[0], self.owners[port[0]]
        behind = [each for each in self.network.consumers[name] if each[0] in self.owners]
        return any(self.owners[each[0]] != owner or self.handed_on(each) for each in behind)

    def flow(self, streams: Mapping[str, float], drops: Mapping[str, float]) -> Flow:
        """What comes to each class when the streams have these rates and the classes drop that much."""
        undropped = rates(self.network, streams)
        arrive, admitted = self._rates(streams, drops)
        coefficients = self._coefficients(admitted)
        load: dict[str, float] = {}
        loss: dict[str, float] = {}
        for name, ports in self.entries.items():
            load[name] = math.fsum(arrive[port] * coefficients[port] for port in ports)
            full = math.fsum(undropped[self._feeder(port)] for port in ports)
            loss[name] = 1 - math.fsum(admitted[port] for port in ports) / full if full else 0.0
        return Flow(arrive, {port: coefficients[port] for port in arrive}, load, loss)

    def _is_stream(self, name: str) -> bool:
        op = self.network.by_name[name]
        return op.kind is Kind.SOURCE and op.cost == FREE

    def _feeder(self, port: Port) -> str:
        """Where the tuples of a port come from; a source feeds itself."""
        name, number = port
        return (self.network.by_name[name].inputs or (name,))[number]

    def _ports(self, name: str) -> list[tuple[Port, str]]:
        """The ports of an operator, each with its feeder."""
        ports = [(name, number) for number in range(max(1, len(self.network.by_name[name].inputs)))]
        return [(port, self._feeder(port)) for port in ports]

    def _rates(
        self, streams: Mapping[str, float], drops: Mapping[str, float]
    ) -> tuple[dict[Port, float], dict[Port, float]]:
        """Tuples per second that arrive at each entry, and those that are worked on at each port."""
        out = dict(streams)
        arrive: dict[Port, float] = {}
        admitted: dict[Port, float] = {}
        entries = {port for ports in self.entries.values() for port in ports}
        for name, owner in self.owners.items():
            ports = self._ports(name)
            for port, feeder in ports:
                admitted[port] = out[feeder]
                if port in entries:
                    arrive[port] = out[feeder]
                    admitted[port] *= 1 - drops[owner]
            out[name] = sum(admitted[port] * self._selectivity(port, admitted) for port, _ in ports)
        return arrive, admitted

    def _coefficients(self, admitted: Mapping[Port, float]) -> dict[Port, float]:
        """The work that a tuple brings from each port on, up to the boundaries of other classes."""
        work: dict[Port, float] = {}
        for name, owner in reversed(list(self.owners.items())):
            behind = sum(work[port] for port in self.network.consumers[name] if self.owners.get(port[0]) == owner)
            for port, _ in self._ports(name):
                work[port] = self.network.by_name[name].cost.b + self._selectivity(port, admitted) * behind
        return work

    def _selectivity(self, port: Port, admitted: Mapping[Port, float]) -> float:
        """Tuples passed on per tuple of a port; those of a window join depend on what the other side admits."""
        name, number = port
        op = self.network.by_name[name]
        if op.kind is Kind.WINDOW_JOIN:
            return op.selectivity * (op.window or 0.0) * admitted[name, 1 - number]
        return op.selectivity
