"""Aurora's round robin: an order by chance that never changes, and each schedule is all that waits in that order."""

from dataclasses import dataclass, field

from headgate.policy.protocol import Decision, View, Work
from headgate.policy.qos.schedule import Scheduled, Size, ready

FORMULA = "all that wait, in an order that never changes"


@dataclass
class InTurn(Scheduled):
    """Everything that waits takes its turn."""

    schedule: Size = field(default=1, init=False)

    def choose(self, view: View) -> Decision | None:
        """Run all that wait."""
        found = ready(view)
        if not found:
            return None
        work = Work(comparisons=len(found), reads=len(view.queues))
        return self._decision(view, sorted(found, key=self._rank.__getitem__), FORMULA, work)

    def _terms(self, view: View, unit: int) -> dict[str, float]:
        return {"place": float(self._rank[unit]), "W": view.now - view.queues[unit].oldest}
