"""What every class scheduler is: a policy over classes of queries, whose shares may change while it runs.

Besides `prepare`, `choose` and `observe`, a backend tells it how long results of a class took; whoever manages the
load gives classes more or less, and an administrator other priorities. The classes themselves stay: with others,
another scheduler is made.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from numpy.typing import ArrayLike

from headgate.errors import InputError
from headgate.model.classes import QueryClass, ranked, shares
from headgate.model.unit import Unit
from headgate.policy.protocol import Outcome, Policy
from headgate.policy.trains import Train

WHOLE = Train(math.inf)
"""All that waits when the train starts."""


class ClassScheduler(Policy, Protocol):
    """A policy that knows classes."""

    def share(self, shares: Mapping[str, float]) -> None:
        """Give each class this share of the time from now on."""

    def prioritise(self, priorities: Mapping[str, float]) -> None:
        """Take the priorities of the classes as an administrator has changed them; their shares follow."""

    def responded(self, cls: str, times: ArrayLike) -> None:
        """Learn the response times of results of a class."""


@dataclass
class ByClass:
    """What class schedulers have in common: the classes, the most important first, and the units of each.

    `train` bounds what one run takes, on top of what the scheduler itself does.
    """

    classes: Sequence[QueryClass]
    train: Train = WHOLE
    order: list[QueryClass] = field(default_factory=list, init=False)
    shares: dict[str, float] = field(default_factory=dict, init=False)
    units: Sequence[Unit] = field(default=(), init=False)
    members: list[list[int]] = field(default_factory=list, init=False)
    """The units of each class by their place, the classes in their order."""
    rank: list[int] = field(default_factory=list, init=False)
    """The place of each unit's class in the order."""

    def __post_init__(self) -> None:
        names = [each.name for each in self.classes]
        if not names or len(set(names)) < len(names):
            got = ", ".join(names) or "none"
            raise InputError("class scheduling: one class or more, each once", got, "Give each class its own name.")
        self._take(self.classes)

    def prepare(self, units: Sequence[Unit]) -> None:
        """Take the units, each with its class."""
        self.units = tuple(units)
        self._group()

    def observe(self, outcome: Outcome) -> None:
        """Nothing is learned from runs, unless the scheduler says other."""

    def share(self, shares: Mapping[str, float]) -> None:
        """Give each class this share of the time from now on."""
        for name in self.shares:
            if not (math.isfinite(shares[name]) and shares[name] > 0):
                rule = f"class '{name}': a share is a number above 0"
                raise InputError(
                    rule, shares[name], "Give the least share that the class can live with, such as 0.005."
                )
        self.shares = {name: shares[name] for name in self.shares}
        self._reshared()

    def prioritise(self, priorities: Mapping[str, float]) -> None:
        """Take other priorities; the shares are then those of the priorities."""
        self._rerank(priorities)
        self._group()
        self._reshared()

    def responded(self, cls: str, times: ArrayLike) -> None:
        """Response times change nothing, unless the scheduler says other."""

    @property
    def P(self) -> list[float]:
        """The priorities, in the order of the classes."""
        return [each.priority for each in self.order]

    @property
    def weights(self) -> list[float]:
        """The share of each class on the scale of the priorities, `s_k · ΣP`: without other shares, the priority."""
        total = sum(self.P)
        return [self.shares[each.name] * total for each in self.order]

    def _reshared(self) -> None:
        """The shares have changed."""

    def _take(self, classes: Sequence[QueryClass]) -> None:
        self.order = ranked(classes)
        self.shares = dict(shares(self.order))

    def _rerank(self, priorities: Mapping[str, float]) -> None:
        self._take([replace(each, priority=priorities.get(each.name, each.priority)) for each in self.order])

    def _group(self) -> None:
        place = {each.name: k for k, each in enumerate(self.order)}
        for unit in self.units:
            if unit.cls not in place:
                rule = f"unit '{unit.name}': its class is one of those scheduled"
                raise InputError(rule, f"'{unit.cls}'", f"Choose {', '.join(place)}.")
        self.rank = [place[unit.cls] for unit in self.units]
        self.members = [[] for _ in self.order]
        for i, k in enumerate(self.rank):
            self.members[k].append(i)
