"""AMBD: MBD that prefers, among the next slots, a query that last ran on the lane that asks."""

from dataclasses import dataclass, field
from itertools import islice

from headgate.model.unit import Entry
from headgate.policy.classes.mbd import Mbd
from headgate.policy.protocol import Decision, View

FORMULA = "a slot among the next whose query last ran on this lane, else the next slot"

_AHEAD = 10
"""Slots that a lane looks at."""


@dataclass
class Ambd(Mbd):
    """MBD with a look ahead. A slot that is taken early is used up for the round."""

    _home: dict[Entry, int] = field(default_factory=dict, init=False)
    _used: set[int] = field(default_factory=set, init=False)
    _ahead: int = field(default=0, init=False)
    """Slots that were looked at ahead for the decision under way."""

    def _slot(self, view: View) -> int:
        while self._at in self._used:
            self._at += 1
        if self._at == len(self.program):
            self._end_round(view.now)
        free = (at for at in range(self._at, len(self.program)) if at not in self._used)
        for at in islice(free, _AHEAD):
            self._ahead += 1
            i = self.program[at]
            if self._home.get(self.units[i].entry) == view.lane and view.queues[i].pending:
                self._used.add(at)
                return i
        return super()._slot(view)

    def _decision(self, view: View, i: int, looked: int, *, again: bool = False) -> Decision:
        self._home[self.units[i].entry] = view.lane
        looked, self._ahead = looked + self._ahead, 0
        return super()._decision(view, i, looked, again=again)

    def _begin_round(self) -> None:
        super()._begin_round()
        self._used.clear()
