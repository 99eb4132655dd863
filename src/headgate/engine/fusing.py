"""Which queries run in one unit: PDT's question, asked of the train.

Scanning a train and sending a command cost the same however many queries run in it: that is the shared operator.
Each query brings a benefit and a cost of its own behind it. Where the shared part dominates, everything is worth
running together; where the work of the queries does, the best of them alone are worth more, and a policy that may
choose between units has something to win. The scheduler measures both, so this is decided as the engine runs.

Under clustered BSD, where a cluster is what the policy chooses, a unit is taken apart by clusters instead. Under a
policy of QoS graphs the question is Aurora's: a unit is a superbox, which runs in one call (Min-Cost), or its members
one by one where results are there sooner then (Min-Latency).

Queries that are new are taken for light. They are fused where they stand at the same tuple; those that do not are
made to meet: who is ahead waits there.
"""

import logging
import threading
from collections.abc import Sequence
from typing import NamedTuple

from headgate.engine.fused import KernelUnit
from headgate.engine.log.stream import StreamLog
from headgate.engine.query import LiveQuery
from headgate.engine.riding import Riding
from headgate.engine.scheduler import Scheduler
from headgate.model.boxes import Box, Boxes
from headgate.model.sharing import Branch, pdt_opt
from headgate.model.traversals import min_cost, min_latency, replay
from headgate.model.unit import Unit
from headgate.policy.bsd import BSD
from headgate.policy.clusters import logarithmic

_FEW = 20
"""Runs of a unit before its cost is believed."""

_SPARE, _LEAST_OVERHEAD = 0.1, 0.001
"""Each unit more costs the overhead of a run once more: together so much of the work at most. And the overhead, in
seconds, below which no measurement is believed."""

_BACK = 0.5
"""Units that were taken apart may meet again once the work of all is below this part of what takes one apart."""

_PATIENCE = 5.0
"""Seconds between two changes of the units of one stream."""

_WAIT, _LONGEST_WAIT = 0.1, 0.2
"""The part of its delay target for which a host waits for those who would ride with it, and the most in seconds."""

_LEAST = 1e-12
_log = logging.getLogger(__name__)


class Load(NamedTuple):
    """A unit as measured, the tuples of its runs, and the overhead and the work of one, in seconds."""

    measured: Unit
    n: float
    overhead: float
    work: float


