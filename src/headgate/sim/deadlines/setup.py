"""What is run, and what came out of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.control.deadlines import measures
from headgate.control.deadlines.admission import Admission
from headgate.control.deadlines.feedback import Plan
from headgate.control.deadlines.measures import Iterated
from headgate.control.deadlines.profiles import Profile
from headgate.sim.deadlines.estimators import Estimator, LastRate
from headgate.sim.deadlines.monitor import Snapshot
from headgate.sim.deadlines.rates import Rates
from headgate.sim.deadlines.workload import Query

RESCHEDULING = 150e-6
"""Seconds of the processor that a plan takes."""


@dataclass(frozen=True)
class Setup:
    """Queries on streams, served in the way of a profile.

    `piece` is the longest stretch of an iteration without a chance to interrupt it, and is part of the analysis only
    with `blocking`. `corrected` costs follow what iterations really took. With `gated` a query that comes later is
    let in only if its deadlines and those of the others can be met. Without `graceful` a query that is removed takes
    its unfinished iterations with it.
    """

    queries: Sequence[Query]
    rates: Rates
    profile: Profile
    horizon: float = 20.0
    estimator: Estimator = LastRate()
    overhead: float = RESCHEDULING
    piece: float = 0.0
    blocking: bool = True
    corrected: bool = False
    gated: bool = False
    graceful: bool = True


@dataclass(frozen=True)
class Report:
    """A run: every iteration that was released, every plan in the order of time, and the answers to newcomers.

    The first plan is that of the start, which costs nothing and is no rescheduling. `answers` are those to queries
    that came later, `aborted` the iterations that were given up, by query and number.
    """

    records: tuple[Iterated, ...]
    plans: tuple[Plan, ...]
    snapshots: tuple[Snapshot, ...]
    answers: dict[str, Admission]
    aborted: frozenset[tuple[str, int]]
    horizon: float
    spent: float

    @property
    def reschedulings(self) -> tuple[float, ...]:
        """When a plan was made or confirmed after the start."""
        return tuple(each.now for each in self.snapshots)

    @property
    def misses(self) -> int:
        """Iterations that were not done when they were due."""
        return sum(each.missed for each in self.records if each.due <= self.horizon + measures.ROUNDING)

    @property
    def miss(self) -> float:
        """Those in per cent of the iterations that were due."""
        return 100 * measures.miss(self.records, self.horizon)

    @property
    def completion(self) -> float:
        """Per cent of the released iterations that are done."""
        return 100 * measures.completion(self.records, self.horizon)

    @property
    def useful(self) -> float:
        """Per cent of the released iterations that were done in time and read something."""
        return 100 * measures.useful(self.records, self.horizon)

    @property
    def error(self) -> float:
        """Per cent of the weighted results that were not there in time."""
        return measures.errors(self.records, self.horizon).output_percent
