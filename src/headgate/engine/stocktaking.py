"""Taking stock: how an engine fares, read from what is alive, twice a second while others work.

What the queries of a unit have in common is read once, since there may be very many of them.
"""

import bisect
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headgate.engine.evaluation.per_train import TrainEvaluation
from headgate.engine.evaluation.protocol import Waiting
from headgate.engine.fused import KernelUnit
from headgate.engine.gentle import gently
from headgate.engine.intake import LiveStream
from headgate.engine.iterations import DeadlineUnit
from headgate.engine.query import LiveQuery, SoFar
from headgate.engine.scheduler import Scheduler
from headgate.engine.status import (
    Accounting,
    ClassStatus,
    DeadlineStatus,
    LaneStatus,
    QosStatus,
    QueryStatus,
    RefreshingStatus,
    Snapshot,
    StreamStatus,
    TableStatus,
)
from headgate.engine.table.refresher import Refresher
from headgate.engine.table.tables import Kept, Tables
from headgate.engine.tally import Tally
from headgate.engine.timekeeper import Timekeeper
from headgate.engine.units import LiveUnit
from headgate.engine.windows import ENDED, NEVER
from headgate.freshness.refreshing import Estimate
from headgate.model.classes import QueryClass
from headgate.model.unit import Unit
from headgate.monitor.figures import slowdowns
from headgate.monitor.responses import Punctuality
from headgate.monitor.utility import AverageQos, Worth

_LISTED = 1000
"""More than one can look at."""


def snapshot(
    streams: Mapping[str, LiveStream],
    queries: Mapping[str, LiveQuery],
    scheduler: Scheduler,
    tables: Tables,
    refresher: Refresher,
    classes: Sequence[QueryClass],
    began: float,
) -> Snapshot:
    """How an engine fares now."""
    now = time.time()
    # Streams and queries come and go while one looks.
    of_queries, sums, passed = _queries(list(queries.values()), scheduler, now)
    of_streams = tuple(_stream(name, stream, passed.get(name)) for name, stream in list(streams.items()))
    every = Sum.of(sums.values())
    shown_tables, refreshing = _tables(tables, refresher, now)
    return Snapshot(
        now,
        now - began,
        scheduler.policy_name,
        of_streams,
        shown_tables,
        tuple(_class(each, sums.get(each.name) or Sum(), scheduler, now) for each in classes),
        of_queries,
        _deadlines(scheduler),
        tuple(LaneStatus(lane.name, scheduler.running(lane)) for lane in scheduler.lanes),
        Accounting(
            sum(s.tuples for s in of_streams),
            sum(sum(s.rejected.values()) for s in of_streams),
            sum(s.late for s in of_streams),
            every.shed,
            every.results,
            every.runs,
            scheduler.accounts.overhead.busy / max(now - began, 1e-9) / len(scheduler.lanes),
            scheduler.accounts.overhead.per_run,
            every.pending,
            every.oldest_wait,
            every.queries,
            every.queries - len(of_queries),
            scheduler.accounts.overhead.busy,
        ),
        refreshing,
        _qos(scheduler.accounts.qos),
        str(scheduler.shedding.wanted) if scheduler.shedding else None,
    )


@dataclass(slots=True)
class Sum:
    """The figures of some queries together."""

    queries: int = 0
    tuples: int = 0
    shed: int = 0
    pending: int = 0
    oldest_wait: float = 0.0
    results: int = 0
    runs: int = 0
    valued: int = 0
    worth: float = 0.0

    def add(self, so_far: SoFar, pending: int, oldest_wait: float, runs: int, worth: Worth | None) -> None:
        """Count one query, and what its results were worth if they have a QoS graph."""
        self.queries += 1
        self.tuples += so_far.tuples
        self.shed += so_far.shed
        self.results += so_far.results
        self.pending += pending
        self.oldest_wait = max(self.oldest_wait, oldest_wait)
        self.runs += runs
        if worth and worth.results:
            self.valued += 1
            self.worth += worth.mean

    @classmethod
    def of(cls, some: Iterable["Sum"]) -> "Sum":
        """Sums together."""
        found = cls()
        for each in some:
            for name in ("queries", "tuples", "shed", "pending", "results", "runs", "valued", "worth"):
                setattr(found, name, getattr(found, name) + getattr(each, name))
            found.oldest_wait = max(found.oldest_wait, each.oldest_wait)
        return found


