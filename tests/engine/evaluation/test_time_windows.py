"""Windows by panes, window by window and in iterations: all give, of any cut of a stream, what the one rule says."""

import pytest

from engine.evaluation.driven import walk
from engine.log.logs import feed, told, windows_of
from headgate.engine.sql.plan import ByPanes, PerWindow
from headgate.engine.windows import Window

BY_PANES = "SELECT k, count(*) AS n, sum(v) AS total, min(v) AS least FROM s GROUP BY k"
PER_WINDOW = "SELECT count(DISTINCT k) AS kinds, count(*) AS n, min(v) AS least FROM s"
KINDS = {
    "panes": (BY_PANES, ByPanes, False),
    "windows": (PER_WINDOW, PerWindow, False),
    "panes in iterations": (BY_PANES, ByPanes, True),
    "windows in iterations": (PER_WINDOW, PerWindow, True),
}


def in_windows(came, size, slide):
    """The numbers of the tuples of each window, by the rule alone."""
    found = {}
    for each in came:
        for start, end in windows_of(each.time, size, slide):
            if each.before < end:
                found.setdefault((start, end), []).append(each.position)
    return found


def expected(kind, windows):
    if kind.startswith("windows"):
        return sorted((*edges, len({v % 3 for v in vs}), len(vs), min(vs)) for edges, vs in windows.items())
    grouped = {
        (*edges, k): [v for v in vs if v % 3 == k] for edges, vs in windows.items() for k in {v % 3 for v in vs}
    }
    return sorted((*group, len(vs), sum(vs), min(vs)) for group, vs in grouped.items())


def late(came, size, slide):
    return sum(any(end <= each.before for _, end in windows_of(each.time, size, slide)) for each in came)


CASES = [
    # size, slide, delay, n, live
    (10, 10, 0, 7, True),
    (20, 5, 12, 1000, True),
    (12, 5, 8, 7, False),
    (5, 12, 4, 1000, True),
    (9, 20, 0, 1, False),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("size", "slide", "delay", "n", "live"), CASES)
def test_results_and_late_tuples_are_those_of_the_rule_whatever_the_steps(driven, kind, size, slide, delay, n, live):
    sql, planned, iterations = KINDS[kind]
    trains = walk(size * slide + delay, trains=6 if n > 1 else 4)
    query = driven(sql, Window(size, slide), delay=delay, iterations=iterations).register()
    assert isinstance(query.plan, planned)
    found = query.over(trains, n, live=live)
    came = told(trains, delay)
    assert late(came, size, slide) > 0
    assert found == expected(kind, in_windows(came, size, slide))
    progress = query.query.progress
    assert (progress.late, progress.tuples) == (late(came, size, slide), len(came))
    assert progress.panes == {}


@pytest.mark.parametrize("kind", KINDS)
def test_windows_over_arrival_close_when_time_has_passed(driven, kind):
    sql, _, iterations = KINDS[kind]
    query = driven(sql, Window(10, 5, "arrival"), iterations=iterations).register()
    feed(query.log, [[500, 3, 77], [1, 2], [3]], [0, 3, 4, 8, 12, 31])
    query.settle(2)
    whole = {(-5, 5): [0, 1, 2], (0, 10): [0, 1, 2, 3], (5, 15): [3, 4], (10, 20): [4]}
    assert query.rows() == expected(kind, whole)
    query.log.pass_time(40e-6)
    query.settle(2)
    whole |= {(25, 35): [5], (30, 40): [5]}
    assert query.rows() == expected(kind, whole)
    assert query.query.progress.late == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_silent_stream_closes_its_windows_when_its_event_time_goes_on(driven, kind):
    sql, _, iterations = KINDS[kind]
    query = driven(sql, Window(10, 10), delay=3, iterations=iterations).register()
    feed(query.log, [[1, 12, 4]])
    query.settle(9)
    assert query.rows() == []
    query.log.pass_time(1.0, 10)
    query.settle(9)
    assert query.rows() == expected(kind, {(0, 10): [0, 2]})
    assert query.settle(9) == []
    query.log.pass_time(2.0, 20)
    feed(query.log, [[13, 15, 25]])
    query.log.end()
    query.settle(9)
    assert query.rows() == expected(kind, {(0, 10): [0, 2], (10, 20): [1], (20, 30): [5]})
    assert query.query.progress.late == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_query_begun_half_way_starts_with_the_first_window_that_begins_behind_all_that_came_before(driven, kind):
    sql, _, iterations = KINDS[kind]
    query = driven(sql, Window(10, 5), delay=4, iterations=iterations)
    feed(query.log, [[1, 8], [17, 12]])
    query.register()
    found = query.over([[16, 18, 19], [21, 26, 20], [33]], 2, live=True)
    windows = in_windows(told([[1, 8], [17, 12], [16, 18, 19], [21, 26, 20], [33]], 4), 10, 5)
    assert found == expected(kind, {edges: vs for edges, vs in windows.items() if edges[0] > 17})
    assert {start for start, *_ in found} == {20, 25, 30}


