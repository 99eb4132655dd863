"""Metrics pushed over OTLP/HTTP: what is in them, and what OpenTelemetry's variables say."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from engine.live import until
from headgate.engine.telemetry import pushes, pushing
from headgate.errors import InputError
from headgate.monitor.responses import BOUNDS
from headgate.web.metrics import HISTOGRAMS, METRICS, Scraped
from web.conftest import Shown
from web.receiver import metrics, points, values

HERE = "http://127.0.0.1:4318"


def test_what_is_pushed_is_what_is_scraped_in_names_labels_and_values(shown, otel, receiver):
    shown.tick()
    with otel.Telemetry(shown.engine.recent, 60.0, receiver.address).start():
        pass
    families = text_string_to_metric_families(Scraped().text(shown.engine.recent()))
    samples = [each for family in families if family.type != "histogram" for each in family.samples]
    scraped = {(s.name, tuple(sorted(s.labels.items()))): s.value for s in samples}
    (request,) = receiver.requests
    assert values(request) == pytest.approx(scraped)
    assert set(metrics(request)) == {each.full_name for each in (*METRICS, *HISTOGRAMS)}


def test_a_histogram_is_pushed_with_its_buckets(shown, otel, receiver):
    shown.tick()
    with otel.Telemetry(shown.engine.recent, 60.0, receiver.address).start():
        pass
    spread = metrics(receiver.requests[0])["headgate_class_response_time_seconds"].histogram
    point = spread.data_points[0]
    assert (point.count, sum(point.bucket_counts)) == (800, 800)
    assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
    assert list(point.explicit_bounds) == pytest.approx(BOUNDS)
    assert spread.aggregation_temporality == 2  # cumulative


def test_counters_are_sums_that_only_grow_and_the_rest_are_gauges(shown, otel, receiver):
    shown.tick()
    with otel.Telemetry(shown.engine.recent, 60.0, receiver.address).start():
        pass
    found = metrics(receiver.requests[0])
    for each in METRICS:
        metric = found[each.full_name]
        assert metric.description == each.help
        assert metric.WhichOneof("data") == ("sum" if each.kind == "counter" else "gauge")
        if each.kind == "counter":
            assert metric.sum.is_monotonic
            assert metric.sum.aggregation_temporality == 2  # cumulative


def test_a_thousand_queries_are_pushed_one_by_one(otel, receiver):
    shown = Shown(1500)
    shown.tick()
    with otel.Telemetry(shown.engine.recent, 60.0, receiver.address).start():
        pass
    assert len(points(metrics(receiver.requests[0])["headgate_query_response_seconds"])) == 3000


def test_a_counter_that_falls_has_begun_after_the_push_before(shown, otel):
    points_of = otel.Points()

    def runs():
        data = points_of.made(shown.engine.recent())
        found = {m.name: m for m in data.resource_metrics[0].scope_metrics[0].metrics}
        (point,) = found["headgate_runs_total"].data.data_points
        return point

    shown.engine.tick(5)
    first = runs()
    shown.engine.tick()
    second = runs()
    assert (first.value, second.value) == (80, 96)
    assert first.start_time_unix_nano == second.start_time_unix_nano < first.time_unix_nano
    shown.engine._n = 0
    shown.engine.tick()
    third = runs()
    assert third.value == 16
    assert third.start_time_unix_nano == second.time_unix_nano
    shown.engine.tick()
    assert runs().start_time_unix_nano == third.start_time_unix_nano


def test_who_pushes_is_named_and_the_variables_of_opentelemetry_hold(shown, otel, receiver, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.base)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=market")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    with otel.Telemetry(shown.engine.recent, 60.0).start():
        pass
    (request,), (headers,) = receiver.requests, receiver.headers
    about = {each.key: each.value.string_value for each in request.resource_metrics[0].resource.attributes}
    assert about["service.name"] == "headgate"
    assert about["deployment.environment.name"] == "test"
    assert {name.lower(): said for name, said in headers.items()}["x-tenant"] == "market"
    monkeypatch.setenv("OTEL_SERVICE_NAME", "gate-7")
    with otel.Telemetry(shown.engine.recent, 60.0).start():
        pass
    attributes = receiver.requests[-1].resource_metrics[0].resource.attributes
    assert {each.key: each.value.string_value for each in attributes}["service.name"] == "gate-7"


def test_a_receiver_that_is_not_ready_is_asked_again(shown, otel, receiver):
    receiver.answers = [503]
    with otel.Telemetry(shown.engine.recent, 0.05, receiver.address).start():
        until(lambda: len(receiver.requests) >= 2)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": HERE}, True),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"{HERE}/v1/metrics"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": HERE, "OTEL_SDK_DISABLED": "True"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": HERE, "OTEL_METRICS_EXPORTER": "none"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": HERE, "OTEL_METRICS_EXPORTER": "prometheus, otlp"}, True),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, False),
    ],
)
def test_metrics_are_pushed_where_an_endpoint_is_named_and_nothing_switches_them_off(environment, expected):
    assert pushes(environment) is expected


@pytest.mark.parametrize(
    ("every", "environment", "expected"),
    [
        (None, {}, 60.0),
        (None, {"OTEL_METRIC_EXPORT_INTERVAL": "5000"}, 5.0),
        (None, {"OTEL_METRIC_EXPORT_INTERVAL": "soon"}, 60.0),
        (None, {"OTEL_METRIC_EXPORT_INTERVAL": "-1"}, 60.0),
        (2.0, {"OTEL_METRIC_EXPORT_INTERVAL": "5000"}, 2.0),
        (None, {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, 60.0),
    ],
)
def test_how_often_is_what_is_given_or_what_the_variables_say(every, environment, expected):
    assert pushing(None, every, environment) == expected


def test_a_protocol_that_is_not_spoken_is_refused_unless_an_endpoint_is_given():
    asked = {"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"}
    with pytest.raises(InputError, match="'grpc'"):
        pushing(None, None, asked)
    assert pushing(HERE, None, asked) == 60.0