class Fuser:
    """Fuses the queries of a stream that the kernel runs, and takes units apart that have become heavy."""

    def __init__(
        self,
        scheduler: Scheduler,
        clusters: int | None = None,
        riding: Riding | None = None,
        *,
        superboxes: bool = False,
    ) -> None:
        self._scheduler, self._clusters, self._riding = scheduler, clusters, riding
        self._superboxes = superboxes
        # A meeting is not left while it is about to fuse.
        self._lock = threading.Lock()
        self._over = False
        self._changed: dict[str, float] = {}
        self._kept_apart: set[str] = set()
        self._waiting: set[str] = set()
        """Units that wait for others, or are on their way to them."""

    def look(self, log: StreamLog, now: float) -> None:
        """Begin or go on with the fusing of a stream's queries. Not for the scheduler's thread."""
        with self._lock:
            if self._over:
                return
            self._ride(log, now)
            units = [u for u in self._scheduler.units if isinstance(u, KernelUnit) and u.kin.stream == log.name]
            for kin in dict.fromkeys(unit.kin for unit in units):
                alike = [unit for unit in units if unit.kin == kin]
                if now - self._changed.get(log.name, 0.0) > _PATIENCE:
                    self._let_back(log, [unit for unit in alike if unit.name in self._kept_apart], now)
                light = [unit for unit in alike if self._may_fuse(unit)]
                self._let_go(alike, light if len(light) > 1 else ())
                if len(light) > 1:
                    self._meet(log, light)
                if now - self._changed.get(log.name, 0.0) > _PATIENCE:
                    for unit in alike:
                        self._part(unit, now)

    def close(self) -> None:
        """Let everybody go on, and fuse no more."""
        with self._lock:
            self._over = True
            for unit in self._scheduler.units:
                unit.hold = None
        self._scheduler.wake()

    def _may_ride(self, unit: KernelUnit) -> bool:
        return bool(unit.queries) and unit.hold is None and self._may_fuse(unit)

    def _may_fuse(self, unit: KernelUnit) -> bool:
        well = unit.queries[0].status == "running" and not unit.queries[0].attempts
        return well and unit.name not in self._kept_apart and not unit.losses

    def _let_go(self, units: Sequence[KernelUnit], meeting: Sequence[KernelUnit]) -> None:
        """Whoever waits for a unit that will not come, since that is kept apart now, goes on."""
        for unit in units:
            if unit.name in self._waiting and unit not in meeting:
                self._waiting.discard(unit.name)
                unit.hold = None
                self._scheduler.wake()

    def _meet(self, log: StreamLog, units: Sequence[KernelUnit]) -> None:
        at = max(unit.cohort.position for unit in units)
        for unit in units:
            unit.hold = at
            self._waiting.add(unit.name)
        self._scheduler.wake()
        first = max(units, key=lambda unit: len(unit.queries))
        there = [unit for unit in units if unit is not first and unit.cohort.position == at]
        if first.cohort.position != at or not there:
            return
        if self._scheduler.merge(first, there, at):
            _log.info("stream %s: %d queries run as one unit", log.name, len(first.queries))
        if len(there) == len(units) - 1:
            first.hold = None
            self._waiting.discard(first.name)
            self._scheduler.wake()

    def _ride(self, log: StreamLog, now: float) -> None:
        """Let queries get off whose host is better off alone, and others board one with whom they have caught up."""
        units = [u for u in self._scheduler.units if isinstance(u, KernelUnit) and u.kin.stream == log.name]
        for unit in units:
            classes = unit.classes
            if len(classes) > 1 and not (self._riding and self._riding.suits(unit.cls, classes)):
                by_class = [
                    [q for q in unit.queries if q.cls == cls] for cls in sorted(classes, key=lambda c: c != unit.cls)
                ]
                if self._scheduler.split(unit, by_class):
                    _log.info("stream %s: %d classes that shared a unit run apart", log.name, len(classes))
        if self._riding is None:
            return
        for host in units:
            if self._may_ride(host) and self._riding.open(host.cls, now):
                for unit in units:
                    if self._may_ride(host) and self._may_ride(unit) and unit.kin.window == host.kin.window:
                        self._board(log, host, unit, now)

    def _board(self, log: StreamLog, host: KernelUnit, unit: KernelUnit, now: float) -> None:
        """Let the queries of a unit that may do so ride with a host; who is ahead waits a moment for the other."""
        riding = self._riding
        if riding is None or not riding.above(unit.cls, host.cls):
            return
        riders = riding.guests(host.queries, unit.queries)
        if not riders:
            return
        if self._scheduler.board(host, unit, riders):
            _log.info("stream %s: %d queries of class %s ride with %s", log.name, len(riders), unit.cls, host.cls)
            return
        measured = self._scheduler.measured(unit.name)
        wait = min(_LONGEST_WAIT, _WAIT * riding.targets[host.cls])
        at = max(host.cohort.position, unit.cohort.position)
        if measured and measured.cost.of(at - unit.cohort.position) < wait:
            host.patience = unit.patience = now + wait
            host.hold = unit.hold = at
            self._scheduler.wake()

    def _let_back(self, log: StreamLog, units: Sequence[KernelUnit], now: float) -> None:
        """Fuse units again that were taken apart, once their work has become little against its overhead."""
        loads = [load for unit in units if (load := self._load(unit))]
        if units and len(loads) == len(units) and meet_again(loads):
            self._changed[log.name] = now
            self._kept_apart -= {unit.name for unit in units}
            _log.info("stream %s: %d units that ran apart may meet again", log.name, len(units))

    def _load(self, unit: KernelUnit) -> Load | None:
        """What a run of a unit is made of; None while that is not known well enough."""
        measured, served = self._scheduler.measured(unit.name), unit.served
        if measured is None or served.runs < _FEW:
            return None
        n = served.tuples / served.runs
        # What one more unit costs is a run over nothing; the rest of what runs always cost here is the queries' own.
        overhead = max(_LEAST_OVERHEAD, min([measured.cost.a, *(query.empty_job for query in unit.queries)]))
        return Load(measured, n, overhead, measured.cost.of(n) - overhead)

    def _part(self, unit: KernelUnit, now: float) -> None:
        """Take a unit apart whose work is more than its overhead, if some of its queries are worth more alone."""
        load = self._load(unit) if len(unit.queries) > 1 else None
        if load is None:
            return
        measured, n, overhead, work = load
        most = 1 + int(_SPARE * work / overhead)
        if most < 2:
            return
        groups = grouped(unit.queries, measured, n, overhead, self._clusters, superboxes=self._superboxes)
        if len(groups) > most:
            groups = [*groups[: most - 1], [query for group in groups[most - 1 :] for query in group]]
        if len(groups) < 2:
            return
        if made := self._scheduler.split(unit, groups):
            self._changed[unit.kin.stream] = now
            self._kept_apart |= {each.name for each in made}
            _log.info("stream %s: %d queries run as %d units", unit.kin.stream, len(unit.queries), len(made))


