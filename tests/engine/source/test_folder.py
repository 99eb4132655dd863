"""A watched folder: every file once, in order, and what is left alone."""

import logging
import os

import pyarrow as pa
import pytest

from engine.source.intake import Memory, fed
from headgate.engine import source
from headgate.engine.source.watched import Seen, Version
from headgate.errors import InputError

SCHEMA = pa.schema([("n", pa.int64())])
MINUTE = 60


def put(path, name, *numbers, at):
    (path / name).write_text("".join(f'{{"n":{n}}}\n' for n in numbers))
    os.utime(path / name, (at, at))


class Visits(Memory):
    """Does something at each pause of the source, then stops it."""

    def wait(self, seconds):
        if not seconds:
            return False
        step = next(self.steps, None)
        if step is None:
            return True
        step()
        return False


def watched(path, *steps, state=None, **how):
    intake = Visits(SCHEMA, state=state)
    intake.steps = iter(steps)
    source.folder(path, schema=SCHEMA, **how).run(intake)
    return intake


def numbers(intake):
    return intake.rows["n"].to_pylist()


def test_files_are_read_in_the_order_of_their_times_and_then_names(tmp_path):
    put(tmp_path, "a.jsonl", 3, at=20)
    put(tmp_path, "c.jsonl", 2, at=10)
    put(tmp_path, "b.jsonl", 1, at=10)
    assert numbers(watched(tmp_path)) == [1, 2, 3]


def test_a_new_file_is_read_once(tmp_path):
    put(tmp_path, "a.jsonl", 1, 2, at=10)
    found = watched(tmp_path, lambda: put(tmp_path, "b.jsonl", 3, at=10), lambda: None)
    assert numbers(found) == [1, 2, 3]
    assert numbers(watched(tmp_path, state=found.state)) == []


def test_a_file_that_changes_is_a_new_one(tmp_path):
    put(tmp_path, "a.jsonl", 1, at=10)
    assert numbers(watched(tmp_path, lambda: put(tmp_path, "a.jsonl", 2, at=11))) == [1, 2]


def test_unfinished_hidden_and_other_files_are_left_alone(tmp_path):
    for name in (".a.jsonl", "_b.jsonl", "c.jsonl.tmp", "d.txt"):
        put(tmp_path, name, 1, at=10)
    (tmp_path / "e.jsonl").mkdir()
    put(tmp_path, "f.jsonl", 2, at=10)
    assert numbers(watched(tmp_path)) == [2]


def test_with_a_format_every_file_has_it(tmp_path):
    put(tmp_path, "part-0", 1, at=10)
    put(tmp_path, "part-1.csv", 2, at=11)
    put(tmp_path, "part-2.tmp", 3, at=12)
    assert numbers(watched(tmp_path, format="json")) == [1, 2]


def test_a_file_may_come_minutes_behind_a_younger_one_but_not_more(tmp_path, caplog):
    put(tmp_path, "young.jsonl", 1, at=10 * MINUTE)
    found = watched(
        tmp_path,
        lambda: put(tmp_path, "late.jsonl", 2, at=6 * MINUTE),
        lambda: put(tmp_path, "old.jsonl", 3, at=4 * MINUTE),
        lambda: None,
    )
    assert numbers(found) == [1, 2]
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert [record.args for record in warnings] == [(tmp_path / "old.jsonl",)]


def test_a_late_file_does_not_make_the_begun_one_come_twice(tmp_path, monkeypatch):
    monkeypatch.setattr("headgate.engine.source.pump.MOST_ROWS", 2)
    monkeypatch.setattr("headgate.engine.source.files._PIECE_BYTES", 8)
    put(tmp_path, "b.jsonl", 1, 2, 3, 4, at=20)
    first = Memory(SCHEMA, stop=1, stop_at_pause=True)
    source.folder(tmp_path, schema=SCHEMA).run(first)
    put(tmp_path, "a.jsonl", 9, at=10)
    second = watched(tmp_path, state=first.state)
    assert numbers(first) + numbers(second) == [1, 2, 3, 4, 9]


def test_a_begun_file_that_is_gone_at_a_restart_is_told_of(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("headgate.engine.source.pump.MOST_ROWS", 2)
    put(tmp_path, "a.jsonl", 1, 2, 3, 4, at=20)
    first = Memory(SCHEMA, stop=1, stop_at_pause=True)
    source.folder(tmp_path, schema=SCHEMA).run(first)
    (tmp_path / "a.jsonl").unlink()
    put(tmp_path, "b.jsonl", 5, at=30)
    assert numbers(watched(tmp_path, state=first.state)) == [5]
    assert [record.args for record in caplog.records] == [(tmp_path / "a.jsonl", 2)]


def test_the_state_holds_the_files_of_the_last_minutes_only():
    seen = Seen()
    for minute in range(100):
        seen = seen.plus(Version(minute * MINUTE * 10**9, str(minute)))
    assert sorted(int(file.name) for file in seen.files) == [94, 95, 96, 97, 98, 99]


def test_the_columns_show_in_the_first_file(tmp_path):
    with pytest.raises(InputError, match="no file in"):
        source.folder(tmp_path).schema(None)
    put(tmp_path, "a.jsonl", 1, at=10)
    assert fed(source.folder(tmp_path), stop_at_pause=True).rows.to_pylist() == [{"n": 1}]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.jsonl", '{"n": 1}\n{"n": "one"}\n', "changed from number to string"),
        ("a.jsonl", "no object\n", "Empty JSON file"),
        ("a.csv", "", "Empty CSV file"),
    ],
)
def test_why_columns_do_not_show_is_said(tmp_path, name, text, reason):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=rf"got '.*{name}': .*{reason}"):
        source.folder(tmp_path).schema(None)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "a.parquet").write_text("not Parquet")
    with pytest.raises(InputError, match=r"got '.*a\.parquet'"):
        watched(tmp_path)


@pytest.mark.parametrize(
    ("path", "how", "message"),
    [("no", {}, "is there before it is watched"), ("", {"format": "xml"}, "known"), ("", {"every": "0s"}, "every")],
)
def test_what_cannot_be_watched_is_refused(tmp_path, path, how, message):
    with pytest.raises(InputError, match=message):
        source.folder(tmp_path / path, **how)
