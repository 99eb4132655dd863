"""Priorities instead of QoS graphs: queries hold tickets, and get their part of the turns by them.

    lottery   one of the queries that wait is drawn, by its tickets
    stride    the query with the least pass runs, and its pass grows by what it used over its tickets

A turn is one train. Stride keeps to the parts of time, or of tuples, exactly; a query that had nothing to do starts
again where the others are, and has no claim on the past.
"""

from bisect import bisect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal, get_args

import numpy as np

from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, Outcome, Run, View, Why, Work
from headgate.policy.qos.schedule import WHOLE
from headgate.policy.trains import Train

Per = Literal["time", "tuples"]
DRAWN = "drawn; tickets of the query"
STRIDE = "least pass of the query; pass grows by use/tickets"


@dataclass
class Ticketed:
    """Queries with `tickets`, by the name of the query or of its class; one each where nothing is said."""

    tickets: Mapping[str, float] = field(default_factory=dict)
    train: Train = WHOLE
    _units: Sequence[Unit] = field(default=(), init=False)
    _queries: list[str] = field(default_factory=list, init=False)
    _held: dict[str, float] = field(default_factory=dict, init=False)
    _members: dict[str, list[int]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for name, held in self.tickets.items():
            if not held > 0:
                raise InputError(f"'{name}' holds tickets", held, "Give a number above 0.")

    def prepare(self, units: Sequence[Unit]) -> None:
        """Hand out the tickets; inside a query, what is nearest to its output runs first."""
        self._units = units
        self._queries = [unit.basis.segments[0].query for unit in units]
        self._members = {}
        for i in sorted(range(len(units)), key=lambda i: (units[i].leaf, len(units[i].behind), i)):
            self._members.setdefault(self._queries[i], []).append(i)
        self._held = {
            name: self.tickets.get(name, self.tickets.get(units[members[0]].cls, 1.0))
            for name, members in self._members.items()
        }

    def observe(self, outcome: Outcome) -> None:
        """Tickets do not change."""

    def _waiting(self, view: View) -> dict[str, int]:
        """The queries that wait, and the unit of each that would run."""
        found: dict[str, int] = {}
        for name, members in self._members.items():
            first = next((i for i in members if view.queues[i].pending), None)
            if first is not None:
                found[name] = first
        return found

    def _decision(self, view: View, i: int, formula: str, terms: Mapping[str, float], waiting: int) -> Decision:
        n = self.train.length(self._units[i], view.queues[i].pending)
        work = Work(comparisons=waiting, reads=len(view.queues))
        return Decision((Run(i, n),), Why(formula, {**terms, "n": float(n)}), work)


@dataclass
class Lottery(Ticketed):
    """A query is drawn for each turn, with chance from a generator with a `seed`."""

    seed: int = 0
    _chance: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._chance = np.random.default_rng(self.seed)

    def choose(self, view: View) -> Decision | None:
        """Draw one of the queries that wait."""
        waiting = self._waiting(view)
        if not waiting:
            return None
        ends = list(accumulate(self._held[name] for name in waiting))
        drawn = min(bisect(ends, self._chance.random() * ends[-1]), len(ends) - 1)
        name = list(waiting)[drawn]
        terms = {"tickets": self._held[name], "of": ends[-1]}
        return self._decision(view, waiting[name], DRAWN, terms, len(waiting))


@dataclass
class Stride(Ticketed):
    """The query that is furthest behind its part has its turn; `per` says what is parted, time or tuples."""

    per: Per = "time"
    _pass: dict[str, float] = field(default_factory=dict, init=False)
    _now: float = field(default=0.0, init=False)
    _waited: Collection[str] = field(default=(), init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.per not in get_args(Per):
            raise InputError("strides per known thing", f"'{self.per}'", "Choose time or tuples.")

    def choose(self, view: View) -> Decision | None:
        """Run the query with the least pass; of equals, the first."""
        waiting = self._waiting(view)
        for name in waiting:
            if name not in self._waited:
                self._pass[name] = max(self._pass.get(name, 0.0), self._now)
        self._waited = frozenset(waiting)
        if not waiting:
            return None
        name = min(waiting, key=lambda each: self._pass[each])
        self._now = self._pass[name]
        terms = {"pass": self._pass[name], "tickets": self._held[name]}
        return self._decision(view, waiting[name], STRIDE, terms, len(waiting))

    def observe(self, outcome: Outcome) -> None:
        """Charge the query for what it used."""
        name = self._queries[outcome.run.unit]
        used = outcome.finished - outcome.started if self.per == "time" else outcome.run.train
        self._pass[name] = self._pass.get(name, self._now) + used / self._held[name]
