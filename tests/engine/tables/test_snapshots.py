"""Parts of a table on the disk: small ones are collected and written here, and hold what Spark would have written."""

import pytest

from headgate.engine.table.snapshots import Snapshots

ROWS = """
    SELECT id, CAST(id / 8 AS DECIMAL(9, 3)) AS price, IF(id % 3 = 0, NULL, concat('x', id)) AS word,
           timestamp_seconds(id * 86400.5) AS at, id % 2 = 0 AS even,
           date_add(DATE '1890-01-01', CAST(id AS INT)) AS day
    FROM range({n})
"""


def written(spark, folder, n, old):
    frame = spark.sql(ROWS.format(n=n))
    path, content = Snapshots(folder).write(frame, 0, old)
    back = spark.read.parquet(str(path))
    assert back.dtypes == frame.dtypes
    return content, sorted(back.collect()), sorted(frame.collect())


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_a_small_part_is_the_same_whoever_writes_it(spark, tmp_path, n):
    by_job, from_job, rows = written(spark, tmp_path / "job", n, None)
    assert by_job.small
    collected, from_here, _ = written(spark, tmp_path / "here", n, by_job)
    assert from_job == from_here == rows
    assert collected.same(by_job)
    assert [each.name for each in (tmp_path / "here" / "_writing" / "0").iterdir()] == ["part-00000.parquet"]


def test_a_part_that_has_grown_is_written_by_a_job_again(spark, tmp_path):
    before, _, _ = written(spark, tmp_path / "few", 10, None)
    after, got, rows = written(spark, tmp_path / "many", 50_000, before)
    assert (after.rows, after.small) == (50_000, False)
    assert got == rows
