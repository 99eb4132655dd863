"""An engine at a moment, as columns of plain values: what pages show of it."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from headgate.engine.gentle import gently
from headgate.engine.status import ClassStatus, DeadlineStatus, QueryStatus, Snapshot, behind
from headgate.web.served import Wiring
from headgate.web.states import Recent, State, missing, of_class, of_deadline, of_query, recent

Part: TypeAlias = Mapping[str, str]
"""A part of a frame: the values of all its rows, column by column, as JSON. Rows go by their `name`."""

_AS_IT_IS = (
    *("name", "cls", "unit", "pending", "oldest_wait", "results", "recent_p50", "recent_p99"),
    *("response_p99", "qos", "shed"),
    *("a", "b", "selectivity", "reason"),
)
"""The columns of queries; the other parts have those of their dataclass, and some more."""
_TROUBLES: tuple[State, ...] = ("failed", "trying", "paused")
_LARGE = 1e6


class Promise(NamedTuple):
    """How a query fares: its target, or deadline, and what it has of that of late."""

    state: State
    target: float | None
    p99: float | None

    @property
    def slack(self) -> float | None:
        """What is left of the target."""
        return None if self.target is None or self.p99 is None else self.target - self.p99


class Columns:
    """Columns as they were written last: most of them are the same from frame to frame, and comparing is fast."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Sequence[Any], str]] = {}

    def written(self, name: str, values: Sequence[Any]) -> str:
        """A column as JSON."""
        known = self._known.get(name)
        if known is None or known[0] != values:
            known = self._known[name] = values, _column(values)
        return known[1]


