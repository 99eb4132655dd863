"""The metrics: parsed as Prometheus does, documented, and what the Grafana dashboard asks for."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from headgate.web.metrics import METRICS, text

ROOT = Path(__file__).parents[2]
GRAFANA = ROOT / "examples" / "grafana" / "headgate.json"


@pytest.fixture
def scraped(shown):
    shown.tick()
    answer = TestClient(shown.app, base_url="http://127.0.0.1").get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    samples = [each for family in text_string_to_metric_families(answer.text) for each in family.samples]
    return {(each.name, tuple(sorted(each.labels.items()))): each.value for each in samples}


def test_every_metric_is_scraped_under_its_name_with_its_labels(scraped):
    found = {}
    for name, labels in scraped:
        found[name] = {label for label, _ in labels}
    assert found == {each.full_name: set(each.labels) for each in METRICS}


def test_labels_of_any_text_and_numbers_of_any_kind_are_read_back(shown):
    name = 'a "b" \\ c\nd é'
    found = shown.engine.recent()
    streams = [replace(found.streams[0], name=name, rate=value) for value in (math.inf, -math.inf, math.nan, 1e-12)]
    seen = []
    for stream in streams:
        families = text_string_to_metric_families(text(replace(found, streams=(stream,))))
        (family,) = [each for each in families if each.name == "headgate_stream_tuples_per_second"]
        (sample,) = family.samples
        assert sample.labels == {"stream": name}
        seen.append(sample.value)
    assert seen[:2] == [math.inf, -math.inf]
    assert math.isnan(seen[2])
    assert seen[3] == 1e-12


def test_names_say_their_units_and_counters_end_in_total():
    for each in METRICS:
        assert re.fullmatch(r"[a-z][a-z_]*[a-z]", each.name)
        assert each.name.endswith("_total") == (each.kind == "counter")


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("headgate_class_delay_target_seconds", {"class": "alerts"}, 0.5),
        ("headgate_class_share_ratio", {"class": "boards"}, 0.3),
        ("headgate_query_tuples_total", {"query": "alert_0003", "class": "alerts"}, 10_000),
        ("headgate_stream_rejected_rows_total", {"stream": "orders", "reason": "no JSON"}, 3),
        ("headgate_lane_busy", {"lane": "lane-1"}, 1),
        ("headgate_lane_busy", {"lane": "lane-2"}, 0),
        ("headgate_table_problem", {"table": "limits"}, 1),
        ("headgate_queries", {}, 60),
    ],
)
def test_values_are_those_of_the_snapshot(scraped, name, labels, value):
    assert scraped[name, tuple(sorted(labels.items()))] == value


def test_what_is_not_known_is_left_out(scraped):
    assert ("headgate_class_delay_target_seconds", (("class", "reports"),)) not in scraped


def test_the_docs_have_every_metric_with_its_labels_and_no_other():
    text = (ROOT / "docs" / "metrics.md").read_text()
    rows = dict(re.findall(r"^\| `(headgate_\w+)` \| \w+ \| ([^|]*) \|", text, re.MULTILINE))
    assert {name: re.findall(r"\w+", labels) for name, labels in rows.items()} == {
        m.full_name: list(m.labels) for m in METRICS
    }


def test_the_grafana_dashboard_asks_for_metrics_that_there_are():
    dashboard = json.loads(GRAFANA.read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    named = {name for text in asked for name in re.findall(r"headgate_\w+", text)}
    assert len(asked) >= 10
    assert named <= {each.full_name for each in METRICS}
    variables = [each["query"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
    assert {name for text in variables for name in re.findall(r"headgate_\w+", text)} <= {
        m.full_name for m in METRICS
    }
