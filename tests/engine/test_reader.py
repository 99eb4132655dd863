import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from engine.log.logs import feed, opened, told, windows_of
from headgate.engine.evaluation.protocol import stream_input
from headgate.engine.log.files import write
from headgate.engine.reader import JobInput, panes, tuples

COLUMNS = ["v", "_time", "_position", "_pane", "_late"]
trains = st.lists(st.lists(st.integers(-60, 60), min_size=1, max_size=5), min_size=1, max_size=5)
lengths = st.integers(1, 25)
delays = st.integers(0, 30)


def named(**given_input):
    """A job's input as a reader gets it."""
    return json.loads(JobInput(**given_input).text())


def rows(tables, columns):
    return [tuple(row[name] for name in columns) for part in tables for row in part.to_pylist()]


def read(given_trains, delay, columns, time="event", low=0, high=99, **asked):
    """What the reader gives of a stream with these trains."""
    with TemporaryDirectory() as folder:
        log = opened(Path(folder), delay=delay)
        feed(log, given_trains)
        given_input = stream_input(log, log.slices(low, high), time)
        found = rows(tuples(named(streams={"s": given_input}, **asked), "s", columns), columns)
        log.manifest.close()
        return found


@given(trains, st.integers(0, 25), st.integers(0, 25))
def test_a_job_reads_the_tuples_that_it_names_with_their_positions(given_trains, low, high):
    wanted = [(t.position, t.position, None, None) for t in told(given_trains) if low <= t.position < high]
    columns = ["v", "_position", "_pane", "_late"]
    assert read(given_trains, 0, columns, None, low, high) == wanted


@given(trains, delays, lengths, lengths)
def test_a_tuple_has_its_pane_and_the_watermark_that_closed_a_window_of_its(given_trains, delay, size, slide):
    found = read(given_trains, delay, COLUMNS, window=(size, slide))
    everything = told(given_trains, delay)
    assert [row[:3] for row in found] == [(t.position, t.time, t.position) for t in everything]
    for (*_, pane, late), t in zip(found, everything, strict=True):
        its = windows_of(t.time, size, slide)
        assert all(start <= pane <= t.time < end for start, end in its)
        # By the mark, whoever puts panes together leaves out exactly the windows that had closed.
        kept = [window for window in its if late is None or late < window[1]]
        assert kept == [window for window in its if t.before < window[1]]
        if its and its[0][1] > t.before:
            assert late is None


@given(trains, delays, lengths, st.integers(-60, 60))
def test_with_bounds_a_job_reads_the_tuples_of_one_window(given_trains, delay, size, start):
    end = start + size
    wanted = [(t.position,) for t in told(given_trains, delay) if start <= t.time < end and t.before < end]
    assert read(given_trains, delay, ["v"], bounds=(start, end)) == wanted


@given(trains, delays, st.integers(-60, 60))
def test_on_time_are_tuples_from_a_time_on_that_did_not_come_behind_the_watermark(given_trains, delay, low):
    wanted = [(t.position, t.time) for t in told(given_trains, delay) if t.time >= low and t.time >= t.before]
    assert read(given_trains, delay, ["v", "_time"], on_time=low) == wanted


@given(trains, lengths, lengths)
def test_windows_over_arrival_go_by_arrival(given_trains, size, slide):
    found = read(given_trains, 0, COLUMNS, "arrival", window=(size, slide))
    assert [(time, position, late) for _, time, position, _, late in found] == [
        (n, n, None) for n in range(sum(map(len, given_trains)))
    ]


partials = st.lists(
    st.lists(st.tuples(st.integers(-20, 20), st.none() | st.integers(-60, 60)), min_size=1, max_size=6), max_size=4
)


@given(partials, lengths, st.integers(1, 4), st.lists(st.integers(-5, 5), unique=True, max_size=4))
def test_a_window_gets_the_panes_within_it_but_for_what_was_late_for_it(files, pane, count, starts):
    size = pane * count
    windows = [(pane * start, pane * start + size) for start in sorted(starts)]
    wanted = []
    with TemporaryDirectory() as folder:
        written = []
        for number, content in enumerate(files):
            file = Path(folder) / f"{number}.arrow"
            columns = [[pane * start for start, _ in content], [late for _, late in content]]
            made = [pa.array(values, pa.int64()) for values in columns]
            write(pa.table([*made, pa.array(range(len(content)))], names=["_pane", "_late", "p"]), file)
            written.append(str(file))
            wanted += [
                (start, end, i)
                for start, end in windows
                for i, (at, late) in enumerate(content)
                if start <= pane * at < end and (late is None or late < end)
            ]
        columns = ["window_start", "window_end", "p"]
        found = list(panes(named(panes=tuple(written), windows=tuple(windows)), columns))
    plain = [part.cast(pa.schema([(name, pa.int64()) for name in columns])) for part in found]
    assert rows(plain, columns) == wanted


def test_a_job_that_names_nothing_reads_nothing():
    assert list(tuples({}, "s", ["v"])) == []
    assert list(tuples(named(streams={}), "s", ["v"])) == []
    assert list(panes({}, ["p"])) == []
