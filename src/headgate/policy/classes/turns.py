"""Units in turn, whatever their class: the baselines RR, MRR and MORR, and MPRR, which gives a class part of a queue.

Over whole queries it is MRR, over operators MORR, and over operators and sources on one lane the RR of most stream
systems: each turn takes all that waits.
"""

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from headgate.errors import InputError
from headgate.policy.classes.scheduler import ByClass
from headgate.policy.protocol import Decision, Run, View, Why, Work

FORMULA = "next in turn"
PARTS = "next in turn, on ⌈n·P/ΣP⌉ tuples"

Base = Literal["sum", "max"]


@dataclass
class Turns(ByClass):
    """All units in one cycle; one without tuples is passed over."""

    _at: int = field(default=-1, init=False)

    def choose(self, view: View) -> Decision | None:
        """The next unit that has something."""
        n = len(self.units)
        for step in range(1, n + 1):
            i = (self._at + step) % n
            if view.queues[i].pending:
                self._at = i
                return self._decision(view, i, step)
        return None

    def _decision(self, view: View, i: int, step: int) -> Decision:
        m = self.train.length(self.units[i], view.queues[i].pending)
        terms = {"class": self.rank[i] + 1.0, "turn": float(i), "skipped": step - 1.0, "n": float(m)}
        return Decision((Run(i, m),), Why(FORMULA, terms), Work(reads=step))


@dataclass
class PartTurns(Turns):
    """Turns that take a class's part of the queue only, by its share of all or against that of the first class."""

    mprr_base: Base = "sum"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mprr_base not in get_args(Base):
            raise InputError("mprr: a known base of a part", f"'{self.mprr_base}'", "Choose sum or max.")

    def _decision(self, view: View, i: int, step: int) -> Decision:
        weights = self.weights
        part = weights[self.rank[i]] / (sum(weights) if self.mprr_base == "sum" else max(weights))
        waiting = view.queues[i].pending
        m = self.train.length(self.units[i], max(1, math.ceil(waiting * part)))
        terms = {"class": self.rank[i] + 1.0, "turn": float(i), "part": part, "n": float(m)}
        return Decision((Run(i, m),), Why(PARTS, terms), Work(reads=step))
