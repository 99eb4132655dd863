"""No load management: whatever comes is worked on, however late that is."""

from dataclasses import dataclass
from typing import ClassVar

from headgate.policy.protocol import Why
from headgate.shed.checks import positive
from headgate.shed.protocol import Cycle, Order, Sheds

FORMULA = "d = 0"


@dataclass
class NoManager:
    """Never drops. Its headroom is the one it was given, for whoever compares load with capacity."""

    headroom: float = 1.0
    sheds: ClassVar[Sheds] = "read"

    def __post_init__(self) -> None:
        positive("none", headroom=self.headroom)

    def cycle(self, seen: Cycle) -> Order:
        """Drop nothing."""
        return Order(0.0, self.headroom, Why(FORMULA, {"L": seen.offered, "H": self.headroom}))

    def rescale(self, ratio: float) -> None:
        """Follow the capacity."""
        self.headroom *= ratio
