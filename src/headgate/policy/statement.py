"""The query-level policies are one formula; a policy's file states its weight and its exponent.

    priority of a train of n tuples = Σ_j W_j^α · Σ_q w_q / (a + b·n)

W_j is the wait of tuple j since it arrived in the system, w_q the benefit of query q, and a + b·n the time of the
train. With a = 0, n = 1 and one query it is the per-tuple priority φ · W^α of the literature. Policies of
urgency rather than of rate (FCFS, LSF) look at the oldest tuple and the most urgent query, and divide by nothing.

The compiled simulator kernel, the event kernel, the engine and the explanations all use the `Statement`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from headgate.model.parameters import Segment
from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, Outcome, Run, View, Why, Work
from headgate.policy.trains import ONE, Train

AT_ONCE = 1e300
"""The static priority of work that takes no time. Not infinite: times a wait of 0 that would be no number."""


class Per(StrEnum):
    """What the benefit of a train is divided by."""

    COST = "the expected time a + b·n"
    LENGTH = "the expected time, a train counting once however many tuples it holds"
    IDEAL = "the ideal time a + n·T, a train counting once"
    NOTHING = "nothing: the oldest tuple and the most urgent query decide"


@dataclass(frozen=True)
class Statement:
    """A policy in one line: benefit of a query, exponent of the wait, and what the benefit is set against."""

    name: str
    weight: Callable[[Segment], float]
    alpha: Literal[0, 1]
    per: Per
    formula: str
    optimises: str

    def static(self, unit: Unit, n: int = 1) -> float:
        """The part of the priority that does not depend on waiting, for a train of n tuples: φ."""
        segments, cost = unit.basis.segments, unit.basis.cost
        if self.per is Per.NOTHING:
            return max(self.weight(s) for s in segments)
        if self.per is Per.IDEAL:
            return 1.0 / (cost.a + n * sum(s.T for s in segments))
        if cost.of(n) == 0:
            return AT_ONCE
        if self.per is Per.LENGTH:
            return 1.0 / cost.of(n)
        return sum(self.weight(s) for s in segments) / cost.of(n)

    def urgency(self, now: float, oldest: float, arrived: float, n: int) -> float:
        """Σ_j W_j^α over the train, or W^α of its oldest tuple where nothing is divided."""
        if self.alpha == 0:
            return 1.0 if self.per is not Per.COST else float(n)
        return now - oldest if self.per is Per.NOTHING else n * now - arrived

    def ranked(self, units: Sequence[Unit]) -> tuple[list[float], list[int]]:
        """The static part of each unit, and the units in the order in which equal priorities are served.

        That is the higher static part first, a unit that carries a tuple on before one that starts another, and
        then the smaller number.
        """
        static = [self.static(unit) for unit in units]
        return static, sorted(range(len(units)), key=lambda i: (-static[i], units[i].leaf, i))

    def compares(self, static: Sequence[float]) -> bool:
        """Whether a decision computes priorities; where all static parts agree, a plain queue gives the order."""
        return self.alpha == 1 and min(static) < max(static)


@dataclass
class PriorityPolicy:
    """The policy that a statement states: run the train with the highest priority.

    Ties go to the higher static part, then to the tuple that came first, then by the statement's ranking.
    """

    statement: Statement
    train: Train = ONE
    _units: Sequence[Unit] = field(default=(), init=False)
    _order: list[int] = field(default_factory=list, init=False)
    _static: list[float] = field(default_factory=list, init=False)
    _compares: bool = field(default=False, init=False)

    def prepare(self, units: Sequence[Unit]) -> None:
        """Compute the static parts once, and the order in which ties are broken."""
        self._units = units
        self._static, self._order = self.statement.ranked(units)
        self._compares = not self._is_list() and (self.train.most > 1 or self.statement.compares(self._static))

    def choose(self, view: View) -> Decision | None:
        """Scan for the highest priority; where it is static and trains are single, the first that waits has it."""
        return self._first(view) if self._is_list() else self._scan(view)

    def observe(self, outcome: Outcome) -> None:
        """Priorities depend on the queues alone."""

    def _is_list(self) -> bool:
        return self.statement.alpha == 0 and self.train.most == 1

    def _first(self, view: View) -> Decision | None:
        queues = view.queues
        best = next((i for i in self._order if queues[i].pending), None)
        if best is None:
            return None
        return self._decision(view, best, 1, self._static[best], None, 0)

    def _scan(self, view: View) -> Decision | None:
        now, queues = view.now, view.queues
        statement, units, static = self.statement, self._units, self._static
        single = self.train.most == 1
        best, second, seen = -1, -1, 0
        best_v = second_v = -float("inf")
        best_n = 1
        for i in self._order:
            queue = queues[i]
            if not queue.pending:
                continue
            seen += 1
            if single:
                n, v = 1, static[i] * (now - queue.oldest)
            else:
                n = self.train.length(units[i], queue.pending)
                v = statement.static(units[i], n) * statement.urgency(now, queue.oldest, queue.arrived(n), n)
            tied = v == best_v and static[i] == static[best] and queue.position < queues[best].position
            if v > best_v or tied:
                second, second_v = best, best_v
                best, best_v, best_n = i, v, n
            elif v > second_v:
                second, second_v = i, v
        if best < 0:
            return None
        return self._decision(view, best, best_n, best_v, second if second >= 0 else None, seen)

    def _decision(self, view: View, best: int, n: int, priority: float, second: int | None, seen: int) -> Decision:
        basis = self._units[best].basis
        terms = {"priority": priority, "W": view.now - view.queues[best].oldest, "n": float(n)}
        if n > 1 and self.statement.alpha == 1 and self.statement.per is Per.COST:
            terms["ΣW"] = n * view.now - view.queues[best].arrived(n)
        terms |= {"a": basis.cost.a, "b": basis.cost.b}
        if len(basis.segments) == 1:
            terms |= {"S": basis.segments[0].S, "T": basis.segments[0].T}
        work = Work(seen, max(0, seen - 1), seen) if self._compares else Work(reads=1)
        return Decision((Run(self._units[best].id, n),), Why(self.statement.formula, terms, second), work)
