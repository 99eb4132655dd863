"""What may be spent on refreshes, what reading a table takes of that, and whether it allows the ages of tables."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from headgate.engine.table.tables import Kept
from headgate.errors import InputError
from headgate.freshness.refreshing import Budget
from headgate.freshness.solver import ROUNDING


@dataclass(frozen=True, slots=True)
class Refresh:
    """What may be spent on refreshes: a budget, counted in refreshes or in bytes that are read."""

    budget: Budget
    in_bytes: bool = False

    def __str__(self) -> str:
        return f"{self.budget.amount:,g} {self.unit} in {self.budget.period:g} s"

    @property
    def unit(self) -> str:
        """What the budget is counted in."""
        return "bytes" if self.in_bytes else "refreshes"

    def full(self, size: int) -> float:
        """What reading so many bytes takes."""
        return float(max(1, size)) if self.in_bytes else 1.0

    def costs(self, kept: Kept) -> list[float]:
        """What reading each part of a table takes."""
        return [self.full(each.size) for each in kept.latest.contents] or [self.full(1)] * len(kept.names)

    def check(self, tables: Mapping[str, Kept]) -> None:
        """Refuse ages that this does not allow if all that is read has changed: a version spares none for sure."""
        budget = self.budget
        asked = {
            name: sum(self.costs(kept)) * budget.period / kept.max_age
            for name, kept in tables.items()
            if kept.max_age < math.inf
        }
        needed = math.ceil(sum(asked.values()) * (1 - ROUNDING))
        wanted = f"{needed:,} {self.unit} in {budget.period:g} s"
        if asked and budget.policy == "none":
            got, remedy = ", ".join(f"'{name}'" for name in asked), f"Give one of {wanted} or more, or no max_age."
            raise InputError("tables with a max_age have a refresh budget", f"none for {got}", remedy)
        if sum(asked.values()) > budget.amount * (1 + ROUNDING):
            got = ", ".join(f"{share:,.4g} for '{name}'" for name, share in asked.items())
            rule, remedy = (
                "the refresh budget allows every max_age",
                f"Give {wanted} or more, or let tables be older.",
            )
            raise InputError(rule, f"{got} of {self}", remedy)


OFF = Refresh(Budget(1.0, policy="none"))
