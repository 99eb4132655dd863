"""Round robin over queries, rate-based inside a query: Aurora's two levels.

How long a visit lasts is open in the literature, so it is a parameter: a number of runs (single tuples, or trains),
until the queue is empty, or a quantum of time. With one tuple a visit and one stream that all queries read, it is
FCFS.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, Outcome, Run, View, Why, Work
from headgate.policy.trains import ONE, Train

Turns = Literal["queries", "units"]
FORMULA = "next in turn; inside the query S/C"


@dataclass
class RoundRobin:
    """Visit the queries in turn; a visit ends after `runs` runs or `quantum` seconds, whichever is first.

    Without either a visit is one run; with a quantum alone, only the time bounds it.
    `over="units"` takes each unit as a turn of its own, so that a join's two inputs get one visit each.
    """

    runs: float | None = None
    quantum: float = math.inf
    over: Turns = "queries"
    train: Train = ONE
    _groups: list[list[int]] = field(default_factory=list, init=False)
    _units: Sequence[Unit] = field(default=(), init=False)
    _at: int = field(default=-1, init=False)
    _runs_left: float = field(default=0.0, init=False)
    _time_left: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        for name, value in (("runs", self.visit), ("quantum", self.quantum)):
            if not value > 0:
                raise InputError(f"round robin: {name} of a visit is above 0", value, "Give a positive number.")

        if self.over not in get_args(Turns):
            raise InputError("round robin: turns over a known thing", f"'{self.over}'", "Choose queries or units.")

    @property
    def visit(self) -> float:
        """The runs that a visit may take."""
        if self.runs is not None:
            return self.runs
        return 1 if self.quantum == math.inf else math.inf

    def prepare(self, units: Sequence[Unit]) -> None:
        """Group the units by query, each group in rate order: finishing a tuple comes before starting one."""
        self._units = units
        turns: dict[object, list[int]] = {}
        for i, unit in enumerate(units):
            turns.setdefault(unit.basis.segments[0].query if self.over == "queries" else i, []).append(i)
        rate = [sum(s.S for s in u.basis.segments) / u.basis.cost.of(1) for u in units]
        self._groups = [sorted(group, key=lambda i: (-rate[i], i)) for group in turns.values()]
        self._at = min(self._at, len(self._groups) - 1)

    def choose(self, view: View) -> Decision | None:
        """Go on with the visit while it lasts, else visit the next query that has something."""
        again = self._ready(view, self._at) if self._at >= 0 else None
        if again is not None and (self._visit_lasts() or not self._units[again].leaf):
            return self._decide(view, again, 0)
        for step in range(1, len(self._groups) + 1):
            turn = (self._at + step) % len(self._groups)
            found = self._ready(view, turn)
            if found is not None:
                self._at, self._runs_left, self._time_left = turn, self.visit, self.quantum
                return self._decide(view, found, step)
        self._runs_left = 0.0
        return None

    def observe(self, outcome: Outcome) -> None:
        """Charge the visit. What is left of it when the queue runs empty is lost."""
        if self._units[outcome.run.unit].leaf:
            self._runs_left -= 1
        self._time_left -= outcome.finished - outcome.started

    def _visit_lasts(self) -> bool:
        return self._runs_left > 0 and self._time_left > 0

    def _ready(self, view: View, turn: int) -> int | None:
        return next((i for i in self._groups[turn] if view.queues[i].pending), None)

    def _decide(self, view: View, i: int, step: int) -> Decision:
        queue = view.queues[i]
        n = self.train.length(self._units[i], queue.pending)
        terms = {"turn": float(self._at), "skipped": float(max(0, step - 1)), "W": view.now - queue.oldest}
        return Decision((Run(self._units[i].id, n),), Why(FORMULA, terms), Work(0, 0, max(1, step)))
