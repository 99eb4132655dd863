import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from engine.snapshots import NOW, deadline, query, query_class, snapshot, stream, table
from headgate.engine.view import asked, line, view


def drawn(found, width=80, height=24, note=""):
    """The lines that a terminal of that size shows, without the blanks at their ends."""
    console = Console(width=width, height=height, color_system=None)
    with console.capture() as capture:
        console.print(view(found, width, height, note))
    return [each.rstrip() for each in capture.get().splitlines()]


def many(n):
    return [query(f"query_{i}", oldest_wait=float(i), pending=1 + i) for i in range(n)]


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)
amounts = st.integers(0, 10**12)
times = st.floats(0, 1e9)
maybe_times = st.none() | times
reasons = st.none() | names
streams = st.builds(
    stream,
    names,
    status=st.sampled_from(["waiting", "running", "paused", "ended", "failed"]),
    reason=reasons,
    tuples=amounts,
    rate=times,
    watermark=maybe_times,
    rejected=st.dictionaries(names, amounts, max_size=2),
    bytes=amounts,
)
queries = st.builds(
    query,
    names,
    cls=names,
    status=st.sampled_from(["running", "paused", "failed"]),
    reason=reasons,
    pending=amounts,
    oldest_wait=times,
    response_p50=maybe_times,
    response_p99=maybe_times,
    slowdown_mean=maybe_times,
    unit=names,
)
snapshots = st.builds(
    snapshot,
    st.lists(streams, max_size=8),
    st.lists(queries, max_size=30),
    st.lists(st.builds(table, names, reasons), max_size=2),
    st.lists(st.tuples(names, st.none() | names), max_size=4),
)


@given(snapshots, st.integers(20, 200), st.integers(4, 60), st.text(max_size=60))
def test_a_view_never_has_more_lines_or_columns_than_the_terminal(found, width, height, note):
    lines = drawn(found, width, height, note)
    assert len(lines) <= height
    assert max(map(cell_len, lines)) <= width


@pytest.mark.parametrize(("width", "height"), [(80, 24), (160, 50)])
def test_an_engine_without_anything_has_a_view(width, height):
    lines = drawn(snapshot(), width, height)
    assert lines[0].startswith("headgate: bsd · 12 s")
    assert lines[-1] == "lane-1: idle"


def test_a_stream_shows_its_figures():
    ticks = stream(
        tuples=12_345, rate=2000.0, watermark=NOW - 2.5, late=7, rejected={"a": 1, "b": 2}, trains=9, bytes=1_200_000
    )
    heading, row = drawn(snapshot([ticks]))[3:5]
    assert heading.split() == ["stream", "status", "tuples/s", "tuples", "lag", "late", "rejected", "trains", "size"]
    assert row.split() == ["ticks", "running", "2.0k", "12.3k", "2.5", "s", "7", "3", "9", "1.2", "MB"]


def test_a_query_shows_its_figures():
    figures = {
        "recent_p50": 0.34,
        "recent_p99": 1.2,
        "response_p99": 7.5,
        "slowdown_mean": 2.5,
        "results": 12_345,
        "runs": 77,
    }
    big = query(cls="alerts", pending=1200, oldest_wait=0.5, unit="fused 1", **figures)
    lines = drawn(snapshot([], [big]), 160, 50)
    heading = next(i for i, each in enumerate(lines) if each.startswith("query"))
    assert " ".join(lines[heading].split()) == (
        "query class status pending waits results p50 p99 p99 so far slowdown a b·1000 runs unit"
    )
    assert " ".join(lines[heading + 1].split()) == (
        "big alerts running 1.2k 500 ms 12.3k 340 ms 1.2 s 7.5 s 2.5 50.0 ms 1.0 ms 77 fused 1"
    )


def test_what_results_were_worth_is_shown_where_queries_have_qos_graphs():
    found = snapshot([], [query("a", qos=0.75), query("b")])
    found["qos"] = {"average": 0.75}
    lines = drawn(found)
    assert lines[1].endswith("QoS 0.750")
    rows = [each.split() for each in lines if each.startswith(("query", "a ", "b "))]
    assert [row[-1] for row in rows] == ["QoS", "0.750", "–"]


def test_the_head_says_how_load_is_managed_where_it_is():
    assert drawn({**snapshot(), "shed": "dilos:backlog"})[0].startswith("headgate: bsd · shed dilos:backlog · ")
    older = {name: value for name, value in snapshot().items() if name != "shed"}
    assert "shed" not in drawn(older)[0]


def test_what_the_results_of_classes_were_worth_is_shown_where_they_are_worth_something():
    target = {"delay_target": 1.0}
    found = snapshot(
        [], [query("a")], classes=[query_class("alerts", qos=0.5, **target), query_class("reports", **target)]
    )
    rows = [each.split() for each in drawn(found, 120) if each.startswith(("class", "alerts", "reports"))]
    assert " ".join(rows[0]).endswith("late so far QoS time load drops shed pending")
    assert [row[-7] for row in rows[1:]] == ["0.500", "–"]


