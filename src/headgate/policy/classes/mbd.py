"""MBD: one broadcast-disk program over the queries, from which every lane takes the next slot.

A query has `Pr` slots in a round, by the share of its class and its part of the class's cost; `⌈Pr⌉` stand in the
program, and the first of them is used with the probability that makes it Pr on average. In its slot a query runs on
all that waits. One that runs on another lane is not run beside that: the lane that has it runs it once more at once.

The program is built anew only at the end of a round, for what its modules find there:

    inversion       a class is slower than the next one: its frequencies move (`dvp`, `ivp`, `dsp`, `isp`)
    selectivity     `s`: selectivities have moved by a tenth, so costs are taken anew, before inversion is looked at;
                    `sa`: costs are taken anew whenever frequencies move
    up              priorities or the class of a query were changed

Besides, what a unit costs is taken anew once, after it has run: before that it may have been a guess.

No lane stands idle by chance: where a whole round finds nothing although something waits, first slots are certain.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.classes.inversion import MODULES, moved
from headgate.policy.classes.measures import inverted
from headgate.policy.classes.priorities import priorities, query_cost, slots
from headgate.policy.classes.programs import frequencies, program
from headgate.policy.classes.scheduler import ByClass
from headgate.policy.classes.window import Level, Windows
from headgate.policy.protocol import Decision, Outcome, Run, View, Why, Work

Selectivity = Literal["frozen", "s", "sa"]
FORMULA = "the query's slot; Pr = f·cost/cost of the class"

_CHANGE = 0.1
"""A selectivity that has moved by more than this part of itself has changed."""
_TUPLES = 200
"""Tuples that a unit has worked on since its selectivity was taken, before it is compared."""


@dataclass
class Mbd(ByClass):
    """A program over queries, shared by all lanes.

    Inversion is looked for at a `level` of the response times, once all classes have so many `samples`. Chance comes
    from a generator with a `seed`.
    """

    inversion: str = "none"
    selectivity: Selectivity = "frozen"
    up: bool = False
    level: Level = "mean"
    samples: int = 1
    variant: str = "ruler"
    seed: int = 0
    f: list[int] = field(default_factory=list, init=False)
    Pr: list[float] = field(default_factory=list, init=False)
    program: list[int] = field(default_factory=list, init=False)
    rounds: int = field(default=0, init=False)
    updates: int = field(default=0, init=False)
    updated: float = field(default=0.0, init=False)
    exhausted: bool = field(default=False, init=False)
    _chance: np.random.Generator = field(init=False)
    _windows: Windows = field(default_factory=Windows, init=False)
    _fresh: Sequence[Unit] = field(default=(), init=False)
    _priorities: Mapping[str, float] = field(default_factory=dict, init=False)
    _first: list[float] = field(default_factory=list, init=False)
    _begun: set[int] = field(default_factory=set, init=False)
    _tuples: list[int] = field(default_factory=list, init=False)
    _known: set[int] = field(default_factory=set, init=False)
    _at: int = field(default=0, init=False)
    _ran: dict[int, int] = field(default_factory=dict, init=False)
    _again: set[int] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for what, got, known in (
            ("inversion", self.inversion, ("none", *MODULES)),
            ("selectivity", self.selectivity, get_args(Selectivity)),
        ):
            if got not in known:
                raise InputError(f"mbd: a known module for {what}", f"'{got}'", f"Choose {', '.join(known)}.")
        if self.selectivity == "sa" and self.inversion == "none":
            rule = "mbd: selectivity 'sa' takes costs anew when an inversion is mended"
            raise InputError(rule, "inversion 'none'", "Give inversion: dsp as well, or selectivity: s.")
        self._chance = np.random.default_rng(self.seed)
        self._windows = Windows(self.level, self.samples)
        self.f = frequencies(self.weights)

    def prepare(self, units: Sequence[Unit]) -> None:
        """Take the units. Of units that were there before, their statistics and classes wait for the round's end."""
        self._fresh = tuple(units)
        if [_key(unit) for unit in self.units] != [_key(unit) for unit in units]:
            super().prepare(units)
            self._ran.clear()
            self._again.clear()
            self._known.clear()
            self._refresh()
            self._build()

    def choose(self, view: View) -> Decision | None:
        """Take the next slot whose query has something and runs nowhere."""
        ran = self._ran.pop(view.lane, None)
        if ran is not None and ran in self._again:
            self._again.discard(ran)
            if view.queues[ran].pending:
                return self._decision(view, ran, 1, again=True)
        if not any(queue.pending and i not in view.running for i, queue in enumerate(view.queues)):
            return None
        looked, certain = 0, len(self.program)
        while True:
            i = self._slot(view)
            looked += 1
            if i not in self._begun:
                self._begun.add(i)
                if self._first[i] < 1 and looked <= certain and self._chance.random() >= self._first[i]:
                    continue
            if i in view.running:
                self._again.add(i)
            elif view.queues[i].pending:
                return self._decision(view, i, looked)

    def observe(self, outcome: Outcome) -> None:
        """Count what a selectivity rests on."""
        self._tuples[outcome.run.unit] += outcome.run.train

    def prioritise(self, priorities: Mapping[str, float]) -> None:
        """Take other priorities at the end of the round, with the module `up`; else they stay as they were."""
        self._priorities = dict(priorities)

    def responded(self, cls: str, times: ArrayLike) -> None:
        """Take response times, for the end of the round, where inversion is looked for."""
        if self.inversion != "none":
            self._windows.add(cls, times)

    def _reshared(self) -> None:
        self.f = frequencies(self.weights)
        self._build()

    def _slot(self, view: View) -> int:
        """The unit of the next slot."""
        if self._at == len(self.program):
            self._end_round(view.now)
        self._at += 1
        return self.program[self._at - 1]

    def _decision(self, view: View, i: int, looked: int, *, again: bool = False) -> Decision:
        self._ran[view.lane] = i
        n = self.train.length(self.units[i], view.queues[i].pending)
        k = self.rank[i]
        terms = {"class": k + 1.0, "f": float(self.f[k]), "Pr": self.Pr[i], "slot": float(self._at)}
        why = Why("it was due while it ran" if again else FORMULA, terms)
        return Decision((Run(i, n),), why, Work(reads=looked))

    def _end_round(self, now: float) -> None:
        self.rounds += 1
        self._begin_round()
        if guessed := self._guessed():
            self._known |= guessed
            self.units = tuple(self._fresh[i] if i in guessed else unit for i, unit in enumerate(self.units))
            self._build()
        if self.up and self._changed():
            self._take_over()
        elif self.selectivity == "s" and self._other_selectivity():
            self._refresh()
        elif self.inversion == "none" or not self._mend():
            return
        self._build()
        self.updates, self.updated = self.updates + 1, now

    def _begin_round(self) -> None:
        self._at = 0
        self._begun.clear()

    def _guessed(self) -> set[int]:
        """The units whose cost has turned out another since they have run for the first time."""
        return {
            i
            for i, (old, new) in enumerate(zip(self.units, self._fresh, strict=True))
            if i not in self._known and self._tuples[i] and query_cost(old) != query_cost(new)
        }

    def _changed(self) -> bool:
        return self._other_priorities() or [unit.cls for unit in self._fresh] != [unit.cls for unit in self.units]

    def _other_priorities(self) -> bool:
        return any(self._priorities.get(each.name, each.priority) != each.priority for each in self.order)

    def _take_over(self) -> None:
        """Take the priorities and classes as they are now; frequencies begin anew."""
        self._refresh()
        if self._other_priorities():
            self._rerank(self._priorities)
        self._group()
        self.f = frequencies(self.weights)

    def _mend(self) -> bool:
        """Whether frequencies or costs have been changed against an inversion."""
        RT = self._windows.at_level([each.name for each in self.order])
        known = not any(math.isnan(rt) for rt, members in zip(RT, self.members, strict=True) if members)
        victim = inverted(self.P, RT)
        if not (known and any(victim)):
            return False
        f = moved(self.inversion, self.f, victim, self.P, frequencies(self.weights))
        self.exhausted = f is None
        if self.selectivity == "sa":
            self._refresh()
        self.f = self.f if f is None else f
        return f is not None or self.selectivity == "sa"

    def _other_selectivity(self) -> bool:
        """Whether the selectivity of some unit is another than the one that its cost was taken with."""
        return any(
            abs(after.S - before.S) > _CHANGE * before.S
            for n, old, new in zip(self._tuples, self.units, self._fresh, strict=True)
            if n >= _TUPLES
            for before, after in zip(old.segments, new.segments, strict=True)
        )

    def _refresh(self) -> None:
        """Take the statistics of the units as they are now."""
        self.units = tuple(self._fresh)
        self._tuples = [0] * len(self.units)

    def _build(self) -> None:
        """Build the program, in the order of the classes."""
        self.Pr = priorities(self.f, [query_cost(unit) for unit in self.units], self.rank)
        count, self._first = slots(self.Pr)
        order = [i for members in self.members for i in members]
        self.program = [order[k] for k in program([count[i] for i in order], self.variant)]
        self._windows.reset()
        self._begin_round()


def _key(unit: Unit) -> object:
    """What makes a unit the same one: where it stands, and the queries that it carries."""
    return unit.entry, tuple(s.query for s in unit.segments)
