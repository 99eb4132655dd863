"""What the schedulers have in common: a schedule of some runs, an order between equals, and units that wait.

How many runs a schedule has is a trade: few make the scheduler work often, many make it act on what is long past.
With `auto` the size climbs to where the utility of recent results is highest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, Outcome, Run, View, Why, Work
from headgate.policy.qos.prospects import Prospects
from headgate.policy.trains import Train

WHOLE = Train(float("inf"))
"""A train of all that waits."""

Size = int | Literal["auto"]
_BLOCK = 1000
"""Tuples between two steps of a size that is found by climbing."""


def ready(view: View) -> list[int]:
    """The units that have something to do."""
    return [i for i, queue in enumerate(view.queues) if queue.pending]


def ranks(n: int, seed: int | None) -> list[int]:
    """The place of each of n units in an order by chance that never changes; without a seed, in their own."""
    return list(range(n)) if seed is None else places(np.random.default_rng(seed).permutation(n).tolist())


def places(order: Sequence[int]) -> list[int]:
    """The place of each in an order."""
    found = [0] * len(order)
    for place, i in enumerate(order):
        found[i] = place
    return found


@dataclass
class Climb:
    """A size that goes up or down while recent results are worth more, and turns round when they are worth less."""

    size: int = 1
    _up: bool = field(default=True, init=False)
    _before: float = field(default=-float("inf"), init=False)
    _utility: float = field(default=0.0, init=False)
    _tuples: int = field(default=0, init=False)

    def note(self, utility: float, tuples: int) -> None:
        """Take the utility of so many tuples."""
        self._utility += utility * tuples
        self._tuples += tuples
        if self._tuples < _BLOCK:
            return
        mean = self._utility / self._tuples
        if mean != self._before:
            self._up ^= mean < self._before
            self.size = self.size * 2 if self._up else max(1, self.size // 2)
        self._before, self._utility, self._tuples = mean, 0.0, 0


@dataclass
class Scheduled:
    """A scheduler whose decision is a schedule of some runs; equal units go by an order that `seed` gives."""

    schedule: Size = 10
    train: Train = WHOLE
    seed: int | None = 0
    _rank: list[int] = field(default_factory=list, init=False)
    _prospects: Prospects = field(init=False, repr=False, compare=False)
    _climb: Climb = field(default_factory=Climb, init=False)
    _arrived: dict[int, float] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if self.schedule != "auto" and self.schedule < 1:
            raise InputError("a schedule has at least one run, or auto", self.schedule, "Give a number such as 10.")

    @property
    def size(self) -> int:
        """The runs of the next schedule, at most."""
        return self._climb.size if self.schedule == "auto" else self.schedule

    def prepare(self, units: Sequence[Unit]) -> None:
        """Take the units, and the order between equals."""
        self._prospects = self._expecting(units)
        self._rank = ranks(len(units), self.seed)
        self._climb.size = min(self._climb.size, max(1, len(units)))

    def observe(self, outcome: Outcome) -> None:
        """See what results were worth, where the size of a schedule depends on it."""
        i = outcome.run.unit
        if i in self._arrived and not self._prospects.units[i].behind:
            self._climb.note(
                self._prospects.graph(i).utility(outcome.finished - self._arrived.pop(i)), outcome.run.train
            )

    def _expecting(self, units: Sequence[Unit]) -> Prospects:
        return Prospects(units, self.train)

    def _decision(self, view: View, chosen: Sequence[int], formula: str, work: Work) -> Decision:
        if self.schedule == "auto":
            self._arrived.update((i, self._prospects.arrived(view, i)) for i in chosen)
        runs = tuple(Run(i, self._length(view, i)) for i in chosen)
        return Decision(runs, Why(formula, self._terms(view, chosen[0]), (*chosen, None)[1]), work)

    def _length(self, view: View, unit: int) -> int:
        return self._prospects.length(view, unit)

    def _terms(self, view: View, unit: int) -> dict[str, float]:
        return dict(self._prospects.terms(view, unit))
