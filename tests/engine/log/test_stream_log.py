import json
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.log.logs import MICRO, SCHEMA, feed, opened, table, told, windows_of
from engine.sink.syncs import syncs
from headgate.engine.log.manifest import Manifest
from headgate.engine.reader import tuples
from headgate.engine.source.protocol import Rejected
from headgate.engine.windows import ENDED, NEVER, Window
from headgate.errors import InputError
from headgate.shed.droppers import UNSHED

trains = st.lists(st.lists(st.integers(-60, 60), min_size=1, max_size=5), min_size=1, max_size=5)
delays = st.integers(0, 30)
lengths = st.integers(1, 25)
places = st.integers(-2, 30)


@contextmanager
def logged(given_trains, **more):
    """A log in a folder of its own: Hypothesis does not empty one between examples."""
    with TemporaryDirectory() as folder:
        log = opened(Path(folder), **more)
        feed(log, given_trains)
        try:
            yield log
        finally:
            log.manifest.close()


def numbers(slices):
    return [s.first + i for s in slices for i in range(s.count)]


def read(slices):
    """The values behind slices, which are the tuples' numbers."""
    named = {
        "streams": {"s": {"slices": [(s.file, s.offset, s.count, s.first, 0, UNSHED) for s in slices], "time": None}}
    }
    return [v for part in tuples(named, "s", ["v"]) for v in part.column("v").to_pylist()]


@given(trains, places, places)
def test_slices_are_the_tuples_between_two_positions(given_trains, low, high):
    with logged(given_trains) as log:
        everything = range(sum(map(len, given_trains)))
        assert log.head == len(everything)
        wanted = [n for n in everything if low <= n < high]
        found = log.slices(low, high)
        assert numbers(found) == wanted
        assert read(found) == wanted
        assert all(s.count for s in found)


@given(trains, delays, places)
def test_the_watermark_is_the_newest_time_less_the_delay_of_the_trains_that_end_by_a_position(
    given_trains, delay, position
):
    with logged(given_trains, delay=delay) as log:
        whole, end = [], 0
        for times in given_trains:
            end += len(times)
            whole += times if end <= position else []
        assert log.watermark("event", position) == max(whole, default=NEVER + delay) - delay
        assert log.watermark("arrival", position) == (len(whole) - 1 if whole else NEVER)
        assert log.newest("event", position) == max(whole, default=NEVER)
        assert log.watermark("event") == max(t for times in given_trains for t in times) - delay


@given(trains, delays, st.integers(-90, 60))
def test_a_window_is_reached_by_the_first_train_whose_watermark_does(given_trains, delay, end):
    with logged(given_trains, delay=delay) as log:
        marks = [log.watermark("event", train.end) for train in log.trains]
        assume(marks[-1] >= end)
        assert log.reached(end, "event").seq == next(i for i, mark in enumerate(marks) if mark >= end)


@given(trains, delays, lengths, lengths, places, places)
def test_late_tuples_are_those_for_which_a_window_of_theirs_had_closed(given_trains, delay, size, slide, low, high):
    with logged(given_trains, delay=delay) as log:
        late = [
            each
            for each in told(given_trains, delay)
            if low <= each.position < high
            and any(end <= each.before for _, end in windows_of(each.time, size, slide))
        ]
        assert log.late(low, high, Window(size, slide)) == len(late)
        assert log.late(low, high, Window(size, slide, "arrival")) == 0


@given(trains, delays, places, places)
def test_tuples_behind_the_watermark_are_counted_one_by_one(given_trains, delay, low, high):
    with logged(given_trains, delay=delay) as log:
        behind = [each for each in told(given_trains, delay) if each.time < each.before]
        assert log.behind(low, high) == sum(low <= each.position < high for each in behind)
        assert log.counted[0] == len(behind)


@given(trains, delays, lengths, lengths, st.integers(-4, 4))
def test_the_trains_within_a_window_have_all_its_tuples(given_trains, delay, size, slide, k):
    start, end = k * slide, k * slide + size
    with logged(given_trains, delay=delay) as log:
        wanted = {t.position for t in told(given_trains, delay) if start <= t.time < end and t.before < end}
        found = log.within(start, end, "event")
        assert wanted <= set(numbers(found))
        assert numbers(found) == [
            n for train in log.trains for n in range(train.first, train.end) if n in numbers(found)
        ]
        of_arrival = numbers(log.within(start, end, "arrival"))
        assert {n for n in range(log.head) if start <= n < end} <= set(of_arrival)


@given(trains, st.integers(-70, 70), st.data())
def test_the_trains_since_a_time_have_all_tuples_from_then_on(given_trains, low, data):
    with logged(given_trains) as log:
        high = data.draw(st.sampled_from([0, *(train.end for train in log.trains)]))
        wanted = {t.position for t in told(given_trains) if t.time >= low and t.position < high}
        found = numbers(log.since(low, high))
        assert wanted <= set(found)
        assert all(n < high for n in found)
        later = [t.position for t in told(given_trains) if t.time >= low]
        assert log.first_since(low, "event") <= min(later, default=log.head)


