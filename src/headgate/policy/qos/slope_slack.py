"""SlopeSlack: first what loses utility fastest, and of that what has the least time until it loses more.

Both are read off the QoS graph at the expected output latency. Before its deadline a unit has slope 0, so the least
slack decides, as with earliest deadline first. Past its last critical point nothing can be lost any more, and it
fills what is left of a schedule. Its train may be long by then: `hopeless_cap` bounds how much of it others wait for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf
from operator import le
from typing import get_args

import numpy as np

from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, View, Work
from headgate.policy.qos.prospects import Ect, Prospects
from headgate.policy.qos.schedule import Scheduled, ready

FORMULA = "steepest slope, then least slack, at the expected output latency"
_AHEAD = 8
"""So many of the first units are looked at to see whether all of them can be in time."""


@dataclass
class Expectant(Scheduled):
    """A scheduler that goes by expected output latencies, with `ect` as the literature may be read.

    By slack alone, whoever brings too much drags all others down with it. To `recover` from overload, two things are
    different. Where the first units cannot all be in time, those are given up for now that take most of the machine
    for what is at stake, as by the rule of Moore and Hodgson. And of units with nothing left to lose the one with the
    least work waiting goes first: one that fell behind for a moment is soon in time again.
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
        return self._prospects.costs[unit].of(view.queues[unit].pending)

    @property
    def _looked_at(self) -> int:
        """How many units a decision needs in their order."""
        return max(self.size, _AHEAD) if self.recover else self.size

    def _saved(self, view: View, order: Sequence[int]) -> Sequence[int]:
        """The first units in their order, but behind the others those that are given up so that these are in time."""
        if not self.recover:
            return order
        first = order[:_AHEAD]
        slacks, works = self._slack(view, first), self._prospects.work(view, first)
        if all(map(le, accumulate(works, initial=0.0), slacks)):
            return order
        taken = 0.0
        kept: dict[int, float] = {}
        burdens: dict[int, float] = {}
        given_up: list[int] = []
        for i, slack, work in zip(first, slacks, works, strict=True):
            if slack == inf:
                break
            kept[i] = work
            taken += work
            if slack < taken - work:
                burdens |= {k: self._burden(view, k) for k in kept if k not in burdens}
                given_up.append(max(kept, key=burdens.__getitem__))
                taken -= kept.pop(given_up[-1])
        return [*kept, *[i for i in order if i not in kept and i not in given_up], *given_up]

    def _burden(self, view: View, unit: int) -> float:
        """The part of the machine that a unit takes, for each unit of utility that is at stake."""
        graph, queue = self._prospects.graph(unit), view.queues[unit]
        stake = graph.utility(view.now - self._since(view, unit)) - graph.points[-1][1]
        # What came at once has until its deadline.
        part = self._prospects.costs[unit].of(queue.pending) / max(view.now - queue.oldest, graph.deadline)
        return part / stake if stake > 0 else inf

    def _slack(self, view: View, units: Sequence[int]) -> list[float]:
        """The time until each comes to its next critical point."""
        return [self._prospects.graph(i).slack(view.now - self._since(view, i)) for i in units]

    def _since(self, view: View, unit: int) -> float:
        """The time since which, at every moment, the unit's expected output latency has passed."""
        return self._prospects.origin(view, unit)

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
        order = np.lexsort((rank, behind, expected.slack, -expected.slope))[: self._looked_at].tolist()
        work = Work(len(found), len(found), len(view.queues))
        return self._decision(view, self._saved(view, [found[k] for k in order])[: self.size], FORMULA, work)
