"""The metrics: parsed as Prometheus does, documented, and what the Grafana dashboard asks for."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from headgate.monitor.responses import BOUNDS
from headgate.web.metrics import HISTOGRAMS, METRICS, Scraped

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
    more = {"_bucket": {"le"}, "_sum": set(), "_count": set()}
    spread = {f"{each.full_name}{end}": {*each.labels, *le} for each in HISTOGRAMS for end, le in more.items()}
    assert found == {each.full_name: set(each.labels) for each in METRICS} | spread


def test_labels_of_any_text_and_numbers_of_any_kind_are_read_back(shown):
    name = 'a "b" \\ c\nd é'
    found = shown.engine.recent()
    streams = [replace(found.streams[0], name=name, rate=value) for value in (math.inf, -math.inf, math.nan, 1e-12)]
    seen = []
    for stream in streams:
        families = text_string_to_metric_families(Scraped().text(replace(found, streams=(stream,))))
        (family,) = [each for each in families if each.name == "headgate_stream_tuples_per_second"]
        (sample,) = family.samples
        assert sample.labels == {"stream": name}
        seen.append(sample.value)
    assert seen[:2] == [math.inf, -math.inf]
    assert math.isnan(seen[2])
    assert seen[3] == 1e-12


def test_what_is_scraped_again_is_as_if_it_were_the_first_time(shown):
    again = Scraped()
    for gone in (None, "alert_0003", "board_0001"):
        if gone:
            shown.engine.names.remove(gone)
        shown.engine.tick()
        found = shown.engine.recent()
        assert again.text(found) == Scraped().text(found)
        assert again.text(found) is again.text(found)


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
        ("headgate_busy_seconds_total", {}, 0.4),
        ("headgate_class_late_results_total", {"class": "alerts"}, 1),
        ("headgate_class_response_time_seconds_count", {"class": "alerts"}, 800),
        ("headgate_class_response_time_seconds_bucket", {"class": "alerts", "le": "0.001778"}, 50),
        ("headgate_class_response_time_seconds_bucket", {"class": "alerts", "le": "+Inf"}, 800),
    ],
)
def test_values_are_those_of_the_snapshot(scraped, name, labels, value):
    assert scraped[name, tuple(sorted(labels.items()))] == value


def test_what_is_not_known_is_left_out(scraped):
    assert ("headgate_class_delay_target_seconds", (("class", "reports"),)) not in scraped


def test_the_bounds_of_a_histogram_are_told_apart_and_grow(scraped):
    name = "headgate_class_response_time_seconds_bucket"
    rows = [(dict(labels), value) for (each, labels), value in scraped.items() if each == name]
    bounds = [(float(labels["le"]), value) for labels, value in rows if labels["class"] == "alerts"]
    assert [bound for bound, _ in bounds] == pytest.approx([*BOUNDS, math.inf], rel=1e-3)
    assert bounds == sorted(bounds)


def test_a_histogram_grows_although_results_came_while_it_was_read(shown):
    found = shown.engine.recent()
    row = replace(found.classes[0], results=3, below=(0,) * (len(BOUNDS) - 1) + (5,))
    text = Scraped().text(replace(found, classes=(row,)))
    assert 'headgate_class_response_time_seconds_bucket{class="alerts",le="+Inf"} 5' in text
    assert 'headgate_class_response_time_seconds_count{class="alerts"} 5' in text


def test_the_docs_have_every_metric_with_its_labels_and_no_other():
    text = (ROOT / "docs" / "metrics.md").read_text()
    rows = dict(re.findall(r"^\| `(headgate_\w+)` \| \w+ \| ([^|]*) \|", text, re.MULTILINE))
    assert {name: re.findall(r"\w+", labels) for name, labels in rows.items()} == {
        m.full_name: list(m.labels) for m in (*METRICS, *HISTOGRAMS)
    }


def test_the_grafana_dashboard_asks_for_metrics_that_there_are():
    dashboard = json.loads(GRAFANA.read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    named = {name for text in asked for name in re.findall(r"headgate_\w+", text)}
    assert len(asked) >= 10
    assert named <= {each.full_name for each in METRICS} | {f"{each.full_name}_bucket" for each in HISTOGRAMS}
    variables = [each["query"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
    assert {name for text in variables for name in re.findall(r"headgate_\w+", text)} <= {
        m.full_name for m in METRICS
    }
