"""What queries look up in reference tables, by part; and other snapshots of them from one run to the next."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.kernel.segments import COLUMNS, added, holds
from engine.kernel.test_kernel import rows_of
from headgate.engine.kernel.ir import Column, Literal, Lookup, Segment
from headgate.engine.kernel.kernel import Kernel
from headgate.engine.kernel.lookups import part_prefix
from headgate.engine.kernel.program import NUMBER

KEY, VALUE = Column("1:k", "bigint"), Column("2:v", "bigint")


def snapshot(folder, *parts):
    """Rows (k, v) of each part, as files of a folder."""
    folder.mkdir()
    for i, rows in enumerate(parts):
        table = pa.table({"k": pa.array(rows, pa.int64()), "v": pa.array([10 * k for k in rows], pa.int64())})
        pq.write_table(table, folder / f"{part_prefix(i)}0.parquet")
    return str(folder)


def joined(folder, rows, *limits, kind="inner"):
    """What queries look up whose rows have l above these limits."""
    lookup = Lookup("r", kind, ((COLUMNS["l"], KEY),), (KEY, VALUE))
    kernel = Kernel({"r": folder})
    where = [(holds("GreaterThan", COLUMNS["l"], Literal(limit, "bigint")),) for limit in limits]
    for change in added(
        {i: Segment("t", (lookup,), each, None, (("l", COLUMNS["l"]),)) for i, each in enumerate(where)}
    ):
        kernel.apply(change)
    return kernel, kernel.run(rows_of(l=rows).select(kernel.columns))


def test_rows_are_counted_by_the_part_that_they_are_found_in_for_each_query_that_wants_them(tmp_path):
    folder = snapshot(tmp_path / "0", [1, 2, 3], [4, 5])
    _, answer = joined(folder, [1, 1, 2, 4, 5, 5], 0, 1)
    assert answer.joined == {"r": {0: 3 + 1, 1: 3 + 3}}


def test_of_rows_for_which_nothing_is_found_as_many_count_as_are_wanted_of_the_others(tmp_path):
    folder = snapshot(tmp_path / "0", [1, 2, 3], [4, 5])
    _, answer = joined(folder, [1, 2, 3, 4, 100, 101, 102, 103], 2)
    assert answer.joined == {"r": {0: 1, 1: 1, -1: 2}}


@pytest.mark.parametrize(
    ("kind", "found"), [("left", {0: 1, -1: 2}), ("semi", {0: 1}), ("anti", {-1: 2})], ids=["left", "semi", "anti"]
)
def test_other_joins_count_as_well(tmp_path, kind, found):
    _, answer = joined(snapshot(tmp_path / "0", [1, 2]), [2, 7, 8], 1, kind=kind)
    assert answer.joined == {"r": found}


def test_another_snapshot_is_looked_up_from_the_next_run_on(tmp_path):
    kernel, answer = joined(snapshot(tmp_path / "0", [1, 2]), [1, 2, 3], 0)
    assert [part.column("l").to_pylist() for part in answer.parts] == [[1, 2]]
    kernel.use({"r": snapshot(tmp_path / "1", [3])})
    again = kernel.run(rows_of(l=[1, 2, 3]).select(kernel.columns))
    (part,) = again.parts
    assert (part.column("l").to_pylist(), part.column(NUMBER).to_pylist()) == ([3], [0])


def test_a_table_that_is_gone_is_an_error_of_the_queries_that_look_it_up(tmp_path):
    kernel, _ = joined(snapshot(tmp_path / "0", [1]), [1], 0)
    kernel.use({"r": str(tmp_path / "gone")})
    assert "the table r cannot be read" in kernel.run(rows_of(l=[1]).select(kernel.columns)).errors[0]
