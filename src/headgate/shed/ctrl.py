"""CTRL: load shedding by feedback on the delay that a virtual queue predicts.

The queue q counts tuples that were admitted and have not departed. A tuple that enters now is expected to wait

    y = c·q / H                         c cost of a tuple, H headroom, both taken as known

and the controller lets the queue grow by u tuples per second so that y goes to the delay target D:

    e = D − y
    u = H/(c·T) · (b0·e + b1·e₋₁) − a·u₋₁
    v = u + departures/T                 what may come per second
    d = 1 − v / arrivals per second

The error is D − y: with the other sign the gains would make every delay worse. A headroom that is off by a factor
puts the response time off by the same factor. Departures count every copy of a tuple, so that where tuples are
shared, joined or grouped the queue is thought to be empty, or less, and nothing is shed: the manager is for flat
networks. Drops apply to what arrives; what waits is left alone.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from headgate.policy.protocol import Why
from headgate.shed.checks import positive, whole
from headgate.shed.drops import CAP, set_drop
from headgate.shed.protocol import Cycle, Order, Sheds

FORMULA = "d = 1 − v/f, v = u + departed/T"


class Gains(NamedTuple):
    """The controller's coefficients: on the error, on the error before, on its own last answer."""

    b0: float
    b1: float
    a: float


GAINS = Gains(0.4, -0.31, -0.8)
"""They put both poles of the closed loop, z² + (a − 1 + b0)·z + (b1 − a), at 0.7."""


@dataclass
class Ctrl:
    """Holds the delay of a virtual queue at the `target`; the `headroom` is found by trial beforehand."""

    target: float
    headroom: float = 0.99
    cap: int = CAP
    sheds: ClassVar[Sheds] = "arrival"
    _q: float = field(default=0.0, init=False)
    _error: float = field(default=0.0, init=False)
    _added: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        positive("ctrl", target=self.target, headroom=self.headroom)
        whole("ctrl", 1, CAP, cap=self.cap)

    def cycle(self, seen: Cycle) -> Order:
        """Count the queue on, and admit what brings its delay to the target."""
        T, c, H = seen.seconds, seen.cost, self.headroom
        self._q += seen.admitted - seen.departed
        if not (c and seen.arrived):
            return Order(0.0, H, Why(FORMULA, {"q": self._q}))
        y = c * self._q / H
        e = self.target - y
        u = H / (c * T) * (GAINS.b0 * e + GAINS.b1 * self._error) - GAINS.a * self._added
        v, f = u + seen.departed / T, seen.arrived / T
        self._error, self._added = e, u
        d = set_drop(1 - v / f, self.cap)
        return Order(d / 100, H, Why(FORMULA, {"q": self._q, "y": y, "e": e, "u": u, "v": v, "f": f, "d": d / 100}))

    def rescale(self, ratio: float) -> None:
        """Follow the capacity."""
        self.headroom *= ratio
