"""The snapshot of an engine as metrics, and these in the text format of Prometheus.

Names and labels stay as they are: dashboards rely on them.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from headgate import __version__
from headgate.engine.gentle import gently
from headgate.engine.status import ClassStatus, Snapshot
from headgate.monitor.responses import BOUNDS

Sample: TypeAlias = tuple[tuple[str, ...], float | None]
"""The values of the labels, and that of the metric; None where it is not known."""

_PREFIX = "headgate_"
_BOUNDS = tuple(f"{bound:.4g}" for bound in BOUNDS)


@dataclass(frozen=True, slots=True)
class Described:
    """A metric: its name without the prefix, what it is and which labels it has; and how a snapshot is read."""

    name: str
    kind: Literal["gauge", "counter"]
    help: str
    labels: tuple[str, ...]
    read: Callable[[Snapshot], Iterable[Sample]]

    @property
    def full_name(self) -> str:
        """The name as it is scraped."""
        return f"{_PREFIX}{self.name}"

    def known(self, found: Snapshot) -> Iterator[tuple[tuple[str, ...], float]]:
        """The values of the labels, and that of the metric, wherever it has one."""
        return ((labels, value) for labels, value in self.read(found) if value is not None)


class Histogram(NamedTuple):
    """How many of `n` values are below each bound, and their sum."""

    below: Sequence[int]
    n: int
    total: float


@dataclass(frozen=True, slots=True)
class Spread:
    """A histogram: its name without the prefix, what it is and which labels it has; and how a snapshot is read."""

    name: str
    help: str
    labels: tuple[str, ...]
    read: Callable[[Snapshot], Iterable[tuple[tuple[str, ...], Histogram]]]
    kind: Literal["histogram"] = "histogram"

    @property
    def full_name(self) -> str:
        """The name as it is scraped, but for what each of its series has behind it."""
        return f"{_PREFIX}{self.name}"

    def series(self, found: Snapshot) -> Iterator[str]:
        """Its lines in the text format."""
        names, full = self.labels, self.full_name
        for labels, seen in self.read(found):
            for bound, below in zip((*_BOUNDS, "+Inf"), (*seen.below, seen.n), strict=True):
                yield f"{full}_bucket{_braced((*names, 'le'), (*labels, bound))} {below}\n"
            own = _braced(names, labels)
            yield f"{full}_sum{own} {_number(seen.total)}\n{full}_count{own} {seen.n}\n"


def _each(part: str, value: Callable[[Any], float | None], *more: str) -> Callable[[Snapshot], Iterator[Sample]]:
    """The value of each row of a part, under its name and other fields of it."""
    labels = _labels(*more)

    def read(found: Snapshot) -> Iterator[Sample]:
        rows = getattr(found, part)
        return zip(map(labels, rows), map(value, rows), strict=True)

    return read


def _labels(*more: str) -> Callable[[Any], tuple[str, ...]]:
    """The name of a row and other fields of it."""
    return attrgetter("name", *more) if more else lambda row: (row.name,)


def _field(part: str, field: str, *more: str) -> Callable[[Snapshot], Iterator[Sample]]:
    return _each(part, attrgetter(field), *more)


def _quantiles(part: str, fields: Mapping[str, str], *more: str) -> Callable[[Snapshot], Iterator[Sample]]:
    """A quantile under the name of each row, other fields of it, and which one it is."""
    labels = _labels(*more)

    def read(found: Snapshot) -> Iterator[Sample]:
        for row in getattr(found, part):
            for quantile, field in fields.items():
                yield (*labels(row), quantile), getattr(row, field)

    return read


def _one(value: Callable[[Snapshot], float]) -> Callable[[Snapshot], Iterable[Sample]]:
    return lambda found: [((), value(found))]


def _rejected(found: Snapshot) -> Iterator[Sample]:
    for stream in found.streams:
        for reason, n in stream.rejected.items():
            yield (stream.name, reason), n


def _kept(row: Any) -> float:  # noqa: ANN401 - a row of a snapshot
    passed = row.processed + row.shed
    return float(row.processed / passed) if passed else 1.0


def _spread(row: ClassStatus) -> Histogram:
    # Results may have come between the moments at which they were counted in all and by their bounds.
    return Histogram(row.below, max((row.results, *row.below)), row.response_total)


_RESPONSES = {"0.5": "response_p50", "0.99": "response_p99"}
_ENGINE, _STREAM, _CLASS, _QUERY, _DEADLINE, _TABLE = (
    (),
    ("stream",),
    ("class",),
    ("query", "class"),
    ("query",),
    ("table",),
)

METRICS = (
    Described("info", "gauge", "1, with the version and the policy.", ("version", "policy"),
              lambda found: [((__version__, found.policy), 1.0)]),
    Described("uptime_seconds", "gauge", "Seconds since the policy began.", _ENGINE, _one(lambda f: f.elapsed)),
    Described("snapshot_timestamp_seconds", "gauge", "When these figures were taken.", _ENGINE,
              _one(lambda f: f.time)),
    Described("utilisation_ratio", "gauge", "Part of the lanes' time since the policy began in which they were busy.",
              _ENGINE, _one(lambda f: f.accounting.utilisation)),
    Described("busy_seconds_total", "counter", "Time since the policy began in which lanes were busy, of all lanes.",
              _ENGINE, _one(lambda f: f.accounting.busy_seconds)),
    Described("runs_total", "counter", "Runs, counted for each query.", _ENGINE, _one(lambda f: f.accounting.runs)),
    Described("run_overhead_seconds", "gauge", "Mean time of a run that was not Spark's: deciding, committing.",
              _ENGINE, _one(lambda f: f.accounting.overhead_per_run)),
    Described("queries", "gauge", "Registered queries.", _ENGINE,
              _one(lambda f: f.accounting.queries)),
    Described("qos_ratio", "gauge", "What results were worth by QoS graphs, on average over queries that have one.",
              _ENGINE, lambda f: [((), f.qos.average if f.qos else None)]),
    Described("lane_busy", "gauge", "1 while the lane runs a unit.", ("lane",),
              _each("lanes", lambda lane: float(lane.running is not None))),
    Described("stream_up", "gauge", "1 while the stream is read.", _STREAM,
              _each("streams", lambda stream: float(stream.status == "running"))),
    Described("stream_tuples_total", "counter", "Tuples that came.", _STREAM, _field("streams", "tuples")),
    Described("stream_tuples_per_second", "gauge", "Tuples that come.", _STREAM, _field("streams", "rate")),
    Described("stream_watermark_timestamp_seconds", "gauge", "Event time up to which all has come.", _STREAM,
              _field("streams", "watermark")),
    Described("stream_late_tuples_total", "counter", "Tuples that came behind the watermark.", _STREAM,
              _field("streams", "late")),
    Described("stream_rejected_rows_total", "counter", "Rows that could not be read.", ("stream", "reason"),
              _rejected),
    Described("stream_trains", "gauge", "Trains that are kept.", _STREAM, _field("streams", "trains")),
    Described("stream_pending_trains", "gauge", "Those of them that a query has not passed yet.", _STREAM,
              _field("streams", "pending")),
    Described("stream_bytes", "gauge", "Bytes of the trains that are kept.", _STREAM, _field("streams", "bytes")),
    Described("class_priority", "gauge", "Priority.", _CLASS, _field("classes", "priority")),
    Described("class_delay_target_seconds", "gauge", "Delay target, where there is one.", _CLASS,
              _field("classes", "delay_target")),
    Described("class_response_seconds", "gauge", "Response time of results since the policy began.",
              ("class", "quantile"), _quantiles("classes", _RESPONSES)),
    Described("class_late_ratio", "gauge", "Part of the results that was later than the target.", _CLASS,
              _field("classes", "late")),
    Described("class_qos_ratio", "gauge", "What results were worth by QoS graphs, on average over its queries.",
              _CLASS, _field("classes", "qos")),
    Described("class_results_total", "counter", "Results since the policy began.", _CLASS,
              _field("classes", "results")),
    Described("class_late_results_total", "counter", "Those of them that were later than the target.", _CLASS,
              _each("classes", lambda cls: None if cls.delay_target is None else cls.late_results)),
    Described("class_share_ratio", "gauge", "Share of the time, where load is managed.", _CLASS,
              _field("classes", "share")),
    Described("class_headroom_lanes", "gauge", "Seconds of work per second that the load manager counts on.", _CLASS,
              _field("classes", "headroom")),
    Described("class_usage_ratio", "gauge", "Offered load against headroom.", _CLASS, _field("classes", "usage")),
    Described("class_drop_ratio", "gauge", "Part of the tuples that is dropped now.", _CLASS,
              _field("classes", "drop")),
    Described("class_kept_ratio", "gauge", "Part of the tuples that was not dropped, since the start.", _CLASS,
              _each("classes", _kept)),
    Described("class_processed_tuples_total", "counter", "Tuples processed, counted for each query.", _CLASS,
              _field("classes", "processed")),
    Described("class_shed_tuples_total", "counter", "Tuples dropped, counted for each query.", _CLASS,
              _field("classes", "shed")),
    Described("class_pending_tuples", "gauge", "Tuples that wait, counted for each query.", _CLASS,
              _field("classes", "pending")),
    Described("query_up", "gauge", "1 while the query runs: not paused, not failed.", _QUERY,
              _each("queries", lambda query: float(query.status == "running"), "cls")),
    Described("query_pending_tuples", "gauge", "Tuples that wait.", _QUERY, _field("queries", "pending", "cls")),
    Described("query_oldest_wait_seconds", "gauge", "For how long the oldest of them waits.", _QUERY,
              _field("queries", "oldest_wait", "cls")),
    Described("query_tuples_total", "counter", "Tuples passed, dropped ones among them.", _QUERY,
              _field("queries", "tuples", "cls")),
    Described("query_shed_tuples_total", "counter", "Tuples dropped.", _QUERY, _field("queries", "shed", "cls")),
    Described("query_late_tuples_total", "counter", "Tuples that came after their windows had closed.", _QUERY,
              _field("queries", "late", "cls")),
    Described("query_results_total", "counter", "Results.", _QUERY, _field("queries", "results", "cls")),
    Described("query_response_seconds", "gauge", "Response time of results since the policy began.",
              ("query", "class", "quantile"), _quantiles("queries", _RESPONSES, "cls")),
    Described("query_qos_ratio", "gauge", "What results were worth by the QoS graph, where there is one.", _QUERY,
              _field("queries", "qos", "cls")),
    Described("deadline_iterations_total", "counter", "Windows with a deadline that are done or overdue.", _DEADLINE,
              _field("deadlines", "iterations")),
    Described("deadline_missed_total", "counter", "Those that missed it.", _DEADLINE, _field("deadlines", "missed")),
    Described("deadline_useful_total", "counter", "Those in time, over enough of their window to say something.",
              _DEADLINE, _field("deadlines", "useful")),
    Described("deadline_kept_ratio", "gauge", "Part of their tuples that was kept.", _DEADLINE,
              _field("deadlines", "kept")),
    Described("deadline_planned_ratio", "gauge", "Part that the plan keeps now.", _DEADLINE,
              _field("deadlines", "planned")),
    Described("deadline_finish_seconds", "gauge", "When they were done, from the end of the window.",
              ("query", "quantile"), _quantiles("deadlines", {"0.5": "finish_p50", "0.99": "finish_p99"})),
    Described("table_age_seconds", "gauge", "Age of the oldest part of a reference table that is refreshed.", _TABLE,
              _field("tables", "age")),
    Described("table_freshness_ratio", "gauge", "Part of it that is likely to be as at the source.", _TABLE,
              _field("tables", "freshness")),
    Described("table_perceived_ratio", "gauge", "The same of what queries look up.", _TABLE,
              _field("tables", "perceived")),
    Described("table_refreshes_total", "counter", "Parts that were read again.", _TABLE,
              _field("tables", "refreshes")),
    Described("table_failures_total", "counter", "Reads that failed.", _TABLE, _field("tables", "failures")),
    Described("table_bytes", "gauge", "Size of the snapshot.", _TABLE, _field("tables", "bytes")),
    Described("table_problem", "gauge", "1 if the last reading of a reference table failed.", _TABLE,
              _each("tables", lambda table: float(table.problem is not None))),
)  # fmt: skip


HISTOGRAMS = (
    Spread("class_response_time_seconds", "Response times of results since the policy began.", _CLASS,
           lambda found: [((c.name,), _spread(c)) for c in found.classes]),
)  # fmt: skip


_ALL: tuple[Described | Spread, ...] = (*METRICS, *HISTOGRAMS)


class Scraped:
    """All metrics in the text format of Prometheus, written once for each snapshot.

    Its own library takes five times as long for that. What is before the numbers stays as long as the rows do.
    """

    def __init__(self) -> None:
        self._last: tuple[Snapshot | None, str] = None, ""
        self._heads: dict[str, tuple[Sequence[tuple[str, ...]], Sequence[str]]] = {}

    def text(self, found: Snapshot) -> str:
        """The metrics of a snapshot."""
        if self._last[0] is not found:
            self._last = found, "".join(self._lines(found))
        return self._last[1]

    def _lines(self, found: Snapshot) -> Iterator[str]:
        for each in gently(_ALL):
            yield f"# HELP {each.full_name} {each.help}\n# TYPE {each.full_name} {each.kind}\n"
            yield from each.series(found) if isinstance(each, Spread) else self._series(each, found)

    def _series(self, each: Described, found: Snapshot) -> Iterator[str]:
        samples = list(each.read(found))
        labels = [of for of, _ in samples]
        known = self._heads.get(each.name)
        if known is None or known[0] != labels:
            known = self._heads[each.name] = labels, [f"{each.full_name}{_braced(each.labels, of)} " for of in labels]
        for head, (_, value) in zip(known[1], samples, strict=True):
            if value is not None:
                yield f"{head}{_number(value)}\n"


def _braced(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if -math.inf < value < math.inf:
        return repr(value)
    if value == math.inf:
        return "+Inf"
    return "-Inf" if value == -math.inf else "NaN"
