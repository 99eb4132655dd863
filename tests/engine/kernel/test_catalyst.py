"""Plans of Spark become segments, or the reason why not is told."""

import pyarrow as pa
import pytest

from engine.kernel.against_spark import Sides


@pytest.fixture(scope="module")
def sides(spark, tmp_path_factory):
    rows = pa.table(
        {
            "a": pa.array([1, 2, None, 4], pa.int32()),
            "b": pa.array([10, None, 30, 40], pa.int64()),
            "x": pa.array([1.5, float("nan"), -0.0, None], pa.float64()),
            "s": pa.array(["a", "B", None, "d"], pa.string()),
        }
    )
    ref = pa.table({"id": pa.array([1, 1, 2, None], pa.int64()), "name": ["one", "uno", None, "none"]})
    return Sides(spark, tmp_path_factory.mktemp("sides"), rows, {"ref": ref})


QUERIES = [
    "SELECT a + 1 AS z, s FROM t WHERE b > 5 AND x <= 2",
    "SELECT u.a, r.name FROM t u LEFT JOIN (SELECT * FROM ref WHERE name <> 'uno') r ON u.a = r.id AND u.b > 3",
    (
        "WITH c AS (SELECT a k, b FROM t WHERE a >= 1) SELECT k, sum(b) AS sb, count(*) FILTER (WHERE b > 1) AS n "
        "FROM c GROUP BY k HAVING count(b) > 0"
    ),
]


@pytest.mark.parametrize("sql", QUERIES)
def test_a_segment_gives_the_rows_of_spark(sides, sql):
    sides.check(sql)
