"""SlopeSlack: first what loses utility fastest, and of that what has the least time until it loses more.

Both are read off the QoS graph at the expected output latency. Before its deadline a unit has slope 0, so the least
slack decides, as with earliest deadline first. Past its last critical point nothing can be lost any more, and it
fills what is left of a schedule. Its train may be long by then: `hopeless_cap` bounds how much of it others wait for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import get_args

import numpy as np

from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, View, Work
from headgate.policy.qos.prospects import Ect, Prospects
from headgate.policy.qos.schedule import Scheduled, ready

FORMULA = "steepest slope, then least slack, at the expected output latency"


@dataclass
class Expectant(Scheduled):
    """A scheduler that goes by expected output latencies, with `ect` as the literature may be read.

    Of units that have nothing left to lose the one with the least work waiting goes first if it is to `recover`: one
    that fell behind for a moment is soon in time again, and does not wait for one that never will be.
    """

    ect: Ect = "carried"
    hopeless_cap: int | None = None
    recover: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ect not in get_args(Ect):
            raise InputError("a known reading of ect", f"'{self.ect}'", f"Choose {', '.join(get_args(Ect))}.")
        if self.hopeless_cap is not None and self.hopeless_cap < 1:
            raise InputError("a train has at least one tuple", self.hopeless_cap, "Give a cap of 1 or more.")

    def _expecting(self, units: Sequence[Unit]) -> Prospects:
        return Prospects(units, self.train, self.ect)

    def _left(self, view: View, unit: int) -> float:
        """Seconds of work that wait."""
        return self._prospects.units[unit].cost.of(view.queues[unit].pending)

    def _length(self, view: View, unit: int) -> int:
        n = super()._length(view, unit)
        if self.hopeless_cap is None or n <= self.hopeless_cap:
            return n
        return self.hopeless_cap if self._prospects.terms(view, unit)["slack"] == inf else n


@dataclass
class SlopeSlack(Expectant):
    """The units with the highest priority (slope, −slack), computed anew for each schedule."""

    def choose(self, view: View) -> Decision | None:
        """Sort all that wait, and run the first."""
        found = ready(view)
        if not found:
            return None
        expected = self._prospects.expected(view, found)
        rank = np.array([self._rank[i] for i in found])
        left = np.array([self._left(view, i) for i in found]) if self.recover else np.zeros(len(found))
        behind = np.where(np.isinf(expected.slack), left, 0.0)
        order = np.lexsort((rank, behind, expected.slack, -expected.slope))[: self.size].tolist()
        work = Work(len(found), len(found), len(view.queues))
        return self._decision(view, [found[k] for k in order], FORMULA, work)