@given(trains, delays, lengths, lengths)
def test_the_panes_of_a_train_are_those_of_tuples_that_a_window_may_still_have(given_trains, delay, size, slide):
    window = Window(size, slide)
    with logged(given_trains, delay=delay) as log:
        for train in log.trains:
            its = [t for t in told(given_trains, delay) if train.first <= t.position < train.end]
            wanted = {
                t.time // window.pane * window.pane
                for t in its
                if any(end > t.before for _, end in windows_of(t.time, size, slide))
            }
            found = log.panes(train, window)
            assert wanted <= set(found) <= {t.time // window.pane * window.pane for t in its}


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 9), st.integers(0, 50)), min_size=1), st.data())
def test_arrivals_are_exact_where_those_of_each_train_are_evenly_spread(shapes, data):
    came, now = [], 0
    with TemporaryDirectory() as folder:
        log = opened(Path(folder))
        for count, step, gap in shapes:
            arrivals = [now + gap + i * step for i in range(count)]
            feed(log, [[0] * count], [*came, *arrivals])
            came += arrivals
            now = came[-1]
            assert log.arrived(0, len(came) + 1) == log.arrived(0, len(came)) == pytest.approx(sum(came) * MICRO)
        position = data.draw(st.integers(0, len(came) - 1))
        n = data.draw(st.integers(0, len(came) + 3))
        assert log.oldest(position) == pytest.approx(came[position] * MICRO)
        assert log.arrived(position, n) == pytest.approx(sum(came[position : position + n]) * MICRO)
        assert log.oldest(len(came)) == float("inf")
        log.manifest.close()


@given(trains, delays, places)
def test_what_is_dropped_lies_before_the_position_and_the_rest_survives_a_restart(given_trains, delay, position):
    with TemporaryDirectory() as folder:
        log = opened(Path(folder), delay=delay)
        feed(log, given_trains)
        wanted = log.slices(max(0, position), 99)
        marks = [log.watermark("event", p) for p in range(max(0, position), log.head + 1)]
        log.drop(position)
        log.manifest.close()
        for again in (log, opened(Path(folder), delay=delay)):
            assert again.slices(max(0, position), 99) == wanted
            assert read(again.slices(max(0, position), 99)) == numbers(wanted)
            assert [again.watermark("event", p) for p in range(max(0, position), again.head + 1)] == marks
            assert len(again.trains) == len(list((Path(folder) / "streams" / "s").iterdir()))
        feed(again, [[7, 8]])
        assert numbers(again.slices(log.head, 99)) == [log.head, log.head + 1]
        again.manifest.close()


def test_the_watermark_before_the_first_train_that_is_left_is_still_known(tmp_path):
    log = opened(tmp_path, delay=5)
    feed(log, [[100], [120], [130]])
    log.drop(2)
    assert [train.first for train in log.trains] == [2]
    assert log.watermark("event", 2) == 115
    assert log.newest("event", 2) == 120
    assert log.watermark("arrival", 2) == 1


@pytest.fixture
def log(tmp_path):
    made = opened(tmp_path)
    yield made
    made.manifest.close()


def test_time_that_passes_moves_the_watermark_and_no_position(log):
    log.pass_time(1.0, 50)
    assert (log.watermark("event"), log.watermark("arrival"), log.head) == (50, 1_000_000, 0)
    feed(log, [[60]], [2_000_000])
    log.pass_time(3.0)
    assert (log.watermark("event"), log.watermark("arrival"), log.head) == (60, 3_000_000, 1)
    log.pass_time(2.5, 10)
    assert (len(log.trains), log.watermark("event"), log.watermark("arrival")) == (3, 60, 3_000_000)
    assert log.trains[-1].newest == 2_000_000
    assert numbers(log.slices(0, 9)) == [0]


def test_the_end_closes_every_window_and_outlives_a_restart(tmp_path):
    log = opened(tmp_path)
    feed(log, [[1, 2]])
    log.end()
    log.end()
    log.pass_time(9.0, 9)
    log.manifest.close()
    for each in (log, opened(tmp_path)):
        assert each.ended
        assert (each.watermark("event"), each.watermark("arrival"), len(each.trains), each.head) == (
            ENDED,
            ENDED,
            2,
            2,
        )


def test_arrivals_never_go_back(log):
    log.append(table([1, 2, 3]), None, arrived=np.array([5.0, 4.0, 6.0]))
    log.append(table([4]), None, arrived=np.array([1.0]))
    log.pass_time(8.0)
    log.append(table([5]), None, arrived=np.array([7.0]))
    found = [log.times(train, "arrival").tolist() for train in log.trains if train.count]
    assert found == [[5_000_000, 5_000_000, 6_000_000], [6_000_000], [8_000_000]]
    assert log.trains[0].arrived_sum == pytest.approx(16.0)


