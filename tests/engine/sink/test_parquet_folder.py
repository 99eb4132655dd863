"""Results in a folder of Parquet files."""

import os

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import settings

from engine.sink.openings import SCHEMA, opened, opening, run, table
from engine.sink.runs import Runs
from headgate.engine import sink
from headgate.errors import HeadgateError, InputError


def values(folder):
    parts = sorted(folder.glob("part-*.parquet"))
    return [value for part in parts for value in pq.read_table(part)["value"].to_pylist()]


def staged(folder):
    return [path.name for path in (folder / "_staged").iterdir()]


@pytest.mark.parametrize(
    ("reached", "seen"),
    [("staged", [1, 2]), ("committed", [1, 2, 3, 4]), ("published", [1, 2, 3, 4])],
)
def test_after_a_crash_every_committed_run_is_there_once(tmp_path, reached, seen):
    writer = opened(sink.parquet(tmp_path / "out"))
    last = run(writer, 1, table(1, 2))
    receipt = writer.stage(2, table(3, 4))
    if reached != "staged":
        last = receipt
    if reached == "published":
        writer.publish(receipt)
    writer.close()
    again = opened(sink.parquet(tmp_path / "out"), last)
    assert values(tmp_path / "out") == seen
    assert staged(tmp_path / "out") == []
    run(again, last["part"] + 1, table(5))
    assert values(tmp_path / "out") == [*seen, 5]
    again.close()


class ParquetRuns(Runs):
    def make(self):
        return sink.parquet(self.folder)

    def visible(self):
        return values(self.folder)

    def damage(self, share):
        path = self.folder / "_staged" / f"{self.run}.parquet"
        if path.exists():
            os.truncate(path, int(path.stat().st_size * share))

    def what_is_published_is_visible(self):
        """More than that: a reader sees what is published and nothing else."""
        assert self.visible() == self.published


TestParquetRuns = ParquetRuns.TestCase
TestParquetRuns.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)


def test_readers_see_published_runs_only(tmp_path, spark):
    writer = opened(sink.parquet(tmp_path / "out"))
    run(writer, 1, table(1, 2))
    writer.stage(2, table(3))
    assert spark.read.parquet(str(tmp_path / "out")).toArrow().sort_by("value") == table(1, 2)
    assert ds.dataset(tmp_path / "out").to_table().sort_by("value") == table(1, 2)
    writer.close()


def test_a_run_without_rows_leaves_no_file(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    run(writer, 1, table())
    assert not list(tmp_path.glob("part-*"))
    writer.close()


def test_a_run_that_is_repeated_without_its_rows_leaves_no_file(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    writer.stage(1, table(1))
    run(writer, 1, table())
    assert values(tmp_path) == []
    writer.close()


def test_the_name_of_a_file_is_the_number_of_its_run(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    run(writer, 42, table(1))
    assert [path.name for path in tmp_path.glob("part-*")] == ["part-000000000042.parquet"]
    writer.close()


def test_files_have_the_declared_types_though_rows_come_in_wider_ones(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    run(writer, 1, table(1).cast(pa.schema([("sym", pa.large_string()), ("value", pa.int64())])))
    assert pq.read_schema(tmp_path / "part-000000000001.parquet").equals(SCHEMA)
    writer.close()


def test_published_files_may_be_moved_away_and_that_is_logged(tmp_path, caplog):
    writer = opened(sink.parquet(tmp_path))
    last = run(writer, 1, table(1))
    (tmp_path / "part-000000000001.parquet").unlink()
    writer.close()
    again = opened(sink.parquet(tmp_path), last)
    assert "part-000000000001.parquet is gone" in caplog.text
    run(again, 2, table(2))
    assert values(tmp_path) == [2]
    again.close()


def test_a_folder_with_files_of_somebody_else_is_refused_and_left_alone(tmp_path):
    (tmp_path / "sales.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=r"'big' is empty at first; got .*sales.parquet"):
        sink.parquet(tmp_path).open(opening())
    assert [path.name for path in tmp_path.iterdir()] == ["sales.parquet"]


def test_a_query_that_starts_anew_does_not_mix_with_results_from_before(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    run(writer, 1, table(1))
    writer.close()
    with pytest.raises(InputError, match=r"is empty at first.*Name another folder"):
        sink.parquet(tmp_path).open(opening())


def test_a_query_does_not_go_on_in_the_folder_of_another(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    last = run(writer, 1, table(1))
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
    last = run(writer, 1, table(1))
    writer.close()
    with pytest.raises(InputError, match=said):
        sink.parquet(tmp_path).open(opening(last, schema=pa.schema(schema)))


def test_a_part_that_is_broken_is_reported(tmp_path):
    writer = opened(sink.parquet(tmp_path))
    last = run(writer, 1, table(1))
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
