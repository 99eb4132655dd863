"""Nodes that die and return, and when the coordinator notices."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from headgate.errors import InputError


@dataclass(frozen=True, slots=True)
class Failure:
    """A node, by number, dies with all that it has in memory, and is there again from some time on, if ever."""

    node: int
    dies: float
    returns: float = math.inf

    def __post_init__(self) -> None:
        if not 0 <= self.dies < self.returns:
            got = f"dies at {self.dies:g} s, returns at {self.returns:g} s"
            raise InputError("a node dies at 0 s or later, and returns after that", got, "Give such times.")


class Happened(NamedTuple):
    """Nodes that have died, that the coordinator takes for gone from now on, and that are back."""

    died: tuple[int, ...]
    noticed: tuple[int, ...]
    back: tuple[int, ...]


@dataclass
class Failing:
    """Who is dead, and who of them is known to be: silent for longer than the coordinator's patience.

    Without patience, nobody ever knows.
    """

    failures: Iterable[Failure]
    patience: float | None
    dead: dict[int, Failure] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._coming = sorted(self.failures, key=lambda each: each.dies)
        for node in {each.node for each in self._coming}:
            mine = [each for each in self._coming if each.node == node]
            if any(later.dies < sooner.returns for sooner, later in pairwise(mine)):
                raise InputError("a node that dies is there", f"node {node}, which is dead", "Let it return before.")

    def advance(self, now: float) -> Happened:
        """What has happened since it was last asked."""
        back = tuple(sorted(node for node, failure in self.dead.items() if failure.returns <= now))
        for node in back:
            del self.dead[node]
            self.gone.discard(node)
        died = []
        while self._coming and self._coming[0].dies <= now:
            failure = self._coming.pop(0)
            self.dead[failure.node] = failure
            died.append(failure.node)
        noticed = () if self.patience is None else tuple(sorted(self._silent(now, self.patience) - self.gone))
        self.gone.update(noticed)
        return Happened(tuple(died), noticed, back)

    def _silent(self, now: float, patience: float) -> set[int]:
        return {node for node, failure in self.dead.items() if now - failure.dies > patience}
