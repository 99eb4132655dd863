"""Results in a file of JSON lines."""

import json
import os
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import settings

from engine.sink.openings import opened, opening, run, table
from engine.sink.runs import Runs
from engine.sink.syncs import syncs
from headgate.engine import sink
from headgate.errors import HeadgateError, InputError


def values(path):
    return [json.loads(line)["value"] for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some" / "folder" / "big.jsonl"


@pytest.mark.parametrize(
    ("reached", "seen"),
    [("staged", [1, 2]), ("committed", [1, 2, 3, 4]), ("published", [1, 2, 3, 4])],
)
def test_after_a_crash_every_committed_run_is_there_once(path, reached, seen):
    writer = opened(sink.jsonl(path))
    last = run(writer, 1, table(1, 2))
    receipt = writer.stage(2, table(3, 4))
    if reached != "staged":
        last = receipt
    if reached == "published":
        writer.publish(receipt)
    writer.close()
    again = opened(sink.jsonl(path), last)
    assert values(path) == seen
    run(again, 3, table(5))
    assert values(path) == [*seen, 5]
    again.close()


class JsonRuns(Runs):
    def make(self):
        return sink.jsonl(self.folder / "out.jsonl")

    def visible(self):
        path = self.folder / "out.jsonl"
        return values(path) if path.exists() else []

    def damage(self, share):
        named, new = self.folder / "out.jsonl", self.folder / ".out.jsonl.new"
        path = named if named.exists() else new
        before = self.last["length"] if self.last else 0
        os.truncate(path, before + int((path.stat().st_size - before) * share))


TestJsonRuns = JsonRuns.TestCase
TestJsonRuns.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)


def test_a_repeated_run_takes_the_place_of_its_first_attempt(path):
    writer = opened(sink.jsonl(path))
    run(writer, 1, table(1))
    writer.stage(2, table(2, 2, 2))
    run(writer, 2, table(3))
    assert values(path) == [1, 3]
    writer.close()


def test_what_a_crash_before_the_first_commit_leaves_is_not_taken_for_a_file_of_the_user(path):
    path.parent.mkdir(parents=True)
    path.touch()
    for _ in range(2):
        writer = opened(sink.jsonl(path))
        receipt = writer.stage(1, table(1))
        assert not path.exists()
        writer.close()
    again = opened(sink.jsonl(path), receipt)
    assert values(path) == [1]
    again.close()


def test_a_file_with_content_would_be_overwritten(path):
    path.parent.mkdir(parents=True)
    path.write_text("mine\n")
    with pytest.raises(InputError, match=r"would be overwritten; got .*big.jsonl with 5 bytes"):
        sink.jsonl(path).open(opening())
    assert path.read_text() == "mine\n"


def test_committed_results_that_are_gone_are_reported(path):
    writer = opened(sink.jsonl(path))
    last = run(writer, 1, table(1))
    writer.close()
    os.truncate(path, 5)
    with pytest.raises(InputError, match=r"committed are still in .*; got 5 bytes of 23. Put the file back"):
        sink.jsonl(path).open(opening(last))
    path.unlink()
    with pytest.raises(InputError, match="got 0 bytes of 23"):
        sink.jsonl(path).open(opening(last))


def test_results_go_on_in_a_file_that_was_moved_with_its_folder(path, tmp_path):
    writer = opened(sink.jsonl(path))
    last = run(writer, 1, table(1))
    writer.close()
    path.parent.rename(tmp_path / "moved")
    again = opened(sink.jsonl(tmp_path / "moved" / "big.jsonl"), last)
    run(again, 2, table(2))
    assert values(tmp_path / "moved" / "big.jsonl") == [1, 2]
    again.close()


@pytest.mark.parametrize("last", [{"file": "other.jsonl", "length": 100}, {"part": 3, "rows": 1}, {}])
def test_a_query_whose_results_went_elsewhere_begins_a_new_file(path, last):
    writer = opened(sink.jsonl(path), last)
    run(writer, 8, table(1))
    assert values(path) == [1]
    writer.close()


@pytest.mark.parametrize("sync", [False, True])
def test_what_is_staged_is_on_the_disk_before_it_is_committed_for_who_wants_it(path, sync):
    writer = opened(sink.jsonl(path), sync=sync)
    with syncs() as on_disk:
        for number in (1, 2):
            run(writer, number, table(number))
        new = path.with_name(".big.jsonl.new")
        assert on_disk == ([str(each) for each in (new, path.parent, path)] if sync else [])
    writer.close()


def test_a_run_is_one_write_and_nothing_is_cut_that_is_not_there(path):
    writer = opened(sink.jsonl(path))
    run(writer, 1, table(1))
    file = writer._file.file
    writer._file.file = mock.Mock(wraps=file)
    run(writer, 2, pa.concat_tables([table(2), table(3)]))
    assert [call[0] for call in writer._file.file.method_calls] == ["write"]
    writer._file.file = file
    assert values(path) == [1, 2, 3]
    writer.close()


def test_two_queries_cannot_write_to_one_file_at_a_time(path):
    writer = opened(sink.jsonl(path))
    with pytest.raises(InputError, match="written by one query"):
        sink.jsonl(path).open(opening(query="small"))
    writer.close()


def test_a_folder_in_the_way_is_reported(tmp_path):
    with pytest.raises(HeadgateError, match=r"query 'big' cannot write to .*: Is a directory. Name a file"):
        sink.jsonl(tmp_path).open(opening())


def test_columns_that_json_cannot_have_are_refused(path):
    schema = pa.schema([("a", pa.month_day_nano_interval())])
    with pytest.raises(InputError, match=r"got column 'a' of type month_day_nano_interval. Cast it"):
        sink.jsonl(path).open(opening(schema=schema))
    with pytest.raises(InputError, match="got 'a' twice"):
        sink.jsonl(path).open(opening(schema=pa.schema([("a", pa.string()), ("a", pa.string())])))


def test_it_shows_a_run_once_that_is_published(tmp_path):
    writer = opened(sink.jsonl(tmp_path / "out.jsonl"))
    receipts = []
    for number in (1, 2):
        receipts.append(writer.stage(number, table(number)))
        assert not writer.shows(receipts[-1])
        writer.publish(receipts[-1])
        assert writer.shows(receipts[-1])
    assert writer.shows(receipts[0])
    writer.close()