def test_a_class_is_late_by_its_results_of_late_and_no_longer_than_these_are():
    def style(recent_p99):
        late = query_class("alerts", delay_target=1.0, late=0.4, response_p99=9.0, recent_p99=recent_p99)
        made = view(snapshot([], [], classes=[late]), 120, 24)
        (row,) = [each for each in made.renderables if each.plain.startswith("alerts")]
        return " ".join(row.plain.split()[:10]), row.style

    assert style(1.5) == ("alerts 1 s – 1.5 s 9 s 40 %", "red")
    assert style(0.5) == ("alerts 1 s – 500 ms 9 s 40 %", "")


def test_what_an_older_version_has_written_is_shown_by_the_figures_it_has():
    found = snapshot([], [query("old", response_p99=1.2)])
    found["queries"] = [
        {name: value for name, value in each.items() if not name.startswith("recent")} for each in found["queries"]
    ]
    (row,) = [each for each in drawn(found) if each.startswith("old")]
    assert "1.2 s" in row


def test_a_terminal_of_80_columns_shows_all_but_costs_runs_and_units():
    heading = next(each for each in drawn(snapshot([], many(1))) if each.startswith("query"))
    assert " ".join(heading.split()) == "query class status pending waits results p50 p99 slowdown"


def test_queries_are_sorted_by_the_wait_of_their_oldest_tuple_and_the_rest_is_counted():
    lines = drawn(snapshot([stream()], many(60)))
    rows = [each.split()[0] for each in lines if each.startswith("query_")]
    assert rows == [f"query_{59 - i}" for i in range(len(rows))]
    assert f"and {60 - len(rows)} more queries" in lines
    assert len(lines) == 24


def test_all_queries_are_shown_where_there_is_room():
    lines = drawn(snapshot([stream()], many(30)), 80, 40)
    assert sum(each.startswith("query_") for each in lines) == 30
    assert not any("more" in each for each in lines)


def test_streams_leave_room_for_queries():
    lines = drawn(snapshot([stream(f"stream_{i}") for i in range(40)], many(40)))
    assert sum(each.startswith("stream_") for each in lines) >= 3
    assert sum(each.startswith("query_") for each in lines) >= 8
    assert any(each.endswith("more streams") for each in lines)


def test_what_failed_is_on_top_with_its_reason_and_then_what_tries_again():
    failing = [query("shaky", reason="a timeout"), query("broken", status="failed", reason="no such column")]
    lines = drawn(snapshot([], [*many(60), *failing]))
    heading = next(i for i, each in enumerate(lines) if each.startswith("query "))
    assert [each.split()[0] for each in (lines[heading + 1], lines[heading + 3])] == ["broken", "shaky"]
    assert lines[heading + 2] == "  no such column"
    assert lines[heading + 4] == "  a timeout"
    assert lines[heading + 3].split()[2] == "trying"


def test_what_failed_is_red():
    console = Console(width=80, force_terminal=True, color_system="standard")
    with console.capture() as capture:
        console.print(view(snapshot([], [query("broken", status="failed", reason="why")]), 80, 24))
    red = [each for each in capture.get().splitlines() if "\x1b[1;31m" in each]
    assert len(red) == 2
    assert "broken" in red[0]
    assert "why" in red[1]


def test_a_table_that_could_not_be_read_is_named():
    lines = drawn(snapshot(tables=[table("symbols", "no such file"), table("fine")]))
    assert "table symbols: no such file" in lines
    assert not any("fine" in each for each in lines)


def test_lanes_show_what_they_run():
    assert drawn(snapshot(lanes=[("lane-1", "big"), ("lane-2", None)]))[-1] == "lane-1: big · lane-2: idle"


def test_a_note_comes_first():
    assert drawn(snapshot(), note="no news for 12 s")[0] == "no news for 12 s"


def test_names_that_are_too_long_keep_both_ends():
    lines = drawn(snapshot([], [query("trades_of_large_size_at_venue_17")]))
    assert any(each.startswith("trades_…nue_17 ") for each in lines)


def test_a_reason_cannot_steer_the_terminal():
    lines = drawn(snapshot([stream(status="failed", reason="a\x1b[2Jb\nc")]))
    assert "  a [2Jb c" in lines


def test_one_line_says_what_matters():
    said = line(
        snapshot(
            [stream(rate=2000.0), stream("other", status="failed")],
            [query(pending=300, oldest_wait=0.34), query("vwap", pending=40)],
            tuples=24_000,
            results=1200,
            utilisation=0.45,
        )
    )
    assert said == (
        "12 s: 24.0k tuples in at 2.0k/s, 1.2k results out, 340 pending, oldest wait 340 ms, "
        "lanes 45 % busy so far, 1 failed"
    )


def test_event_times_of_another_day_are_replayed():
    replayed, late = stream("old", watermark=NOW - 3e5), stream("new", watermark=NOW - 5.0)
    shown = {line.split()[0]: line.split()[4] for line in drawn(snapshot([replayed, late]))[4:6]}
    assert shown == {"old": "replayed", "new": "5"}


def test_what_deadlines_ask_for_is_beside_the_one_lane_that_serves_them():
    found = snapshot(deadlines=[deadline("a", stride=2.0, demand=1.5), deadline("b", stride=10.0, demand=5.0)])
    said = "deadlines ask for 125 % of a lane's time with nothing dropped; one lane serves them all"
    assert said in drawn(found, width=100)
    assert asked(snapshot(deadlines=[deadline("new")])).startswith("deadlines ask for 0 %")
