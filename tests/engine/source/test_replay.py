"""Replay: when rows come, in which order, and what is told about files that cannot be replayed."""

import logging
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.source.intake import START, Memory, fed
from headgate.engine import source
from headgate.errors import InputError

DAY = datetime(2026, 1, 1, tzinfo=UTC)


def written(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def ticks(tmp_path):
    times = [DAY + timedelta(seconds=s) for s in (0, 1, 1, 4, 10)]
    return written(
        tmp_path / "ticks.parquet", n=range(5), ts=times, s=[7.0, 8.0, 8.0, 11.0, 17.0], at=[7, 8, 8, 11, 17]
    )


@pytest.mark.parametrize("column", ["ts", "s", "at"])
@pytest.mark.parametrize(("speed", "due"), [(1, [0, 1, 1, 4, 10]), (4, [0, 0.25, 0.25, 1, 2.5])])
def test_rows_come_at_the_intervals_of_the_time_column(ticks, column, speed, due):
    np.testing.assert_allclose(fed(source.replay(ticks, time=column, speed=speed)).times, due)


def test_without_a_time_the_speed_is_tuples_per_second(ticks):
    np.testing.assert_allclose(fed(source.replay(ticks, speed=4)).times, [0, 0.25, 0.5, 0.75, 1])


def test_a_row_out_of_order_comes_with_the_one_before_it(tmp_path):
    file = written(tmp_path / "f.parquet", s=[None, 5.0, 3.0, None, 9.0, 6.0])
    np.testing.assert_allclose(fed(source.replay(file, time="s")).times, [0, 0, 0, 0, 4, 4])


def test_as_fast_as_it_goes_everything_arrives_now(ticks):
    found = fed(source.replay(ticks, time="ts", speed="max"))
    assert len(found.trains) == 1
    assert found.clock == START


@pytest.mark.parametrize("column", ["ts", "s", "at"])
def test_from_pass_to_pass_times_go_on(ticks, column):
    found = fed(source.replay(ticks, time=column, repeat=3))
    np.testing.assert_allclose(found.times, [0, 1, 1, 4, 10, 10, 11, 11, 14, 20, 20, 21, 21, 24, 30])
    times = found.rows[column]
    times = times.cast(pa.int64()).to_numpy() / (1e6 if column == "ts" else 1)
    np.testing.assert_allclose(times - times[0], found.times)
    assert found.rows["n"].to_pylist() == [*range(5)] * 3


def test_arrivals_time_the_rows_of_any_file_as_often_as_it_takes(ticks):
    arrivals = [0.0, 0.5, 0.5, 3.0, 4.0, 8.0, 9.0]
    found = fed(source.replay(ticks, arrivals=arrivals, speed=2))
    assert found.rows["n"].to_pylist() == [0, 1, 2, 3, 4, 0, 1]
    np.testing.assert_allclose(found.times, np.array(arrivals) / 2)


def test_files_without_a_tuple_end_even_when_there_are_arrivals_left(tmp_path):
    (tmp_path / "a.csv").write_text("n\nx\ny\n")
    found = fed(source.replay(tmp_path / "a.csv", schema=pa.schema([("n", pa.int64())]), arrivals=[0.0, 1.0]))
    assert found.rows.num_rows == 0
    assert len(found.rejected) == 2


def test_a_folder_or_a_pattern_is_read_by_name(tmp_path):
    for name, n in (("b.parquet", 2), ("a.parquet", 1), ("c.parquet", 3), ("_hidden.parquet", 4)):
        written(tmp_path / name, n=[n])
    (tmp_path / "readme.txt").write_text("")
    assert fed(source.replay(tmp_path)).rows["n"].to_pylist() == [1, 2, 3]
    assert fed(source.replay(f"{tmp_path}/[bc].parquet")).rows["n"].to_pylist() == [2, 3]


@pytest.mark.parametrize(
    ("name", "text", "types"),
    [
        (
            "a.csv",
            "s,n,x,t,d,z,c\na,1,1.5,2026-01-01T00:00:00.25Z,2026-01-01,,10:30:00\n",
            ["string", "int64", "double", "timestamp[us, tz=UTC]", "date32[day]", "string", "string"],
        ),
        (
            "a.jsonl",
            '{"s":"a","n":1,"x":1.5,"t":"2026-01-01 00:00:00.25","z":null,"l":[1]}\n',
            ["string", "int64", "double", "timestamp[us, tz=UTC]", "string", "list<item: int64>"],
        ),
    ],
)
def test_the_columns_of_a_text_file_show_in_its_head(tmp_path, name, text, types):
    (tmp_path / name).write_text(text)
    found = fed(source.replay(tmp_path / name))
    assert [str(kind) for kind in found.schema.types] == types
    assert found.rows.num_rows == 1
    assert not found.rejected


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfn\n1\n")
    assert fed(source.replay(tmp_path / "a.csv")).rows.to_pylist() == [{"n": 1}]


def test_columns_that_later_files_have_more_are_left_out_with_one_warning(tmp_path, caplog):
    written(tmp_path / "a.parquet", n=[1])
    for name in "bcd":
        written(tmp_path / f"{name}.parquet", more=["x"], n=pa.array([2], pa.int16()))
    with caplog.at_level(logging.WARNING):
        found = fed(source.replay(tmp_path))
    assert found.rows["n"].to_pylist() == [1, 2, 2, 2]
    assert [record.args for record in caplog.records] == [(tmp_path / "b.parquet", "more")]


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ({"m": [1, 2]}, "column 'n' is BIGINT, got a table where it is missing"),
        ({"n": ["x", "y"]}, "column 'n' is BIGINT, got string"),
        ({"n": [1.5, 2.5]}, "column 'n' is BIGINT, got double"),
    ],
)
def test_every_row_of_a_parquet_file_that_does_not_fit_is_refused(tmp_path, column, reason):
    written(tmp_path / "a.parquet", n=[1])
    file = written(tmp_path / "b.parquet", **column)
    found = fed(source.replay(tmp_path))
    assert [(row.reason, row.place) for row in found.rejected] == [(reason, str(file))] * 2


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    written(tmp_path / "a.parquet", n=[1])
    (tmp_path / "b.parquet").write_bytes(b"PAR1 but no more")
    intake = Memory(pa.schema([("n", pa.int64())]))
    with pytest.raises(InputError, match=r"can read its files; got '.*b\.parquet'"):
        source.replay(tmp_path).run(intake)


