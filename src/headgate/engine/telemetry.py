"""What OpenTelemetry's own variables say of pushing metrics. Looks at them only; needs nothing installed."""

from collections.abc import Mapping

from headgate.errors import InputError

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_OVER_HTTP = "http/protobuf"
_INTERVAL, _OFTEN = "OTEL_METRIC_EXPORT_INTERVAL", 60_000.0
"""Milliseconds between two pushes, and how many that are if nobody says so."""


def pushes(environment: Mapping[str, str]) -> bool:
    """Whether somebody has named an endpoint, and has not switched metrics off."""
    exporters = environment.get("OTEL_METRICS_EXPORTER", "otlp").split(",")
    disabled = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return bool(_first(environment, _ENDPOINTS)) and not disabled and "otlp" in (each.strip() for each in exporters)


def pushing(endpoint: str | None, every: float | None, environment: Mapping[str, str]) -> float:
    """Seconds between two pushes, as they are given or as the variables say."""
    if every is not None and not 0 < every < float("inf"):
        raise InputError("metrics are pushed every so many seconds", f"{every}", "Write every=10, for example.")
    asked = _first(environment, _PROTOCOLS)
    if endpoint is None and asked not in ("", _OVER_HTTP):
        remedy = f"Set {_PROTOCOLS[-1]}={_OVER_HTTP}, and the endpoint of somebody who receives that."
        raise InputError(f"metrics are pushed by {_OVER_HTTP}", f"'{asked}'", remedy)
    return _interval(environment) if every is None else every


def _interval(environment: Mapping[str, str]) -> float:
    try:
        found = float(environment.get(_INTERVAL, ""))
    except ValueError:
        found = _OFTEN
    return (found if 0 < found < float("inf") else _OFTEN) / 1000


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((found for name in names if (found := environment.get(name, "").strip())), "")
