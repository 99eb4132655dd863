"""What has become of the windows of a query with a deadline, counted as they become due."""

from collections import deque
from dataclasses import dataclass, field

from headgate.record import Iterated

_USEFUL = 0.02
"""An iteration that keeps less of its window than this says nothing."""


@dataclass
class Tally:
    """What has become of the iterations of a query."""

    iterations: int = 0
    missed: int = 0
    useful: int = 0
    tuples: int = 0
    kept: int = 0
    worst: float = 0.0
    reason: str | None = None
    finished: deque[float] = field(default_factory=lambda: deque(maxlen=200))

    open: set[int] = field(default_factory=set)
    """The ends of windows that have missed their deadlines and are not done: they are counted."""

    def overdue(self, end: int, why: str) -> None:
        """Count an iteration that is not done though it is due."""
        self.open.add(end)
        self.iterations += 1
        self.missed += 1
        self.reason = why

    def take(self, found: Iterated, end: int) -> None:
        """Count an iteration that is done; one that was overdue is counted once."""
        if end in self.open:
            self.open.remove(end)
            self.missed -= 1
        else:
            self.iterations += 1
        self.tuples += found.tuples
        self.kept += round(found.kept * found.tuples)
        self.finished.append(found.finish - found.release)
        self.worst = max(self.worst, found.finish - found.release)
        self.useful += not found.missed and found.kept >= _USEFUL
        if found.missed:
            self.missed += 1
            self.reason = found.why
