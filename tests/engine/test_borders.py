"""Engines that make logs of their own of one source: who goes on behind a border of another gives out the rest."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.log.logs import opened, table
from headgate.engine.evaluation.closed import ClosedWindows
from headgate.engine.evaluation.per_window import WindowEvaluation
from headgate.engine.log.mark import Mark
from headgate.engine.moving import Boundary, given_out
from headgate.engine.windows import NEVER, Window

DELAY = 5


def evaluation(logs, window):
    """Windows over streams, without a query that is run over them."""
    made = WindowEvaluation.__new__(WindowEvaluation)
    made.plan, made.streams = SimpleNamespace(window=window), tuple(logs)
    made._windows = ClosedWindows(logs, window)
    return made


def windows(found, logs, progress, most=10**6):
    """The next windows that have closed, with the positions of their tuples, and the progress behind them."""
    given = []
    while len(given) < most and (closed := found._windows.next(progress)):
        inside = [
            (name, s.first + i)
            for name, log in logs.items()
            for s in log.within(closed.start, closed.end, found.plan.window.time)
            for i, time in enumerate(times(log, found, s))
            if closed.start <= time < closed.end
        ]
        given.append((closed.start, closed.end, inside))
        progress, _ = found._windows.passed(progress, closed)
    return given, progress


def times(log, found, part):
    if found.plan.window.time == "rows":
        return range(part.first, part.first + part.count)
    train = next(train for train in log.trains if train.first <= part.first < train.end)
    return log.times(train, found.plan.window.time)[part.first - train.first :][: part.count]


def fill(log, all_times, lengths):
    """Append the rest of a source, in trains of these lengths, round and round; gives the marks on the way."""
    marks, i = [], 0
    while (at := log.head) < len(all_times):
        rows = all_times[at : at + lengths[i % len(lengths)]]
        log.append(table(rows, first=at), {"at": at + len(rows)}, arrived=np.arange(at, at + len(rows)) * 1e-6)
        marks.append(log.mark())
        i += 1
    return marks


LENGTHS = st.lists(st.integers(1, 7), min_size=1, max_size=5)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, DELAY)), min_size=1, max_size=60),
    *(LENGTHS, LENGTHS),
    *(st.integers(1, 12), st.integers(1, 12)),
    *(st.booleans(), st.integers(0, 30), st.integers(0, 60)),
)
def test_with_logs_that_are_cut_otherwise_the_windows_of_two_engines_are_together_those_of_one(
    tmp_path_factory, steps, here, there, size, slide, rows, given, which
):
    given_times = source(steps)
    window, folder = Window(size, slide, "rows" if rows else "event"), tmp_path_factory.mktemp("logs")
    alone, first, second = (opened(folder / name, delay=DELAY) for name in folders(folder, "alone", "a", "b"))
    fill(alone, given_times, [len(given_times)])
    alone.end()
    one = evaluation({"s": alone}, window)
    whole, _ = windows(one, {"s": alone}, one.begin({"s": 0}))

    marks = [Mark(0, {"at": 0}), *fill(first, given_times, here)]
    before = evaluation({"s": first}, window)
    out, progress = windows(before, {"s": first}, before.begin({"s": 0}), given)
    at = given_out(before, progress)
    assert Boundary(**at.as_json()) == at
    needed = before.needed(at.begin(before, {"s": first}), "s")
    fit = [mark for mark in marks if mark.position <= needed]

    second.begin_at(fit[which % len(fit)])
    fill(second, given_times, there)
    second.end()
    behind = evaluation({"s": second}, window)
    rest, _ = windows(behind, {"s": second}, at.begin(behind, {"s": second}))
    assert out + rest == whole


STEPS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, DELAY)), min_size=1, max_size=40)


@given(
    *(STEPS, STEPS),
    st.lists(LENGTHS, min_size=4, max_size=4),
    *(st.integers(1, 12), st.integers(1, 12)),
    st.integers(0, 30),
    st.tuples(st.integers(0, 60), st.integers(0, 60)),
)
def test_windows_of_two_streams_are_those_of_one_engine_from_a_border_and_a_mark_of_each_on(
    tmp_path_factory, one, other, lengths, size, slide, given, which
):
    window, folder = Window(size, slide, "event"), tmp_path_factory.mktemp("logs")
    sources = {name: source(steps) for name, steps in (("s", one), ("t", other))}
    engines = []
    for each in folders(folder, "alone", "a", "b"):
        first = opened(folder / each, delay=DELAY)
        engines.append({"s": first, "t": opened(folder / each, first.manifest, name="t", delay=DELAY)})
    alone, here, there = engines
    for name, log in alone.items():
        fill(log, sources[name], [len(sources[name])])
        log.end()
    whole, _ = windows(evaluation(alone, window), alone, evaluation(alone, window).begin({"s": 0, "t": 0}))

    marks = {name: [Mark(0, {"at": 0}), *fill(here[name], sources[name], lengths[i])] for i, name in enumerate(here)}
    before = evaluation(here, window)
    out, progress = windows(before, here, before.begin({"s": 0, "t": 0}), given)
    at = given_out(before, progress)
    begun = at.begin(before, here)
    for i, name in enumerate(there):
        fit = [mark for mark in marks[name] if mark.position <= before.needed(begun, name)]
        there[name].begin_at(fit[which[i] % len(fit)])
        fill(there[name], sources[name], lengths[2 + i])
        there[name].end()
    behind = evaluation(there, window)
    rest, _ = windows(behind, there, at.begin(behind, there))
    assert out + rest == whole


def source(steps):
    """The event times of a stream: turns that go on, and tuples that are so far behind."""
    turns = np.cumsum([step for step, _ in steps])
    return [int(turn) - behind for turn, (_, behind) in zip(turns, steps, strict=True)]


def folders(folder, *names):
    for name in names:
        (folder / name).mkdir()
    return names


def test_a_log_that_begins_at_a_mark_numbers_tuples_as_the_others_do_and_is_whole_from_there_on(tmp_path):
    a, b = (opened(tmp_path / name, delay=2) for name in folders(tmp_path, "a", "b"))
    a.append(table([10, 12, 11]), {"at": 3})
    mark = a.mark()
    assert (mark.position, mark.event) == (3, 10)
    b.begin_at(mark)
    assert (b.head, b.state, b.complete_since("event")) == (3, {"at": 3}, 13)
    for log in (a, b):
        log.append(table([13, 14], first=3), {"at": 5})
    assert [s.first for s in b.slices(0, 9)] == [3]
    assert a.mark().position == b.mark().position == 5


def test_a_log_that_has_come_as_far_as_a_mark_goes_on_where_it_is_and_another_begins_anew(tmp_path):
    log = opened(tmp_path)
    log.append(table([1, 2]), {"at": 2})
    log.begin_at(Mark(1, {"at": 1}, 1))
    assert (log.head, log.state) == (2, {"at": 2})
    log.begin_at(Mark(7, {"at": 7}, 9))
    assert (log.head, log.state, log.watermark("event")) == (7, {"at": 7}, 9)
    assert not list((tmp_path / "streams" / "s").iterdir())
    again = opened(tmp_path, log.manifest)
    again.begin_at(Mark(7, {"at": 7}, 9))
    assert (again.head, again.state, len(again.trains)) == (7, {"at": 7}, 1)


def test_nothing_goes_from_a_log_of_ones_own_that_others_may_need(tmp_path):
    log = opened(tmp_path)
    log.begin_at(Mark(0, {}))
    for at in range(4):
        log.append(table([at], first=at), {"at": at + 1})
    assert log.drop(4) == 0
    log.floor = 2
    assert log.drop(4) == 2
    assert [train.first for train in log.trains] == [2, 3]


@pytest.mark.parametrize("ended", [False, True])
def test_there_is_no_mark_before_the_first_tuple_nor_at_the_end(tmp_path, ended):
    log = opened(tmp_path)
    assert log.mark() is None
    log.append(table([1]), {"at": 1})
    if ended:
        log.end()
    assert (log.mark() is None) == ended


def test_a_border_that_lies_between_two_windows_is_that_of_the_earlier_one(tmp_path):
    found = evaluation({"s": opened(tmp_path)}, Window(4, 2))
    progress = found.begin({"s": 0})
    assert given_out(found, progress).closed == NEVER
    for closed, last in ((8, 8), (9, 8), (10, 10), (11, 10)):
        moved = type(progress)(cursors=progress.cursors, closed=closed)
        assert given_out(found, moved).closed == last