def test_whoever_asks_is_told_of_each_train_when_it_is_there(tmp_path):
    seen = []
    log = opened(tmp_path, on_append=lambda train: seen.append((train.seq, log.trains[-1].seq)))
    feed(log, [[1], [2]])
    log.append(SCHEMA.empty_table(), {"at": 2})
    log.pass_time(9.0)
    log.end()
    assert seen == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_rows_without_event_time_are_rejected_and_the_others_keep_their_arrival(log, tmp_path):
    rows = pa.concat_tables([table([1]), table([None], first=1), table([3], first=2)])
    log.append(rows, {"at": 3}, arrived=np.array([1.0, 2.0, 3.0]), rejected=[Rejected("x", "not JSON", "line 1")])
    assert (log.head, log.state) == (2, {"at": 3})
    assert read(log.slices(0, 2)) == [0, 2]
    assert log.times(log.trains[0], "arrival").tolist() == [1_000_000, 3_000_000]
    assert log.counted[1] == {"not JSON": 1, "no event time: column t is empty": 1}
    (file,) = (tmp_path / "dead" / "s").iterdir()
    letters = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(each["place"], each["reason"]) for each in letters] == [
        ("line 1", "not JSON"),
        ("stream s", "no event time: column t is empty"),
    ]
    assert json.loads(letters[1]["row"])["v"] == 1


def test_rows_without_event_time_are_tuples_of_a_stream_that_has_none(tmp_path):
    log = opened(tmp_path, event_time=None)
    feed(log, [[None, 2]])
    assert (log.head, log.counted[1]) == (2, {})
    assert (log.watermark("event"), log.watermark("arrival")) == (NEVER, 1)


def test_an_append_that_a_crash_kept_from_being_committed_doubles_nothing_when_it_is_repeated(tmp_path):
    bad = [Rejected("x", "odd", "line 1"), Rejected("y", "odd", "line 2")]
    log = opened(tmp_path)
    log.append(table([1]), {"at": 1}, rejected=bad[:1])

    def crash(*_, **__):
        raise KeyboardInterrupt

    whole = log.manifest.streams.append
    log.manifest.streams.append = crash
    with pytest.raises(KeyboardInterrupt):
        log.append(table([2]), {"at": 2}, rejected=bad)
    log.manifest.streams.append = whole
    log.manifest.close()
    log = opened(tmp_path)
    assert (log.head, log.state) == (1, {"at": 1})
    log.append(table([2]), {"at": 2}, rejected=bad)
    letters = [line for file in sorted((tmp_path / "dead" / "s").iterdir()) for line in file.read_text().splitlines()]
    assert [json.loads(line)["row"] for line in letters] == ["x", "x", "y"]
    assert log.counted[1] == {"odd": 3}
    assert (log.head, len(list((tmp_path / "streams" / "s").iterdir()))) == (2, 2)


def test_files_that_no_row_names_are_gone_when_a_log_is_opened(tmp_path):
    log = opened(tmp_path)
    feed(log, [[1]])
    folder = tmp_path / "streams" / "s"
    for name in ("000000000001.arrow", "000000000002.tmp"):
        (folder / name).write_text("torn")
    log.manifest.close()
    opened(tmp_path).manifest.close()
    assert [file.name for file in folder.iterdir()] == ["000000000000.arrow"]


@pytest.mark.parametrize("sync", [False, True])
def test_files_are_on_the_disk_before_the_row_that_names_them_for_who_wants_it(tmp_path, sync):
    log = opened(tmp_path, sync=sync)
    commit, seen = log.manifest.streams.append, []

    def noted(*given, **more):
        seen.extend(on_disk)
        commit(*given, **more)

    log.manifest.streams.append = noted
    with syncs() as on_disk:
        log.append(table([1]), None, rejected=[Rejected("x", "odd", "line 1")])
    trains, dead = tmp_path / "streams" / "s", tmp_path / "dead" / "s"
    wanted = [trains / "000000000000.tmp", trains, dead / "000000000000.jsonl", dead]
    assert seen == ([str(path) for path in wanted] if sync else [])
    log.manifest.close()


@pytest.mark.parametrize(
    ("change", "what"), [({"delay": 7}, "delay"), ({"event_time": None}, "event_time"), ({"schema": 1}, "schema")]
)
def test_a_stream_that_was_begun_otherwise_is_refused(tmp_path, change, what, monkeypatch):
    opened(tmp_path).manifest.close()
    if change.pop("schema", None):
        monkeypatch.setattr("engine.log.logs.SCHEMA", SCHEMA.append(pa.field("new", pa.int64())))
    manifest = Manifest(tmp_path / "manifest.db")
    with pytest.raises(InputError, match=f"got another {what}") as refused:
        opened(tmp_path, manifest, **change)
    assert "fresh state folder" in refused.value.remedy
    manifest.close()
