"""What a control period has shown of each class: the load that came, what it cost, what waits, how late it is.

A run over m tuples that are not dropped takes a + b·m, as the scheduler measures it over all runs. How fast the
machine is changes sooner than that: so the time that runs really took, relative to what was expected of them, is
watched beside it for each class, and costs are those of the machine as it is now.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from headgate.model.classes import QueryClass
from headgate.model.operator import Cost
from headgate.monitor.outputs import OutputMonitor
from headgate.shed.lsrm import slopes
from headgate.shed.protocol import Cycle

_NEWS = 0.4
"""The weight of a control period in rates and in the speed of the machine."""
_FEW = 5
"""Runs of a class until its costs are believed: the first ones load and compile things."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A unit at the end of a control period: what it reads and costs, and the tuples behind it, the oldest first.

    `slopes` say what its queries lose together per part of their tuples that is dropped: see `shed.lsrm`. It may be
    `shared` with queries of other classes.
    """

    unit: str
    cls: str
    streams: tuple[str, ...]
    cost: Cost
    pending: int
    oldest: float
    slopes: tuple[float, ...] = slopes(None)
    shared: bool = False


@dataclass
class _Smooth:
    """A figure per second or per run, by exponential smoothing from its first value on."""

    value: float = 0.0
    known: bool = False

    def take(self, fresh: float) -> None:
        self.value = self.value + _NEWS * (fresh - self.value) if self.known else fresh
        self.known = True


@dataclass
class _Class:
    """What a class has done in a control period."""

    output: OutputMonitor
    worked: float = 0.0
    expected: float = 0.0
    done: int = 0
    runs: int = 0
    slowness: _Smooth = field(default_factory=lambda: _Smooth(1.0, known=True))


@dataclass
class _Stream:
    """A stream: where its end was, and how fast it moves."""

    head: int
    arrived: int = 0
    rate: _Smooth = field(default_factory=_Smooth)

    def close(self, head: int, seconds: float) -> None:
        self.arrived, self.head = head - self.head, head
        self.rate.take(self.arrived / seconds)


@dataclass
class Loads:
    """Watches the runs of units, whose costs are measured elsewhere. `since` is when the control period began.

    `capacity` are the seconds of work per second of all lanes, until they have had more to do than they could.
    """

    classes: Mapping[str, QueryClass]
    since: float
    capacity: float
    _classes: dict[str, _Class] = field(default_factory=dict, init=False)
    _streams: dict[str, _Stream] = field(default_factory=dict, init=False)
    _runs: dict[str, int] = field(default_factory=dict, init=False)
    _pace: dict[str, _Smooth] = field(default_factory=dict, init=False)
    _busy: _Smooth = field(init=False)

    def __post_init__(self) -> None:
        self._busy = _Smooth(self.capacity)

    def ran(self, unit: str, cls: str, cost: Cost, took: float, kept: int, response: float | None) -> None:
        """Take a run of a unit with this cost over so many tuples, and the response time of the oldest of them."""
        self._runs[unit] = self._runs.get(unit, 0) + 1
        mine = self._class(cls)
        mine.runs += 1
        mine.worked += took
        mine.expected += cost.of(kept)
        mine.done += kept
        if response is not None:
            mine.output.add(max(0.0, response), 1)

    def close(
        self,
        units: Sequence[Standing],
        heads: Mapping[str, int],
        now: float,
        let_in: Mapping[str, float],
        shares: Mapping[str, float],
    ) -> dict[str, Cycle]:
        """End the control period: what it has shown of each class, as the units and the ends of streams stand now.

        `let_in` is the share of its tuples that each class lets in as they arrive; what does not get in waits for
        nobody. `shares` are those of the time that the scheduler gives to each.
        """
        seconds, self.since = max(now - self.since, 1e-6), now
        for name, head in heads.items():
            self._streams.setdefault(name, _Stream(head)).close(head, seconds)
        for each in units:
            self._pace.setdefault(each.unit, _Smooth()).take(self._runs.get(each.unit, 0) / seconds)
        self._pace = {each.unit: self._pace[each.unit] for each in units}
        self._runs = {}
        worked = sum(each.worked for each in self._classes.values())
        found: dict[str, Cycle] = {}
        for name in self.classes:
            mine = [each for each in units if each.cls == name]
            seen = self._cycle(name, mine, seconds, now, let_in[name])
            granted = shares[name] * self._busy.value
            if mine and self._class(name).runs < _FEW:
                # Whose costs are not known yet has its share to do: it neither sheds nor lends.
                seen = replace(seen, offered=granted, fixed=0.0, queued=0.0, oldest=0.0)
            found[name] = replace(seen, granted=granted)
        if sum(each.queued for each in found.values()) > worked:
            # Nobody could have done more: this is what lanes can do, between and around their runs too.
            self._busy.take(worked / seconds)
        return found

    def rate(self, unit: Standing) -> float:
        """Tuples that come to a unit per second, dropped or not."""
        return sum(self._streams[stream].rate.value for stream in unit.streams if stream in self._streams)

    def _cycle(self, name: str, units: Sequence[Standing], seconds: float, now: float, let_in: float) -> Cycle:
        cls = self._class(name)
        if cls.expected:
            cls.slowness.take(cls.worked / cls.expected)
        slower = cls.slowness.value
        offered = fixed = queued = age = 0.0
        streams: set[str] = set()
        for unit in units:
            streams.update(unit.streams)
            offered += slower * unit.cost.b * self.rate(unit)
            fixed += slower * unit.cost.a * self._pace[unit.unit].value
            if unit.pending:
                queued += slower * unit.cost.b * unit.pending * let_in
                age = max(age, now - unit.oldest)
        seen = cls.output.close()
        done, worked = cls.done, cls.worked
        cls.done, cls.worked, cls.expected = 0, 0.0, 0.0
        arrived = sum(stream.arrived for name, stream in self._streams.items() if name in streams)
        return Cycle(
            seconds=seconds,
            offered=offered + fixed,
            fixed=fixed,
            outputs=(seen,) if seen else (),
            oldest=age,
            arrived=arrived,
            admitted=round(arrived * let_in),
            departed=done,
            cost=worked / done if done else 0.0,
            queued=queued,
            worked=worked,
        )

    def _class(self, name: str) -> _Class:
        if name not in self._classes:
            self._classes[name] = _Class(OutputMonitor(self.classes[name].delay_target, fewest=1))
        return self._classes[name]
