"""Backlog: read what waits as fast as it takes to bring the wait to where it should be.

Drops apply as tuples are read, so what waits can be thinned at once. With Q seconds of work queued and an offered
load L, a tuple waits `W = max(Q/L, age of the oldest)`. That wait should become `W* = aim·D − S`, where D is the
delay target and S the time that results take beyond their wait. To be there in h seconds, everything that will have
waited longer by then has to be read: `L·(W + h − W*)` seconds of work. The capacity C does `C·h` of it, and the rest
goes:

    d = 1 − C·h / (L·(W + h − W*)),  h = horizon·T

At W = W* that is 1 − C/L, the loss that no manager can avoid; the distance to W* shrinks by the factor 1 − 1/horizon
in each period, from either side, and nothing is shed before the wait is W* − h·(1 − C/L). If C is too great by a
part ε, the wait settles at W* + ε·h: an error shifts the wait a little, and nothing has to be found by trial.

C is what was really had: the work done per second, smoothed over about two periods, while more waited at both ends of
the period than was done in it, so that all the capacity there was for the class has been used. At other times the
work done is less than the capacity, and can only raise it. What the scheduler has granted is there in any case, even
if a period was too short to show it; and where it says what that is, a class that is not busy goes by it alone, as
what it once had beyond may be somebody else's by now.

Of the load a part φ goes with the tuples. The rest is the overhead of runs, which no drop makes less: where that is a
quarter of the load or more, less is dropped, and where it is half of it nothing, as tuples would be lost for nothing.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from headgate.policy.protocol import Why
from headgate.shed.checks import bounded, positive, whole, within
from headgate.shed.drops import CAP, set_drop
from headgate.shed.protocol import Cycle, Order, Sheds

FORMULA = "d = 1 − C·h/(L·(W + h − W*))"
IN_VAIN, IN_FULL = 0.5, 0.75
"""The parts of the load that go with the tuples up to which drops are of no use, and from which on they are."""
NEWS = 0.5
"""The weight of a busy period in the capacity."""
SLOW = 0.2
"""The weight of a period in the time that results take beyond their wait."""


@dataclass
class Backlog:
    """Sheds at read so that response times stay at the part `aim` of the delay `target`.

    `horizon` is the number of control periods in which the wait is to be put right: the fewer the faster, the more
    the steadier the drop rate.
    """

    target: float
    headroom: float = 0.8
    aim: float = 0.8
    horizon: float = 2.0
    cap: int = CAP
    cores: float = 1.0
    sheds: ClassVar[Sheds] = "read"
    _granted: float = field(default=0.0, init=False)
    _queued: float = field(default=0.0, init=False)
    _wait: float = field(default=0.0, init=False)
    _beyond: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        positive("backlog", target=self.target, headroom=self.headroom, cores=self.cores)
        within("backlog", 0.1, 1, aim=self.aim)
        within("backlog", 1, 100, horizon=self.horizon)
        whole("backlog", 1, CAP, cap=self.cap)

    def cycle(self, seen: Cycle) -> Order:
        """Learn the capacity, and read what waits at the pace that the wait asks for."""
        self._learn(seen)
        C, L, h = max(self.headroom, seen.granted), seen.offered, self.horizon * seen.seconds
        late = max(seen.queued, L * seen.oldest)
        wait = late / L if L > 0 else seen.oldest
        self._delay_beyond(seen, (self._wait + wait) / 2)
        should = self.aim * self.target - self._beyond
        due = late + L * (h - should)
        phi = 1 - seen.fixed / L if L > 0 else 1.0
        use = min(1.0, max(0.0, (phi - IN_VAIN) / (IN_FULL - IN_VAIN)))
        d = set_drop(use * (1 - C * h / due), self.cap) / 100 if due > 0 else 0.0
        self._queued, self._wait = seen.queued, wait
        # While what waits has to be worked off, less is left for what comes: whoever lends capacity is to know that.
        left = bounded(min(C, (1 - d) * L), self.cores) if d else C
        return Order(d, left, Why(FORMULA, {"C": C, "L": L, "W": wait, "W*": should, "h": h, "φ": phi, "d": d}))

    def rescale(self, ratio: float) -> None:
        """Follow the capacity, unless the scheduler says what it grants: what is had beyond it stays as it is."""
        if not self._granted:
            self.headroom = bounded(self.headroom * ratio, self.cores)

    def _learn(self, seen: Cycle) -> None:
        self._granted = seen.granted
        had = seen.worked / seen.seconds
        busy = min(self._queued, seen.queued) > seen.worked
        known = seen.granted or self.headroom
        learnt = self.headroom + NEWS * (had - self.headroom) if busy else max(known, had)
        self.headroom = bounded(learnt, self.cores)

    def _delay_beyond(self, seen: Cycle, waited: float) -> None:
        if not (seen.outputs and seen.departed):
            return
        y = self.target * max(out.rt / out.target for out in seen.outputs)
        beyond = self._beyond + SLOW * (y - waited - self._beyond)
        # However long results take, some wait is left: without any the capacity could not be used.
        self._beyond = min(max(beyond, 0.0), self.aim * self.target / 2)
