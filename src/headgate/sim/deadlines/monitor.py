"""What a run shows while it goes on: misses, rates and losses since the last plan, costs beside the model."""

from collections import deque
from dataclasses import dataclass

from headgate.control.deadlines.measures import Iterated
from headgate.sim.deadlines.processor import EPS
from headgate.sim.deadlines.rates import Rates

NEWS = 0.3
"""The weight of an iteration in the correction of its query's cost."""
LEAST, MOST = 0.5, 2.0
"""A correction beyond these is more likely a fault of the measurement than of the model."""
SPAN = 1.0
"""Seconds over which rates are taken."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state at an instant.

    `missed` is the part of the iterations due in the last longest period that were late. `moved` is by which part the
    rate of a stream differs from that at the last plan, of the one that differs most. `lost` is the part of the
    weighted results that were due since then and are missing.
    """

    now: float
    missed: float
    moved: float
    lost: float


class Monitor:
    """Follows a run; `longest` is the longest period there is."""

    def __init__(self, rates: Rates, longest: float) -> None:
        self._rates = rates
        self._longest = longest
        self._recent: deque[tuple[float, bool]] = deque()
        self._planned = dict.fromkeys(rates, 0.0)
        self._whole = self._lost = 0.0
        self._corrections: dict[str, float] = {}

    def due(self, record: Iterated) -> None:
        """An iteration has reached its deadline."""
        self._recent.append((record.due, record.missed))
        self._whole += record.weight * record.whole
        self._lost += record.weight * record.lost

    def finished(self, query: str, measured: float, modelled: float) -> None:
        """An iteration took that long; the model says how long what it kept should have taken."""
        if modelled > 0:
            before = self.correction(query)
            found = before + NEWS * (measured / modelled - before)
            self._corrections[query] = min(MOST, max(LEAST, found))

    def correction(self, query: str) -> float:
        """By what the model's cost of a query is to be multiplied, φ."""
        return self._corrections.get(query, 1.0)

    def planned(self, now: float) -> Snapshot:
        """A plan is made now: how things stand, and from here on losses are counted anew."""
        found = self.snapshot(now)
        self._planned = {name: stream.count(now - SPAN, now) / SPAN for name, stream in self._rates.items()}
        self._whole = self._lost = 0.0
        return found

    def snapshot(self, now: float) -> Snapshot:
        """How things stand."""
        while self._recent and self._recent[0][0] <= now - self._longest + EPS:
            self._recent.popleft()
        late = sum(missed for _, missed in self._recent)
        moved = max(
            abs(stream.count(now - SPAN, now) / SPAN / before - 1) if (before := self._planned[name]) > 0 else 0.0
            for name, stream in self._rates.items()
        )
        return Snapshot(
            now,
            late / len(self._recent) if self._recent else 0.0,
            moved,
            self._lost / self._whole if self._whole > 0 else 0.0,
        )
