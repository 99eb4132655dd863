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
from headgate.model.qos import combined
from headgate.model.unit import Unit
from headgate.policy.protocol import View
from headgate.policy.trains import Train

Ect = Literal["carried", "single", "literal"]
Floats = NDArray[np.float64]


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
        self._whole = math.isinf(train.most) and math.isinf(train.slice)
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
        return self.graphs[self.kind[unit]].deadline - self.alone[unit]

    def length(self, view: View, unit: int) -> int:
        """Tuples of the unit's next train."""
        pending = view.queues[unit].pending
        return pending if self._whole else self.train.length(self.units[unit], pending)

    def arrived(self, view: View, unit: int) -> float:
        """When the tuples of the next train arrived, on average."""
        n = self.length(view, unit)
        return view.queues[unit].arrived(n) / n

    def origin(self, view: View, unit: int) -> float:
        """The time since which, at every moment, the expected output latency has passed."""
        n = self.length(view, unit)
        own = view.queues[unit].arrived(n) / n - self._fixed[unit] - self._each[unit] * n
        return own - self._work_behind(view, unit)

    def ect(self, view: View, unit: int) -> float:
        """The expected computation time of the unit's next train."""
        own = self._fixed[unit] + self._each[unit] * self.length(view, unit)
        return own + self._work_behind(view, unit)

    def expected(self, view: View, ready: Sequence[int]) -> Expected:
        """Slope and slack of all units that wait."""
        chosen = np.array(ready, np.intp)
        n = [self.length(view, i) for i in ready]
        arrived = np.array([view.queues[i].arrived(m) / m for i, m in zip(ready, n, strict=True)])
        eol = view.now - arrived + self._fixed_all[chosen]
        if self.carries:
            eol += self._work(chosen, np.array(n, np.float64))
        kind = self._kinds[chosen]
        k = (self._critical[kind] < eol[:, None]).sum(axis=1)
        return Expected(list(ready), self._slopes[kind, k], self._critical[kind, k] - eol)

    def terms(self, view: View, unit: int) -> Mapping[str, float]:
        """The terms that explain a unit's place."""
        graph, ect = self.graphs[self.kind[unit]], self.ect(view, unit)
        eol = view.now - self.arrived(view, unit) + ect
        slope, slack = graph.slope(eol), graph.slack(eol)
        return {"slope": slope, "slack": slack, "eol": eol, "ect": ect, "utility": graph.utility(eol)}

    def _work_behind(self, view: View, unit: int) -> float:
        if not self.carries:
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
