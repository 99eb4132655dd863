"""Aurora's load manager: drop what exceeds a fixed capacity.

The offered load L is compared with a headroom H that is given by hand: `d = 1 − H/L` if L > H. Nothing that has been
let in too much is ever made up for, so a headroom above the truth lets response times grow for ever, and one below
it wastes capacity. With a headroom of 1 it is the manager of systems that take the whole processor for granted.
"""

from dataclasses import dataclass
from typing import ClassVar

from headgate.policy.protocol import Why
from headgate.shed.checks import positive, whole
from headgate.shed.drops import CAP, set_drop
from headgate.shed.protocol import Cycle, Order, Sheds

FORMULA = "d = 1 − H/L"


@dataclass
class Aurora:
    """Sheds L − H, the offered load above a fixed `headroom`."""

    headroom: float = 1.0
    cap: int = CAP
    sheds: ClassVar[Sheds] = "read"

    def __post_init__(self) -> None:
        positive("aurora", headroom=self.headroom)
        whole("aurora", 1, CAP, cap=self.cap)

    def cycle(self, seen: Cycle) -> Order:
        """Drop the excess of the last period."""
        L, H = seen.offered, self.headroom
        d = set_drop(1 - H / L, self.cap) if L > H else 0
        return Order(d / 100, H, Why(FORMULA, {"L": L, "H": H, "d": d / 100}))

    def rescale(self, ratio: float) -> None:
        """Follow the capacity: the headroom is fixed by hand, as a part of what there is."""
        self.headroom *= ratio
