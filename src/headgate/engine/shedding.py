"""Load management while the engine runs: each control period it sees what classes did, and says what is dropped."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headgate.control.dilos import Directive, Management, Mode
from headgate.control.registry import create as redistribution
from headgate.control.shedding import Chooses
from headgate.engine.loads import Loads
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.stream import StreamLog
from headgate.engine.running import Done
from headgate.engine.thinning import Thinning, decide
from headgate.engine.units import LiveUnit
from headgate.engine.utility import Masses
from headgate.model.classes import QueryClass
from headgate.model.operator import Cost
from headgate.shed.droppers import STRATIFIED, UNSHED, Drop
from headgate.shed.registry import listed, maker

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
    Spark is longer than one of the operators for which these were published, so a class keeps more in reserve.
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


def shedding(
    wanted: Shed, classes: Sequence[QueryClass], logs: Mapping[str, StreamLog], lanes: int, now: float
) -> "Shedding":
    """The load management of an engine with so many lanes."""
    options = {**_LIVE.get(wanted.manager, {}), **wanted.options}
    if "cores" in listed(wanted.manager).options:
        options.setdefault("cores", float(lanes))
    management = Management(
        classes,
        wanted.mode,
        maker(wanted.manager, options),
        redistribution(wanted.redistribution, wanted.lending),
        every=wanted.every,
        capacity=float(lanes),
        prompt=wanted.prompt,
    )
    how = STRATIFIED if wanted.dropper == "stratified" else ""
    return Shedding(management, classes, logs, wanted.period or period(classes), now, how)


class Shedding:
    """The load management of an engine. All but `percent` is for the scheduler's thread."""

    def __init__(
        self,
        management: Management,
        classes: Sequence[QueryClass],
        logs: Mapping[str, StreamLog],
        every: float,
        now: float,
        how: str = "",
    ) -> None:
        self.management, self.every = management, every
        self.latest: Directive | None = None
        self._loads = Loads({each.name: each for each in classes}, logs, now, management.capacity)
        self._logs, self._masses = logs, Masses()
        self._how = how
        self._percent = dict.fromkeys((each.name for each in classes), 0)

    def percent(self, cls: str) -> int:
        """How much a class drops of what it reads now."""
        return self._percent[cls]

    @property
    def next(self) -> float:
        """When the control period ends."""
        return self._loads.since + self.every

    def ran(self, unit: LiveUnit, cost: Cost, done: Done, oldest: float) -> None:
        """Take a run; see `Loads`."""
        self._loads.ran(unit, cost, done, oldest)

    def cycle(
        self, units: Sequence[LiveUnit], cost: Callable[[LiveUnit], Cost | None], now: float, manifest: Manifest
    ) -> Directive:
        """End the control period: other drop rates from now on."""
        at_arrival = self.management.sheds == "arrival"
        before = {unit.name: self.drops(unit) for unit in units}
        let_in = {name: 1 - percent / 100 if at_arrival else 1.0 for name, percent in self._percent.items()}
        found = self.management.cycle(self._loads.close(units, cost, now, let_in, self.management.shares))
        if at_arrival:
            # What is there already keeps the rate with which it came.
            for unit in units:
                for stream, rate in unit.rates.items():
                    decide(rate, self._logs[stream].head, before[unit.name][stream], unit.owner, manifest)
        self._percent = {name: round(100 * drop) for name, drop in found.drops.items()}
        self.latest = found
        shed = [rate for unit in units if self.percent(unit.cls) for rate in unit.rates.values()]
        for log, protected in {(rate.log, rate.protected) for rate in shed}:
            if protected:
                self._masses.take(log, protected)
        return found

    def drops(self, unit: LiveUnit) -> Mapping[str, Drop]:
        """What is dropped of each stream that a unit reads now."""
        percent = self.percent(unit.cls)
        return {stream: self._drop(percent, rate) for stream, rate in unit.rates.items()}

    def _drop(self, percent: int, rate: Thinning) -> Drop:
        if not percent:
            return UNSHED
        if rate.protected:
            return rate.protected.drop(percent, self._masses.of(rate.stream, rate.protected))
        return Drop(percent, self._how)
