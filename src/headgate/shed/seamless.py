"""SEaMLeSS: feedback on the delay that the queued load predicts, with a headroom that corrects itself.

The delay of what enters now is the work that waits over the capacity, whatever the network looks like; the same
controller as CTRL's decides how much work may be added to the queues in the next period:

    y = queued / H,  e = D − y
    u = H·(b0·e + b1·e₋₁) − a·u₋₁
    v = u + H·T                          or u + the work that was done in the period
    d = 1 − v / (L·T)

While something is shed, response times must come to D if H is right. So after each P such periods
`H ← H·D / mean response time`. Other periods say nothing about H: response times are short there, or lag behind.
With `H·T` as what goes out, a wrong H also displaces the point that response times come to, and it takes a few
corrections to get there; with the work measured one is enough. The delay is that of a fair scheduler: queries that
wait longer than others are not seen.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

from headgate.errors import InputError
from headgate.policy.protocol import Why
from headgate.shed.checks import bounded, positive, whole
from headgate.shed.ctrl import GAINS
from headgate.shed.drops import CAP, set_drop
from headgate.shed.protocol import Cycle, Order, Sheds

FORMULA = "d = 1 − v/(L·T), v = u + out"
OutTerm = Literal["ht", "measured"]


@dataclass
class Seamless:
    """Holds the delay of the queued load at the `target`, and corrects the headroom every `periods` of shedding.

    `out_term` says what a period takes out of the queues: `ht` the headroom's worth, `measured` what was done.
    """

    target: float
    headroom: float = 0.8
    periods: int = 30
    out_term: OutTerm = "ht"
    cap: int = CAP
    cores: float = 1.0
    sheds: ClassVar[Sheds] = "arrival"
    _drop: int = field(default=0, init=False)
    _error: float = field(default=0.0, init=False)
    _added: float = field(default=0.0, init=False)
    _late: float = field(default=0.0, init=False)
    _seen: int = field(default=0, init=False)
    _quiet: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        positive("seamless", target=self.target, headroom=self.headroom, cores=self.cores)
        whole("seamless", 1, 10_000, periods=self.periods)
        whole("seamless", 1, CAP, cap=self.cap)
        if self.out_term not in get_args(OutTerm):
            rule = "load manager 'seamless': a known out_term"
            raise InputError(rule, f"'{self.out_term}'", f"Choose {', '.join(get_args(OutTerm))}.")

    def cycle(self, seen: Cycle) -> Order:
        """Correct the headroom when it is time to, and admit what brings the delay to the target."""
        self._correct(seen)
        T, L, H = seen.seconds, seen.offered, self.headroom
        y = seen.queued / H
        e = self.target - y
        u = H * (GAINS.b0 * e + GAINS.b1 * self._error) - GAINS.a * self._added
        v = u + (H * T if self.out_term == "ht" else seen.worked)
        self._error, self._added = e, u
        self._drop = set_drop(1 - v / (L * T), self.cap) if L > 0 else 0
        d = self._drop / 100
        return Order(d, H, Why(FORMULA, {"y": y, "e": e, "u": u, "v": v, "L": L, "H": H, "d": d}))

    def rescale(self, ratio: float) -> None:
        """Follow the capacity; what was seen under the old one says nothing about the new one."""
        self.headroom = bounded(self.headroom * ratio, self.cores)
        self._late, self._seen = 0.0, 0

    def _correct(self, seen: Cycle) -> None:
        if not self._drop:
            self._quiet += 1
            if self._quiet > self.periods:
                self._late, self._seen = 0.0, 0
            return
        self._quiet = 0
        if seen.outputs and seen.departed:
            self._late += sum(out.rt / out.target for out in seen.outputs) / len(seen.outputs)
            self._seen += 1
        if self._seen >= self.periods:
            self.headroom = bounded(self.headroom * self._seen / self._late, self.cores)
            self._late, self._seen = 0.0, 0
