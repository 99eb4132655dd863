"""How an engine fares, as values: what `headgate top` shows, and what a run leaves behind as JSON."""

import itertools
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace

import numpy as np

from headgate.engine.gentle import gently
from headgate.engine.intake import LiveStream
from headgate.engine.iterations import DeadlineUnit
from headgate.engine.query import LiveQuery
from headgate.engine.scheduler import Scheduler
from headgate.engine.table.refresher import Refresher
from headgate.engine.table.tables import Kept, Tables
from headgate.engine.timekeeper import Tally, Timekeeper
from headgate.engine.units import LiveUnit
from headgate.engine.windows import ENDED, NEVER
from headgate.freshness.refreshing import Estimate
from headgate.model.classes import QueryClass
from headgate.monitor.figures import slowdowns
from headgate.monitor.responses import Punctuality
from headgate.monitor.utility import AverageQos

NAME = "status.json"
_LISTED = 1000


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """A stream: what came, at which rate, up to which event time, and what is kept of it."""

    name: str
    status: str
    reason: str | None
    tuples: int
    rate: float
    watermark: float | None
    late: int
    rejected: Mapping[str, int]
    trains: int
    bytes: int


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """A query: what it has done, what waits for it, how fast its results came, and what a run costs.

    `qos` is what its results were worth on average by its QoS graph, and of late; `qos_missed` came after the first
    critical point. `qos_kept` is what its loss graph makes of the share of the tuples that was kept.
    """

    name: str
    cls: str
    status: str
    reason: str | None
    kind: str
    unit: str
    tuples: int
    shed: int
    pending: int
    oldest_wait: float
    results: int
    late: int
    runs: int
    mean_train: float | None
    response_mean: float | None
    response_p50: float | None
    response_p99: float | None
    response_max: float | None
    slowdown_mean: float | None
    slowdown_rms: float | None
    slowdown_max: float | None
    a: float
    b: float
    selectivity: float
    busy: float
    guarantee: str
    qos: float | None
    qos_recent: float | None
    qos_missed: int | None
    qos_kept: float | None


@dataclass(frozen=True, slots=True)
class ClassStatus:
    """A class: what it was promised, what it has, and what it drops.

    `delay_target` is None where nothing is ever shed; `share` of the time, `headroom` and `usage` of its capacity are
    None where load is not managed. `late` is the share of its results that took longer than the target. Of all tuples
    `offered` to its queries, so many were `processed` or `shed`, and so many are `pending`.
    """

    name: str
    priority: float
    delay_target: float | None
    share: float | None
    headroom: float | None
    usage: float | None
    drop: float
    results: int
    response_mean: float | None
    response_p50: float | None
    response_p99: float | None
    late: float | None
    offered: int
    processed: int
    shed: int
    pending: int


@dataclass(frozen=True, slots=True)
class DeadlineStatus:
    """A query with a deadline: how many of its iterations missed it, and over which share of the tuples they were.

    Times are seconds from the end of a window. `planned` is the share of a window that it is to keep now; `demand`
    the time of an iteration with nothing dropped. `reason` says why the last one that was late was so.
    """

    name: str
    window: float
    stride: float
    deadline: float
    weight: float
    iterations: int
    missed: int
    useful: int
    kept: float | None
    planned: float | None
    demand: float | None
    finish_p50: float | None
    finish_p99: float | None
    worst: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class QosStatus:
    """What results were worth by the QoS graphs of their queries.

    `average` is the mean of the queries, each counting alike; `per_result` that of all results, `recent` of the last
    full block of them. So many results `missed` the first critical point.
    """

    queries: int
    results: int
    average: float
    per_result: float
    recent: float | None
    missed: int


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """A lane, and the query that it runs."""

    name: str
    running: str | None


@dataclass(frozen=True, slots=True)
class TableStatus:
    """A reference table: how old its snapshot is, how fresh that may be, and what refreshing it takes and brings.

    `age` is that of the part that was read longest ago. Of its parts so much is likely to be as at the source
    (`freshness`), or of what queries look up in it (`perceived`). `change_rate` is changes per second of all parts,
    as learned; `accesses` the share of all lookups that are in this table. Parts were refreshed so many times, of
    which they had `changed` so many; so many reads failed, the last of them for the `problem`.
    """

    name: str
    problem: str | None
    snapshot: int = 0
    parts: int = 1
    bytes: int = 0
    age: float | None = None
    freshness: float | None = None
    perceived: float | None = None
    change_rate: float | None = None
    accesses: float | None = None
    every: float | None = None
    refreshes: int = 0
    changed: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class RefreshingStatus:
    """The refresh budget of a period in seconds, what was `used` of what it `allowed`, how fresh joins see tables."""

    policy: str
    budget: float
    unit: str
    period: float
    used: float
    allowed: float
    perceived: float | None
    swaps: int


