"""The statistics of a plan as they are measured: the units again, with what their runs have shown."""

from collections.abc import Sequence
from dataclasses import replace

from headgate.model.operator import Cost
from headgate.model.parameters import Segment, Stage
from headgate.model.qos import LatencyGraph
from headgate.model.unit import Basis, Entry, Unit
from headgate.monitor.estimators import Average, TrainCost
from headgate.policy.protocol import Outcome

LEAST_SHARE = 1e-6
_DEAR = 10.0
"""How many times the overhead of a job a tuple may cost."""


class Measured:
    """Turns outcomes into units with measured cost, selectivity and ideal time.

    Every `period` seconds a backend asks for the units and prepares its policy with them. They stay the same object
    while nothing has moved by more than `tolerance`, so that orders and clusters are not rebuilt for noise.

    A tuple's ideal time T is what single tuples take, or with `in_jobs` that of a tuple in a job of its own, a + b.
    Of jobs little is known but their overhead, unless it is said that costs are `known` and only change.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        period: float = 1.0,
        tolerance: float = 0.05,
        *,
        in_jobs: bool = False,
        known: bool = False,
    ) -> None:
        self.period = period
        self._tolerance, self._in_jobs = tolerance, in_jobs
        self._units = tuple(units)
        self._seen: set[int] = set()
        guessed = in_jobs and not known
        self._cost = [TrainCost(unit.cost, _unsure(unit.cost) if guessed else None) for unit in units]
        self._share = [[Average(s.S) for s in unit.segments] for unit in units]
        self._ideal = [Average(_longest(unit)) for unit in units]

    def over(self, units: Sequence[Unit]) -> "Measured":
        """The same for another plan: units whose entry was there before keep what was measured of them.

        They may have come to carry other queries: those that stayed keep their selectivities.
        """
        fresh = Measured(units, self.period, self._tolerance, in_jobs=self._in_jobs)
        known = {unit.entry: i for i, unit in enumerate(self._units)}
        for i, unit in enumerate(units):
            if (old := known.get(unit.entry)) is not None:
                shares = dict(zip((s.query for s in self._units[old].segments), self._share[old], strict=True))
                fresh._share[i] = [shares.get(s.query, Average(s.S)) for s in unit.segments]
                fresh._cost[i], fresh._ideal[i] = self._cost[old], self._ideal[old]
                fresh._seen |= {i} if old in self._seen else set()
        return fresh

    def observe(self, outcome: Outcome) -> None:
        """Take one outcome. A single tuple that gave a result shows the ideal time."""
        i, n = outcome.run
        seconds = outcome.finished - outcome.started
        self._seen.add(i)
        self._cost[i].observe(n, seconds)
        for share, results in zip(self._share[i], outcome.results, strict=True):
            share.observe(results, n)
        if n == 1 and any(outcome.results):
            self._ideal[i].observe(seconds)

    def units(self) -> Sequence[Unit]:
        """The units as measured."""
        fresh = tuple(self._measured(i, unit) for i, unit in enumerate(self._units))
        if any(self._moved(old, new) for old, new in zip(self._units, fresh, strict=True)):
            self._units = fresh
        return self._units

    def _measured(self, i: int, unit: Unit) -> Unit:
        if not unit.segments or i not in self._seen:
            return unit
        cost = self._cost[i].cost
        costlier = cost.b / unit.cost.b if unit.cost.b else 1.0
        slower = (cost.of(1) if self._in_jobs else self._ideal[i].value) / _longest(unit)
        segments = tuple(
            Segment(s.query, (Stage(s.C * costlier, max(LEAST_SHARE, share.value)),), s.T * slower)
            for s, share in zip(unit.segments, self._share[i], strict=True)
        )
        return unit.measured(cost, segments)

    def _moved(self, old: Unit, new: Unit) -> bool:
        pairs = [(old.cost.of(1), new.cost.of(1))]
        pairs += [pair for a, b in zip(old.segments, new.segments, strict=True) for pair in ((a.S, b.S), (a.T, b.T))]
        return any(abs(after - before) > self._tolerance * before for before, after in pairs)


def _unsure(guess: Cost) -> Cost:
    """How far the guess for a job may be off: its overhead was measured, but a tuple may cost many times as much."""
    return Cost(guess.a, max(_DEAR * guess.a, guess.b))


def _longest(unit: Unit) -> float:
    """The ideal time of the unit's slowest query."""
    return max((s.T for s in unit.segments), default=1.0)


def known(name: str, number: int, cls: str, cost: Cost, S: float, graphs: tuple[LatencyGraph, ...] = ()) -> Unit:
    """A unit of which this is known: one segment, with the ideal time of a tuple in a job of its own."""
    segment = Segment(name, (Stage(cost.b, max(LEAST_SHARE, S)),), cost.of(1))
    return Unit(number, Entry(name), (name,), (segment,), cost, Basis((segment,), cost), cls=cls, graphs=graphs)


def unknown(units: Sequence[Unit]) -> tuple[Unit, ...]:
    """The units of somebody who knows nothing about them yet: each costs and yields what the average one does."""
    n = len(units)
    cost = Cost(sum(u.cost.a for u in units) / n, sum(u.cost.b for u in units) / n)
    segments = [s for u in units for s in u.segments]
    S, T = (sum(getattr(s, name) for s in segments) / len(segments) for name in ("S", "T"))
    found = []
    for unit in units:
        alike = tuple(Segment(s.query, (Stage(cost.b / len(unit.segments), S),), T) for s in unit.segments)
        found.append(replace(unit, cost=cost, segments=alike, basis=Basis(alike or unit.basis.segments, cost)))
    return tuple(found)
