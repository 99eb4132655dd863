"""What whoever watches gets: everything at first, then what has changed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.record import Arrived, Changed, Ran
from headgate.web.journal import Journal
from headgate.web.watch import LOGS, PARTS
from web.conftest import Shown
from web.invented import ran


def message(shown, asked, since=None):
    number, text = shown.watch.message(asked, since)
    assert "\n" not in text
    return number, json.loads(text)


def merged(state, news):
    """What a page has after a message, as its script does it."""
    state = {} if not news["new"] else state
    for name in set(news) & {*PARTS, *LOGS}:
        given = news[name]
        if isinstance(given, list):
            state[name] = [*state.get(name, []), *given]
        else:
            part = state.setdefault(name, {})
            for key in given["gone"]:
                del part[key]
            part.update(given["rows"])
    return state


def test_the_first_message_has_all_rows_and_says_what_their_values_are(shown):
    _, found = message(shown, ["classes", "queries"])
    assert found["new"] is False
    assert list(found["classes"]["rows"]) == ["alerts", "boards", "reports"]
    assert len(found["queries"]["rows"]) == 60
    columns = found["queries"]["columns"]
    assert dict(zip(columns, found["queries"]["rows"]["alert_0000"], strict=True))["cls"] == "alerts"


def test_then_come_the_rows_that_have_changed_and_no_others(shown):
    since, _ = message(shown, ["streams", "lanes"])
    shown.tick()
    _, found = message(shown, ["streams", "lanes"], since)
    assert found["new"] is True
    assert set(found["streams"]["rows"]) == {"ticks", "orders"}
    assert found["lanes"] == {"columns": None, "rows": {}, "gone": []}


def test_whoever_has_missed_a_frame_gets_everything(shown):
    since, _ = message(shown, ["tables"])
    shown.tick()
    shown.tick()
    _, found = message(shown, ["tables"], since)
    assert found["new"] is False
    assert set(found["tables"]["rows"]) == {"symbols", "limits"}


def test_a_query_that_has_gone_is_named(shown):
    since, _ = message(shown, ["queries"])
    shown.engine.names.remove("alert_0003")
    shown.tick()
    _, found = message(shown, ["queries"], since)
    assert found["queries"]["gone"] == ["alert_0003"]


@given(st.lists(st.sampled_from(["tick", "look", "pause", "remove"]), max_size=12))
def test_messages_one_after_the_other_add_up_to_everything(steps):
    shown, asked = Shown(6), ["classes", "queries", "runs", "history"]
    since, first = message(shown, asked)
    state = merged({}, first)
    for step in steps:
        if step == "look":
            since, news = message(shown, asked, since)
            state = merged(state, news)
        elif step == "tick":
            shown.tick()
        elif step == "pause":
            shown.engine.pause("alert_0000")
        elif len(shown.engine.names) > 1:
            shown.engine.names.pop()
    since, news = message(shown, asked, since)
    state = merged(state, news)
    everything = merged({}, message(shown, asked)[1])
    assert state == everything


def test_runs_come_once_with_the_class_of_their_unit_and_why(shown):
    since, first = message(shown, ["runs"])
    assert first["runs"] == []
    shown.tick()
    since, second = message(shown, ["runs"], since)
    assert len(second["runs"]) == 8
    lane, unit, cls, *_, formula, terms, over, error = second["runs"][0]
    assert (lane, unit, cls, over, error) == (0, "kernel-1", "alerts", "report_0002", None)
    assert formula == "Σ W · w / (a + b·n)"
    assert terms["W"] == 0.1235
    shown.tick()
    assert len(message(shown, ["runs"], since)[1]["runs"]) == 8


def test_the_history_has_a_figure_of_every_class_for_every_frame(shown):
    for _ in range(3):
        shown.tick()
    history = message(shown, ["history"])[1]["history"]
    assert len(history) == 4
    assert all(set(each["classes"]) == {"alerts", "boards", "reports"} for each in history)
    assert [each["time"] for each in history] == sorted(each["time"] for each in history)


def test_rows_are_made_once_for_all_who_watch(shown):
    shown.tick()
    first = shown.watch.message(["queries"], None)[1]
    frame = shown.watch.frame
    assert shown.watch.message(["queries"], None)[1] == first
    assert frame.queries is shown.watch.frame.queries


def test_nobody_pays_for_rows_that_nobody_asks_for(shown):
    shown.tick()
    shown.watch.message(["totals", "classes"], None)
    assert "queries" not in vars(shown.watch.frame)


@pytest.mark.parametrize("most", [1, 3, 10])
def test_the_journal_keeps_the_latest_and_forgets_the_rest(most):
    journal = Journal(most)
    for i in range(7):
        journal.hear(ran(f"u{i}", float(i)))
        journal.hear(Arrived("ticks", i, 1, 0.0, 0.0))
    journal.hear(Changed(1.0, "u1", "paused"))
    kept = [run.unit for run in journal.since(Ran, 0, journal.count)]
    assert kept == [f"u{i}" for i in range(max(0, 7 - most), 7)]
    assert [change.what for change in journal.since(Changed, 0, journal.count)] == ["paused"]


@given(st.integers(0, 12), st.integers(0, 12))
def test_the_journal_gives_what_is_behind_one_number_and_up_to_another(after, until):
    journal = Journal()
    for i in range(10):
        journal.hear(ran(f"u{i + 1}", float(i)))
    assert [run.unit for run in journal.since(Ran, after, until)] == [
        f"u{i}" for i in range(after + 1, min(until, 10) + 1)
    ]