@dataclass(frozen=True)
class Frame:
    """A snapshot with its number, and how much had been recorded by then; an earlier one to compare it with.

    Parts are made when somebody asks for them.
    """

    number: int
    snapshot: Snapshot
    before: Snapshot | None
    recorded: int
    wired: Callable[[Iterable[str]], Mapping[str, Wiring]]
    columns: "Columns"
    missed: Mapping[str, float]
    """The part of the windows of each deadline that missed it, as the last frame has it."""

    @cached_property
    def wirings(self) -> Mapping[str, Wiring]:
        """Between what the listed queries stand."""
        return self.wired([query.name for query in self.snapshot.queries])

    @cached_property
    def total(self) -> Mapping[str, Any]:
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
            "shedding": now.shed,
            "busy": min(1.0, max(0.0, busy)),
            "rate": sum(stream.rate for stream in now.streams),
            "qos": now.qos.average if now.qos else None,
            **self.troubled,
        }
        return {"name": "engine", **own, **asdict(now.accounting)}

    @cached_property
    def troubled(self) -> Mapping[str, int]:
        """How many of the listed queries, of streams, tables and deadlines do not fare as they should."""
        stopped = [each for each in self.snapshot.queries if each.status != "running" or each.reason]
        states = Counter(of_query(each, None) for each in stopped)
        found = self.snapshot
        return {
            **{state: states[state] for state in _TROUBLES},
            "failed_streams": sum(each.status == "failed" for each in found.streams),
            "failed_tables": sum(each.problem is not None for each in found.tables),
            "late_deadlines": sum(of_deadline(self.missing.get(each.name)) == "late" for each in found.deadlines),
        }

    @cached_property
    def totals(self) -> Part:
        """The same as a part."""
        return _part([self.total])

    @cached_property
    def recents(self) -> Mapping[str, Recent]:
        """What came of each class of late."""
        before = {each.name: each for each in self.before.classes} if self.before else {}
        return {each.name: recent(before.get(each.name), each) for each in self.snapshot.classes}

    @cached_property
    def faring(self) -> Sequence[Mapping[str, Any]]:
        """The classes, with how they fare."""
        # The bounds of the histogram are for those who scrape it.
        rows = [asdict(replace(each, below=())) for each in self.snapshot.classes]
        return [
            {**row, **_fares(c, self.recents[c.name])} for row, c in zip(rows, self.snapshot.classes, strict=True)
        ]

    @cached_property
    def classes(self) -> Part:
        """The same as a part."""
        return _part(self.faring)

    @cached_property
    def missing(self) -> Mapping[str, float]:
        """The part of the windows of each deadline that missed it of late."""
        before = {each.name: each for each in self.before.deadlines} if self.before else {}
        found = {d.name: missing(before.get(d.name), d, self.missed.get(d.name)) for d in self.snapshot.deadlines}
        return {name: part for name, part in found.items() if part is not None}

    @cached_property
    def _targets(self) -> tuple[Mapping[str, float | None], Mapping[str, DeadlineStatus]]:
        """The targets of classes, and the queries that have a deadline instead."""
        found = self.snapshot
        return {c.name: c.delay_target for c in found.classes}, {each.name: each for each in found.deadlines}

    def promised(self, query: QueryStatus) -> Promise:
        """What a query has to keep, and how it fares."""
        targets, deadlines = self._targets
        due, target = deadlines.get(query.name), targets.get(query.cls)
        if due is None:
            return Promise(of_query(query, target), target, query.recent_p99)
        state = of_deadline(self.missing.get(query.name))
        return Promise(of_query(query, None, state), due.deadline, due.finish_p99)

    @cached_property
    def queries(self) -> Part:
        """The queries that are listed."""
        # There may be very many, so columns are made without a record for each row.
        queries = self.snapshot.queries
        promised = [self.promised(each) for each in gently(queries)]
        values: dict[str, Sequence[Any]] = {
            "state": [each.state for each in promised],
            "target": [each.target for each in promised],
            "slack": [each.slack for each in promised],
            "kept": [1 - each.shed / each.tuples if each.tuples else 1.0 for each in queries],
        }
        values |= {name: [*map(attrgetter(name), queries)] for name in gently(_AS_IT_IS)}
        return {name: self.columns.written(name, each) for name, each in gently(values.items())}

    @cached_property
    def streams(self) -> Part:
        """The streams, with what waits in them for the query that is furthest behind."""
        furthest: dict[str, QueryStatus] = {}
        for query in gently(self.snapshot.queries):
            if query.pending >= furthest.get(query.unit, query).pending:
                furthest[query.unit] = query
        # Queries of a unit read the same streams.
        wirings = self.wired([query.name for query in furthest.values()])
        waiting: dict[str, int] = {}
        oldest: dict[str, float] = {}
        for query in furthest.values():
            for stream in wirings[query.name].streams if query.name in wirings else ():
                waiting[stream] = max(waiting.get(stream, 0), query.pending)
                oldest[stream] = max(oldest.get(stream, 0.0), query.oldest_wait)
        now = self.snapshot.time
        return _part(
            {
                **asdict(each),
                "waiting": waiting.get(each.name, 0),
                "oldest_wait": oldest.get(each.name, 0.0),
                "behind": behind(each.watermark, now),
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
        late = self.missing
        return _part(
            {**asdict(each), "state": of_deadline(late.get(each.name)), "recent_missed": late.get(each.name)}
            for each in self.snapshot.deadlines
        )


def _part(found: Iterable[Mapping[str, Any]]) -> Part:
    rows = list(found)
    return {name: _column([row[name] for row in rows]) for name in (rows[0] if rows else ("name",))}


def _fares(status: ClassStatus, seen: Recent) -> dict[str, Any]:
    """What a class has of its target, and of its tuples."""
    passed = status.processed + status.shed
    p99, target = status.recent_p99, status.delay_target
    return {
        "state": of_class(status, seen),
        "slack": target - p99 if target is not None and p99 is not None else None,
        "kept": status.processed / passed if passed else 1.0,
        "recent_results": seen.results,
        "recent_mean": seen.mean,
        "recent_late": seen.late,
        "recent_dropped": seen.dropped,
    }


def _column(values: Sequence[Any]) -> str:
    """Values as JSON. Queries of a unit have many numbers in common, which are written once."""
    if float not in set(map(type, values)):
        return text(values)
    cells = {value: _cell(value) for value in set(values)}
    return f"[{','.join([cells[value] for value in values])}]"


def _cell(value: Any) -> str:  # noqa: ANN401 - any value of a status
    """What has not changed to four digits looks so; points in time have milliseconds."""
    if type(value) is float and -_LARGE < value < _LARGE:
        return f"{value:.4g}"
    return text(short(value))


def short(value: Any) -> Any:  # noqa: ANN401 - any value of a status
    """A number as cells have it."""
    if type(value) is not float:
        return value
    if -_LARGE < value < _LARGE:
        return float(f"{value:.4g}")
    return round(value, 3) if math.isfinite(value) else None


# Browsers refuse a whole message for one number that is none.
text: Callable[[Any], str] = json.JSONEncoder(separators=(",", ":"), default=dict, allow_nan=False).encode
