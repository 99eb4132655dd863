"""The plan as other threads than the scheduler's see it and have it changed: between two decisions."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, TypeVar

from headgate.engine.fused import KernelUnit
from headgate.engine.live_plan import LivePlan
from headgate.engine.looking import Looking
from headgate.engine.mailbox import Mailbox
from headgate.engine.query import LiveQuery
from headgate.engine.units import LiveUnit
from headgate.model.unit import Unit

_BUSY = 0.005
"""Seconds until it is seen again whether a unit still runs."""

_T = TypeVar("_T")


class Changing:
    """Changes of a plan. What concerns a unit is changed between two of its runs."""

    def __init__(self, plan: LivePlan, looking: Looking, mailbox: Mailbox) -> None:
        self.plan, self._looking, self._mailbox = plan, looking, mailbox

    @property
    def units(self) -> list[LiveUnit]:
        """The units of the plan."""
        return self.plan.units

    def measured(self, name: str) -> Unit | None:
        """A unit as measured."""
        return self.plan.model(name)

    def changed(self, unit: str, what: Literal["added", "paused", "resumed", "removed", "failed"]) -> None:
        """Record that a unit was paused, resumed and so on."""
        self.plan.changed(unit, what)

    def unit_of(self, query: LiveQuery) -> LiveUnit:
        """The unit that runs a query."""
        return self.plan.homes[query.name]

    def home(self, query: LiveQuery) -> LiveUnit | None:
        """The unit that runs a query, if it has one yet."""
        return self.plan.homes.get(query.name)

    def call(self, change: Callable[[], None]) -> None:
        """Make a change in the scheduler's thread, between two decisions; returns when it is made."""

        def changed() -> None:
            try:
                change()
            finally:
                self._looking.anything()

        self._mailbox.call(changed)

    def add(self, units: Sequence[LiveUnit]) -> None:
        """Take units into the plan."""
        self.call(lambda: self.plan.replace([], units))

    def apart(self, query: LiveQuery) -> None:
        """See that the query has a unit of its own, so that what happens to it happens to no other."""
        while (unit := self.home(query)) is not None and len(unit.queries) > 1:
            self.when_free(unit, partial(self.plan.part, unit, [[query]]))

    def merge(self, first: KernelUnit, others: Sequence[KernelUnit], at: int) -> bool:
        """Take the queries of other units into one, if all stand at a position; False if they do not, or one runs."""
        return bool(self._asked(lambda: self.plan.merge(first, others, at)))

    def board(self, host: KernelUnit, unit: KernelUnit, riders: Sequence[LiveQuery]) -> bool:
        """Let queries of a unit ride with another from now on, if both stand at the same tuple and none runs."""
        return bool(self._asked(lambda: self.plan.board(host, unit, riders)))

    def split(self, unit: KernelUnit, groups: Sequence[Sequence[LiveQuery]]) -> Sequence[LiveUnit]:
        """Take a unit apart into one for each group, the first of which stays; none if it runs."""
        return self._asked(lambda: self.plan.split(unit, groups)) or ()

    def exchange(self, query: LiveQuery, make: Callable[[], LiveUnit]) -> None:
        """Give a query that has a unit of its own another one, between two runs."""
        unit = self.unit_of(query)
        self.when_free(unit, partial(self.plan.exchange, unit, query, make))

    def when_free(self, unit: LiveUnit, change: Callable[[], object]) -> None:
        """Make a change that concerns a unit, between two of its runs; nothing if the unit is gone by then."""
        made = False

        def attempt() -> None:
            nonlocal made
            if unit not in self.units:
                made = True
            elif not unit.busy:
                self._looking.anything()
                change()
                made = True

        while not made:
            self._mailbox.call(attempt)
            if not made:
                time.sleep(_BUSY)

    def _asked(self, change: Callable[[], _T]) -> _T | None:
        """What a change comes to; None if there is no scheduler's thread any more."""
        found: list[_T] = []
        self.call(lambda: found.append(change()))
        return found[0] if found else None
