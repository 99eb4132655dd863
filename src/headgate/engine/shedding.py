"""Load management while the engine runs: each control period it sees what classes did, and says what is dropped."""

from collections.abc import Callable, Mapping, Sequence

from headgate.control.dilos import Directive
from headgate.control.loads import Standing
from headgate.control.shedding import Shed
from headgate.control.shedding import Shedding as Control
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.stream import StreamLog
from headgate.engine.running import Done
from headgate.engine.thinning import Thinning, decide
from headgate.engine.units import LiveUnit
from headgate.engine.utility import Masses
from headgate.model.classes import QueryClass
from headgate.model.operator import FREE, Cost
from headgate.shed.droppers import STRATIFIED, UNSHED, Drop
from headgate.shed.lsrm import slopes

__all__ = ["Shed", "Shedding"]


class Shedding:
    """The load management of an engine with so many lanes. All but `percent` is for the scheduler's thread."""

    def __init__(
        self, wanted: Shed, classes: Sequence[QueryClass], logs: Mapping[str, StreamLog], lanes: int, now: float
    ) -> None:
        self.wanted = wanted
        self.control = Control(wanted, classes, lanes, now)
        self._logs, self._masses = logs, Masses()
        self._how = STRATIFIED if wanted.dropper == "stratified" else ""
        self.management, self.percent, self.hosts = self.control.management, self.control.percent, self.control.hosts

    @property
    def latest(self) -> Directive | None:
        """What holds since the last control period ended."""
        return self.control.latest

    @property
    def next(self) -> float:
        """When the control period ends."""
        return self.control.next

    def ran(self, unit: LiveUnit, cost: Cost, done: Done, oldest: float) -> None:
        """Take a run of a unit with this cost, whose oldest tuple had waited since then."""
        response = done.finished - oldest if done.read else None
        self.control.ran(unit.name, unit.cls, cost, done.finished - done.started, done.read - done.shed, response)

    def cycle(
        self, units: Sequence[LiveUnit], cost: Callable[[LiveUnit], Cost | None], now: float, manifest: Manifest
    ) -> Directive:
        """End the control period: other drop rates from now on."""
        before = {unit.name: self.drops(unit) for unit in units}
        heads = {name: log.head for name, log in list(self._logs.items())}
        found = self.control.cycle([_standing(unit, cost(unit) or FREE) for unit in units], heads, now)
        if self.control.at_arrival:
            # What is there already keeps the rate with which it came.
            for unit in units:
                for stream, rate in unit.rates.items():
                    decide(rate, self._logs[stream].head, before[unit.name][stream], unit.owner, manifest)
        shed = [rate for unit in units if self.percent(unit.cls) for rate in unit.rates.values()]
        for log, protected in {(rate.log, rate.protected) for rate in shed}:
            if protected:
                self._masses.take(log, protected)
        return found

    def drops(self, unit: LiveUnit) -> Mapping[str, Drop]:
        """What is dropped of each stream that a unit reads now."""
        percent = self.percent(unit.cls, unit.name)
        return {stream: self._drop(percent, rate) for stream, rate in unit.rates.items()}

    def _drop(self, percent: int, rate: Thinning) -> Drop:
        if not percent:
            return UNSHED
        if rate.protected:
            return rate.protected.drop(percent, self._masses.of(rate.stream, rate.protected))
        return Drop(percent, self._how)


def _standing(unit: LiveUnit, cost: Cost) -> Standing:
    waits = unit.behind()
    worth = zip(*(slopes(query.loss) for query in unit.queries), strict=True)
    return Standing(
        *(unit.name, unit.cls, tuple(unit.rates), cost, waits.pending, waits.oldest),
        slopes=tuple(sum(step) for step in worth),
        shared=len(unit.classes) > 1,
    )
