"""Where a query is handed over: the published cases exactly, and what holds for all windows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.migration.timestamps import (
    RowCut,
    TimeCut,
    activation,
    common_start,
    delta,
    following,
    measured_start,
    row_cut,
    row_reference,
    ts_mi_time,
)
from headgate.control.migration.windows import RowWindow, Shape, Stage, TimeWindow
from headgate.errors import InputError

times, slides = st.integers(-1000, 1000), st.integers(1, 60)


@pytest.mark.parametrize(
    ("ts_start", "ts_last", "s", "ts_mi"), [(4, 1, 2, 3), (5, 1, 2, 3), (1, 1, 2, 1), (6, 1, 5, 1), (0, 1, 2, 1)]
)
def test_migration_timestamps_over_time_are_the_published_ones(ts_start, ts_last, s, ts_mi):
    assert ts_mi_time(ts_start, ts_last, s) == ts_mi


def test_figure_34_hands_over_at_3_and_activates_at_5():
    assert TimeCut.of(TimeWindow(4, 2, origin=1), ts_start=4, ts_last=1) == TimeCut(ts_mi=3, activation=5)


def test_figure_35_hands_over_at_the_second_row_before_t():
    rows = [1, 2, 4, 4, 7, 8]
    ts_last, ts_start, window = 1, 5, RowWindow(3, 2)
    t = next(k for k, ts in enumerate(rows) if ts >= row_reference(ts_start, ts_last))
    cut = row_cut(window, rows.index(ts_last), [t])
    assert (rows[t], cut.N, cut.delta) == (7, 3, 2)
    assert rows[t - cut.delta] == 4
    # The target, which sees 7 and what follows, begins with 7.
    assert cut.discards == (0,)


@pytest.mark.parametrize(("N", "s", "expected"), [(3, 2, 2), (0, 5, 1), (4, 5, 5), (5, 5, 1), (0, 2, 1), (1, 2, 2)])
def test_delta_is_the_rest_of_rows_or_a_whole_slide(N, s, expected):
    assert delta(N, s) == expected


@given(st.integers(0, 1000))
def test_delta_is_1_where_windows_move_with_every_row(N):
    assert delta(N, 1) == 1


@given(times, times, slides)
def test_over_time_the_target_begins_with_the_first_window_that_it_sees_whole_and_the_originator_has_not_begun(
    ts_start, ts_last, s
):
    ts_mi = ts_mi_time(ts_start, ts_last, s)
    starts = [ts_last + k * s for k in range(2100)]
    first = next(start for start in starts if start > ts_last and start >= ts_start)
    assert activation(ts_mi, s) == following(ts_start, ts_last, s) == first
    assert ts_mi in starts


@given(st.integers(0, 500), st.lists(st.integers(0, 700), min_size=1, max_size=4), slides)
def test_over_rows_the_target_begins_with_the_first_window_that_it_sees_whole_on_every_input(last, firsts, s):
    cut = row_cut(RowWindow(5, s), last, firsts)
    begins = following(max(firsts), last, s)
    assert last + cut.behind + s == begins
    assert [first + drop for first, drop in zip(firsts, cut.discards, strict=True)] == [begins] * len(firsts)
    assert all(drop >= 0 for drop in cut.discards)


@given(st.integers(0, 300), slides)
def test_the_two_readings_of_the_rows_to_drop_mean_the_same_window(N, s):
    cut = RowCut(s, (N,))
    t = N + 1
    ts_mi = t - cut.delta
    assert cut.discards == (s - cut.delta,)
    assert t + cut.discards[0] == ts_mi + 1 + cut.discards_behind_ts_mi


def test_a_target_that_could_read_the_latest_window_takes_the_next_one():
    rows = [10, 20, 30, 40, 50]
    reference = row_reference(ts_start=12, ts_last=20)
    t = next(k for k, ts in enumerate(rows) if ts >= reference)
    cut = row_cut(RowWindow(2, 2), 1, [t])
    assert (rows[t - cut.delta], cut.delta, cut.discards) == (20, 1, (1,))


def test_with_several_inputs_the_latest_start_and_the_most_rows_count():
    assert common_start([3, 9, 4]) == 9
    cut = RowCut(4, (2, 6))
    assert (cut.N, cut.delta) == (6, 3)
    assert cut.discards == (5, 1)
    with pytest.raises(InputError, match="at least one stream"):
        common_start([])


def test_the_window_closest_to_the_output_controls():
    shape = Shape((Stage(TimeWindow(4, 2), joins=True), Stage(RowWindow(3, 2))), inputs=2)
    assert shape.controlling == Stage(RowWindow(3, 2))
    assert shape.before == (Stage(TimeWindow(4, 2), joins=True),)
    assert Shape().controlling.window == RowWindow(1, 1)


def test_windows_before_the_controlling_one_begin_with_the_first_that_is_seen_whole():
    before = (Stage(TimeWindow(10, 4)), Stage(TimeWindow(6, 3)))
    assert measured_start(5, before, earliest=True) == 9
    # [8, 18) is the first whole window; it comes at 18, and so is in the windows of 18 … 24 and later.
    assert measured_start(5, before, earliest=False) == 24
    assert measured_start(5, (), earliest=False) == 5
    with pytest.raises(InputError, match="have to be counted"):
        measured_start(5, (Stage(RowWindow(2)),), earliest=True)


@given(times, st.integers(1, 50), slides, times)
def test_the_latest_window_has_begun_and_the_first_from_on_has_not(ts, length, s, origin):
    window = TimeWindow(length, s, origin)
    assert ts - s < window.latest(ts) <= ts <= window.from_on(ts) < ts + s
    assert (window.latest(ts) - origin) % s == (window.from_on(ts) - origin) % s == 0


@pytest.mark.parametrize("made", [lambda: TimeWindow(0, 1), lambda: TimeWindow(1, 0), lambda: RowWindow(3, -1)])
def test_windows_without_a_length_or_a_slide_are_refused(made):
    with pytest.raises(InputError, match="a length and a slide"):
        made()