@dataclass(frozen=True, slots=True)
class Accounting:
    """Where everything went: tuples that came, rows that were refused, tuples that were late; and what it took.

    Tuples are `shed` for a query, so one may be shed several times.

    `unlisted` queries are too many to be shown one by one; their results are not in the sum.
    """

    tuples: int
    rejected: int
    late: int
    shed: int
    results: int
    runs: int
    utilisation: float
    overhead_per_run: float
    unlisted: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An engine at a moment."""

    time: float
    elapsed: float
    policy: str
    streams: tuple[StreamStatus, ...]
    tables: tuple[TableStatus, ...]
    classes: tuple[ClassStatus, ...]
    queries: tuple[QueryStatus, ...]
    deadlines: tuple[DeadlineStatus, ...]
    lanes: tuple[LaneStatus, ...]
    accounting: Accounting
    refreshing: RefreshingStatus | None = None
    qos: QosStatus | None = None


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
    of_streams = tuple(_stream(name, stream) for name, stream in list(streams.items()))
    # More than one can look at, and than could be written every half second.
    listed = itertools.islice(list(queries.values()), _LISTED)
    of_queries = tuple(_query(query, scheduler.home(query), scheduler, now) for query in gently(listed))
    shown_tables, refreshing = _tables(tables, refresher, now)
    return Snapshot(
        now,
        now - began,
        scheduler.policy_name,
        of_streams,
        shown_tables,
        tuple(_class(each, [q for q in of_queries if q.cls == each.name], scheduler) for each in classes),
        of_queries,
        _deadlines(scheduler),
        tuple(LaneStatus(lane.name, scheduler.running(lane)) for lane in scheduler.lanes),
        Accounting(
            sum(s.tuples for s in of_streams),
            sum(sum(s.rejected.values()) for s in of_streams),
            sum(s.late for s in of_streams),
            sum(q.shed for q in of_queries),
            sum(q.results for q in of_queries),
            sum(q.runs for q in of_queries),
            scheduler.overhead.busy / max(now - began, 1e-9) / len(scheduler.lanes),
            scheduler.overhead.per_run,
            len(queries) - len(of_queries),
        ),
        refreshing,
        _qos(scheduler.qos),
    )


def written(found: Snapshot, *, running: bool) -> str:
    """The snapshot as the JSON of the status file."""
    names = [field.name for field in fields(QueryStatus)]
    rows = (json.dumps({name: getattr(query, name) for name in names}) for query in gently(found.queries))
    rest = json.dumps({"running": running, **asdict(replace(found, queries=()))})
    return rest.replace('"queries": []', f'"queries": [{", ".join(rows)}]', 1)


def _stream(name: str, stream: LiveStream) -> StreamStatus:
    log = stream.log
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
        len(log.trains),
        sum(train.bytes for train in list(log.trains)),
    )


def _tables(
    tables: Tables, refresher: Refresher, now: float
) -> tuple[tuple[TableStatus, ...], RefreshingStatus | None]:
    parts = refresher.estimates(now)
    shown = tuple(
        _table(name, kept, tables.problems.get(name), [each for part, each in parts.items() if part[0] == name])
        for name, kept in list(tables.kept.items())
    )
    budget = refresher.wish.budget
    if budget.policy == "none":
        return shown, None
    seen = sum(each.share * each.freshness for each in parts.values()) if parts else None
    unit = "bytes" if refresher.wish.in_bytes else "refreshes"
    used = refresher.spent, refresher.allowed
    return shown, RefreshingStatus(budget.policy, budget.amount, unit, budget.period, *used, seen, refresher.swaps)


def _table(name: str, kept: Kept, problem: str | None, parts: Sequence[Estimate]) -> TableStatus:
    """A table whose parts are known to the refresher, or which is not refreshed."""
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
    )


def _class(each: QueryClass, queries: Sequence[QueryStatus], scheduler: Scheduler) -> ClassStatus:
    latest = scheduler.shedding.latest if scheduler.shedding else None
    order = latest.orders[each.name] if latest else None
    seen = scheduler.responses.get(each.name) or Punctuality(each.delay_target)
    passed, shed, pending = (sum(getattr(q, name) for q in queries) for name in ("tuples", "shed", "pending"))
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
        _known(seen.all.quantile(0.5)),
        _known(seen.all.quantile(0.99)),
        seen.late / seen.all.count if seen.all.count and math.isfinite(each.delay_target) else None,
        passed + pending,
        passed - shed,
        shed,
        pending,
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


def _query(query: LiveQuery, home: LiveUnit | None, scheduler: Scheduler, now: float) -> QueryStatus:
    name = home.name if home else query.name
    unit = scheduler.measured(name)
    progress = query.progress
    waiting = query.evaluation.waiting(progress)
    ran = home.served if home else query.served
    seen, worth = query.responses, scheduler.qos.queries.get(query.name)
    average, rms, longest = slowdowns(query.served, unit.cost.of(1) if unit else 0.0)
    return QueryStatus(
        query.name,
        query.cls,
        query.status,
        query.reason,
        type(query.draft.plan).__name__,
        name,
        progress.tuples,
        progress.shed,
        waiting.pending,
        max(0.0, now - waiting.oldest) if waiting.pending else 0.0,
        progress.results,
        progress.late,
        ran.runs,
        ran.tuples / ran.runs if ran.runs else None,
        _known(seen.mean),
        _known(seen.quantile(0.5)),
        _known(seen.quantile(0.99)),
        seen.most if seen.count else None,
        _known(average),
        _known(rms),
        _known(longest),
        unit.cost.a if unit else 0.0,
        unit.cost.b if unit else 0.0,
        next((s.S for s in unit.segments if s.query == query.name), 0.0) if unit else 0.0,
        ran.busy / max(1, len(home.queries)) if home else 0.0,
        query.sink.guarantee,
        _known(worth.mean) if worth else None,
        _known(worth.recent) if worth else None,
        worth.missed if worth else None,
        query.loss.utility(1 - progress.shed / progress.tuples) if query.loss and progress.tuples else None,
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
