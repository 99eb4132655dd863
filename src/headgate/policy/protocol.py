"""What every scheduler is: observations in, decisions out. Time is a value, never a clock.

The simulator and the engine both drive a policy in the same way:

    prepare(units)          when the plan or its statistics change
    choose(view)            at a scheduling point: what runs next, or None
    observe(outcome)        when a run has ended

A policy sees queues only through `Queue`, so it cannot know which backend it serves.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from headgate.model.unit import Unit


class Queue(Protocol):
    """The input of one unit, as far as a policy may see it."""

    @property
    def pending(self) -> int:
        """Tuples that wait."""

    @property
    def oldest(self) -> float:
        """Arrival time, in the system, of the tuple that waits longest; infinite if none does."""

    @property
    def position(self) -> int:
        """Number of that tuple in the order of arrival, which tells tuples of the same instant apart."""

    def arrived(self, n: int) -> float:
        """Sum of the arrival times of the n oldest tuples."""


@dataclass(frozen=True, slots=True)
class View:
    """A scheduling point: the time, the queue of each unit in the order of the prepared units, and who asks.

    That is a lane, by its number, of so many. What runs on another lane has an empty queue and is `running`. A
    backend may say which queues have `changed` since it asked last, so that nobody has to look at all of them.
    """

    now: float
    queues: Sequence[Queue]
    lane: int = 0
    lanes: int = 1
    running: frozenset[int] = frozenset()
    changed: Collection[int] | None = None


class Run(NamedTuple):
    """A unit over its `train` oldest tuples."""

    unit: int
    train: int


class Work(NamedTuple):
    """What a decision itself took: priorities computed, priorities compared, list entries read."""

    computations: int = 0
    comparisons: int = 0
    reads: int = 0

    @property
    def operations(self) -> int:
        """The operations that scheduling overhead is charged for."""
        return self.computations + self.comparisons


@dataclass(frozen=True, slots=True)
class Why:
    """The terms that produced a decision, by the names of the policy's formula."""

    formula: str
    terms: Mapping[str, float] = field(default_factory=dict)
    over: int | None = None

    def __str__(self) -> str:
        """The formula with its numbers, and the unit that came second."""
        numbers = ", ".join(f"{name} = {value:.4g}" for name, value in self.terms.items())
        second = f"; ahead of unit {self.over}" if self.over is not None else ""
        return f"{self.formula}: {numbers}{second}"


@dataclass(frozen=True, slots=True)
class Decision:
    """What to run next, one run after the other without a scheduling point between, and why."""

    runs: tuple[Run, ...]
    why: Why
    work: Work = Work()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run went: tuples read, results per segment of the unit, and when it started and finished."""

    run: Run
    started: float
    finished: float
    results: tuple[int, ...] = ()


class Policy(Protocol):
    """A scheduler."""

    def prepare(self, units: Sequence[Unit]) -> None:
        """Take the units and their statistics; called again whenever either changes."""

    def choose(self, view: View) -> Decision | None:
        """Decide what runs next; None if nothing is pending."""

    def observe(self, outcome: Outcome) -> None:
        """Learn how a run went."""
