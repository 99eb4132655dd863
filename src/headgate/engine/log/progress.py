"""How far a query has come, alone or in a cohort: what is committed of it, and where it goes on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from headgate.engine.windows import NEVER


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a query has come: everything that a restart needs, and what has been counted on the way.

    `closed` is the end of the last window that was closed, `low` the time before which no tuple is needed any more.
    Of the `tuples` that it has passed, so many were `shed`.
    `fresh` are partial results that have no file yet; only in memory.
    """

    run: int = 0
    cursors: Mapping[str, int] = field(default_factory=dict)
    closed: int = NEVER
    low: int = NEVER
    panes: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    receipt: Mapping[str, Any] | None = None
    results: int = 0
    tuples: int = 0
    late: int = 0
    shed: int = 0
    fresh: tuple[pa.Table, ...] = field(default=(), compare=False)


class Passed(NamedTuple):
    """Tuples that were passed, and how many of them were shed."""

    tuples: int = 0
    shed: int = 0

    def plus(self, other: "Passed") -> "Passed":
        """Both together."""
        return Passed(self.tuples + other.tuples, self.shed + other.shed)

    def minus(self, other: "Passed") -> "Passed":
        """What there is more than before."""
        return Passed(self.tuples - other.tuples, self.shed - other.shed)


@dataclass(frozen=True, slots=True)
class Moved:
    """How far a cohort has come, and what it has passed since it was written down."""

    cohort: int
    position: int
    passed: Passed