@dataclass(slots=True)
class _Common:
    """What the queries of a unit have in common: what waits for those that go train by train, and what a run costs.

    A query that has no unit yet has one of its own here.
    """

    name: str
    waiting: Waiting | None
    runs: int
    mean_train: float | None
    busy: float
    a: float = 0.0
    b: float = 0.0
    T: float = 0.0
    S: Mapping[str, float] = field(default_factory=dict)
    behind: bool = False

    @classmethod
    def of(cls, query: LiveQuery, home: LiveUnit | None, measured: Unit | None) -> "_Common":
        """What those of a unit have in common, of whom one is given."""
        ran = home.served if home else query.served
        made = cls(
            home.name if home else query.name,
            home.behind() if isinstance(home, KernelUnit) else None,
            ran.runs,
            ran.tuples / ran.runs if ran.runs else None,
            ran.busy / max(1, len(home.queries)) if home else 0.0,
        )
        if measured:
            made.a, made.b, made.T = measured.cost.a, measured.cost.b, measured.cost.of(1)
            made.S = {segment.query: segment.S for segment in measured.segments}
        return made

    def waits(self, query: LiveQuery) -> Waiting:
        """What waits for a query."""
        if self.waiting is not None and isinstance(query.evaluation, TrainEvaluation):
            return self.waiting
        return query.evaluation.waiting(query.progress)


def _queries(
    queries: Sequence[LiveQuery], scheduler: Scheduler, now: float
) -> tuple[tuple[QueryStatus, ...], Mapping[str, Sum], Mapping[str, int]]:
    """The first queries one by one, and all as sums by class; and how far streams are passed in which tuples wait."""
    measured = {unit.entry.operator: unit for unit in scheduler.plan.models}
    units: dict[str, _Common] = {}
    listed: list[QueryStatus] = []
    sums: dict[str, Sum] = {}
    passed: dict[str, int] = {}
    for query in gently(queries):
        home = scheduler.home(query)
        name = home.name if home else query.name
        common = units.get(name)
        if common is None:
            common = units[name] = _Common.of(query, home, measured.get(name))
        waiting, so_far = common.waits(query), query.so_far
        if waiting.pending and not common.behind:
            # Queries of a unit stand at the same tuple.
            common.behind = True
            for stream, at in query.progress.cursors.items():
                passed[stream] = min(at, passed.get(stream, at))
        wait = max(0.0, now - waiting.oldest) if waiting.pending else 0.0
        if len(listed) < _LISTED:
            listed.append(_query(query, common, so_far, waiting.pending, wait, scheduler.accounts.qos, now))
        into = sums.get(query.cls)
        if into is None:
            into = sums[query.cls] = Sum()
        into.add(so_far, waiting.pending, wait, common.runs, scheduler.accounts.qos.queries.get(query.name))
    return tuple(listed), sums, passed


def _query(
    query: LiveQuery, common: _Common, so_far: SoFar, pending: int, wait: float, qos: AverageQos, now: float
) -> QueryStatus:
    seen, worth = query.responses, qos.queries.get(query.name)
    average, rms, longest = slowdowns(query.served, common.T)
    p50, p99 = seen.quantiles(0.5, 0.99)
    recent_p50, recent_p90, recent_p99 = seen.recent(now)
    return QueryStatus(
        query.name,
        query.cls,
        query.status,
        query.reason,
        type(query.draft.plan).__name__,
        common.name,
        so_far.tuples,
        so_far.shed,
        pending,
        wait,
        so_far.results,
        so_far.late,
        common.runs,
        common.mean_train,
        _known(seen.mean),
        _known(p50),
        _known(p99),
        seen.most if seen.count else None,
        _known(recent_p50),
        _known(recent_p90),
        _known(recent_p99),
        _known(average),
        _known(rms),
        _known(longest),
        common.a,
        common.b,
        common.S.get(query.name, 0.0),
        common.busy,
        query.sink.guarantee,
        _known(worth.mean) if worth else None,
        _known(worth.recent) if worth else None,
        worth.missed if worth else None,
        query.loss.utility(1 - so_far.shed / so_far.tuples) if query.loss and so_far.tuples else None,
    )


def _stream(name: str, stream: LiveStream, passed: int | None) -> StreamStatus:
    """A stream that all its queries have passed, or up to a position."""
    log = stream.log
    trains = list(log.trains)
    ended = len(trains) if passed is None else bisect.bisect_right(trains, passed, key=lambda train: train.end)
    mark = log.watermark("event")
    late, rejected = log.counted
    return StreamStatus(
        name,
        stream.status,
        stream.reason,
        log.head,
        stream.rate,
        mark / 1e6 if NEVER < mark < ENDED else None,
        late,
        rejected,
        len(trains),
        len(trains) - ended,
        sum(train.bytes for train in trains),
    )


