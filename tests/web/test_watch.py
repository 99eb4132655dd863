"""What whoever watches gets: everything at first, then what has changed."""

import asyncio
import json
import math
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.live import until
from headgate.record import Arrived, Changed, Ran
from headgate.web import watch
from headgate.web.journal import Journal
from headgate.web.watch import LOGS, PARTS
from web.conftest import Shown
from web.invented import ran


async def handed(shown, seat):
    """The message that is handed to a seat, as soon as it is."""
    while not (found := shown.watch.audience.take(seat)):
        shown.watch.welcome()
        await asyncio.sleep(0)
    return found


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
            state[name] = given if "name" in given else {**state[name], **given}
    return state


def test_the_first_message_has_every_value_of_all_rows(shown):
    _, found = message(shown, ["classes", "queries"])
    assert found["new"] is False
    assert found["classes"]["name"] == ["alerts", "boards", "reports"]
    queries = found["queries"]
    assert {len(values) for values in queries.values()} == {60}
    assert queries["cls"][queries["name"].index("alert_0000")] == "alerts"


def test_then_come_the_columns_in_which_something_has_changed_and_no_others(shown):
    since, first = message(shown, ["streams", "lanes"])
    shown.tick()
    _, found = message(shown, ["streams", "lanes"], since)
    assert found["new"] is True
    assert found["lanes"] == {}
    assert "tuples" in found["streams"]
    assert "status" not in found["streams"]
    assert all(values != first["streams"][column] for column, values in found["streams"].items())


def test_whoever_has_missed_a_frame_gets_everything(shown):
    since, first = message(shown, ["tables"])
    shown.tick()
    shown.tick()
    _, found = message(shown, ["tables"], since)
    assert found["new"] is False
    assert found["tables"].keys() == first["tables"].keys()


def test_when_a_query_has_gone_all_that_are_left_come(shown):
    since, first = message(shown, ["queries"])
    shown.engine.names.remove("alert_0003")
    shown.tick()
    _, found = message(shown, ["queries"], since)
    assert found["new"] is True
    assert found["queries"]["name"] == [name for name in first["queries"]["name"] if name != "alert_0003"]
    assert found["queries"].keys() == first["queries"].keys()


def test_a_part_that_has_lost_its_rows_says_so(shown):
    since, _ = message(shown, ["tables"])
    seen = replace(shown.engine.recent(), tables=())
    shown.engine.recent = lambda: seen
    shown.watch.look()
    assert message(shown, ["tables"], since)[1]["tables"] == {"name": []}


def test_numbers_have_four_digits_and_points_in_time_milliseconds(shown):
    snapshot = shown.engine.recent()
    seen = replace(snapshot, queries=tuple(replace(each, a=0.0123456, b=None) for each in snapshot.queries))
    seen = replace(seen, time=1_700_000_000.12345, elapsed=float("inf"))
    shown.engine.recent = lambda: seen
    shown.watch.look()
    found = message(shown, ["queries", "totals"])[1]
    assert (found["queries"]["a"], found["queries"]["b"]) == ([0.01235] * 60, [None] * 60)
    assert (found["totals"]["time"], found["totals"]["elapsed"]) == ([1_700_000_000.123], [None])


def test_whoever_watches_gets_everything_and_then_news_that_are_written_once_for_all(shown):
    async def watch():
        audience, asked = shown.watch.audience, ("totals", "lanes")
        with audience.seat(asked) as one, audience.seat(asked) as two:
            first = await handed(shown, one), await handed(shown, two)
            shown.tick()
            return first, (await handed(shown, one), await handed(shown, two))

    (first, same), (second, again) = asyncio.run(watch())
    assert first == same
    assert first.endswith(b"\n\n")
    assert second is again
    assert [json.loads(each.removeprefix(b"data: "))["new"] for each in (first, second)] == [False, True]
    assert len(shown.watch.audience) == 0


def test_whoever_has_not_taken_a_message_when_the_next_is_there_gets_everything(shown):
    async def watch():
        with shown.watch.audience.seat(("totals",)) as seat:
            await handed(shown, seat)
            shown.tick()
            shown.tick()
            return json.loads((await handed(shown, seat)).removeprefix(b"data: "))

    found = asyncio.run(watch())
    assert (found["new"], found["frame"]) == (False, 2)


def test_newcomers_get_so_many_runs_of_the_last_minute(shown):
    for i in range(2_000):
        shown.engine.tell(ran(f"unit-{i}", time.time() - (0 if i > 900 else 90)))
    shown.tick()
    found = message(shown, ["runs"])[1]["runs"]
    assert len(found) == 1_099 + 8
    assert found[0][1] == "unit-901"
    for i in range(2_000):
        shown.engine.tell(ran(f"more-{i}", time.time()))
    shown.tick()
    assert len(message(shown, ["runs"])[1]["runs"]) == 1_500


def test_a_look_that_fails_is_not_the_last(shown, caplog):
    recent, fails = shown.engine.recent, [True]

    def failing():
        if fails:
            fails.pop()
            raise RuntimeError("no room")
        return recent()

    shown.engine.recent = failing
    shown.engine.tick()
    shown.watch.start()
    try:
        until(lambda: shown.watch.frame.number == 1)
    finally:
        shown.watch.close()
    assert "no room" in caplog.text


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


def test_terms_that_are_not_finite_are_null_and_the_message_is_json_all_the_same(shown):
    shown.engine.tell(
        ran("kernel-1", time.time(), terms={"slack": math.inf, "slope": -math.inf, "W": math.nan, "a": 1})
    )
    shown.tick()
    _, text = shown.watch.message(["runs"], None)
    assert "NaN" not in text
    assert "Infinity" not in text
    terms = json.loads(text)["runs"][0][8]
    assert terms == {"slack": None, "slope": None, "W": None, "a": 1}


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


@pytest.mark.parametrize(("rests", "longest", "newer"), [(0.0, 1e9, True), (1e9, 0.0, True), (1e9, 1e9, False)])
def test_a_newer_frame_waits_for_what_the_last_one_took_but_never_long(monkeypatch, rests, longest, newer):
    monkeypatch.setattr(watch, "_RESTS", rests)
    monkeypatch.setattr(watch, "_LONGEST_REST", longest)
    shown = Shown(1000)
    shown.watch.start()
    try:
        shown.engine.tick()
        until(lambda: shown.watch.frame.number == 1)
        shown.engine.tick()
        limit = time.monotonic() + (60 if newer else 4 * watch.EVERY)
        while shown.watch.frame.number == 1 and time.monotonic() < limit:
            time.sleep(0.01)
        assert (shown.watch.frame.number > 1) == newer
    finally:
        shown.watch.close()
