"""The metrics pushed by OpenTelemetry, over OTLP/HTTP: those of `METRICS`, under the same names with the same labels.

Needs the extra `otel`. Points are made from one snapshot as it is, not by instruments of the SDK: these keep 2,000
sets of labels of a metric and throw the rest together, which a thousand queries with two quantiles each fill.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import TracebackType
from typing import Any, Self

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    HistogramDataPoint,
    Metric,
    MetricExporter,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import Histogram as Buckets
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from headgate import __version__
from headgate.engine.status import Snapshot
from headgate.monitor.responses import BOUNDS
from headgate.web.metrics import HISTOGRAMS, METRICS, Described, Histogram, Spread

_NANOS = 1_000_000_000
_PATIENCE = 5.0
"""Seconds that the last push may take; an engine that stops does not wait for somebody who does not answer."""
_NAME = "headgate"
_UNKNOWN: Any = None


class Points:
    """Snapshots as OpenTelemetry has them. A counter that falls has begun anew, after the snapshot before."""

    def __init__(self) -> None:
        named = Resource.create()
        # What the variables say of the service goes first; its name without them is 'unknown_service'.
        unnamed = str(named.attributes.get(SERVICE_NAME, "")).startswith("unknown_service")
        self._resource = named.merge(Resource({SERVICE_NAME: _NAME})) if unnamed else named
        self._scope = InstrumentationScope(_NAME, __version__)
        self._last: dict[tuple[str, ...], tuple[float, int]] = {}
        self._counted: dict[tuple[str, ...], tuple[float, int]] = {}
        self._before: int | None = None

    def made(self, found: Snapshot) -> MetricsData:
        """All metrics of a snapshot."""
        at = int(found.time * _NANOS)
        # What is not there any more is forgotten.
        self._last, self._counted = self._counted, {}
        metrics = [made for each in METRICS if (made := self._metric(each, found, at))]
        metrics += [made for each in HISTOGRAMS if (made := self._histogram(each, found, at))]
        self._before = at
        return MetricsData([ResourceMetrics(self._resource, [ScopeMetrics(self._scope, metrics, "")], "")])

    def _metric(self, each: Described, found: Snapshot, at: int) -> Metric | None:
        """A metric, if there is any value of it."""
        known = list(each.known(found))
        if not known:
            return None
        if each.kind == "gauge":
            data: Gauge | Sum = Gauge(
                [NumberDataPoint(_named(each, labels), 0, at, value) for labels, value in known]
            )
        else:
            began = at - int(found.elapsed * _NANOS)
            points = [
                NumberDataPoint(_named(each, labels), self._since((each.name, *labels), value, began), at, value)
                for labels, value in known
            ]
            data = Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
        return Metric(each.full_name, each.help, "", data)

    def _histogram(self, each: Spread, found: Snapshot, at: int) -> Metric | None:
        """A histogram, if there is any value of it."""
        began = at - int(found.elapsed * _NANOS)
        points = [
            _point(seen, _named(each, labels), self._since((each.name, *labels), seen.n, began), at)
            for labels, seen in each.read(found)
        ]
        data = Buckets(points, AggregationTemporality.CUMULATIVE)
        return Metric(each.full_name, each.help, "", data) if points else None

    def _since(self, series: tuple[str, ...], value: float, began: int) -> int:
        """When a counter began."""
        last, since = self._last.get(series, (0.0, began))
        if value < last and self._before is not None:
            since = self._before
        self._counted[series] = value, since
        return since


class Telemetry:
    """Pushes the metrics of an engine every so many seconds, and once more as it is closed."""

    def __init__(
        self,
        latest: Callable[[], Snapshot],
        every: float,
        endpoint: str | None = None,
        exporter: MetricExporter | None = None,
    ) -> None:
        self._latest, self._every = latest, every
        self._exporter = exporter or OTLPMetricExporter(endpoint)
        self._points = Points()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep_pushing, name="headgate-otel", daemon=True)

    def start(self) -> Self:
        """Begin to push."""
        self._thread.start()
        return self

    @property
    def closed(self) -> bool:
        """Whether it pushes no more."""
        return self._over.is_set()

    def close(self) -> None:
        """Push what there is, and no more. Waits for that, but not for long."""
        if self.closed:
            return
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)
        self._exporter.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _keep_pushing(self) -> None:
        while not self._over.wait(self._every):
            self._push()
        self._push()

    def _push(self) -> None:
        """Push once. The exporter tries again by itself, and logs what it could not push."""
        self._exporter.export(self._points.made(self._latest()))


def _point(seen: Histogram, labels: Mapping[str, str], since: int, at: int) -> HistogramDataPoint:
    """A histogram at a time. Each bucket has its own values; of the least and the greatest nothing is known."""
    counts = [more - less for less, more in pairwise((0, *seen.below, seen.n))]
    return HistogramDataPoint(labels, since, at, seen.n, seen.total, counts, BOUNDS, _UNKNOWN, _UNKNOWN)


def _named(each: Described | Spread, labels: Sequence[str]) -> dict[str, str]:
    return dict(zip(each.labels, labels, strict=True))
