"""Units with a deadline go first, by their rank; what is left of the time is for the others, under another policy.

One of them runs at a time, on whichever lane: whether all deadlines can be kept is known for one processor only.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, Outcome, Policy, Run, View, Why

Order = Literal["rate", "deadline", "edf"]
"""Who is first: the shortest stride, the shortest deadline, or whose deadline comes first."""

FORMULA: Mapping[Order, str] = {
    "rate": "shortest stride",
    "deadline": "shortest deadline",
    "edf": "earliest deadline",
}


class DeadlinesFirst:
    """Released iterations in their order, and then what `inner` chooses among units without a deadline.

    Windows of queries that are `suspended` are in nobody's way: they come behind those of all others that have a
    deadline, and the one that has waited longest comes first, so that each of these queries gets its turn.
    """

    def __init__(
        self, inner: Policy, order: Order = "rate", suspended: Callable[[], Collection[str]] = lambda: ()
    ) -> None:
        if order not in get_args(Order):
            raise InputError("a known order of deadlines", f"'{order}'", f"Choose {', '.join(get_args(Order))}.")
        self.inner, self.order, self._suspended = inner, order, suspended
        self._units: Sequence[Unit] = ()
        self._urgent: Sequence[int] = ()
        self._others: Sequence[int] = ()

    def prepare(self, units: Sequence[Unit]) -> None:
        """Take the units; those with a deadline are nothing to the other policy."""
        self._units = units
        self._urgent = [i for i, unit in enumerate(units) if unit.deadline]
        self._others = [i for i, unit in enumerate(units) if not unit.deadline] if self._urgent else range(len(units))
        if not self._urgent:
            self.inner.prepare(units)
        elif self._others:
            self.inner.prepare([replace(units[i], id=k) for k, i in enumerate(self._others)])

    def choose(self, view: View) -> Decision | None:
        """The first of the iterations that wait, unless one of them runs; else one of the others."""
        if not self._urgent:
            return self.inner.choose(view)
        waiting = [i for i in self._urgent if view.queues[i].pending]
        if waiting and view.running.isdisjoint(self._urgent):
            ranks, out = {i: self._rank(i, view) for i in waiting}, self._suspended()
            behind = {i for i in waiting if set(self._units[i].members) <= set(out)} if out else set()
            first, *others = sorted(
                waiting, key=lambda i: (i in behind, view.queues[i].oldest if i in behind else ranks[i])
            )
            terms = {"seconds": ranks[first], "since release": view.now - view.queues[first].oldest}
            why = Why(FORMULA[self.order], terms, others[0] if others else None)
            return Decision((Run(first, view.queues[first].pending),), why)
        if not self._others:
            return None
        found = self.inner.choose(
            replace(
                view,
                queues=[view.queues[i] for i in self._others],
                running=frozenset(k for k, i in enumerate(self._others) if i in view.running),
                changed=None,
            )
        )
        return found and self._among_all(found)

    def observe(self, outcome: Outcome) -> None:
        """Only the other policy learns."""
        if outcome.run.unit in self._others:
            run = outcome.run._replace(unit=self._others.index(outcome.run.unit))
            self.inner.observe(replace(outcome, run=run))

    def _among_all(self, found: Decision) -> Decision:
        """What the other policy decided, with the numbers that units have among all."""
        runs = tuple(run._replace(unit=self._others[run.unit]) for run in found.runs)
        over = None if found.why.over is None else self._others[found.why.over]
        return replace(found, runs=runs, why=replace(found.why, over=over))

    def _rank(self, unit: int, view: View) -> float:
        deadline = self._units[unit].deadline
        if deadline is None:
            return float("inf")
        if self.order == "edf":
            return view.queues[unit].oldest + deadline.due - view.now
        return deadline.stride if self.order == "rate" else deadline.due
