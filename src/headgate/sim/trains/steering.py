"""Load management at work: gates at the entries of the classes, and what a control period does to them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headgate.control.boundaries import Division
from headgate.control.dilos import Management
from headgate.errors import InputError
from headgate.model.classes import QueryClass
from headgate.model.network import Network
from headgate.model.network import Port as Place
from headgate.model.qos import LossGraph
from headgate.policy.classes.scheduler import ByClass
from headgate.shed.droppers import Dropper, Random
from headgate.shed.lsrm import Placement, slopes, spread
from headgate.shed.unshared import unshared_first
from headgate.sim.trains.channels import Port
from headgate.sim.trains.gates import Gate
from headgate.sim.trains.report import Moment
from headgate.sim.trains.statistics import Statistics
from headgate.sim.trains.tasks import Task

_OF_PERIOD = 0.9


@dataclass(frozen=True)
class Control:
    """Load management: who decides, every how many seconds, and how tuples are dropped.

    `dropper` makes the dropper of an entry from a seed; `keys` are those of the streams' tuples, for one that looks
    at them. `after_visit` has the management act only when the scheduler goes from one class to another, once nine
    tenths of the period have passed.

    What a class is to drop, it drops at all its entries alike, or with the `place` lsrm where that costs the least
    quality: at its entries, and on branches behind a split; or with unshared first at entries whose tuples no other
    class gets. `losses` are the loss graphs of queries that have one.
    """

    management: Management
    period: float
    dropper: Callable[[int], Dropper] = Random
    keys: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    after_visit: bool = False
    place: Placement = "even"
    losses: Mapping[str, LossGraph] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.period > 0:
            raise InputError("a control period is longer than 0 s", self.period, "Give seconds, such as 0.5.")


class Steering:
    """The gates of a network, and the management that sets them."""

    def __init__(self, control: Control, network: Network, division: Division, seed: np.random.SeedSequence) -> None:
        self.control = control
        self._network, self._division, self._seed = network, division, seed
        self._entries = {place: cls for cls, places in division.entries.items() for place in places}
        self._gates: dict[Place, tuple[str, Gate]] = {}
        self._last = 0.0
        self._visited: str | None = None
        self.moments: list[Moment] = []

    def gate(self, place: Place) -> Gate | None:
        """The shedder of an input, if a class begins there; what another class hands on is shed as it is read."""
        feeder = (self._network.by_name[place[0]].inputs or (place[0],))[place[1]]
        branch = self.control.place == "lsrm" and len(self._network.consumers[feeder]) > 1
        cls = self._entries.get(place) or (self._division.owners[place[0]] if branch else None)
        if cls is None:
            return None
        streams = place in self._entries and place not in self._division.boundaries
        at = self.control.management.sheds if streams else "read"
        seed = int(self._seed.spawn(1)[0].generate_state(1)[0])
        gate = Gate(self.control.dropper(seed), at, self.control.keys.get(feeder))
        self._gates[place] = (cls, gate)
        return gate

    def begin(self, classes: Sequence[QueryClass], tasks: Mapping[str, Task], ports: Mapping[Place, Port]) -> None:
        """Take what is to be watched."""
        self.statistics = Statistics(self._network, self._division, classes, tasks, ports)

    def due_after(self, cls: str | None, now: float) -> bool:
        """Whether the management is due as the scheduler goes on to a class, or to none."""
        went, self._visited = cls != self._visited, cls
        return went and now - self._last >= _OF_PERIOD * self.control.period

    def act(self, now: float, schedulers: Sequence[ByClass]) -> None:
        """End a control period: set the gates, and the shares where they have changed."""
        self._last = now
        seen = self.statistics.close(now)
        directive = self.control.management.cycle(seen)
        for cls, drop in directive.drops.items():
            mine = {place: gate for place, (owner, gate) in self._gates.items() if owner == cls}
            parts = self._parts(list(mine), drop)
            for place, gate in mine.items():
                gate.rate = parts.get(place, 0.0)
        if directive.changed:
            for each in schedulers:
                each.share(directive.shares)
        self.moments.append(Moment(now, seen, self.statistics.waiting(now), directive))

    def _parts(self, places: Sequence[Place], drop: float) -> dict[Place, float]:
        """The part to drop at each place of a class that is to drop so much."""
        if self.control.place == "lsrm":
            return self._cheapest(places, drop)
        if self.control.place == "even":
            return dict.fromkeys(places, drop)
        loads = {place: each.rate * each.coefficient for place, each in self.statistics.points(places).items()}
        return unshared_first(loads, {place for place in places if self._division.handed_on(place)}, drop)

    def _cheapest(self, places: Sequence[Place], drop: float) -> dict[Place, float]:
        """The part to drop at each place, so that as much load goes as if the same part went at all entries."""
        points = self.statistics.points(places)
        worth = {query.name: slopes(self.control.losses.get(query.name)) for query in self._network.queries}
        parts = spread(list(points.values()), worth, drop)
        return {place: parts.get(point.name, 0.0) for place, point in points.items()}