def meet_again(loads: Sequence[Load]) -> bool:
    """Whether what runs apart would by far not be taken apart, were it one unit."""
    return _SPARE * sum(load.work for load in loads) < _BACK * max(load.overhead for load in loads)


def grouped(
    queries: Sequence[LiveQuery],
    measured: Unit,
    n: float,
    overhead: float,
    clusters: int | None = None,
    *,
    superboxes: bool = False,
) -> list[list[LiveQuery]]:
    """The queries in the units that PDT, clusters of about the same priority, or superboxes make of them; best first.

    A benefit is that of BSD. The work of a train of n is all but the overhead of a run, and is shared out by shape:
    alike queries cost hardly more than one.
    """
    alike = _alike(queries)
    work = max(0.0, measured.cost.of(n) - overhead) / len(alike)
    if superboxes:
        yields = {s.query: s.S for s in measured.segments}
        S = [sum(yields.get(query.name, 0.0) for query in each) for each in alike]
        return [[query for i in some for query in alike[i]] for some in by_traversal(work, S, n, overhead)]
    worth = {s.query: BSD.weight(s) for s in measured.segments}
    branches = [Branch(sum(worth.get(query.name, 0.0) for query in each), work) for each in alike]
    chosen = _by_cluster(branches, clusters) if clusters else _by_pdt(branches, overhead)
    return [[query for i in some for query in alike[i]] for some in chosen]


def by_traversal(work: float, S: Sequence[float], n: float, overhead: float) -> list[list[int]]:
    """Members of a superbox, in one call or each in its own: whichever has results sooner on average.

    Each works so long on a train of n, and gives S results per tuple; a call has its overhead before that, and
    results are there at its end. One by one, whose results cost least goes first.
    """
    apart = Boxes(tuple(Box(cost=max(work, _LEAST) / n, sel=max(each, _LEAST)) for each in S))
    fused = Boxes((Box(cost=sum(box.cost for box in apart.boxes), sel=sum(box.sel for box in apart.boxes)),))
    alone = replay(apart, min_latency(apart), dict.fromkeys(range(len(S)), n), overhead, by_train=True)
    at_once = replay(fused, min_cost(fused), {0: n}, overhead, by_train=True)
    if at_once.latency <= alone.latency:
        return [list(range(len(S)))]
    _log.info("results take %.4g s on average member by member, %.4g s in one call", alone.latency, at_once.latency)
    return [[i] for i in alone.calls]


def _alike(queries: Sequence[LiveQuery]) -> list[list[LiveQuery]]:
    """The queries by shape. Most that are alike have one and the same object: comparing shapes takes its time."""
    same: dict[int, list[LiveQuery]] = {}
    for query in queries:
        same.setdefault(id(query.compiled.shape if query.compiled else query), []).append(query)
    shapes: dict[object, list[LiveQuery]] = {}
    for some in same.values():
        first = some[0]
        shapes.setdefault(first.compiled.shape if first.compiled else first.name, []).extend(some)
    return list(shapes.values())


def _by_pdt(branches: Sequence[Branch], shared: float) -> list[list[int]]:
    """The set that is worth most behind what is shared, then that of the rest, and so on."""
    found: list[list[int]] = []
    left = list(range(len(branches)))
    while left:
        best = {left[i] for i in pdt_opt([branches[i] for i in left], shared).chosen} or set(left)
        found.append([i for i in left if i in best])
        left = [i for i in left if i not in best]
    return found


def _by_cluster(branches: Sequence[Branch], clusters: int) -> list[list[int]]:
    phi = [max(branch.a, _LEAST) / max(branch.r, _LEAST) for branch in branches]
    of = logarithmic(phi, clusters).of
    return [[i for i in range(len(phi)) if of[i] == each] for each in sorted(set(of), reverse=True)]
