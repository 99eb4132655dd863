"""Live units: what one decision runs on a lane: a query as its own Spark plan, or queries of the kernel together."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from headgate.engine.batch import Batch
from headgate.engine.delivery import Delivered, deliver
from headgate.engine.evaluation.protocol import NOTHING, Step, Waiting
from headgate.engine.graphs import counted, fewer
from headgate.engine.kernel.program import Joined
from headgate.engine.lanes import Executor
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.stream import StreamLog
from headgate.engine.query import LiveQuery
from headgate.engine.thinning import Thinning
from headgate.model.operator import FREE, Cost
from headgate.model.parameters import Segment, Stage
from headgate.model.qos import LatencyGraph
from headgate.model.unit import Basis, Entry, Unit
from headgate.monitor.figures import Served

_GUESSED_TUPLES = 1000
"""Before anything is measured, so many tuples are taken to cost as much as the job around them."""

MOST_SEGMENTS = 64
"""A unit of more queries than this is one segment to the policy: the sum of what they yield."""

MOST_GRAPHS = 8
"""Of more different QoS graphs in a unit, the policy sees so many that stand for all."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What a unit found in a train: steps of queries, results of queries that share a sink, and who failed.

    Whoever moves along with the others has a step only if it has results. `size` is what results take, in bytes;
    `joined` what the kernel has looked up in reference tables. Windows of those who are `left` could be closed since
    `overdue`.
    """

    steps: Sequence[tuple[LiveQuery, Step]]
    positions: Mapping[str, tuple[int, int]]
    read: int
    failed: Mapping[str, str] = field(default_factory=dict)
    batches: Sequence[Batch] = ()
    size: int = 0
    joined: Sequence[Joined] = ()
    left: Sequence[str] = ()
    overdue: float = math.inf


class LiveUnit(Protocol):
    """What a lane runs."""

    busy: bool
    hold: int | None
    served: Served
    classes: frozenset[str]
    """Those of its queries."""
    graphs: Counter[LatencyGraph]
    """The different QoS graphs of its queries, and of how many."""
    fresh: bool
    """Whether something of it has never run: what loads and compiles first says little of the runs after it."""

    @property
    def limit(self) -> float:
        """Seconds that a run may take."""

    @property
    def unsaved(self) -> bool:
        """Whether something waits for a commit."""

    @property
    def next_commit(self) -> float:
        """When it is time to commit; infinite if there is nothing."""

    def resting(self, now: float) -> bool:
        """Whether it waits after an error, to be tried again."""

    @property
    def reads(self) -> Mapping[str, str]:
        """The snapshots of tables that its queries join with, by table."""

    def swap(self, tables: Mapping[str, str]) -> None:
        """Go on with other snapshots of some tables, between two runs, with nothing in memory."""

    @property
    def name(self) -> str:
        """A stable name: that of the query, or of the unit."""

    @property
    def queries(self) -> Sequence[LiveQuery]:
        """The queries that a run moves on."""

    @property
    def in_kernel(self) -> bool:
        """Whether the kernel runs it, on any lane; Spark plans run on job lanes only."""

    @property
    def cls(self) -> str:
        """The class that it is run, charged and shed as: that of its queries, or the highest of them."""

    def behind(self) -> Waiting:
        """What waits for it, whether it runs or not."""

    @property
    def owner(self) -> str:
        """Under which name the manifest has its drop rates."""

    @property
    def rates(self) -> dict[str, Thinning]:
        """Its drop rates, by stream."""

    @property
    def logs(self) -> Sequence[StreamLog]:
        """The streams that it reads."""

    def waiting(self, now: float) -> Waiting:
        """What the policy may choose."""

    def until(self, found: Waiting, now: float) -> float:
        """Until when that stays what waits, if nothing comes, it does not run and nobody changes it.

        `now` if it has to be asked each time.
        """

    def evaluate(self, n: int, executor: Executor) -> Evaluated:
        """Evaluate about n tuples; nothing has moved yet."""

    def move(self, found: Evaluated) -> None:
        """Note how far an evaluation has come, once its steps are taken."""

    def commit_due(self, now: float) -> bool:
        """Whether what is in memory should be committed now."""

    def commit(self, manifest: Manifest) -> Delivered:
        """Commit what is in memory."""


class SingleUnit:
    """One query, as its own Spark plan."""

    in_kernel = False
    unsaved = False
    next_commit = float("inf")

    def __init__(self, query: LiveQuery) -> None:
        self.name, self.queries, self.busy = query.name, (query,), False
        self.hold: int | None = None
        self.fresh = True
        self.served = Served(query.name, query.cls, FREE)
        self.classes = frozenset((query.cls,))
        self.graphs = counted((query.qos,))
        self._query = query

    @property
    def cls(self) -> str:
        """That of the query."""
        return self._query.cls

    def behind(self) -> Waiting:
        """What waits for the query."""
        return self._query.evaluation.waiting(self._query.progress)

    @property
    def owner(self) -> str:
        """The query."""
        return self._query.name

    @property
    def rates(self) -> dict[str, Thinning]:
        """Those of the query."""
        return self._query.rates

    @property
    def limit(self) -> float:
        """That of the query."""
        return self._query.limit

    def resting(self, now: float) -> bool:
        """Whether the query rests."""
        return self._query.status == "running" and now < self._query.resting

    @property
    def logs(self) -> Sequence[StreamLog]:
        """Those of the query."""
        return [self._query.logs[name] for name in self._query.evaluation.streams]

    def waiting(self, now: float) -> Waiting:
        """What waits for the query."""
        return NOTHING if self.busy else self._query.waiting(now)

    def until(self, found: Waiting, now: float) -> float:
        """What waits since now has no time of its own; else until the query has rested."""
        if found.pending:
            return now if found.oldest >= now else math.inf
        return self._query.resting if self._query.resting > now else math.inf

    @property
    def reads(self) -> Mapping[str, str]:
        """Those of the query."""
        return self._query.draft.reads

    def swap(self, tables: Mapping[str, str]) -> None:
        """The query's plans are made anew when they run next."""
        self.fresh = True
        self._query.draft.reads.update(tables)

    def evaluate(self, n: int, executor: Executor) -> Evaluated:
        """The query's own step."""
        query, old = self._query, self._query.progress
        step = query.evaluation.step(old, int(min(n, query.most)), executor)
        positions = {s: (old.cursors[s], at) for s, at in step.progress.cursors.items()}
        return Evaluated([(query, step)], positions, step.read)

    def move(self, found: Evaluated) -> None:
        """The step itself has moved the query."""

    def commit_due(self, now: float) -> bool:  # noqa: ARG002 - a Spark job takes longer than its commit
        """After every run."""
        return True

    def commit(self, manifest: Manifest) -> Delivered:
        """Stage, commit, publish; what cannot be staged is run again."""
        query = self._query
        if not query.unsaved:
            return Delivered()
        try:
            return deliver(self.queries, manifest)
        except Exception:
            query.roll_back()
            raise


def held(waiting: Waiting, hold: int | None) -> Waiting:
    """What waits before the position at which a unit holds."""
    if hold is None or not waiting.pending:
        return waiting
    left = hold - waiting.position
    return replace(waiting, pending=min(waiting.pending, left)) if left > 0 else NOTHING


def segments(unit: LiveUnit) -> tuple[str, ...]:
    """The names under which a policy sees what the unit yields: its queries, or all of them as one."""
    return tuple(query.name for query in unit.queries) if len(unit.queries) <= MOST_SEGMENTS else (unit.name,)


def model(unit: LiveUnit, number: int) -> Unit:
    """The unit of the scheduler, before anything is measured but an empty job."""
    a = max(query.empty_job for query in unit.queries[:MOST_SEGMENTS])
    cost = Cost(a, a / _GUESSED_TUPLES)
    names = segments(unit)
    share = cost.b / len(names)
    parts = tuple(Segment(name, (Stage(share, 1.0),), cost.of(1)) for name in names)
    deadline = unit.queries[0].draft.deadline
    return Unit(
        *(number, Entry(unit.name), names, parts, cost, Basis(parts, cost)),
        cls=unit.cls,
        deadline=deadline,
        graphs=fewer(unit.graphs, MOST_GRAPHS),
    )
