"""What became of all tuples: let in, dropped or waiting at the entries, and waiting between operators."""

from collections.abc import Mapping
from typing import NamedTuple

from headgate.control.boundaries import Division
from headgate.model.network import Port as Place
from headgate.sim.trains.channels import Port


class Account(NamedTuple):
    """What became of the tuples that came to an entry: `offered = processed + dropped + waiting`."""

    entry: str
    stream: str | None
    cls: str
    offered: int
    processed: int
    dropped: int
    waiting: int


def accounts(division: Division, ports: Mapping[Place, Port], now: float) -> list[Account]:
    """The account of each entry of a class. Between classes there is no stream."""
    found = []
    for cls, places in division.entries.items():
        for place in places:
            if place not in ports:
                continue
            port, (name, number) = ports[place], place
            feeder = (division.network.by_name[name].inputs or (name,))[number]
            stream = None if place in division.boundaries else feeder
            dropped = port.gate.dropped if port.gate else 0
            read = port.cursor - (dropped if port.gate and port.gate.at == "read" else 0)
            found.append(Account(name, stream, cls, port.arrived(now), read, dropped, port.waiting(now)))
    return found


def between(division: Division, ports: Mapping[Place, Port], now: float) -> dict[str, int]:
    """Tuples that wait within each class, behind its entries."""
    found = dict.fromkeys(division.entries, 0)
    entries = {place for places in division.entries.values() for place in places}
    for place, port in ports.items():
        if place not in entries:
            found[division.owners[place[0]]] += port.waiting(now)
    return found
