"""The snapshot of an engine as metrics, and these in the text format of Prometheus.

Names and labels stay as they are: dashboards rely on them.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from headgate import __version__
from headgate.engine.gentle import gently
from headgate.engine.status import Snapshot

Sample: TypeAlias = tuple[Sequence[str], float | None]
"""The values of the labels, and that of the metric; None where it is not known."""

_PREFIX = "headgate_"


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

    def known(self, found: Snapshot) -> Iterator[tuple[Sequence[str], float]]:
        """The values of the labels, and that of the metric, wherever it has one."""
        return ((labels, value) for labels, value in self.read(found) if value is not None)


def _each(part: str, value: Callable[[Any], float | None], *more: str) -> Callable[[Snapshot], Iterator[Sample]]:
    """The value of each row of a part, under its name and other fields of it."""

    def read(found: Snapshot) -> Iterator[Sample]:
        for row in gently(getattr(found, part)):
            yield [row.name, *(getattr(row, field) for field in more)], value(row)

    return read


def _field(part: str, field: str, *more: str) -> Callable[[Snapshot], Iterator[Sample]]:
    return _each(part, lambda row: getattr(row, field), *more)


def _quantiles(part: str, fields: Mapping[str, str], *more: str) -> Callable[[Snapshot], Iterator[Sample]]:
    """A quantile under the name of each row, other fields of it, and which one it is."""

    def read(found: Snapshot) -> Iterator[Sample]:
        for row in gently(getattr(found, part)):
            for quantile, field in fields.items():
                yield [row.name, *(getattr(row, each) for each in more), quantile], getattr(row, field)

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
    Described("utilisation_ratio", "gauge", "Part of the lanes' time in which they were busy.", _ENGINE,
              _one(lambda f: f.accounting.utilisation)),
    Described("runs_total", "counter", "Runs of listed queries.", _ENGINE, _one(lambda f: f.accounting.runs)),
    Described("run_overhead_seconds", "gauge", "Mean time of a run that was not Spark's: deciding, committing.",
              _ENGINE, _one(lambda f: f.accounting.overhead_per_run)),
    Described("queries", "gauge", "Registered queries.", _ENGINE,
              _one(lambda f: len(f.queries) + f.accounting.unlisted)),
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
    Described("stream_bytes", "gauge", "Bytes of the trains that are kept.", _STREAM, _field("streams", "bytes")),
    Described("class_priority", "gauge", "Priority.", _CLASS, _field("classes", "priority")),
    Described("class_delay_target_seconds", "gauge", "Delay target, where there is one.", _CLASS,
              _field("classes", "delay_target")),
    Described("class_response_seconds", "gauge", "Response time of results since the policy began.",
              ("class", "quantile"), _quantiles("classes", _RESPONSES)),
    Described("class_late_ratio", "gauge", "Part of the results that was later than the target.", _CLASS,
              _field("classes", "late")),
    Described("class_results_total", "counter", "Results since the policy began.", _CLASS,
              _field("classes", "results")),
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
    Described("deadline_iterations_total", "counter", "Windows of a query with a deadline that are done.", _DEADLINE,
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


def text(found: Snapshot) -> str:
    """All metrics in the text format of Prometheus. Its own library takes five times as long for that."""
    lines: list[str] = []
    named: dict[tuple[Sequence[str], ...], str] = {}
    for each in METRICS:
        lines.append(f"# HELP {each.full_name} {each.help}\n# TYPE {each.full_name} {each.kind}\n")
        for labels, value in each.known(found):
            key = (each.labels, *labels)
            if key not in named:
                named[key] = _braced(each.labels, labels)
            lines.append(f"{each.full_name}{named[key]} {_number(value)}\n")
    return "".join(lines)


def _braced(names: Sequence[str], values: Sequence[str]) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if value == math.inf:
        return "+Inf"
    return "-Inf" if value == -math.inf else "NaN" if value != value else repr(value)
