"""How fast a stream moves, over the last second and over longer times: bursts and what lies between them."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

RECENT = 1.0
"""The shortest time over which a rate is taken, in seconds."""
POINTS = 64
"""Of what is longer ago than that, so many looks are kept."""


@dataclass
class Pace:
    """Where a stream was, look by look: all of the last second, and of the `span` before it some."""

    span: float = RECENT
    _lately: deque[tuple[float, int]] = field(default_factory=deque, init=False)
    _before: deque[tuple[float, int]] = field(default_factory=deque, init=False)
    # Many queries ask for the same.
    _rates: dict[float, float] = field(default_factory=dict, init=False)

    def look(self, now: float, head: int) -> None:
        """Take the position behind its newest tuple."""
        self._lately.append((now, head))
        while len(self._lately) > 2 and self._lately[1][0] <= now - RECENT:
            point = self._lately.popleft()
            if not self._before or point[0] - self._before[-1][0] >= self.span / POINTS:
                self._before.append(point)
        while len(self._before) > 1 and self._before[1][0] <= now - self.span:
            self._before.popleft()
        self._rates = {}

    def rate(self, span: float = RECENT) -> float:
        """The tuples per second of the last seconds, or of as many as were seen."""
        rates = self._rates
        if span not in rates:
            rates[span] = self._rate(span)
        return rates[span]

    def greatest(self, spans: Iterable[float]) -> float:
        """The highest of the rates over such times, and of that of the last second.

        That of a second says nothing between two bursts, and that of a long time comes late to a load that rises.
        """
        return max(self.rate(), *map(self.rate, spans))

    def _rate(self, span: float) -> float:
        if not self._lately:
            return 0.0
        now, head = self._lately[-1]
        points = [*self._before, *self._lately]
        since, low = next((each for each in reversed(points) if each[0] <= now - span), points[0])
        return (head - low) / (now - since) if now > since else 0.0
