"""Fixed-Priority: whoever has the least time left between its own work and its deadline goes first, whatever waits.

That is d1 − Σ cost over the way to the output, known before anything runs. Under overload the last starve.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, View, Work
from headgate.policy.qos.schedule import Scheduled, places, ready

FORMULA = "least d1 − Σcost"


@dataclass
class FixedPriority(Scheduled):
    """The first units of a fixed order that wait."""

    _place: list[int] = field(default_factory=list, init=False)

    def prepare(self, units: Sequence[Unit]) -> None:
        """Sort the units once."""
        super().prepare(units)
        order = sorted(range(len(units)), key=lambda i: (self._prospects.ahead(i), self._rank[i]))
        self._place = places(order)

    def choose(self, view: View) -> Decision | None:
        """Run the first that wait."""
        found = ready(view)
        if not found:
            return None
        work = Work(comparisons=len(found), reads=len(view.queues))
        return self._decision(view, sorted(found, key=self._place.__getitem__)[: self.size], FORMULA, work)

    def _terms(self, view: View, unit: int) -> dict[str, float]:
        return {"d1 − Σcost": self._prospects.ahead(unit), **super()._terms(view, unit)}
