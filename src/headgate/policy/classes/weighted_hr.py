"""WeHR: highest rate times the priority of the class, in one queue over all classes.

The lowest class starves where the others have work enough. With equal priorities it is HR. What is ready is kept in
the order of its rate, so that the first is found at one look.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from headgate.model.unit import Unit
from headgate.policy.classes.scheduler import ByClass
from headgate.policy.hr import HR
from headgate.policy.protocol import Decision, Run, View, Why, Work

FORMULA = "P·S/C"


@dataclass
class WeightedHr(ByClass):
    """The ready unit of the highest weighted rate, on all that waits; sources when nothing else does, all at once."""

    _priority: list[float] = field(default_factory=list, init=False)
    _ranking: list[int] = field(default_factory=list, init=False)

    def prepare(self, units: Sequence[Unit]) -> None:
        """Compute the priorities."""
        super().prepare(units)
        self._reshared()

    def choose(self, view: View) -> Decision | None:
        """The first in the ranking that has something; where only sources have, all of them."""
        ready = (i for i in self._ranking if view.queues[i].pending)
        first = next(ready, None)
        if first is None:
            return None
        runs = [first, *ready] if self.units[first].source else [first]
        trains = tuple(Run(i, self.train.length(self.units[i], view.queues[i].pending)) for i in runs)
        terms = {"class": self.rank[first] + 1.0, "priority": self._priority[first], "n": float(trains[0].train)}
        return Decision(trains, Why(FORMULA, terms), Work(reads=1))

    def _reshared(self) -> None:
        weights = self.weights
        self._priority = [weights[k] * HR.static(unit) for k, unit in zip(self.rank, self.units, strict=True)]
        self._ranking = sorted(range(len(self.units)), key=lambda i: (self.units[i].source, -self._priority[i], i))