def _tables(
    tables: Tables, refresher: Refresher, now: float
) -> tuple[tuple[TableStatus, ...], RefreshingStatus | None]:
    parts, times = refresher.estimates(now), refresher.older
    shown = tuple(
        _table(
            name, kept, tables.problems.get(name), [each for part, each in parts.items() if part[0] == name], times
        )
        for name, kept in list(tables.kept.items())
    )
    budget = refresher.wish.budget
    if budget.policy == "none":
        return shown, None
    seen = sum(each.share * each.freshness for each in parts.values()) if parts else None
    given, used = (
        (budget.policy, budget.amount, refresher.wish.unit, budget.period),
        (refresher.spent, refresher.allowed),
    )
    return shown, RefreshingStatus(*given, *used, seen, refresher.gain, refresher.swaps)


def _table(name: str, kept: Kept, problem: str | None, parts: Sequence[Estimate], times: float) -> TableStatus:
    """A table whose parts are known to the refresher and get so many times as old as asked, or is not refreshed."""
    known = kept.latest.number, len(kept.names), sum(each.size for each in kept.latest.contents)
    if not parts:
        return TableStatus(name, problem, *known)
    share = sum(each.share for each in parts)
    seen = sum(each.share * each.freshness for each in parts)
    every = min(each.every for each in parts)
    return TableStatus(
        name,
        problem,
        *known,
        max(each.age for each in parts),
        sum(each.freshness for each in parts) / len(parts),
        seen / share if share else None,
        sum(each.rate for each in parts),
        share,
        every if math.isfinite(every) else None,
        sum(each.copy.refreshed for each in parts),
        sum(each.copy.changed for each in parts),
        sum(each.copy.failed for each in parts),
        kept.max_age if math.isfinite(kept.max_age) else None,
        times * kept.max_age if math.isfinite(kept.max_age) and times > 1 else None,
    )


def _class(each: QueryClass, sums: Sum, scheduler: Scheduler, now: float) -> ClassStatus:
    latest = scheduler.shedding.latest if scheduler.shedding else None
    order = latest.orders[each.name] if latest else None
    seen = scheduler.accounts.responses.get(each.name) or Punctuality(each.delay_target)
    p50, p99 = seen.all.quantiles(0.5, 0.99)
    recent_p50, _, recent_p99 = seen.all.recent(now)
    return ClassStatus(
        each.name,
        each.priority,
        each.delay_target if math.isfinite(each.delay_target) else None,
        latest.shares[each.name] if latest else None,
        order.headroom if order else None,
        latest.usage[each.name] if latest else None,
        order.drop if order else 0.0,
        seen.all.count,
        _known(seen.all.mean),
        _known(p50),
        _known(p99),
        _known(recent_p50),
        _known(recent_p99),
        seen.all.total,
        seen.all.below(),
        seen.late / seen.all.count if seen.all.count and math.isfinite(each.delay_target) else None,
        seen.late,
        sums.tuples + sums.pending,
        sums.tuples - sums.shed,
        sums.shed,
        sums.pending,
        sums.oldest_wait,
        sums.queries,
        sums.worth / sums.valued if sums.valued else None,
        str(order.why) if order else None,
    )


def _deadlines(scheduler: Scheduler) -> tuple[DeadlineStatus, ...]:
    keeper = scheduler.keeper
    units = [unit for unit in list(scheduler.units) if isinstance(unit, DeadlineUnit)]
    return tuple(_deadline(unit, keeper) for unit in units) if keeper else ()


def _deadline(unit: DeadlineUnit, keeper: Timekeeper) -> DeadlineStatus:
    seen, deadline = keeper.tallies.get(unit.name) or Tally(), unit.deadline
    times = list(seen.finished)
    return DeadlineStatus(
        unit.name,
        deadline.window,
        deadline.stride,
        deadline.due,
        deadline.weight,
        seen.iterations,
        seen.missed,
        seen.useful,
        seen.kept / seen.tuples if seen.tuples else None,
        keeper.planned(unit),
        keeper.estimate(unit).cost * keeper.share,
        float(np.quantile(times, 0.5)) if times else None,
        float(np.quantile(times, 0.99)) if times else None,
        seen.worst if times else None,
        seen.reason,
    )


def _qos(seen: AverageQos) -> QosStatus | None:
    # Queries come and go while one looks.
    valued = [worth for worth in list(seen.queries.values()) if worth.results]
    if not valued:
        return None
    results, total, missed = (sum(getattr(each, name) for each in valued) for name in ("results", "total", "missed"))
    average = sum(worth.mean for worth in valued) / len(valued)
    return QosStatus(len(valued), results, average, total / results, _known(seen.recent), missed)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
