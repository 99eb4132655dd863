"""What the server answers, and to whom."""

import json
import time
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime

import pytest
from starlette.testclient import TestClient

from headgate.errors import InputError
from headgate.record import Reduced, Refused
from headgate.web.guard import TOKEN
from headgate.web.server import Server
from web.conftest import TOKEN as RIGHT

HOST = "http://127.0.0.1:4050"


@pytest.fixture
def client(shown):
    return TestClient(shown.app, base_url=HOST)


def events(client, shown, asked, n):
    """The first messages of a stream of events, with a tick after each."""
    found = []
    shown.watch.start()

    def stop_when_enough(text):
        found.append(json.loads(text))
        if len(found) >= n:
            shown.watch.close()
        else:
            shown.tick()

    with client.stream("GET", f"/live?of={asked}") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line.startswith("data: "):
                stop_when_enough(line.removeprefix("data: "))
    return found


def test_pages_scripts_and_charts_come_from_here(client):
    page = client.get("/")
    assert page.status_code == 200
    assert 'src="/static/main.js"' in page.text
    assert "http" not in page.text.replace("color-scheme", "")
    for path in ("/static/main.js", "/static/pages/overview.js", "/charts/bokeh.min.js", "/charts/bokeh-api.min.js"):
        assert client.get(path).status_code == 200, path


@pytest.mark.parametrize(
    "path", ["/charts/..%2f..%2fapp.py", "/charts/bokeh.js", "/static/../app.py", "/nowhere", "/static/"]
)
def test_nothing_else_is_served(client, path):
    assert client.get(path).status_code in (404, 405)


def test_every_answer_has_the_headers_that_keep_browsers_here(client):
    for path in ("/", "/live-not-there", "/metrics", "/static/main.js"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe-eval" not in policy
        assert "script-src" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in headers
        assert abs(parsedate_to_datetime(headers["date"]).timestamp() - time.time()) < 60


@pytest.mark.parametrize(
    "host", ["127.0.0.1:4050", "localhost:9", "LOCALHOST", "[::1]:4050", "10.0.0.7", "gate.example:4050"]
)
def test_addresses_and_known_names_are_answered(client, host):
    assert client.get("/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:4050", "127.0.0.1.evil.example", "", "localhost.evil.example"]
)
def test_a_name_that_leads_here_from_elsewhere_is_refused(client, host):
    answer = client.get("/api/network", headers={"host": host})
    assert answer.status_code == 403
    assert "address" in answer.json()["error"]


def test_events_bring_everything_and_then_what_has_changed(client, shown):
    first, second, third = events(client, shown, "totals,classes,unknown", 3)
    assert first["new"] is False
    assert second["new"] is third["new"] is True
    assert first["frame"] < second["frame"] < third["frame"]
    assert "unknown" not in first
    assert "priority" in first["classes"]
    assert "results" in second["classes"]
    assert "priority" not in second["classes"]


def test_only_so_many_pages_may_be_open(client, shown):
    shown.watch.audience._seats = (None,) * 64
    answer = client.get("/live?of=totals")
    assert answer.status_code == 503
    assert "64 pages" in answer.json()["error"]


def test_a_query_is_told_at_length(client, shown):
    shown.tick()
    found = client.get("/api/queries/board_0001").json()
    assert found["sql"].startswith("SELECT sym")
    assert found["why_not"] == "ORDER BY needs all tuples of a window"
    assert (found["status"]["a"], found["status"]["b"]) == (0.04, 2e-6)
    assert found["results"]["columns"] == ["sym", "price", "n"]
    assert len(found["runs"]) == 3
    assert found["runs"][0]["terms"]["W"] == 0.123456
    assert found["deadline"]["reason"] == "others ran for 1.20 s in between"


def test_a_query_that_was_refused_says_why_on_the_page_of_deadlines_and_on_its_own(client, shown):
    shown.engine.tell(Refused(12.5, "too_much", "it needs 3 s of every 2 s. Give it a stride of 4 s"))
    shown.engine.tell(Reduced(11.5, "much", "With 'much' 'board' would be late. Kept are 'board' 70%"))
    shown.tick()
    (first,) = events(client, shown, "deadlines,refused", 1)
    assert first["refused"] == [
        [11.5, "much", "taken in with less", "With 'much' 'board' would be late. Kept are 'board' 70%"],
        [12.5, "too_much", "refused", "it needs 3 s of every 2 s. Give it a stride of 4 s"],
    ]
    answer = client.get("/api/queries/too_much")
    assert answer.status_code == 404
    assert "was refused: it needs 3 s" in answer.json()["error"]


