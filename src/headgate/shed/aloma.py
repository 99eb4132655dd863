"""ALoMa: a load manager that learns its capacity by comparing two monitors.

The load monitor gives the admitted load `L = offered·(1 − d)`; it says overload if L > L_C, the capacity believed
in. The response-time monitor gives a state: normal up to the O point, which is twice the least response time seen;
under the threshold (UT) up to the delay target D; over it (OT) beyond. Where both agree, d moves by the difference;
where they do not, the capacity is wrong and moves towards L:

    L > L_C    normal   L_C up by a step
               UT       if something is shed and response times do not rise: L_C up by a step, x % more is admitted
               OT       the excess is shed
    L ≤ L_C    OT       if response times do not fall: L_C down by a step, x % less is admitted
               else     if something is shed: what fits into L_C is admitted

    step = log₂(z + 1)/z · |L − L_C|,  z = max(1, |L − L_C|/L_C in percent)           (Eq 5.1)
    x = 1 + log₂ k,  k cycles in a row in which the same was tried                      (Eq 5.2)

It knows nothing of the scheduler and of the network, and needs no count of arrivals. Over the threshold with
response times that already fall it waits, so that after a loss of capacity they may stay above D for long.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from headgate.monitor.outputs import Output
from headgate.policy.protocol import Why
from headgate.shed.checks import bounded, positive, whole, within
from headgate.shed.drops import CAP, add_drop, remove_drop
from headgate.shed.protocol import Cycle, Order, Sheds

FORMULA = "L = offered·(1 − d) against L_C, response times against D"


class State(Enum):
    """What response times say."""

    NORMAL = "normal"
    UT = "under the threshold"
    OT = "over the threshold"


def step(LC: float, L: float) -> float:
    """How far the capacity moves towards the load: all the way if it is near, a small part if it is far."""
    z = max(1.0, abs(L - LC) / LC * 100)
    return math.log2(z + 1) / z * abs(L - LC)


def trial(k: int) -> float:
    """The percentage of the admitted load that is tried when the same has been tried k times in a row."""
    return 1 + math.log2(k)


@dataclass
class Aloma:
    """Sheds, and learns its headroom, so that no output exceeds its delay target.

    `target` counts where no output has been heard of: a tuple that waits longer says as much as a late result. With a
    `deadband` response times within that part of the target try nothing: the capacity stays as it is.
    """

    target: float
    headroom: float = 0.8
    deadband: float = 0.0
    cap: int = CAP
    cores: float = 1.0
    sheds: ClassVar[Sheds] = "read"
    _drop: int = field(default=0, init=False)
    _ups: int = field(default=0, init=False)
    _downs: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        positive("aloma", target=self.target, headroom=self.headroom, cores=self.cores)
        within("aloma", 0, 0.5, deadband=self.deadband)
        whole("aloma", 1, CAP, cap=self.cap)

    def cycle(self, seen: Cycle) -> Order:
        """Compare the two monitors, and move the drop rate, the capacity or both."""
        L, LC = seen.offered * (1 - self._drop / 100), self.headroom
        state = self._state(seen)
        ups, downs = self._ups, self._downs
        said = self._act(L, LC, state, seen.outputs) if L > 0 else "no load"
        self._ups = self._ups if self._ups > ups else 0
        self._downs = self._downs if self._downs > downs else 0
        self.headroom = bounded(self.headroom, self.cores)
        d = self._drop / 100
        return Order(d, self.headroom, Why(f"{state.value}: {said}", {"L": L, "L_C": LC, "H": self.headroom, "d": d}))

    def rescale(self, ratio: float) -> None:
        """Follow the capacity, and begin trials anew."""
        self.headroom = bounded(self.headroom * ratio, self.cores)
        self._ups = self._downs = 0

    def _state(self, seen: Cycle) -> State:
        silent = not (seen.outputs and seen.departed)
        if any(out.rt > out.target for out in seen.outputs) or (silent and seen.oldest > self.target):
            return State.OT
        return State.UT if any(_above_o(out) for out in seen.outputs) else State.NORMAL

    def _act(self, L: float, LC: float, state: State, outputs: Sequence[Output]) -> str:
        if L > LC:
            if state is State.NORMAL:
                self.headroom += step(LC, L)
                return "capacity up"
            if state is State.OT:
                self._drop = add_drop(self._drop, max(1.0, 100 * (L - LC) / L), self.cap)
                return "shed the excess"
            if self._drop and self._not_rising(outputs):
                self._ups += 1
                self.headroom += step(LC, L)
                self._drop = remove_drop(self._drop, trial(self._ups))
                return "capacity up, admit a little"
            return "wait"
        if state is State.OT:
            if self._not_falling(outputs):
                self._downs += 1
                self.headroom -= step(LC, L)
                self._drop = add_drop(self._drop, trial(self._downs), self.cap)
                return "capacity down, shed a little"
            return "wait"
        if self._drop:
            self._drop = remove_drop(self._drop, max(1.0, 100 * (LC - L) / L))
            return "admit what fits"
        return "nothing to do"

    def _not_rising(self, outputs: Sequence[Output]) -> bool:
        near = [out for out in outputs if _above_o(out)]
        return _most(out.rt <= out.before and out.rt <= (1 - self.deadband) * out.target for out in near)

    def _not_falling(self, outputs: Sequence[Output]) -> bool:
        """True too where no output is late: then what waits is, and it does not get out."""
        late = [out for out in outputs if out.rt > out.target]
        return not late or _most(out.rt >= out.before and out.rt > (1 + self.deadband) * out.target for out in late)


def _above_o(out: Output) -> bool:
    return out.rt > 2 * out.least


def _most(votes: Iterable[bool]) -> bool:
    """More than half."""
    found = list(votes)
    return 2 * sum(found) > len(found)
