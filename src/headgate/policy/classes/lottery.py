"""ML and MOL: at each scheduling point a ticket is drawn, and drawn again until the winner has something to do.

A unit's tickets are its part of its class's share by its cost, as in MBD. After some draws in vain the next is among
the units that are ready only, which gives each the same chance. All draws of a scheduling point are one decision.
"""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from headgate.model.unit import Unit
from headgate.policy.classes.priorities import operator_cost, query_cost, raw
from headgate.policy.classes.scheduler import ByClass
from headgate.policy.protocol import Decision, Run, View, Why, Work

FORMULA = "drawn; tickets = P·cost/cost of the class"

_DRAWS = 8
"""Draws among all units before one among the ready."""


@dataclass
class Lottery(ByClass):
    """A lottery over queries, with chance from a generator with a `seed`."""

    seed: int = 0
    tickets: list[float] = field(default_factory=list, init=False)
    _ends: list[float] = field(default_factory=list, init=False)
    _chance: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._chance = np.random.default_rng(self.seed)

    def prepare(self, units: Sequence[Unit]) -> None:
        """Hand out the tickets."""
        super().prepare(units)
        self._reshared()

    def choose(self, view: View) -> Decision | None:
        """Draw a unit that has something."""
        for _ in range(_DRAWS if self.units else 0):
            i = self._draw(self._ends)
            if view.queues[i].pending:
                return self._decision(view, i)
        ready = [i for i, queue in enumerate(view.queues) if queue.pending]
        if not ready:
            return None
        return self._decision(view, ready[self._draw(list(accumulate(self.tickets[i] for i in ready)))])

    def _draw(self, ends: Sequence[float]) -> int:
        """The place of a winner, given where the tickets of each end."""
        return min(bisect(ends, self._chance.random() * ends[-1]), len(ends) - 1)

    def _decision(self, view: View, i: int) -> Decision:
        m = self.train.length(self.units[i], view.queues[i].pending)
        terms = {"class": self.rank[i] + 1.0, "tickets": self.tickets[i], "of": self._ends[-1], "n": float(m)}
        return Decision((Run(i, m),), Why(FORMULA, terms), Work(reads=1))

    def _reshared(self) -> None:
        self.tickets = raw(self.weights, [self._cost(unit) for unit in self.units], self.rank)
        self._ends = list(accumulate(self.tickets))

    def _cost(self, unit: Unit) -> float:
        return query_cost(unit)


@dataclass
class OperatorLottery(Lottery):
    """A lottery over operators."""

    def _cost(self, unit: Unit) -> float:
        return operator_cost(unit)
