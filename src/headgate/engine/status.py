"""How an engine fares, as values: what `headgate top` shows, and what a run leaves behind as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace

from headgate.engine.gentle import gently

NAME = "status.json"
_REPLAYED = 86_400.0
"""Seconds between event time and the clock from which on one says nothing about the other."""


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """A stream: what came, at which rate, up to which event time, and what is kept of it.

    So many of its `trains` are `pending`: a query for which tuples wait has not come to their end yet.
    """

    name: str
    status: str
    reason: str | None
    tuples: int
    rate: float
    watermark: float | None
    late: int
    rejected: Mapping[str, int]
    trains: int
    pending: int
    bytes: int


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """A query: what it has done, what waits for it, how fast its results came, and what a run costs.

    Responses are those since the policy began; the `recent` ones are of the last ten seconds, or of what came last
    where nothing did. `qos` is what its results were worth on average by its QoS graph, and of late;
    `qos_missed` came after the first critical point. `qos_kept` is what its loss graph makes of the share of the
    tuples that was kept.
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
    recent_p50: float | None
    recent_p90: float | None
    recent_p99: float | None
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
    None where load is not managed. Responses are those since the policy began; `recent_p50` and `recent_p99` are of
    the last ten seconds, or of what came last where nothing did. Its results took `response_total` seconds in all, so
    many were `below` each bound of a histogram; `late_results` took longer than the target, `late` is their share. Of
    all tuples `offered` to its queries, so many were `processed` or `shed`, and so many are `pending`, the oldest of
    them for `oldest_wait` seconds. All its queries count, those too that are not listed. `qos` is the mean of those
    with a QoS graph and results, each counting alike. `order` is the formula by which its load manager came to what
    it drops, and the numbers in it.
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
    recent_p50: float | None
    recent_p99: float | None
    response_total: float
    below: tuple[int, ...]
    late: float | None
    late_results: int
    offered: int
    processed: int
    shed: int
    pending: int
    oldest_wait: float
    queries: int
    qos: float | None = None
    order: str | None = None


@dataclass(frozen=True, slots=True)
class DeadlineStatus:
    """A query with a deadline: how many of its iterations missed it, and over which share of the tuples they were.

    Iterations count when they are done, or once they are due and not done. Times are seconds from the end of a
    window. `planned` is the share of a window that it is to keep now; `demand` the time of an iteration with nothing
    dropped. `reason` says why the last one that was late was so.
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
    which they had `changed` so many; so many reads failed, the last of them for the `problem`. Where the budget does
    not suffice for its `max_age`, parts become as old as the `allowed_age`.
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
    max_age: float | None = None
    allowed_age: float | None = None


@dataclass(frozen=True, slots=True)
class RefreshingStatus:
    """The refresh budget of a period in seconds, what was `used` of what it `allowed`, how fresh joins see tables.

    One more refresh in a minute, or one more MB, would add the `gain` to what joins see in the long run.
    """

    policy: str
    budget: float
    unit: str
    period: float
    used: float
    allowed: float
    perceived: float | None
    gain: float | None
    swaps: int


@dataclass(frozen=True, slots=True)
class Accounting:
    """Where everything went: tuples that came, rows that were refused, tuples that were late; and what it took.

    Tuples are `shed` for a query and `pending` for one, so one may count several times; `runs` count for each query.
    The sums are those of all queries, of which so many are `unlisted`: too many to be shown one by one.
    Lanes were busy for so many seconds in all since the policy began, the `utilisation` is the part of their time.
    """

    tuples: int
    rejected: int
    late: int
    shed: int
    results: int
    runs: int
    utilisation: float
    overhead_per_run: float
    pending: int
    oldest_wait: float
    queries: int
    unlisted: int
    busy_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An engine at a moment. `shed` is how load is managed, as in `dilos:backlog`; None if nothing is shed."""

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
    shed: str | None = None


def written(found: Snapshot, *, running: bool) -> str:
    """The snapshot as the JSON of the status file."""
    names = [field.name for field in fields(QueryStatus)]
    rows = (json.dumps({name: getattr(query, name) for name in names}) for query in gently(found.queries))
    rest = json.dumps({"running": running, **asdict(replace(found, queries=()))})
    return rest.replace('"queries": []', f'"queries": [{", ".join(rows)}]', 1)


def behind(watermark: float | None, now: float) -> float | None:
    """How far the watermark of a stream is behind the clock; None if tuples are of another day: they are replayed."""
    lag = None if watermark is None else now - watermark
    return lag if lag is not None and abs(lag) < _REPLAYED else None
