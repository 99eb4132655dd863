"""Results in a folder of Parquet files."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from engine.sink.openings import SCHEMA, opened, opening, run, table
from engine.sink.runs import Runs
from engine.sink.syncs import syncs
from headgate.engine import sink
from headgate.engine.sink import parquet_folder
from headgate.errors import HeadgateError, InputError


def values(folder):
    parts = sorted(folder.glob("part-*.parquet"))
    return [value for part in parts for value in pq.read_table(part)["value"].to_pylist()]


def staged(folder):
    return sorted(path.name for path in (folder / "_staged").iterdir())


def abandon(writer):
    """What a crash does: files are let go of as they are."""
    for held in (writer._owner, writer._journal):
        if held:
            held.close()


LATER = float("inf")


def now(writer, number, rows):
    """A run that is visible at once."""
    receipt = run(writer, number, rows)
    writer.tick(LATER)
    return receipt


# Crashes.


class Crash(BaseException):
    """The end of the process."""


def torn(folder):
    for path in (folder / "_staged").glob("*.arrow"):
        path.with_suffix(".parquet").write_bytes(b"PAR1 and no more")


@pytest.mark.parametrize("every", [0, 1])
@pytest.mark.parametrize(
    ("reached", "seen"),
    [("staged", [1, 2]), ("committed", [1, 2, 3, 4]), ("published", [1, 2, 3, 4])],
)
def test_after_a_crash_every_committed_run_is_there_once(tmp_path, reached, seen, every):
    writer = opened(sink.parquet(tmp_path / "out", every=every))
    last = run(writer, 1, table(1, 2))
    receipt = writer.stage(2, table(3, 4))
    if reached != "staged":
        last = receipt
    if reached == "published":
        writer.publish(receipt)
    abandon(writer)
    again = opened(sink.parquet(tmp_path / "out"), last)
    assert values(tmp_path / "out") == seen
    assert staged(tmp_path / "out") == []
    now(again, last["part"] + 2, table(5))
    assert values(tmp_path / "out") == [*seen, 5]
    again.close()


@pytest.mark.parametrize(
    ("owner", "step", "left"),
    [
        (pq, "write_table", ["1.arrow"]),
        (Path, "unlink", ["1.arrow", "1.parquet"]),
        (Path, "replace", ["1.parquet"]),
    ],
    ids=["before the file is written", "before the hidden file goes", "before the file gets its name"],
)
@pytest.mark.parametrize("more", [False, True])
def test_a_crash_while_a_file_is_made_loses_nothing_and_repeats_nothing(tmp_path, owner, step, left, more):
    writer = opened(sink.parquet(tmp_path))
    last = run(writer, 1, table(1))
    last = run(writer, 2, table(2, 3))
    with mock.patch.object(owner, step, side_effect=Crash), pytest.raises(Crash):
        writer.tick(LATER)
    assert staged(tmp_path) == left
    if owner is pq:
        torn(tmp_path)
    if more:
        last = run(writer, 5, table(4))
        writer.stage(6, table(9))
    abandon(writer)
    again = opened(sink.parquet(tmp_path), last)
    assert values(tmp_path) == [1, 2, 3, *([4] if more else [])]
    assert staged(tmp_path) == []
    again.close()


def test_a_file_that_was_made_and_moved_away_before_a_crash_does_not_come_again(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    last = now(writer, 1, table(1))
    (tmp_path / "part-000000000001.parquet").unlink()
    abandon(writer)
    again = opened(sink.parquet(tmp_path), last)
    assert values(tmp_path) == []
    again.close()


class ParquetRuns(Runs):
    every = 1

    def make(self):
        return sink.parquet(self.folder, every=self.every)

    def abandon(self):
        abandon(self.sink)

    def visible(self):
        return values(self.folder)

    def damage(self, share):
        last = self.last or {"part": -1}
        for path in (self.folder / "_staged").glob("*.arrow"):
            kept = last["length"] if path.stem == str(last["part"]) else 0
            if int(path.stem) >= last["part"]:
                os.truncate(path, kept + int((path.stat().st_size - kept) * share))

    @rule()
    def tick(self):
        self.sink.tick(LATER)
        if not self.staged and self.published == self.committed:
            assert self.visible() == self.published

    @rule(step=st.sampled_from([(pq, "write_table"), (Path, "unlink"), (Path, "replace")]))
    def crash_while_a_file_is_made(self, step):
        with mock.patch.object(*step, side_effect=Crash), suppress(Crash):
            self.sink.tick(LATER)
        if step[0] is pq:
            torn(self.folder)
        self.crash()

    def what_is_published_is_visible(self):
        """A reader sees what is published or the beginning of it, and nothing else."""
        assert self.published[: len(self.visible())] == self.visible()


class ParquetRunsAtOnce(ParquetRuns):
    every = 0

    def what_is_published_is_visible(self):
        assert self.visible() == self.published


TestParquetRuns, TestParquetRunsAtOnce = ParquetRuns.TestCase, ParquetRunsAtOnce.TestCase
for case in (TestParquetRuns, TestParquetRunsAtOnce):
    case.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)


# Files and their readers.


def test_readers_see_published_runs_only(tmp_path, spark):
    writer = opened(sink.parquet(tmp_path / "out"))
    now(writer, 1, table(1, 2))
    writer.stage(2, table(3))
    assert spark.read.parquet(str(tmp_path / "out")).toArrow().sort_by("value") == table(1, 2)
    assert ds.dataset(tmp_path / "out").to_table().sort_by("value") == table(1, 2)
    writer.close()


def test_runs_are_visible_once_the_time_has_passed_even_if_no_more_come(tmp_path):
    writer = opened(sink.parquet(tmp_path, every="10s"))
    before = time.time()
    run(writer, 1, table(1))
    run(writer, 2, table(2))
    writer.tick(before + 9)
    assert values(tmp_path) == []
    writer.tick(time.time() + 10)
    assert values(tmp_path) == [1, 2]
    writer.tick(time.time() + 99)
    run(writer, 3, table(3))
    writer.close()
    assert [path.name for path in sorted(tmp_path.glob("part-*"))] == [
        "part-000000000001.parquet",
        "part-000000000003.parquet",
    ]
    assert values(tmp_path) == [1, 2, 3]


def test_no_file_is_made_while_it_is_open_what_becomes_of_its_last_rows(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    run(writer, 1, table(1))
    receipt = writer.stage(2, table(2))
    writer.tick(LATER)
    assert values(tmp_path) == []
    writer.publish(receipt)
    writer.tick(LATER)
    assert values(tmp_path) == [1, 2]
    writer.close()


def test_a_file_is_made_of_many_bytes_however_young(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_folder, "_MOST", 2000)
    writer = opened(sink.parquet(tmp_path, every="1h"))
    for number in range(1, 21):
        run(writer, number, table(number, number))
    writer.tick(time.time())
    files = [pq.read_table(path)["value"].to_pylist() for path in sorted(tmp_path.glob("part-*"))]
    assert len(files) > 1
    assert all(len(file) > 2 for file in files)
    writer.close()
    assert values(tmp_path) == [number for number in range(1, 21) for _ in range(2)]


def test_results_are_staged_while_another_thread_makes_files(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    done = threading.Event()

    def ticking():
        while not done.is_set():
            writer.tick(LATER)

    with ThreadPoolExecutor() as pool:
        other = pool.submit(ticking)
        try:
            for number in range(1, 300):
                run(writer, number, table(number))
                # The other thread has to have its turn, or there is nothing to see.
                while len(list(tmp_path.glob("part-*"))) < number // 100 and not other.done():
                    time.sleep(0.001)
        finally:
            done.set()
        other.result()
    writer.close()
    assert len(list(tmp_path.glob("part-*"))) > 1
    assert values(tmp_path) == list(range(1, 300))
    assert staged(tmp_path) == []


@pytest.mark.parametrize("every", [0, 1])
def test_a_file_that_cannot_be_made_is_made_later(tmp_path, every):
    writer = opened(sink.parquet(tmp_path, every=every))
    taken = tmp_path / "part-000000000001.parquet"
    taken.mkdir()
    receipt = writer.stage(1, table(1))

    def show():
        writer.publish(receipt)
        writer.tick(LATER)

    for _ in range(2):
        with pytest.raises(HeadgateError, match="Is a directory"):
            show()
    taken.rmdir()
    show()
    assert values(tmp_path) == [1]
    run(writer, 2, table(2))
    writer.close()
    assert values(tmp_path) == [1, 2]


def test_a_folder_of_the_first_version_is_taken_over(tmp_path):
    (tmp_path / "_staged").mkdir()
    (tmp_path / "_headgate").write_text("big")
    pq.write_table(table(1), tmp_path / "part-000000000004.parquet")
    pq.write_table(table(2), tmp_path / "_staged" / "6.parquet")
    (tmp_path / "_staged" / "7.parquet").write_bytes(b"torn")
    writer = opened(sink.parquet(tmp_path), {"part": 6, "rows": 1})
    assert values(tmp_path) == [1, 2]
    last = now(writer, 7, table(3))
    writer.close()
    opened(sink.parquet(tmp_path), last).close()
    assert values(tmp_path) == [1, 2, 3]


def test_hidden_results_that_are_gone_are_reported(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    last = run(writer, 1, table(1))
    abandon(writer)
    os.truncate(tmp_path / "_staged" / "1.arrow", 5)
    with pytest.raises(InputError, match=r"committed are still in .*1.arrow; got 5 bytes of \d+. Put the file back"):
        sink.parquet(tmp_path).open(opening(last))


@pytest.mark.parametrize("sync", [False, True])
def test_what_is_staged_and_every_step_from_there_is_on_the_disk_for_who_wants_it(tmp_path, sync):
    writer = opened(sink.parquet(tmp_path), sync=sync)
    hidden = tmp_path / "_staged"
    with syncs() as on_disk:
        receipt = writer.stage(1, table(1))
        assert on_disk == ([str(hidden), str(hidden / "1.arrow")] if sync else [])
        writer.publish(receipt)
        on_disk.clear()
        writer.tick(LATER)
        assert on_disk == ([str(path) for path in (hidden / "1.parquet", hidden, hidden, tmp_path)] if sync else [])
    writer.close()


def test_a_run_without_rows_leaves_no_file(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    run(writer, 1, table())
    writer.tick(LATER)
    writer.close()
    assert not list(tmp_path.glob("part-*"))
    assert staged(tmp_path) == []


def test_a_run_that_is_repeated_without_its_rows_leaves_no_file(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    writer.stage(1, table(1))
    last = now(writer, 1, table())
    writer.close()
    opened(sink.parquet(tmp_path), last).close()
    assert values(tmp_path) == []
    assert staged(tmp_path) == []


def test_the_name_of_a_file_is_the_number_of_its_first_run(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    now(writer, 42, table(1))
    assert [path.name for path in tmp_path.glob("part-*")] == ["part-000000000042.parquet"]
    writer.close()


def test_files_have_the_declared_types_though_rows_come_in_wider_ones(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    now(writer, 1, table(1).cast(pa.schema([("sym", pa.large_string()), ("value", pa.int64())])))
    assert pq.read_schema(tmp_path / "part-000000000001.parquet").equals(SCHEMA)
    writer.close()


def test_published_files_may_be_moved_away_and_that_is_logged(tmp_path, caplog):
    writer = opened(sink.parquet(tmp_path))
    last = now(writer, 1, table(1))
    (tmp_path / "part-000000000001.parquet").unlink()
    writer.close()
    again = opened(sink.parquet(tmp_path), last)
    assert "part-000000000001.parquet is gone" in caplog.text
    now(again, 2, table(2))
    assert values(tmp_path) == [2]
    again.close()


def test_a_folder_with_files_of_somebody_else_is_refused_and_left_alone(tmp_path):
    (tmp_path / "sales.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=r"'big' is empty at first; got .*sales.parquet"):
        sink.parquet(tmp_path).open(opening())
    assert [path.name for path in tmp_path.iterdir()] == ["sales.parquet"]


def test_a_query_that_starts_anew_does_not_mix_with_results_from_before(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    now(writer, 1, table(1))
    writer.close()
    with pytest.raises(InputError, match=r"is empty at first.*Name another folder"):
        sink.parquet(tmp_path).open(opening())


def test_a_query_does_not_go_on_in_the_folder_of_another(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    last = now(writer, 1, table(1))
    writer.close()
    with pytest.raises(InputError, match="query 'small' is empty at first"):
        sink.parquet(tmp_path).open(opening(last, query="small"))


def test_two_queries_cannot_write_to_one_folder_at_a_time(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    with pytest.raises(InputError, match="written by one query"):
        sink.parquet(tmp_path).open(opening(query="small"))
    writer.close()
    opened(sink.parquet(tmp_path), query="small").close()


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ([("sym", pa.string()), ("value", pa.float64())], "got value double where part-.* has value int64"),
        ([("sym", pa.string())], "got sym string where part-.* has value int64"),
        ([("value", pa.int64()), ("sym", pa.string())], "got value int64, sym string where"),
    ],
)
def test_changed_columns_are_refused(tmp_path, schema, said):
    writer = opened(sink.parquet(tmp_path))
    last = now(writer, 1, table(1))
    writer.close()
    with pytest.raises(InputError, match=said):
        sink.parquet(tmp_path).open(opening(last, schema=pa.schema(schema)))


def test_a_part_that_is_broken_is_reported(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    last = now(writer, 1, table(1))
    os.truncate(tmp_path / "part-000000000001.parquet", 0)
    writer.close()
    with pytest.raises(InputError, match=r"part-000000000001.parquet is a Parquet file; got .*0"):
        sink.parquet(tmp_path).open(opening(last))


@pytest.mark.parametrize("folder", ["taken", "taken/out"])
def test_a_file_in_the_way_is_reported(tmp_path, folder):
    (tmp_path / "taken").write_text("")
    said = rf"query 'big' cannot write to .*/{folder}: (Not a directory|File exists). Name a place"
    with pytest.raises(HeadgateError, match=said):
        sink.parquet(tmp_path / folder).open(opening())


def test_columns_of_one_name_are_refused(tmp_path):
    schema = pa.schema([("sym", pa.string()), ("Sym", pa.string())])
    with pytest.raises(InputError, match="names of their own; got 'Sym' twice"):
        sink.parquet(tmp_path).open(opening(schema=schema))


def test_a_committed_file_that_is_out_of_reach_is_told_and_made_once_it_is_back(tmp_path):
    writer = opened(sink.parquet(tmp_path, every=0))
    receipt = writer.stage(1, table(1))
    (tmp_path / "_staged").rename(tmp_path / "_kept")
    (tmp_path / "_staged").touch()
    with pytest.raises(HeadgateError, match="Not a directory"):
        writer.publish(receipt)
    (tmp_path / "_staged").unlink()
    (tmp_path / "_kept").rename(tmp_path / "_staged")
    writer.publish(receipt)
    assert values(tmp_path) == [1]
    writer.close()


def test_it_shows_what_is_committed_once_a_file_of_it_is_made(tmp_path):
    writer = opened(sink.parquet(tmp_path / "out", every=60))
    first = run(writer, 1, table(1))
    assert not writer.shows(first)
    writer.tick(LATER)
    assert writer.shows(first)
    second = run(writer, 2, table(2))
    third = run(writer, 3, table(3))
    assert [writer.shows(each) for each in (first, second, third)] == [True, False, False]
    writer.tick(LATER)
    assert writer.shows(second)
    assert writer.shows(third)
    assert values(tmp_path / "out") == [1, 2, 3]
    writer.close()
