"""Who lends to whom: the shares of classes, moved from those that have some to spare to those that need more.

For a class with the share s of the capacity, the share o that its priority alone would give, and the usage u:

    demand = (u − 1)·s              what it lacks, where u > 1
    supply = (1 − u)·s − reserve·o  what it can spare, where that is above 0

Shares stand for capacities here. The headrooms that load managers learn are not proportional to the shares, as
classes that have nothing to do already leave their time to others; moving headrooms would not keep the sum of shares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from headgate.errors import InputError
from headgate.model.classes import QueryClass, ranked
from headgate.model.classes import shares as by_priority

FLOOR = 0.005
"""The least share: with nothing at all a class could not even show that it needs more."""

Parts = Mapping[str, float]
"""A number for each class, by its name."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms on which classes lend.

    `reserve` is what a lender keeps beyond its use, as a part of its original share; `reserves` says other for single
    classes. `lends` is the part of its original share that a class lends at most; whoever is not named lends all.

    `clawback_extra` takes loans of lower classes back for a class that needs more than its original share. Without
    `borrowers_reserve` a class above its original share spares all that it does not use. With `restored_reserve` a
    class that gets its original share back gets the reserve with its demand.
    """

    reserve: float = 0.05
    reserves: Parts = field(default_factory=dict)
    lends: Parts = field(default_factory=dict)
    clawback_extra: bool = True
    borrowers_reserve: bool = True
    restored_reserve: bool = False

    def __post_init__(self) -> None:
        for name, value in (("all classes", self.reserve), *self.reserves.items()):
            if not 0 <= value < 1:
                rule = f"reserve of {name}: a part of the original share, from 0 to below 1"
                raise InputError(rule, value, "Give a part such as 0.05.")
        for name, value in self.lends.items():
            if not 0 <= value <= 1:
                rule = f"lending of {name}: a part of the original share, from 0 to 1"
                raise InputError(rule, value, "Give 0 to lend nothing, 1 to lend all.")

    def reserve_of(self, name: str) -> float:
        """What a class keeps beyond its use, as a part of its original share."""
        return self.reserves.get(name, self.reserve)

    def kept(self, name: str, original: float) -> float:
        """The share that a class does not lend, whether it uses it or not."""
        return max(FLOOR, (1 - self.lends.get(name, 1.0)) * original)

    def supply(self, name: str, share: float, usage: float, original: float) -> float:
        """What a class can spare."""
        withheld = self.reserve_of(name) * original
        if share > original and not self.borrowers_reserve:
            withheld = 0.0
        return max(0.0, min((1 - usage) * share - withheld, share - self.kept(name, original)))


class Rule(Protocol):
    """A way of redistribution: a function of the classes, their shares and their usage.

    The new shares have the sum of the old ones, and none is below the floor if none was.
    """

    def __call__(self, classes: Sequence[QueryClass], shares: Parts, usage: Parts, terms: Terms) -> dict[str, float]:
        """The new shares."""


def demand(share: float, usage: float) -> float:
    """What a class lacks."""
    return max(0.0, (usage - 1) * share)


def original(classes: Sequence[QueryClass], total: float = 1.0) -> dict[str, float]:
    """The share of each class by its priority alone, of a total."""
    if len(classes) * FLOOR > 1:
        rule = f"at most {1 / FLOOR:.0f} classes, as each has {FLOOR:.1%} of the capacity or more"
        raise InputError(rule, len(classes), "Put queries of about the same importance into one class.")
    return floored({name: total * share for name, share in by_priority(classes).items()})


def floored(shares: Parts) -> dict[str, float]:
    """The shares with those below the floor lifted to it; the others pay by what they have above it."""
    lack = sum(max(0.0, FLOOR - s) for s in shares.values())
    if lack == 0:
        return dict(shares)
    above = sum(max(0.0, s - FLOOR) for s in shares.values())
    return {name: max(FLOOR, s - (s - FLOOR) * lack / above) for name, s in shares.items()}


def relative(classes: Sequence[QueryClass], shares: Parts, usage: Parts, terms: Terms) -> dict[str, float]:
    """Redistribution by demand and supply; each class can fall back on its original share.

    First, whoever is below its original share gets what it needs up to that, taken back from borrowers if what is
    spare does not suffice. Then further needs are met, the highest priority first. What is left goes to classes
    below their original share, again the highest first.
    """
    ledger = _Ledger(classes, shares, terms)
    for name in shares:
        ledger.lend(name, usage[name])
    ledger.restore()
    ledger.clawback()
    ledger.satisfy()
    ledger.give_back()
    return ledger.shares


class _Ledger:
    """Shares on their way: what each class still needs, and the budget of what is lent and not yet given."""

    def __init__(self, classes: Sequence[QueryClass], shares: Parts, terms: Terms) -> None:
        self.terms = terms
        self.shares = dict(shares)
        self.original = original(classes, sum(shares.values()))
        self.priorities = {each.name: each.priority for each in classes}
        self.down = [each.name for each in ranked(classes)]
        self.need = dict.fromkeys(shares, 0.0)
        self.budget = 0.0

    def lend(self, name: str, usage: float) -> None:
        share = self.shares[name]
        self.need[name] = demand(share, usage)
        self._give(name, -self.terms.supply(name, share, usage, self.original[name]))

    def restore(self) -> None:
        """Rule 1. The budget may become negative: it is claimed before it is there."""
        for name in self.down:
            if self.need[name] > 0 and self._below(name) > 0:
                extra = self.terms.reserve_of(name) * self.original[name] if self.terms.restored_reserve else 0.0
                got = min(self.need[name] + extra, self._below(name))
                self._give(name, got)
                self.need[name] = max(0.0, self.need[name] - got)

    def clawback(self) -> None:
        """Cover what the budget lacks, by loans of the lowest priority first. They always suffice."""
        for name in reversed(self.down):
            if self.budget < 0 and self._below(name) < 0:
                self._give(name, -min(-self._below(name), -self.budget))

    def satisfy(self) -> None:
        """Rule 2."""
        for name in self.down:
            if self.need[name] > 0:
                self._meet(name, min(self.need[name], max(0.0, self.budget)))
                if self.terms.clawback_extra:
                    self._reclaim_for(name)

    def give_back(self) -> None:
        """Rule 3. Nothing is left then, as loans and what is below the original shares balance."""
        for name in self.down:
            if self.budget > 0 and self._below(name) > 0:
                self._give(name, min(self.budget, self._below(name)))

    def _reclaim_for(self, name: str) -> None:
        for lower in reversed(self.down):
            if self.priorities[lower] < self.priorities[name] and self._below(lower) < 0:
                got = min(self.need[name], -self._below(lower))
                self._give(lower, -got)
                self._meet(name, got)

    def _below(self, name: str) -> float:
        return self.original[name] - self.shares[name]

    def _give(self, name: str, amount: float) -> None:
        self.shares[name] += amount
        self.budget -= amount

    def _meet(self, name: str, amount: float) -> None:
        self._give(name, amount)
        self.need[name] -= amount
