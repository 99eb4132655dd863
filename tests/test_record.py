"""The record of a run: written by many threads, read after any crash, and what it says about the run."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.monitor.figures import Response
from headgate.record import (
    NAME,
    Arrived,
    Began,
    Changed,
    Follower,
    Life,
    Managed,
    Opened,
    Planned,
    Ran,
    Recorder,
    begun,
    read,
)
from headgate.record.segments import segments

BEGAN = Began(100.0, "bsd", {"train": {"most": 500, "slice": 0.5}}, 2)
PLANNED = Planned(100.0, "big", ("big", "small"), "alerts", {"ticks": 0}, a=0.5, b=0.5, S=0.5)
RAN = Ran(
    time=102.0,
    unit="big",
    positions={"ticks": (0, 4)},
    n=4,
    started=102.0,
    finished=104.0,
    lane=1,
    results=2,
    response=Response(6.0, 4.0, 20.0),
    formula="S·W/(C·T²)",
    terms={"priority": 1.5, "ΣW": 3.0},
    over="vwap",
)
TRAIN = Arrived("ticks", 0, 4, 100.5, 102.0)


@pytest.fixture
def record(tmp_path):
    """Writes entries, as one start of the engine, and reads the record."""

    def write(*entries):
        recorder = Recorder(tmp_path)
        for entry in entries:
            recorder.append(entry)
        recorder.close()
        return read(tmp_path)

    return write


def test_what_is_read_is_what_was_written(record, tmp_path):
    failed = replace(RAN, error='line 1\nline "2" \udcff', over=None, terms={"W": math.inf})
    changed = Changed(103.0, "big", "failed")
    found = record(BEGAN, PLANNED, TRAIN, RAN, failed, changed)
    assert found.began == BEGAN
    assert found.arrived == (TRAIN,)
    assert found.lives == (Life((PLANNED,), (RAN, failed), ((-math.inf, 100.0), (103.0, math.inf))),)
    assert found.ran == (RAN, failed)
    assert found.path == tmp_path / NAME
    assert read(tmp_path / NAME) == found
    (segment,) = segments(tmp_path)
    assert replace(read(segment), path=found.path) == found


def test_an_entry_may_hold_the_numbers_of_arrays(record):
    given = replace(TRAIN, first=np.int64(0), count=np.int64(4), at=np.float64(100.5))
    assert record(BEGAN, PLANNED, given, RAN).arrived == (TRAIN,)


def test_entries_of_many_threads_stand_on_lines_of_their_own(tmp_path):
    recorder = Recorder(tmp_path)
    for entry in (BEGAN, PLANNED, RAN):
        recorder.append(entry)
    trains = [replace(TRAIN, first=i) for i in range(400)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(recorder.append, trains))
    # Not closed: what was appended is in the file.
    assert sorted(train.first for train in read(tmp_path).arrived) == list(range(400))
    recorder.close()


@given(cut=st.integers(0, 300))
def test_a_crash_costs_no_more_than_the_line_it_tore(tmp_path_factory, cut):
    folder = tmp_path_factory.mktemp("state")
    recorder = Recorder(folder)
    for entry in (BEGAN, PLANNED, RAN, TRAIN, RAN):
        recorder.append(entry)
    recorder.close()
    (file,) = segments(folder)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) - cut])
    lines = file.read_bytes().count(b"\n")
    found = read(folder)
    assert 3 + len(found.arrived) + len(found.ran) == lines
    again = Recorder(folder)
    for entry in (replace(BEGAN, time=200.0), PLANNED, RAN):
        again.append(entry)
    again.close()
    later = read(folder)
    assert (later.began.time, len(later.ran), later.arrived) == (200.0, 1, found.arrived)
    assert read(folder, 104.0) == found


def test_the_last_start_counts_and_what_arrived_before_is_kept(record):
    record(BEGAN, PLANNED, TRAIN, RAN, Changed(103.0, "big", "paused"))
    later = Arrived("ticks", 4, 2, 201.0, 202.0)
    moved = replace(PLANNED, time=200.0, reads={"ticks": 3})
    found = record(replace(BEGAN, time=200.0, policy="hnr"), moved, later, replace(RAN, positions={"ticks": (3, 6)}))
    assert found.began.policy == "hnr"
    assert (len(found.ran), found.lives[0].away) == (1, ((-math.inf, 200.0),))
    assert found.streams["ticks"].numbers.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.measured.overall.waiting == 0


def test_what_was_planned_before_the_start_does_not_count(record):
    found = record(replace(PLANNED, a=9.0), Changed(99.0, "big", "paused"), BEGAN, PLANNED, TRAIN, RAN)
    assert found.lives == (Life((PLANNED,), (RAN,), ((-math.inf, 100.0),)),)


def test_the_tuples_of_a_train_are_evenly_spread_and_can_be_read_at_its_end(record):
    found = record(BEGAN, PLANNED, TRAIN, Arrived("ticks", 7, 1, 101.0, 101.0), Arrived("other", 0, 1, 0.0, 0.0), RAN)
    assert set(found.streams) == {"ticks"}
    at, readable, numbers = found.streams["ticks"]
    # The last came after the clock was set back; numbers 4 to 6 were lost in a crash.
    assert at.tolist() == [100.5, 101.0, 101.5, 102.0, 102.0]
    assert readable.tolist() == [102.0] * 5
    assert numbers.tolist() == [0, 1, 2, 3, 7]


def test_a_unit_has_its_latest_statistics_and_begins_where_it_first_stood(record):
    later = replace(PLANNED, time=103.0, a=0.25, reads={"ticks": 4})
    found = record(BEGAN, PLANNED, RAN, later)
    assert found.units == {"big": later}
    assert found.lives[0].planned == (PLANNED, later)
    assert found.lives[0].stands == {"ticks": 4}
    assert found.ended == 104.0


def test_a_run_in_which_nothing_has_run_yet_can_be_looked_at_all_the_same(tmp_path):
    (tmp_path / "record.jsonl").write_text(LINES["began"])
    found = begun(tmp_path)
    assert (found.began.policy, found.lives, found.ran) == ("bsd", (), ())


def test_a_stream_that_has_had_no_tuple_is_empty(record):
    found = record(BEGAN, PLANNED, RAN)
    assert [len(column) for column in found.streams["ticks"]] == [0, 0, 0]


@pytest.mark.parametrize(
    ("changes", "away"),
    [
        ([], []),
        ([(101, "added")], []),
        ([(101, "paused"), (103, "resumed")], [(101, 103)]),
        ([(101, "failed"), (102, "paused"), (103, "resumed")], [(101, 103)]),
        ([(101, "paused"), (103, "resumed"), (105, "paused")], [(101, 103), (105, math.inf)]),
        ([(101, "paused"), (105, "removed")], [(101, 105)]),
    ],
)
def test_a_unit_is_away_until_it_is_planned_and_while_it_is_stopped(record, changes, away):
    others = [Changed(101.5, "other", "removed")]
    found = record(BEGAN, PLANNED, RAN, *others, *(Changed(float(time), "big", what) for time, what in changes))
    assert found.lives[0].away == ((-math.inf, 100.0), *away)


def test_a_unit_that_comes_back_after_it_was_removed_reads_on_where_it_is_planned_then(record):
    fused = replace(PLANNED, time=102.0, unit="fused", queries=("big", "small"), reads={"ticks": 1})
    back = replace(PLANNED, time=110.0, reads={"ticks": 3})
    found = record(
        *(BEGAN, PLANNED, Changed(100.0, "big", "added"), TRAIN, replace(RAN, positions={"ticks": (0, 1)}, n=1)),
        *(Changed(102.0, "big", "removed"), fused, Changed(102.0, "fused", "added")),
        *(replace(RAN, unit="fused", positions={"ticks": (1, 3)}, n=2), Changed(110.0, "fused", "removed")),
        *(back, Changed(110.0, "big", "added"), replace(RAN, positions={"ticks": (3, 4)}, n=1, finished=111.0)),
    )
    assert [(life.latest.unit, life.planned[0].reads, life.stands, life.removed) for life in found.lives] == [
        ("big", {"ticks": 0}, {"ticks": 1}, True),
        ("fused", {"ticks": 1}, {"ticks": 3}, True),
        ("big", {"ticks": 3}, {"ticks": 4}, False),
    ]
    assert (found.measured.units["big"].runs, found.measured.units["fused"].runs) == (2, 1)
    assert found.measured.overall.waiting == 0


def test_the_measured_figures_are_those_of_the_results(record):
    vwap = replace(PLANNED, unit="vwap", cls="boards", a=1.0, b=1.0)
    other = replace(
        RAN, unit="vwap", n=1, started=104.0, finished=110.0, results=1, response=Response(8.0, 8.0, 64.0)
    )
    found = record(BEGAN, PLANNED, vwap, TRAIN, RAN, replace(other, positions={"ticks": (0, 1)})).measured
    # Slowdowns 4 and 2 of `big`, whose ideal time is 1, and 4 of `vwap`, whose ideal time is 2.
    assert found.overall.results == 3
    assert found.overall.avg_slowdown == pytest.approx(10 / 3)
    assert found.overall.max_slowdown == 4.0
    assert found.overall.rms_slowdown == pytest.approx(math.sqrt((16 + 4 + 16) / 3))
    assert (found.overall.avg_response, found.overall.max_response) == (14 / 3, 8.0)
    assert (found.overall.runs, found.overall.avg_train) == (2, 2.5)
    # Two lanes of 10 s.
    assert (found.overall.utilisation, found.overall.overhead) == (8 / 20, 1.5 / 20)
    assert found.classes["boards"].avg_slowdown == found.units["vwap"].avg_slowdown == 4.0
    assert (found.units["big"].waiting, found.units["vwap"].waiting, found.overall.waiting) == (0, 3, 3)


def test_a_run_that_failed_took_time_and_served_nothing(record):
    found = record(BEGAN, PLANNED, TRAIN, replace(RAN, error="no such column")).measured.overall
    assert (found.results, found.runs, found.waiting, found.utilisation) == (0, 1, 4, 2 / 8)
    assert math.isnan(found.avg_slowdown)


def test_the_part_a_of_runs_is_no_more_than_they_took(record):
    found = record(BEGAN, replace(PLANNED, a=9.0), TRAIN, RAN).measured.overall
    assert found.overhead == found.utilisation == 2 / 8


def test_what_a_removed_unit_leaves_does_not_wait(record):
    found = record(BEGAN, PLANNED, TRAIN, replace(RAN, positions={"ticks": (0, 1)}), Changed(103.0, "big", "removed"))
    assert found.measured.overall.waiting == 0


@given(st.lists(st.floats(0, 1e3)))
def test_a_response_sums_up_its_times(times):
    total, longest, squares = Response.of(np.array(times, dtype=np.float64))
    assert total == pytest.approx(math.fsum(times))
    assert longest == max(times, default=0.0)
    assert squares == pytest.approx(math.fsum(t * t for t in times))


# Segments


def runs(n, first=0):
    """A run of a tuple each, a second after the other, and its train."""
    for i in range(first, first + n):
        at = 100.0 + i
        yield replace(TRAIN, first=i, count=1, at=at, until=at)
        positions = {"ticks": (i, i + 1)}
        yield replace(RAN, time=at, started=at, finished=at + 0.5, positions=positions, n=1, results=1)


def written(folder, *entries, **sizes):
    recorder = Recorder(folder, **sizes)
    for entry in entries:
        recorder.append(entry)
    recorder.close()


def test_each_segment_is_a_record_by_itself(tmp_path):
    paused, managed = Changed(100.0, "idle", "paused"), Managed(100.0, {"alerts": 0.5}, {"alerts": 1.0}, {})
    idle = replace(PLANNED, unit="idle")
    written(tmp_path, BEGAN, PLANNED, idle, paused, managed, *runs(60), segment=4000)
    assert len(segments(tmp_path)) > 3
    served = 0
    for segment in segments(tmp_path):
        found = begun(segment)
        assert (found.began, found.managed, set(found.units)) == (BEGAN, (managed,), {"big", "idle"})
        big, stopped = found.lives
        assert big.planned[0].reads == {"ticks": served}
        assert stopped.away[-1] == (100.0, math.inf)
        # What waits for the unit that is paused is still there.
        assert found.streams["ticks"].numbers[0] == 0
        served += len(found.ran)
    assert served == 60


def test_of_a_long_run_the_latest_part_is_read_and_what_is_around_a_time(tmp_path):
    written(tmp_path, BEGAN, PLANNED, *runs(60), segment=4000)
    last = read(tmp_path)
    numbers = [ran.positions["ticks"][0] for ran in last.ran]
    assert numbers == list(range(numbers[0], 60))
    assert numbers[0] > 0
    assert 100.0 < last.since <= 100.0 + numbers[0]
    # Two segments that follow each other are one: nothing that the second repeats is there twice.
    assert (len(last.lives), len(last.lives[0].planned)) == (1, 1)
    assert last.streams["ticks"].numbers.tolist() == numbers
    assert last.measured.overall.waiting == 0
    assert last.measured.overall.utilisation == pytest.approx(len(numbers) * 0.5 / 2 / (last.ended - last.since))
    first = read(tmp_path, 100.2)
    assert (first.since, first.ran[0].positions) == (100.0, {"ticks": (0, 1)})
    assert any(ran.finished == 130.5 for ran in read(tmp_path, 130.2).ran)


def test_the_oldest_segments_go(tmp_path):
    written(tmp_path, BEGAN, PLANNED, *runs(200), segment=2000, kept=10_000)
    sizes = [segment.stat().st_size for segment in segments(tmp_path)]
    assert len(sizes) >= 3
    assert sum(sizes[:-1]) <= 10_000
    assert read(tmp_path).ran[-1].positions == {"ticks": (199, 200)}
    assert begun(tmp_path, 0.0).since > 100.0


def test_a_run_that_ends_after_its_unit_has_gone_and_the_segment_is_full_is_no_mistake(tmp_path):
    other = replace(PLANNED, unit="other", time=100.0)
    written(tmp_path, BEGAN, PLANNED, other, Changed(100.0, "other", "removed"), *runs(30), segment=3000)
    written(tmp_path, replace(RAN, unit="other"))
    assert len(read(tmp_path).lives) == 1
    late = segments(tmp_path)[-2]
    with late.open("ab") as file:
        file.write(LINES["ran"].replace('"big"', '"other"').encode())
    assert "other" not in read(late).units


def test_a_start_that_was_not_yet_and_a_segment_that_was_never_opened_are_passed_over(tmp_path):
    written(tmp_path, BEGAN, PLANNED, TRAIN, RAN)
    before = read(tmp_path)
    (tmp_path / NAME / "00000002.new").write_text('{"opened":{"time":1')
    written(tmp_path, replace(TRAIN, first=4))
    assert len(segments(tmp_path)) == 2
    assert read(tmp_path) == before
    again = Recorder(tmp_path)
    for entry in (replace(BEGAN, time=200.0), replace(PLANNED, reads={"ticks": 4}), RAN):
        again.append(entry)
    again.close()
    # Trains that came while nobody ran are handed on from start to start.
    assert [train.first for train in read(tmp_path).arrived] == [0, 4]


def test_a_record_of_one_file_is_read_and_goes_on_in_segments(tmp_path):
    written(tmp_path, BEGAN, PLANNED, TRAIN, RAN)
    (segment,) = segments(tmp_path)
    lines = segment.read_text().splitlines(keepends=True)
    segment.unlink()
    (tmp_path / "record.jsonl").write_text("".join(lines[1:]))
    old = read(tmp_path)
    assert (old.path, old.since, len(old.ran)) == (tmp_path / "record.jsonl", 100.0, 1)
    written(tmp_path, replace(BEGAN, time=200.0), PLANNED, RAN)
    assert (read(tmp_path).began.time, read(tmp_path).arrived) == (200.0, (TRAIN,))
    assert read(tmp_path, 103.0) == old


def test_who_follows_sees_each_entry_once_over_all_segments(tmp_path):
    follower, seen = Follower(tmp_path), []
    assert follower.look() == []
    entries = [BEGAN, PLANNED, *runs(40), replace(BEGAN, time=200.0), PLANNED, *runs(40, 100)]
    recorder = Recorder(tmp_path, segment=1500)
    for i, entry in enumerate(entries):
        recorder.append(entry)
        if i % 7 == 0:
            seen += follower.look()
    recorder.close()
    seen += follower.look()
    assert [entry for entry in seen if not isinstance(entry, Opened)] == entries


def test_who_follows_takes_the_end_of_a_line_as_it_comes(tmp_path):
    written(tmp_path, BEGAN, PLANNED)
    (segment,) = segments(tmp_path)
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-20])
    follower = Follower(tmp_path)
    assert follower.look()[-1] == BEGAN
    segment.write_bytes(whole)
    assert follower.look() == [PLANNED]


LINES = {
    "began": '{"began":{"time":1,"policy":"bsd","options":{},"lanes":1}}\n',
    "ran": json.dumps(
        {"ran": {name: getattr(RAN, name) for name in RAN.__dataclass_fields__}},
    )
    + "\n",
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a record holds a run; got an empty file"),
        ('{"began":{"time', "a record holds a run; got an empty file"),
        (LINES["ran"], "a record holds a run; got none that began"),
        (LINES["began"], "at least one run of a unit; got none"),
        (LINES["began"] + LINES["ran"], "every unit that ran has its statistics in the record; got 'big' without"),
        ("time,price\n1,2\n", ":1: a line of a record is an entry; got 'time,price"),
        (LINES["began"] + "\n", ":2: a line of a record is an entry"),
        (LINES["began"] + "[1]\n", ":2: a line of a record is an entry"),
        (LINES["began"] + '{"stopped":{}}\n', ":2: a line of a record is an entry"),
        (LINES["began"] + '{"arrived":{"stream":"ticks"}}\n', ":2: a line of a record is an entry"),
        (LINES["began"] + '{"arrived":[],"ran":{}}\n', ":2: a line of a record is an entry"),
        (b"PAR1\xff\xfe\n", ":1: a line of a record is an entry"),
    ],
)
def test_a_file_that_is_no_record_is_refused_with_the_line(tmp_path, text, said):
    (tmp_path / "record.jsonl").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        read(tmp_path)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["", "no/such/folder"])
def test_a_folder_without_a_record_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="a run's state folder has its record"):
        read(tmp_path / name)