@pytest.mark.parametrize("kind", KINDS)
def test_windows_outlive_a_restart_and_what_was_not_committed_is_repeated(driven, kind):
    sql, _, iterations = KINDS[kind]
    trains = walk(3, trains=6)
    query = driven(sql, Window(15, 5), delay=6, iterations=iterations).register()
    for number, times in enumerate(trains):
        feed(query.log, [times])
        if number in (2, 4):
            query.query.evaluation.step(query.query.progress, 3, lambda prepared, given: prepared.run(given, "test"))
            query.restart()
        query.settle(3)
    query.log.end()
    query.settle(3)
    came = told(trains, 6)
    assert query.rows() == expected(kind, in_windows(came, 15, 5))
    assert query.query.progress.late == late(came, 15, 5)


def test_a_result_is_due_since_the_train_came_that_closed_its_window(driven):
    for sql, _, iterations in KINDS.values():
        query = driven(sql, Window(10, 10), iterations=iterations).register()
        feed(query.log, [[1, 2], [15, 16], [31]], [10, 20, 30, 40, 50])
        made, progress, due = query.query.evaluation, query.query.progress, {}
        while made.waiting(progress).pending:
            step = made.step(progress, 100, lambda prepared, given: prepared.run(given, "test"))
            ends = step.rows.column("window_end").cast("int64").to_pylist()
            due |= dict(zip(ends, (step.due * 1e6).tolist(), strict=True))
            progress = step.progress
        assert due == pytest.approx({10: 40, 20: 50})


@pytest.mark.parametrize("iterations", [False, True])
def test_a_window_of_two_streams_closes_when_it_has_in_both_and_each_stream_has_its_own_late_tuples(
    driven, iterations
):
    sql = "SELECT s.v AS v, r.v AS w FROM s JOIN r ON s.t = r.t"
    trains = {"s": [[1, 5, 9], [12, 14], [2, 25], [31, 3]], "r": [[5, 5, 1], [14, 13, 5], [33, 31], [25]]}
    query = driven(sql, Window(10, 10), streams=("s", "r"), iterations=iterations).register()
    for of_s, of_r in zip(trains["s"], trains["r"], strict=True):
        feed(query.logs["s"], [of_s])
        query.settle(5)
        feed(query.logs["r"], [of_r])
        query.settle(5)
    for log in query.logs.values():
        log.end()
        query.settle(5)
    came = {name: told(each) for name, each in trains.items()}
    windows = {name: in_windows(each, 10, 10) for name, each in came.items()}
    times = {name: {each.position: each.time for each in some} for name, some in came.items()}
    wanted = [
        (*edges, v, w)
        for edges in windows["s"]
        for v in windows["s"][edges]
        for w in windows["r"].get(edges, [])
        if times["s"][v] == times["r"][w]
    ]
    assert query.rows() == sorted(wanted)
    assert query.query.progress.late == sum(late(each, 10, 10) for each in came.values())
    assert query.query.progress.cursors == {name: len(each) for name, each in came.items()}
