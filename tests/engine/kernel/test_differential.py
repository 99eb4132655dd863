"""Whatever the kernel takes of Spark SQL gives the rows of Spark: each expression alone, and queries all together."""

import itertools
import math
import random

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from engine.kernel.against_spark import Sides, assert_same
from engine.kernel.edges import TYPES, tables
from engine.kernel.grammar import Grammar, Queries
from engine.kernel.segments import added
from headgate.engine.kernel.kernel import Kernel
from headgate.engine.kernel.program import NUMBER
from headgate.engine.sql.catalyst import NotFusableError, segment
from headgate.errors import InputError

_folders = itertools.count()
_SPARKS = (PySparkException, Py4JJavaError, InputError)
"""What Spark refuses or fails at itself."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("differential")


def expressions(chance, depth=2, count=40):
    names, rows = tables(chance)
    grammar = Grammar(chance, names)
    return rows, [grammar.expression(chance.choice(list(TYPES)), depth) for _ in range(count)]


def queries(chance, count=4):
    """Queries in twos that differ in their constants only."""
    (stream, rows), (table, other) = tables(chance, odd=False), tables(chance, prefix="r_", odd=False)
    seeds = [chance.random() for _ in range(count)]
    texts = [Queries(random.Random(seed), stream, table, chance).one() for seed in seeds for _ in range(2)]
    return rows, other, texts


def check_each(sides, some):
    """Fail if an expression differs. Those that Spark itself does not plan, or fails at, count for nothing."""
    try:
        reasons = sides.check_each(some)
    except _SPARKS:
        for half in (some[: len(some) // 2], some[len(some) // 2 :]) if len(some) > 1 else ():
            check_each(sides, half)
    else:
        assert all(reasons.values())


def check_together(spark, folder, rows, table, texts):
    """Fail if the kernel, with all queries at once, gives one of them other rows than Spark."""
    sides = Sides(spark, folder, rows, {"r": table})
    snapshot = folder / f"snapshot-{next(_folders)}"
    snapshot.mkdir()
    pq.write_table(table, snapshot / "part.parquet")
    taken, expected, refused = {}, {}, {}
    for number, text in enumerate(texts):
        try:
            prepared = sides.prepare(text)
            found = segment(prepared.frame)
            expected[number] = prepared.run(sides.given, "test")
            taken[number] = found
        except (NotFusableError, *_SPARKS) as reason:
            refused[text] = str(reason)
    assert all(refused.values())
    kernel = Kernel({"r": str(snapshot)})
    for change in added(taken):
        kernel.apply(change)
    train = rows.append_column("_position", pa.array(range(rows.num_rows), pa.int64()))
    answer = kernel.run(train.select(kernel.columns))
    assert answer.errors == {}
    for number in taken:
        mine = [part.filter(pc.equal(part.column(NUMBER), number)) for part in answer.parts]
        found = [part.drop_columns([NUMBER]) for part in mine if part.num_rows]
        assert len(found) <= 1, texts[number]
        assert_same(found[0] if found else expected[number].slice(0, 0), expected[number], texts[number])


_SETTINGS = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}
_CHANCE = st.randoms(use_true_random=True)


@settings(max_examples=8, **_SETTINGS)
@given(chance=_CHANCE)
def test_each_expression_that_is_taken_gives_what_spark_gives(spark, folder, chance):
    rows, some = expressions(chance)
    check_each(Sides(spark, folder, rows), some)


@settings(max_examples=8, **_SETTINGS)
@given(chance=_CHANCE)
def test_queries_that_are_taken_give_together_what_spark_gives_each(spark, folder, chance):
    check_together(spark, folder, *queries(chance))


ROWS = pa.table(
    {
        "k": pa.array([1, 1, 2, 2, 3, 3, 3], pa.int32()),
        "tiny": pa.array([100, 5, None, -100, 1, 2, 3], pa.int8()),
        "x": pa.array([-0.0, -0.0, -0.0, None, None, -0.0, 0.0]),
        "y": pa.array([86399.999999, 1e15 + 0.3, None, -7.7, 0.1, 2.675, math.nan]),
        "d": pa.array([5, 5, 5, 6, None, 7, 7], pa.int32()).cast(pa.date32()),
        "ts": pa.array([1, 2, 3, 4, 5, 6, 7], pa.int64()).cast(pa.timestamp("us", "UTC")),
    }
)
ONCE_DIFFERENT = [
    "SELECT y / 1e6D AS a, y / 3 AS b, y / 0.1D AS c FROM t",  # Polars multiplied by the inverse of a constant
    "SELECT nullif(TIMESTAMP'2024-01-01', nullif(ts, ts)) AS a FROM t",  # a choice that always is for a constant
    "SELECT k, count(nullif(TIMESTAMP'2024-01-01', nullif(ts, ts))) AS n FROM t GROUP BY k",
    "SELECT k, count(*) FILTER (WHERE 1 = 1) AS n, sum(x) FILTER (WHERE 1 = 0) AS s FROM t GROUP BY k",
    "SELECT k, min(x) AS a, max(x) AS b, sum(x) AS c, avg(x) AS d FROM t GROUP BY k",  # both zeros
    "SELECT k, sum(if(k > 5, y, CAST('-0.0' AS double))) AS a, sum(if(k > 2, y, x)) AS b FROM t GROUP BY k",
    "SELECT x + 0D AS a, 0D + x AS b, 0D - x AS c, x - CAST('-0.0' AS double) AS d, if(k > 0, 0D, y) + x AS e FROM t",
    "SELECT x, count(*) AS n FROM t GROUP BY x",
    "SELECT k, min_by(y, d) AS a, max_by(y, d) AS b FROM t GROUP BY k",  # several alike
]


@pytest.mark.parametrize("text", ONCE_DIFFERENT)
def test_what_once_was_different_is_the_same(spark, folder, text):
    sides = Sides(spark, folder, ROWS)
    assert sides.segment(text)
    check_together(spark, folder, ROWS, ROWS, [text])


def test_tables_are_looked_up_by_days_that_python_does_not_have(spark, folder):
    far = pa.table({"d": pa.array([-800_000, 5_000_000, 5], pa.int32()).cast(pa.date32()), "n": [1, 2, 3]})
    check_together(spark, folder, far, far, ["SELECT t.d, r.n FROM t JOIN r ON t.d = r.d"])


LEFT_TO_SPARK = {
    "try_add(tiny + tiny, 9Y)": "TryAdd of Add",  # Spark takes the sums apart, and then others overflow
    "tiny + if(1 = 1, try_add(tiny, 9Y), tiny)": "Add of TryAdd",
    "CAST(k AS float) / 3": "int to float and then to double",  # Spark leaves out the cast that rounds
    "exp(y)": "exp",
    "pow(y, 3)": "power",
}


def test_what_cannot_be_the_same_is_left_to_spark(spark, folder):
    reasons = Sides(spark, folder, ROWS).check_each(LEFT_TO_SPARK)
    assert [each for each, why in LEFT_TO_SPARK.items() if why not in reasons.get(each, "taken")] == []
