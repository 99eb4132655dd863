"""The mirror, event by event: the source changes objects, a refresher fetches them, users see what is there.

A copy is fresh from its refresh to the next change of its object. What users see is found in two ways: accesses are
drawn and counted, and the time in which each copy was fresh is added up, which varies less from run to run.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from headgate.errors import InputError
from headgate.freshness.problem import Floats, Problem
from headgate.sim.metrics import Ints


class Refresher(Protocol):
    """Which copy is refreshed when, and what is made of what the mirror sees."""

    @property
    def due(self) -> float:
        """The time of the next refresh; infinite if there is none."""
        ...

    def take(self) -> int | None:
        """The copy to refresh at that time; none if the turn is given away."""
        ...

    def accessed(self, copy: int, now: float) -> None:
        """A user has accessed a copy."""
        ...

    def refreshed(self, copy: int, now: float, changed: bool) -> None:
        """A copy was refreshed and had changed since its last refresh, or had not."""
        ...


class Events(NamedTuple):
    """Ascending times, and whom they are about."""

    at: Floats
    copy: Ints


def poisson(rates: Floats, start: float, end: float, rng: np.random.Generator) -> Events:
    """Events of every object at its own rate in a stretch of time."""
    total = np.cumsum(rates)
    n = int(rng.poisson(total[-1] * (end - start)))
    at = np.sort(rng.uniform(start, end, n))
    return Events(at, np.searchsorted(total, rng.uniform(0, total[-1], n), side="right"))


@dataclass(frozen=True, eq=False)
class Source:
    """Change rates from a time on, the first from 0."""

    phases: Sequence[tuple[float, Floats]]

    def changes(self, end: float, rng: np.random.Generator) -> Events:
        """All changes until a time."""
        edges = [*(since for since, _ in self.phases), end]
        found = [poisson(rates, *edge, rng) for (_, rates), edge in zip(self.phases, pairwise(edges), strict=True)]
        return Events(np.concatenate([each.at for each in found]), np.concatenate([each.copy for each in found]))


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What users saw after the warm-up: accesses and those to fresh copies; the share of time that each was fresh."""

    accesses: int
    hits: int
    fresh: Floats
    refreshes: int

    @property
    def sampled(self) -> float:
        """Perceived freshness by the accesses that were drawn."""
        return self.hits / self.accesses if self.accesses else math.nan

    def integrated(self, p: Floats) -> float:
        """Perceived freshness by the time in which copies were fresh."""
        return float(p @ self.fresh)


@dataclass(frozen=True, slots=True)
class Span:
    """How long a run is, in periods, from when on it counts, and how many accesses a period has."""

    periods: float
    warm_up: float
    accesses: float

    def __post_init__(self) -> None:
        if not 0 <= self.warm_up < self.periods:
            rule = f"the warm-up ends within the run of {self.periods:g} periods"
            raise InputError(rule, f"{self.warm_up:g}", "Run longer.")


def settled(f: Floats) -> float:
    """The warm-up of a plan: changes have no memory, so a copy is in its steady state after its first refresh."""
    return max(20.0, 1 / float(f[f > 0].min(initial=math.inf)))


def simulate(problem: Problem, source: Source, refresher: Refresher, span: Span, rng: np.random.Generator) -> Seen:
    """Run a mirror whose copies are fresh at first. Objects change as the source says, not as the problem has it."""
    changes = source.changes(span.periods, rng)
    accesses = poisson(span.accesses * problem.p / problem.p.sum(), 0.0, span.periods, rng)
    order = np.argsort(np.concatenate([changes.at, accesses.at]), kind="stable")
    at = np.concatenate([changes.at, accesses.at])[order].tolist()
    copies = np.concatenate([changes.copy, accesses.copy])[order].tolist()
    accessed = (order >= len(changes.at)).tolist()
    mirror = _Mirror(len(problem), span.warm_up)
    hits = count = refreshes = 0
    due = refresher.due
    for now, copy, access in zip([*at, span.periods], [*copies, 0], [*accessed, None], strict=True):
        while due <= now:
            chosen = refresher.take()
            if chosen is not None:
                refresher.refreshed(chosen, due, mirror.refresh(chosen, due))
                refreshes += due >= span.warm_up
            due = refresher.due
        if access:
            refresher.accessed(copy, now)
            if now >= span.warm_up:
                count += 1
                hits += mirror.fresh[copy]
        elif access is not None:
            mirror.change(copy, now)
    return Seen(count, hits, mirror.shares(span.periods), refreshes)


class _Mirror:
    """Which copies are fresh, since when, and for how long they have been after the warm-up."""

    def __init__(self, copies: int, warm_up: float) -> None:
        self.fresh = [True] * copies
        self._since = [0.0] * copies
        self._time = [0.0] * copies
        self._warm_up = warm_up

    def change(self, copy: int, now: float) -> None:
        if self.fresh[copy]:
            self.fresh[copy] = False
            self._time[copy] += max(0.0, now - max(self._since[copy], self._warm_up))

    def refresh(self, copy: int, now: float) -> bool:
        """Fetch a copy; whether it had changed."""
        changed = not self.fresh[copy]
        if changed:
            self.fresh[copy] = True
            self._since[copy] = now
        return changed

    def shares(self, end: float) -> Floats:
        """The share of the time after the warm-up in which each copy was fresh."""
        for copy, fresh in enumerate(self.fresh):
            if fresh:
                self._time[copy] += max(0.0, end - max(self._since[copy], self._warm_up))
        return np.array(self._time) / (end - self._warm_up)
