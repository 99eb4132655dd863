"""Load management, as it is asked for and as it runs: each control period, what classes did in, what is dropped out.

The simulator and the engine both drive it: runs as they end, and the units as they stand when the period does.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from headgate.control.dilos import Directive, Management, Mode
from headgate.control.loads import Loads, Standing
from headgate.control.registry import create as redistribution
from headgate.model.classes import QueryClass
from headgate.model.operator import Cost
from headgate.shed.drops import set_drop
from headgate.shed.lsrm import Placement, Point, spread
from headgate.shed.registry import listed, maker
from headgate.shed.unshared import unshared_first

Chooses = Literal["random", "stratified"]
"""How tuples are chosen that are worth the same."""

_SHORTEST, _LONGEST = 0.1, 2.0
"""Control periods in seconds; between them, half of the shortest delay target."""

_LIVE: Mapping[str, Mapping[str, Any]] = {"backlog": {"aim": 0.5}}
"""Options of load managers here: runs on Spark come in lumps, and the delay target has to have room for them."""


def period(classes: Sequence[QueryClass]) -> float:
    """The control period that goes with delay targets."""
    return min(_LONGEST, max(_SHORTEST, min((each.delay_target for each in classes), default=math.inf) / 2))


@dataclass(frozen=True, slots=True)
class Shed:
    """How load is managed: a mode, a load manager by name with its options, and the control period in seconds.

    Without a period it goes by the delay targets. Shares move once in `every` periods, by a `redistribution` on the
    terms of `lending`, and `prompt`ly where a class would shed without its own share: see `control.dilos`. A run on
    Spark is longer than one of the operators for which these were published, so a class keeps more in reserve. The
    `dropper` chooses the tuples: each by chance, or exactly so many of every hundred. All units of a class drop the
    same part, or with the `place` lsrm those first that cost the least quality for the load that they save, or with
    unshared those first that no query of another class rides with.
    """

    mode: Mode = "dilos"
    manager: str = "backlog"
    options: Mapping[str, Any] = field(default_factory=dict)
    period: float | None = None
    redistribution: str = "relative"
    lending: Mapping[str, Any] = field(default_factory=lambda: {"reserve": 0.2, "restored_reserve": True})
    every: int = 4
    prompt: bool = True
    dropper: Chooses = "random"
    place: Placement = "even"

    def __str__(self) -> str:
        """The mode and the load manager, as `headgate whatif --shed` takes them."""
        return f"{self.mode}:{self.manager}"


def management(wanted: Shed, classes: Sequence[QueryClass], lanes: int) -> Management:
    """The load management of so many lanes."""
    options = {**_LIVE.get(wanted.manager, {}), **wanted.options}
    if "cores" in listed(wanted.manager).options:
        options.setdefault("cores", float(lanes))
    return Management(
        classes,
        wanted.mode,
        maker(wanted.manager, options),
        redistribution(wanted.redistribution, wanted.lending),
        every=wanted.every,
        capacity=float(lanes),
        prompt=wanted.prompt,
    )


class Shedding:
    """Load management from `now` on: the drop rate of each class, in percent, one control period after the other."""

    def __init__(self, wanted: Shed, classes: Sequence[QueryClass], lanes: int, now: float) -> None:
        self.management = management(wanted, classes, lanes)
        self.every = wanted.period or period(classes)
        self.latest: Directive | None = None
        self._loads = Loads({each.name: each for each in classes}, now, self.management.capacity)
        self._percent = dict.fromkeys((each.name for each in classes), 0)
        self._place = wanted.place
        self._placed: dict[str, int] = {}
        self._hosts: dict[str, int] = {}

    def percent(self, cls: str, unit: str | None = None) -> int:
        """How much a class drops of what it reads now, or a unit of it."""
        return self._percent[cls] if unit is None else self._placed.get(unit, self._percent[cls])

    def hosts(self, cls: str) -> int:
        """How much units of a class drop that share with others; while there is none, what the class drops."""
        return self._hosts.get(cls, self._percent[cls])

    @property
    def at_arrival(self) -> bool:
        """Whether what is there already keeps the rate with which it came."""
        return self.management.sheds == "arrival"

    @property
    def next(self) -> float:
        """When the control period ends."""
        return self._loads.since + self.every

    def ran(self, unit: str, cls: str, cost: Cost, took: float, kept: int, response: float | None) -> None:
        """Take a run; see `Loads`."""
        self._loads.ran(unit, cls, cost, took, kept, response)

    def cycle(self, units: Sequence[Standing], heads: Mapping[str, int], now: float) -> Directive:
        """End the control period: other drop rates from now on."""
        let_in = {name: 1 - percent / 100 if self.at_arrival else 1.0 for name, percent in self._percent.items()}
        seen = self._loads.close(units, heads, now, let_in, self.management.shares)
        self.latest = found = self.management.cycle(seen)
        self._percent = {name: round(100 * drop) for name, drop in found.drops.items()}
        self._placed = self._at(units, found.drops)
        shared = [(each.cls, self.percent(each.cls, each.unit)) for each in units if each.shared]
        self._hosts = {cls: max(percent for c, percent in shared if c == cls) for cls, _ in shared}
        return found

    def _at(self, units: Sequence[Standing], drops: Mapping[str, float]) -> dict[str, int]:
        """What units drop, in percent, where that differs from what their class is to."""
        if self._place == "lsrm":
            return self._cheapest(units, drops)
        if self._place == "even":
            return {}
        found: dict[str, int] = {}
        for cls, drop in drops.items():
            mine = [each for each in units if each.cls == cls]
            loads = {each.unit: each.cost.b * self._loads.rate(each) for each in mine}
            parts = unshared_first(loads, {each.unit for each in mine if each.shared}, drop)
            found |= {unit: set_drop(part) for unit, part in parts.items()}
        return found

    def _cheapest(self, units: Sequence[Standing], drops: Mapping[str, float]) -> dict[str, int]:
        """What units drop, in percent, so that as much load goes as if each dropped what its class is to."""
        found: dict[str, int] = {}
        for cls, drop in drops.items():
            mine = [each for each in units if each.cls == cls]
            points = [Point(each.unit, self._loads.rate(each), each.cost.b, (each.unit,)) for each in mine]
            if parts := spread(points, {each.unit: each.slopes for each in mine}, drop):
                found |= {each.unit: set_drop(parts.get(each.unit, 0.0)) for each in mine}
        return found
