"""What generated streams have in common: tuples by number, due at a pace, with event times of their own."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from headgate.engine.source.chance import uniform
from headgate.engine.source.protocol import Intake, State
from headgate.engine.source.pump import Block, Numbers, Pace, pump
from headgate.engine.source.schemas import TIMESTAMP
from headgate.engine.spans import seconds
from headgate.errors import InputError

START = "2026-01-01T00:00:00Z"
_BLOCK = 5_000

Rates = Sequence[tuple[float, float]]
"""Loads one after the other: (seconds, rate)."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When generated tuples come, which times they bear, and how many there are."""

    seed: int
    pace: Pace
    count: int | None
    disorder: float
    start: int
    every: float

    @classmethod
    def of(
        cls,
        seed: int,
        rate: float,
        rates: Rates | None,
        count: int | None,
        disorder: str | float,
        start: str | datetime,
        every: str | float,
    ) -> "Schedule":
        """The schedule that a user describes."""
        if count is not None and count < 0:
            raise InputError("count is a whole number, 0 or more", count, "Leave it out for a stream without end.")
        jitter = seconds(disorder, "disorder")
        pace = Pace.of(rate, rates)
        return cls(seed, pace, count, jitter, _microseconds(start), seconds(every, "every", above=0))

    def times(self, numbers: Numbers) -> Numbers:
        """The event times of the tuples with these numbers, in microseconds: up to `disorder` behind their turn."""
        behind = uniform(self.seed, "disorder", numbers) * self.disorder
        found: Numbers = self.start + np.round((self.pace.due(numbers) - behind) * 1e6).astype(np.int64)
        return found

    def feed(
        self,
        intake: Intake,
        rows: Callable[[Numbers, Numbers], pa.Table],
        numbered: Callable[[Numbers], Numbers] = lambda k: k,
    ) -> None:
        """Feed an intake with `rows(numbers, times)`. `numbered` gives the number of the k-th tuple of the stream."""
        pump(intake, self._blocks(int((intake.state or {}).get("next", 0)), rows, numbered), self.every)

    def _blocks(
        self, first: int, rows: Callable[[Numbers, Numbers], pa.Table], numbered: Callable[[Numbers], Numbers]
    ) -> Iterator[Block]:
        while True:
            numbers = numbered(np.arange(first, first + _BLOCK))
            if self.count is not None:
                numbers = numbers[numbers < self.count]
            if not numbers.size:
                return
            made = rows(numbers, self.times(numbers))
            yield Block(made, self.pace.due(numbers), _behind(first))
            first += len(numbers)


def _behind(first: int) -> Callable[[int], State]:
    return lambda n: {"next": first + n}


def _microseconds(start: str | datetime) -> int:
    try:
        at = datetime.fromisoformat(start) if isinstance(start, str) else start
    except ValueError:
        raise InputError("start is a time", f"'{start}'", f"Write it like {START}.") from None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return math.floor(at.timestamp()) * 1_000_000 + at.microsecond


def instants(times: Numbers) -> pa.Array:
    """Times in microseconds as a column."""
    return pa.array(times, pa.int64()).cast(TIMESTAMP)
