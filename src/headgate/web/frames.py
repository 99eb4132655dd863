"""An engine at a moment, as rows of plain values by key: what pages show of it."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeAlias

from headgate.engine.gentle import gently
from headgate.engine.status import ClassStatus, QueryStatus, Snapshot
from headgate.web.served import Wiring
from headgate.web.states import Recent, of_class, of_query, recent

Row: TypeAlias = Sequence[Any]

_AS_IT_IS = (
    *("name", "cls", "unit", "pending", "oldest_wait", "results", "response_p50", "response_p99", "qos", "shed"),
    *("late", "tuples", "runs", "a", "b", "selectivity", "busy", "reason"),
)
_TOLD = attrgetter(*_AS_IT_IS)
QUERY = ("state", "slack", "kept", *_AS_IT_IS)
"""The columns of queries; the other parts have those of their dataclass, and some more."""
_LARGE = 1e6


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a frame: rows by key, and what their values are called. Where there is no row, nobody knows that."""

    columns: Sequence[str]
    rows: Mapping[str, Row]


@dataclass(frozen=True)
class Frame:
    """A snapshot with its number, and how much had been recorded by then; an earlier one to compare it with.

    Rows are made when somebody asks for them.
    """

    number: int
    snapshot: Snapshot
    before: Snapshot | None
    recorded: int
    wired: Callable[[Iterable[str]], Mapping[str, Wiring]]

    @cached_property
    def wirings(self) -> Mapping[str, Wiring]:
        """Between what the listed queries stand."""
        return self.wired([query.name for query in self.snapshot.queries])

    @cached_property
    def totals(self) -> Part:
        """The engine as a whole. What it is busy with is what it was of late."""
        now, before = self.snapshot, self.before
        if before is None or before.elapsed > now.elapsed:
            busy = now.accounting.utilisation
        else:
            done = now.accounting.utilisation * now.elapsed - before.accounting.utilisation * before.elapsed
            busy = done / max(now.elapsed - before.elapsed, 1e-9)
        own = {
            "time": now.time,
            "elapsed": now.elapsed,
            "policy": now.policy,
            "busy": min(1.0, max(0.0, busy)),
            "rate": sum(stream.rate for stream in now.streams),
            "pending": sum(query.pending for query in now.queries),
            "oldest_wait": max((query.oldest_wait for query in now.queries), default=0.0),
            "queries": len(now.queries) + now.accounting.unlisted,
            "qos": now.qos.average if now.qos else None,
        }
        return _part([{"name": "engine", **own, **asdict(now.accounting)}])

    @cached_property
    def recents(self) -> Mapping[str, Recent]:
        """What came of each class of late."""
        before = {each.name: each for each in self.before.classes} if self.before else {}
        return {each.name: recent(before.get(each.name), each) for each in self.snapshot.classes}

    @cached_property
    def classes(self) -> Part:
        """The classes, with how they fare."""
        counts = dict.fromkeys((each.name for each in self.snapshot.classes), 0)
        oldest = dict.fromkeys(counts, 0.0)
        for query in self.snapshot.queries:
            if query.cls in counts:
                counts[query.cls] += 1
                oldest[query.cls] = max(oldest[query.cls], query.oldest_wait)
        return _part(
            {**asdict(each), **_fares(each, self.recents[each.name], oldest[each.name]), "queries": counts[each.name]}
            for each in self.snapshot.classes
        )

    @cached_property
    def queries(self) -> Part:
        """The queries that are listed."""
        targets = {each.name: each.delay_target for each in self.snapshot.classes}
        # There may be very many, so rows are made without a record between.
        rows = {each.name: _query(each, targets.get(each.cls)) for each in gently(self.snapshot.queries)}
        return Part(QUERY if rows else (), rows)

    @cached_property
    def streams(self) -> Part:
        """The streams, with what waits in them for the query that is furthest behind."""
        pending: dict[str, int] = {}
        oldest: dict[str, float] = {}
        for query in gently(self.snapshot.queries):
            for stream in self.wirings[query.name].streams if query.name in self.wirings else ():
                pending[stream] = max(pending.get(stream, 0), query.pending)
                oldest[stream] = max(oldest.get(stream, 0.0), query.oldest_wait)
        now = self.snapshot.time
        return _part(
            {
                **asdict(each),
                "pending": pending.get(each.name, 0),
                "oldest_wait": oldest.get(each.name, 0.0),
                "behind": None if each.watermark is None else now - each.watermark,
            }
            for each in self.snapshot.streams
        )

    @cached_property
    def lanes(self) -> Part:
        """The lanes."""
        return _part(asdict(each) for each in self.snapshot.lanes)

    @cached_property
    def tables(self) -> Part:
        """The reference tables."""
        return _part(asdict(each) for each in self.snapshot.tables)

    @cached_property
    def refreshing(self) -> Part:
        """The budget from which reference tables are read again, if there is one."""
        budget = self.snapshot.refreshing
        return _part([{"name": "budget", **asdict(budget)}] if budget else [])

    @cached_property
    def deadlines(self) -> Part:
        """The queries with a deadline."""
        return _part(asdict(each) for each in self.snapshot.deadlines)


def _part(found: Iterable[Mapping[str, Any]]) -> Part:
    made: dict[str, Row] = {}
    columns: Sequence[str] = ()
    for row in found:
        columns = columns or list(row)
        made[row["name"]] = [_short(value) for value in row.values()]
    return Part(columns, made)


def _fares(status: ClassStatus, seen: Recent, oldest: float) -> dict[str, Any]:
    """What a class has of its target, and of its tuples."""
    passed = status.processed + status.shed
    p99, target = status.response_p99, status.delay_target
    return {
        "state": of_class(status, seen, oldest),
        "slack": target - p99 if target is not None and p99 is not None else None,
        "kept": status.processed / passed if passed else 1.0,
        "oldest_wait": oldest,
        "recent_results": seen.results,
        "recent_mean": seen.mean,
        "recent_late": seen.late,
    }


def _query(query: QueryStatus, target: float | None) -> Row:
    p99 = query.response_p99
    slack = target - p99 if target is not None and p99 is not None else None
    kept = 1 - query.shed / query.tuples if query.tuples else 1.0
    return [_short(value) for value in (of_query(query, target), slack, kept, *_TOLD(query))]


def _short(value: Any) -> Any:  # noqa: ANN401 - any value of a status
    """Numbers to four digits, so that what has not changed looks so; points in time to the millisecond."""
    if type(value) is not float:
        return value
    if -_LARGE < value < _LARGE:
        return float(f"{value:.4g}")
    return round(value, 3) if math.isfinite(value) else None
