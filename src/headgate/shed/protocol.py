"""What every load manager is: what a control period has shown in, how much to drop out. Time is a value.

The simulator and the engine both drive a load manager in the same way: once a control period, `cycle(seen)` gives the
drop rate from then on. A manager is a function of what it has been shown: the same cycles give the same orders.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from headgate.monitor.outputs import Output
from headgate.policy.protocol import Why

Sheds = Literal["read", "arrival"]
"""Where tuples are dropped: as they are read, which thins what waits too, or only as they arrive."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """What a control period of so many `seconds` has shown of a class, or of a whole system.

    `offered` is the load that came, dropped or not, in seconds of work per second. `outputs` are those that have ever
    had a result. `oldest` is the age of the tuple that waits longest. What is `queued` is in seconds of work, as if
    nothing of it were dropped as it is read; `worked` are the seconds of work that were done. Whoever schedules has
    `granted` so many seconds of work per second, 0 if that is not known. `fixed` is the part of the offered load that
    is the same however many tuples are dropped. The rest is for managers that count tuples: how many `arrived`, how
    many were `admitted` and how many `departed` as a result or by being filtered out, each copy counted; and the mean
    `cost` of an admitted tuple in seconds.
    """

    seconds: float
    offered: float
    outputs: tuple[Output, ...] = ()
    oldest: float = 0.0
    arrived: int = 0
    admitted: int = 0
    departed: int = 0
    cost: float = 0.0
    queued: float = 0.0
    worked: float = 0.0
    granted: float = 0.0
    fixed: float = 0.0


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be dropped from now on, as a share of the tuples, the headroom behind it, and why."""

    drop: float
    headroom: float
    why: Why


class LoadManager(Protocol):
    """Decides when to drop, and how much."""

    @property
    def sheds(self) -> Sheds:
        """Where its drop rate applies."""

    def cycle(self, seen: Cycle) -> Order:
        """Take one control period, and give the drop rate for the next."""

    def rescale(self, ratio: float) -> None:
        """Take the hint that the capacity has become so many times what it was."""