def test_a_file_that_is_gone_at_a_restart_is_named(tmp_path):
    for name in "ab":
        written(tmp_path / f"{name}.parquet", n=[1, 2])
    made = source.replay(tmp_path, speed=1)
    first = Memory(pa.schema([("n", pa.int64())]), stop=1)
    made.run(first)
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(InputError, match=r"no '.*a\.parquet'"):
        made.run(Memory(first.schema, state=first.state))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"speed": 0}, "speed is a number above 0"),
        ({"speed": "fast"}, "speed is a number above 0"),
        ({"every": 0}, "every is a finite time above 0"),
        ({"repeat": 0}, "repeat is a whole number"),
        ({"arrivals": [1.0, 0.5]}, "arrivals are seconds from the start"),
        ({"arrivals": [-1.0]}, "arrivals are seconds from the start"),
        ({"time": "when"}, "the time of a replay is a column; got 'when'. Choose one of n, ts, s, at."),
        ({"time": "name", "schema": pa.schema([("name", pa.string())])}, "TIMESTAMP or a number of seconds"),
    ],
)
def test_what_cannot_be_replayed_is_refused(ticks, how, message):
    with pytest.raises(InputError, match=message):
        source.replay(ticks, **how).schema(None)


@pytest.mark.parametrize(("name", "message"), [("no.parquet", "none at"), ("a.txt", "suffix"), ("empty", "none at")])
def test_a_path_without_files_to_replay_is_refused(tmp_path, name, message):
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=message):
        source.replay(tmp_path / name)


def test_an_empty_text_file_needs_a_schema(tmp_path):
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(InputError, match="first rows"):
        source.replay(tmp_path / "a.csv").schema(None)
    assert fed(source.replay(tmp_path / "a.csv", schema=pa.schema([("n", pa.int64())]))).rows.num_rows == 0


def test_a_replay_goes_on_in_the_folder_that_the_files_are_in_on_another_machine(tmp_path):
    for machine in ("a", "b"):
        (tmp_path / machine).mkdir()
        for name, first in (("1.parquet", 0), ("2.parquet", 3)):
            written(tmp_path / machine / name, n=range(first, first + 3))
    begun = fed(source.replay(tmp_path / "a", speed="max"))
    state = {**begun.states[0], "file": str(tmp_path / "a" / "2.parquet"), "row": 1, "sent": 4}
    schema = begun.schema
    rest = Memory(schema, state=state)
    source.replay(tmp_path / "b", speed="max").run(rest)
    assert rest.rows["n"].to_pylist() == [4, 5]


def test_a_replay_that_is_told_when_it_begins_is_late_by_the_time_that_has_passed(ticks):
    made = source.replay(ticks, time="ts")
    late = Memory(made.schema(None), state=made.start(START - 5))
    made.run(late)
    assert late.rows["n"].to_pylist() == [0, 1, 2, 3, 4]
    assert late.trains[0]["n"].to_pylist() == [0, 1, 2, 3]
    np.testing.assert_allclose(np.concatenate(late.arrived) - (START - 5), [0, 1, 1, 4, 10])