def test_a_query_that_is_not_there_is_404_and_says_so(client):
    answer = client.get("/api/queries/nobody")
    assert answer.status_code == 404
    assert "'nobody'" in answer.json()["error"]


@pytest.mark.parametrize("headers", [{}, {TOKEN: "wrong"}, {TOKEN: ""}, {"Authorization": RIGHT}])
@pytest.mark.parametrize(
    "path", ["/api/queries/alert_0000/pause", "/api/queries/alert_0000/resume", "/api/classes/alerts/priority"]
)
def test_nothing_is_changed_without_the_token(client, shown, path, headers):
    answer = client.post(path, headers=headers, data={"priority": "2"})
    assert answer.status_code == 403
    assert "token" in answer.json()["error"]
    assert shown.engine.calls == []


@pytest.mark.parametrize("path", ["/api/queries/alert_0000/pause", "/api/classes/alerts/priority"])
def test_looking_changes_nothing(client, shown, path):
    assert client.get(path, headers={TOKEN: RIGHT}).status_code in (404, 405)
    assert shown.engine.calls == []


def test_with_the_token_queries_are_paused_and_resumed(client, shown):
    assert client.post("/api/queries/alert_0000/pause", headers={TOKEN: RIGHT}).json() == {"done": True}
    assert client.post("/api/queries/alert_0000/resume", data={"token": RIGHT}).json() == {"done": True}
    assert shown.engine.calls == [("paused", "alert_0000"), ("resumed", "alert_0000")]


def test_with_the_token_a_class_gets_another_priority(client, shown):
    assert (
        client.post("/api/classes/alerts/priority", headers={TOKEN: RIGHT}, data={"priority": "2.5"}).status_code
        == 200
    )
    assert shown.engine.calls == [("prioritised", "alerts", 2.5)]


def test_a_priority_that_is_no_number_is_refused_with_what_to_give(client):
    answer = client.post("/api/classes/alerts/priority", headers={TOKEN: RIGHT}, data={"priority": "much"})
    assert answer.json() == {"error": "a priority is a number; got 'much'. Give one above 0, such as 2."}


@pytest.mark.parametrize(
    ("path", "priority", "code"),
    [
        ("/api/classes/alerts/priority", "much", 400),
        ("/api/classes/alerts/priority", "", 400),
        ("/api/classes/nobody/priority", "2", 400),
        ("/api/queries/nobody/pause", "", 400),
        ("/api/queries/alert_0000/remove", "", 404),
    ],
)
def test_a_change_that_cannot_be_made_says_why(client, path, priority, code):
    answer = client.post(path, headers={TOKEN: RIGHT}, data={"priority": priority})
    assert answer.status_code == code
    assert answer.json()["error"]


def test_a_form_that_is_too_long_is_not_read(client):
    answer = client.post("/api/queries/alert_0000/pause", data={"token": RIGHT, "more": "x" * 10_000})
    assert answer.status_code == 403


def test_health_is_that_somebody_answers_and_ready_that_the_engine_has_news(client, shown):
    assert client.get("/healthz").text == "ok\n"
    assert client.get("/readyz").status_code == 200
    shown.engine.running = False
    assert client.get("/readyz").status_code == 503
    shown.engine.running = True
    object.__setattr__(shown.watch.frame.snapshot, "time", time.time() - 60)
    assert "no news" in client.get("/readyz").text


def test_a_server_ends_pages_that_are_open_and_can_be_closed_again(shown):
    server = Server(shown.engine, "127.0.0.1", 0).start()
    with urllib.request.urlopen(f"{server.address}live?of=totals") as answer:
        assert json.loads(answer.readline().removeprefix(b"data: "))["totals"]["name"] == ["engine"]
        server.close()
        assert [line for line in answer if line.startswith(b"data")] == []
    assert server.closed
    server.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{server.address}healthz")


@pytest.mark.parametrize("token", ["", "short"])
def test_a_token_that_is_empty_or_short_is_refused(shown, token):
    with pytest.raises(InputError, match="8 characters") as refused:
        Server(shown.engine, "127.0.0.1", 0, token)
    assert "short" not in str(refused.value)


def test_a_server_that_never_answered_can_be_closed(shown):
    server = Server(shown.engine, "127.0.0.1", 0)
    server.close()
    assert server.closed
