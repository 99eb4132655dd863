"""What can be expected of each unit that waits: how late its results will be, and what that means to their users.

    latency   mean wait of the tuples of its next train
    ect       expected computation time until they are results
    eol       latency + ect, the expected output latency; slope and slack are those of the QoS graph there

D(b) is a unit and the units behind it, A the set-up times of all of these. The literature leaves open what ect is:

    carried   A + Σ n_k·C_k over D(b): what waits on the way is carried along; C_k is the time from k to the output
    single    A + Σ cost(k): one tuple that is alone
    literal   A + Σ n_k·cost(k)/o_sel(k), as printed: nothing is expected of tuples that have yet to come to k
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headgate.model.parameters import selectivity
from headgate.model.qos import LatencyGraph, combined
from headgate.model.unit import Unit
from headgate.policy.protocol import View
from headgate.policy.trains import Train

Ect = Literal["carried", "single", "literal"]
Floats = NDArray[np.float64]
_MANY = 20
"""From so many units on, arrays are faster."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The units that wait, and for each its slope and slack at the expected output latency."""

    ready: list[int]
    slope: Floats
    slack: Floats


class Prospects:
    """The expectations of prepared units, whose runs are trains of that kind."""

    def __init__(self, units: Sequence[Unit], train: Train, ect: Ect = "carried") -> None:
        self.units, self.train = units, train
        self._longest = [max(1, train.longest(unit)) for unit in units]
        self.costs = [unit.cost for unit in units]
        graphs = [combined(unit.graphs) for unit in units]
        self.graphs = tuple(dict.fromkeys(graphs))
        number = {graph: k for k, graph in enumerate(self.graphs)}
        self.kind = [number[graph] for graph in graphs]
        self.alone = [_alone(unit, units) for unit in units]
        self.carries = ect != "single"
        if ect == "single":
            self._fixed, self._each = self.alone, [0.0] * len(units)
        else:
            self._fixed = [_set_up(unit, units) for unit in units]
            self._each = [_printed(unit) if ect == "literal" else _to_output(unit, units) for unit in units]
        self._arrays()

    def ahead(self, unit: int) -> float:
        """Seconds from the time of a single tuple to the first critical point: what Fixed-Priority goes by."""
        return self.graph(unit).deadline - self.alone[unit]

    def length(self, view: View, unit: int) -> int:
        """Tuples of the unit's next train."""
        pending, longest = view.queues[unit].pending, self._longest[unit]
        return pending if pending <= longest else int(longest)

    def work(self, view: View, units: Sequence[int]) -> list[float]:
        """How long the next run of each takes."""
        queues, longest, costs = view.queues, self._longest, self.costs
        return [costs[i].of(min(queues[i].pending, longest[i])) for i in units]

    def arrived(self, view: View, unit: int) -> float:
        """When the tuples of the next train arrived, on average."""
        n = self.length(view, unit)
        return view.queues[unit].arrived(n) / n

    def origin(self, view: View, unit: int) -> float:
        """The time since which, at every moment, the expected output latency has passed."""
        n = self.length(view, unit)
        own = view.queues[unit].arrived(n) / n - self._fixed[unit] - self._each[unit] * n
        return own - self._work_behind(view, unit) if self._levels else own

    def trains(self, view: View, chosen: Sequence[int]) -> Sequence[tuple[int, float]]:
        """Of several units, the tuples of the next train and its origin."""
        if self._levels:
            return [(self.length(view, i), self.origin(view, i)) for i in chosen]
        if len(chosen) >= _MANY:
            at = np.array(chosen, np.intp)
            n, arrived = self._trains(view, at, chosen)
            origins = arrived - self._fixed_all[at] - self._each_all[at] * n
            return [*zip(n.astype(np.int64).tolist(), origins.tolist(), strict=True)]
        queues, fixed, each, found = view.queues, self._fixed, self._each, []
        for i in chosen:
            length = self.length(view, i)
            found.append((length, queues[i].arrived(length) / length - fixed[i] - each[i] * length))
        return found

    def ect(self, view: View, unit: int) -> float:
        """The expected computation time of the unit's next train."""
        own = self._fixed[unit] + self._each[unit] * self.length(view, unit)
        return own + self._work_behind(view, unit)

    def most(self, unit: int, n: int, sooner: float) -> float:
        """To how many tuples a train of n may grow before its work makes it so many seconds sooner due."""
        each = self._each[unit]
        return n + sooner / each if each and n < self._longest[unit] else math.inf

    def spare(self, unit: int) -> float:
        """After which wait a train has nothing left to lose, whatever its work."""
        critical = self.graph(unit).critical
        return critical[-1] - self._fixed[unit] if critical else -math.inf

    def graph(self, unit: int) -> LatencyGraph:
        """What the unit's results are worth."""
        return self.graphs[self.kind[unit]]

    def expected(self, view: View, ready: Sequence[int]) -> Expected:
        """Slope and slack of all units that wait."""
        chosen = np.array(ready, np.intp)
        n, arrived = self._trains(view, chosen, ready)
        eol = view.now - arrived + self._fixed_all[chosen]
        if self.carries:
            eol += self._work(chosen, n)
        kind = self._kinds[chosen]
        k = (self._critical[kind] < eol[:, None]).sum(axis=1)
        return Expected(list(ready), self._slopes[kind, k], self._critical[kind, k] - eol)

    def terms(self, view: View, unit: int) -> Mapping[str, float]:
        """The terms that explain a unit's place."""
        graph, queue, n = self.graph(unit), view.queues[unit], self.length(view, unit)
        ect = self._fixed[unit] + self._each[unit] * n + self._work_behind(view, unit)
        eol = view.now - queue.arrived(n) / n + ect
        slope, slack = graph.slope(eol), graph.slack(eol)
        return {"slope": slope, "slack": slack, "eol": eol, "ect": ect, "utility": graph.utility(eol)}

    def _trains(self, view: View, at: NDArray[np.intp], chosen: Sequence[int]) -> tuple[Floats, Floats]:
        """The tuples of the next trains, and when these arrived on average."""
        queues = [view.queues[i] for i in chosen]
        n = np.minimum([queue.pending for queue in queues], self._longest_all[at])
        total = [queue.arrived(m) for queue, m in zip(queues, n.astype(np.int64).tolist(), strict=True)]
        return n, np.array(total) / n

    def _work_behind(self, view: View, unit: int) -> float:
        if not (self.carries and self._levels):
            return 0.0
        return sum(self._each[k] * self.length(view, k) for k in self.units[unit].behind if view.queues[k].pending)

    def _work(self, ready: NDArray[np.intp], n: Floats) -> Floats:
        if not self._levels:
            return self._each_all[ready] * n
        total = np.zeros(len(self.units))
        total[ready] = self._each_all[ready] * n
        for here, behind in self._levels:
            total[here] += total[behind]
        return total[ready]

    def _arrays(self) -> None:
        """The same as arrays: one row of critical points per graph, with an infinite one at the end."""
        most = max((len(graph.critical) for graph in self.graphs), default=0)
        self._critical = np.full((len(self.graphs), most + 1), math.inf)
        self._slopes = np.zeros((len(self.graphs), most + 1))
        for k, graph in enumerate(self.graphs):
            self._critical[k, : len(graph.critical)] = graph.critical
            self._slopes[k, : len(graph.slopes)] = graph.slopes
        self._kinds = np.array(self.kind, np.intp)
        self._fixed_all, self._each_all = np.array(self._fixed), np.array(self._each)
        self._longest_all = np.array(self._longest, np.float64)
        # A unit's work adds to that of the unit behind it, so those next to the output come first.
        levels: dict[int, tuple[list[int], list[int]]] = {}
        for i, unit in enumerate(self.units):
            if unit.behind:
                here, behind = levels.setdefault(len(unit.behind), ([], []))
                here.append(i)
                behind.append(unit.behind[0])
        self._levels = [tuple(np.array(part, np.intp) for part in levels[depth]) for depth in sorted(levels)]


def _set_up(unit: Unit, units: Sequence[Unit]) -> float:
    return unit.cost.a + sum(units[k].cost.a for k in unit.behind)


def _alone(unit: Unit, units: Sequence[Unit]) -> float:
    """The time of a single tuple that goes all the way."""
    return _set_up(unit, units) + max(sum(stage.c for stage in s.path) for s in unit.basis.segments)


def _to_output(unit: Unit, units: Sequence[Unit]) -> float:
    """C: the expected time of a tuple from the unit to the output."""
    way = (unit, *(units[k] for k in unit.behind))
    total = way[-1].cost.b
    for here, following in zip(way[-2::-1], way[:0:-1], strict=True):
        path, rest = here.basis.segments[0].path, following.basis.segments[0].path
        # A shared operator may be valued by another way than the one its results are followed on.
        total = here.cost.b + selectivity(path[: max(1, len(path) - len(rest))]) * total
    return total


def _printed(unit: Unit) -> float:
    first = unit.basis.segments[0]
    return first.path[0].c / first.S if first.S else 0.0
