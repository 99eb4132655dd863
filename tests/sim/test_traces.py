"""Traces: each form of file gives the same times, and each mistake is refused where it stands."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.sim.arrivals import CHUNK, take
from headgate.sim.traces import Trace

BELLCORE = Path(__file__).parents[2] / ".." / "shared" / "data" / "bellcore-pAug89-100k.tl"
TIMES = [100.25, 100.5, 100.5, 101.0, 104.25]
SHIFTED = [0.0, 0.25, 0.25, 0.75, 4.0]
ISO = [(datetime(2024, 3, 1, tzinfo=UTC) + timedelta(seconds=t)).isoformat() for t in TIMES]


def read(trace):
    return take(trace, 10_000_000, np.random.default_rng(0))


def written(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def bellcore_form(path, times):
    return written(path, [f"  {t!r}  1090 " for t in times])


def parquet(path, values, kind):
    pq.write_table(pa.table({"size": [1] * len(values), "time": pa.array(values, kind)}), path)
    return path


def refusal(trace):
    with pytest.raises(InputError) as caught:
        read(trace)
    return caught.value


@pytest.mark.parametrize("form", ["auto", "seconds-bytes"])
def test_seconds_and_bytes_are_read(tmp_path, form):
    trace = Trace(bellcore_form(tmp_path / "pAug.TL", TIMES), form)
    assert read(trace).tolist() == SHIFTED


@pytest.mark.parametrize("form", ["auto", "ita-packets"])
def test_packets_of_the_internet_traffic_archive_are_read(tmp_path, form):
    path = written(tmp_path / "lbl-pkt-4.tcp", [f"{t} 1 2 23 1024 512" for t in TIMES])
    assert read(Trace(path, form)).tolist() == SHIFTED


@pytest.mark.parametrize("times", [TIMES, ISO, [t.removesuffix("+00:00") for t in ISO]])
def test_csv_seconds_and_timestamps_are_read(tmp_path, times):
    path = written(tmp_path / "trips.csv", ["taxi,time", *(f'"a, b",{t}' for t in times)])
    assert read(Trace(path, column="time")).tolist() == SHIFTED


def test_csv_timestamps_of_several_zones_are_compared_in_one(tmp_path):
    noon = datetime(2024, 3, 1, 12, tzinfo=UTC)
    later = (noon + timedelta(seconds=5)).astimezone(timezone(timedelta(hours=-8)))
    path = written(tmp_path / "zones.csv", ["time", noon.isoformat(), later.isoformat()])
    assert read(Trace(path, column="time")).tolist() == [0.0, 5.0]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_parquet_seconds_are_read(tmp_path, kind):
    assert read(Trace(parquet(tmp_path / "t.parquet", TIMES, kind), column="time")).tolist() == SHIFTED


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_parquet_timestamps_are_read(tmp_path, unit, zone):
    moments = [datetime.fromisoformat(t) for t in ISO]
    path = parquet(tmp_path / "t.parquet", moments, pa.timestamp(unit, zone))
    # Two roundings of times since 1970, each by half of a double's spacing there, 2.4e-7 s.
    assert read(Trace(path, column="time")).tolist() == pytest.approx(SHIFTED, abs=2.4e-7 * 2)


def test_parquet_whole_seconds_are_read(tmp_path):
    path = parquet(tmp_path / "t.parquet", [7, 7, 9], pa.int64())
    assert read(Trace(path, column="time")).tolist() == [0.0, 0.0, 2.0]


def test_blank_lines_of_plain_text_are_passed_over(tmp_path):
    path = written(tmp_path / "t.tl", ["", "1.0 10", "   ", "2.0 10", ""])
    assert read(Trace(path)).tolist() == [0.0, 1.0]


def test_scale_stretches_time_and_slows_the_rate(tmp_path):
    trace = Trace(bellcore_form(tmp_path / "t.tl", TIMES), scale=2.0)
    assert read(trace).tolist() == [2 * t for t in SHIFTED]
    assert trace.mean_rate() == 4 / 8.0


def test_mean_rate_counts_the_gaps_of_the_segment(tmp_path):
    path = bellcore_form(tmp_path / "t.tl", TIMES)
    assert Trace(path).mean_rate() == 1.0
    assert Trace(path, skip=1, limit=3).mean_rate() == 4.0
    assert Trace(path, limit=1).mean_rate() is None
    assert Trace(path, skip=1, limit=2).mean_rate() is None


@pytest.fixture(params=["tl", "csv", "parquet"])
def long_trace(request, tmp_path):
    """A trace of several chunks in each form; the csv is larger than one block of its reader."""
    times = (np.arange(150_000) / 8).tolist()
    path = tmp_path / f"long.{request.param}"
    if request.param == "tl":
        return Trace(bellcore_form(path, times))
    if request.param == "csv":
        return Trace(written(path, ["time", *times]), column="time")
    return Trace(parquet(path, times, pa.float64()), column="time")


def test_a_long_trace_comes_whole_and_in_bounded_chunks(long_trace):
    chunks = list(long_trace.chunks(np.random.default_rng(0)))
    assert np.array_equal(np.concatenate(chunks), np.arange(150_000) / 8)
    assert len(chunks) > 1
    if long_trace.path.suffix != ".csv":  # its reader goes by bytes
        assert max(map(len, chunks)) == CHUNK


def test_a_segment_beyond_the_first_chunk_starts_at_zero(long_trace):
    trace = Trace(long_trace.path, column=long_trace.column, skip=140_001, limit=5_000)
    assert np.array_equal(read(trace), np.arange(5_000) / 8)


def test_a_limit_beyond_the_end_gives_what_there_is(long_trace):
    trace = Trace(long_trace.path, column=long_trace.column, skip=149_990, limit=5_000)
    assert len(read(trace)) == 10


@settings(max_examples=30, deadline=None)
@given(
    times=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30).map(sorted),
    size=st.integers(1, 10),
    form=st.sampled_from(["tl", "csv", "parquet"]),
)
def test_disjoint_segments_make_up_the_trace(tmp_path_factory, times, size, form):
    path = tmp_path_factory.mktemp("segments") / f"t.{form}"
    column = None if form == "tl" else "time"
    if form == "tl":
        bellcore_form(path, times)
    elif form == "csv":
        written(path, ["time", *map(repr, times)])
    else:
        parquet(path, times, pa.float64())
    assert read(Trace(path, column=column)).tolist() == [t - times[0] for t in times]
    for skip in range(0, len(times), size):
        part = times[skip : skip + size]
        trace = Trace(path, column=column, skip=skip, limit=size)
        assert read(trace).tolist() == [t - part[0] for t in part]


def test_the_generator_is_left_alone(tmp_path):
    rng = np.random.default_rng(3)
    take(Trace(bellcore_form(tmp_path / "t.tl", TIMES)), 5, rng)
    assert rng.random() == np.random.default_rng(3).random()


def test_the_bellcore_trace_has_its_known_length_and_rate():
    if not BELLCORE.exists():
        pytest.skip("the shared data folder is not on this machine")
    trace = Trace(BELLCORE)
    assert len(read(trace)) == 100_001
    assert trace.mean_rate() == pytest.approx(397, abs=1)


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"form": "pcap"}, "Trace: form is one of auto, ita-packets, seconds-bytes, csv, parquet"),
        *[({"scale": v}, "Trace: scale") for v in (0.0, -1.0, float("nan"), float("inf"))],
        *[({"skip": v}, "Trace: skip") for v in (-1, 1.5)],
        *[({"limit": v}, "Trace: limit") for v in (0, -1, 1.5)],
    ],
)
def test_a_bad_parameter_is_refused_before_the_file_is_opened(settings, rule):
    with pytest.raises(InputError) as caught:
        Trace(Path("nowhere"), **settings)
    assert caught.value.rule.startswith(rule)


def test_a_missing_file_is_refused_with_its_path(tmp_path):
    error = refusal(Trace(tmp_path / "none.tl"))
    assert error.rule == "a trace is a file that exists"
    assert error.got == tmp_path / "none.tl"


@pytest.mark.parametrize(("name", "lines"), [("t.tl", []), ("t.tl", ["", " "]), ("t.csv", []), ("t.csv", ["time"])])
def test_a_trace_without_rows_is_refused(tmp_path, name, lines):
    path = written(tmp_path / name, lines)
    error = refusal(Trace(path, column="time" if name == "t.csv" else None))
    assert (error.rule, error.place) == ("a trace has at least one row", str(path))


def test_a_parquet_trace_without_rows_is_refused(tmp_path):
    error = refusal(Trace(parquet(tmp_path / "t.parquet", [], pa.float64()), column="time"))
    assert error.rule == "a trace has at least one row"


def test_a_segment_behind_the_end_is_refused(long_trace):
    error = refusal(Trace(long_trace.path, column=long_trace.column, skip=150_000, limit=10))
    assert (error.rule, error.got) == ("a trace has at least one row", "none after skip=150000")


def test_mean_rate_refuses_what_reading_refuses(tmp_path):
    with pytest.raises(InputError):
        Trace(tmp_path / "none.tl").mean_rate()


def test_a_form_that_does_not_show_is_refused_with_the_forms_there_are(tmp_path):
    error = refusal(Trace(written(tmp_path / "frames.txt", ["0 0.0 I 536"])))
    assert error.got == "4 columns"
    assert error.remedy == "Name the form: ita-packets, seconds-bytes, csv, parquet."


@pytest.mark.parametrize(
    ("form", "line", "rule"),
    [
        ("seconds-bytes", "soon 10", "an arrival time is a number"),
        ("seconds-bytes", "2.0", "a line of this form of trace has 2 columns"),
        ("seconds-bytes", "2.0 10 11", "a line of this form of trace has 2 columns"),
        ("ita-packets", "2.0 10", "a line of this form of trace has 6 columns"),
        ("seconds-bytes", "nan 10", "an arrival time is finite"),
        ("seconds-bytes", "inf 10", "an arrival time is finite"),
        ("seconds-bytes", "-inf 10", "an arrival time is finite"),
    ],
)
def test_a_bad_line_of_plain_text_is_refused_with_its_number(tmp_path, form, line, rule):
    good = "1.0 10" if form == "seconds-bytes" else "1.0 1 2 23 1024 512"
    path = written(tmp_path / "t.txt", [good, "", line, good])
    error = refusal(Trace(path, form))
    assert error.rule.startswith(rule)
    assert error.place == f"{path}:3"


def test_bytes_that_are_not_text_are_refused_with_their_line(tmp_path):
    path = tmp_path / "t.tl"
    path.write_bytes(b"1.0 10\n\xff\xfe 10\n")
    assert refusal(Trace(path)).place == f"{path}:2"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("soon", "an arrival time is a number"),
        ("", "an arrival time is a number"),
        ("2024-13-01", "an arrival time is a number"),
        ("NaN", "an arrival time is finite"),
        ("-inf", "an arrival time is finite"),
        ("0.5", "arrival times do not run backwards"),
    ],
)
def test_a_bad_csv_value_is_refused_with_its_line(tmp_path, text, rule):
    path = written(tmp_path / "t.csv", ["time,size", "1.0,2", f"{text},2", "3.0,2"])
    error = refusal(Trace(path, column="time"))
    assert error.rule.startswith(rule)
    assert error.place == f"{path}:3"


def test_a_csv_line_with_other_fields_than_the_header_is_refused(tmp_path):
    path = written(tmp_path / "t.csv", ["time,size", "1.0,2", "2.0,3,4"])
    error = refusal(Trace(path, column="time"))
    assert error.rule == "each line of a csv trace has the fields that its header names"
    assert "2.0,3,4" in str(error)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_a_parquet_time_that_is_null_or_not_finite_is_refused_with_its_row(tmp_path, value):
    path = parquet(tmp_path / "t.parquet", [1.0, value, 3.0], pa.float64())
    error = refusal(Trace(path, column="time"))
    assert (error.rule, error.place) == ("an arrival time is finite", f"{path}: row 2")


def test_a_parquet_column_of_text_is_refused_with_its_type(tmp_path):
    path = parquet(tmp_path / "t.parquet", ISO, pa.string())
    error = refusal(Trace(path, column="time"))
    assert (error.rule, str(error.got)) == ("the time column 'time' holds numbers or timestamps", "string")


def test_a_file_that_is_not_parquet_is_refused(tmp_path):
    path = bellcore_form(tmp_path / "t.tl", TIMES)
    assert refusal(Trace(path, "parquet", "time")).rule == "a parquet trace is a Parquet file"


@pytest.mark.parametrize("column", [None, "when"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_column_that_is_not_there_is_refused_with_those_that_are(tmp_path, form, column):
    path = tmp_path / f"t.{form}"
    if form == "csv":
        written(path, ["size,time", "1,1.0"])
    else:
        parquet(path, TIMES, pa.float64())
    error = refusal(Trace(path, column=column))
    assert error.rule == "Trace: column names the column of the times"
    assert error.remedy == "The file has: size, time."


def test_a_column_for_plain_text_is_refused(tmp_path):
    error = refusal(Trace(bellcore_form(tmp_path / "t.tl", TIMES), column="time"))
    assert error.rule.startswith("Trace: column is for csv and parquet")


@pytest.mark.parametrize("row", [1, 2, CHUNK, CHUNK + 1, 149_999])
def test_times_that_run_backwards_are_refused_with_place_and_both_values(tmp_path, row):
    times = (np.arange(row + 5) / 8 + 1).tolist()
    times[row] = 0.5
    places = {
        "tl": (bellcore_form(tmp_path / "t.tl", times), f":{row + 1}"),
        "csv": (written(tmp_path / "t.csv", ["time", *times]), f":{row + 2}"),
        "parquet": (parquet(tmp_path / "t.parquet", times, pa.float64()), f": row {row + 1}"),
    }
    for form, (path, place) in places.items():
        error = refusal(Trace(path, column=None if form == "tl" else "time"))
        assert error.rule == "arrival times do not run backwards"
        assert error.got == f"0.5 after {times[row - 1]}"
        assert error.place == f"{path}{place}"
        assert error.remedy == "Sort the file by time."
