"""Whatever the kernel takes of Spark SQL gives the rows of Spark: each expression alone, and queries all together."""

import itertools

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from engine.kernel.against_spark import Sides, assert_same
from engine.kernel.grammar import TYPES, Grammar, Queries, tables
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


def queries(chance, count=8):
    (stream, rows), (table, other) = tables(chance, odd=False), tables(chance, prefix="r_", odd=False)
    made = Queries(chance, stream, table)
    return rows, other, [made.one() for _ in range(count)]


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


@settings(max_examples=12, **_SETTINGS)
@given(chance=st.randoms())
def test_each_expression_that_is_taken_gives_what_spark_gives(spark, folder, chance):
    rows, some = expressions(chance)
    check_each(Sides(spark, folder, rows), some)


@settings(max_examples=10, **_SETTINGS)
@given(chance=st.randoms())
def test_queries_that_are_taken_give_together_what_spark_gives_each(spark, folder, chance):
    check_together(spark, folder, *queries(chance))
