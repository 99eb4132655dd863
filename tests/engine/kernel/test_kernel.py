"""All queries at once give what each gives alone."""

import itertools
import tempfile
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kernel import segments as generated
from engine.kernel.against_spark import assert_same, evaluate
from headgate.engine.kernel import choice
from headgate.engine.kernel.kernel import Kernel
from headgate.engine.kernel.program import NUMBER, Remove


def check(kernel, queries, rows, tables=None):
    """Each query's rows are those that it has alone, and each part is in the order of the numbers."""
    train = rows.append_column("_position", pa.array(range(rows.num_rows), pa.int64()))
    answer = kernel.run(train.select(kernel.columns))
    assert answer.errors == {}
    found = {}
    for part in answer.parts:
        numbers = part.column(NUMBER).to_pylist()
        assert numbers == sorted(numbers)
        for number in dict.fromkeys(numbers):
            assert number not in found
            found[number] = part.filter(pa.compute.equal(part.column(NUMBER), number)).drop_columns([NUMBER])
    for number, segment in queries.items():
        expected = evaluate(segment, rows, tables)
        got = found.pop(number, expected.slice(0, 0))
        assert_same(got, expected, f"{number}: {segment}")
    assert not found


@given(st.data())
@settings(max_examples=100)
def test_queries_together_find_what_each_finds_alone(data):
    kernel, queries, numbers = Kernel({}), {}, itertools.count(1)
    for _ in range(data.draw(st.integers(1, 3))):
        new = {next(numbers): each for each in data.draw(st.lists(generated.segments(), min_size=1, max_size=8))}
        gone = data.draw(st.lists(st.sampled_from(sorted(queries)), unique=True)) if queries else []
        for change in generated.added(new):
            kernel.apply(change)
        if gone:
            kernel.apply(Remove(gone))
        queries = {k: each for k, each in {**queries, **new}.items() if k not in gone}
        check(kernel, queries, data.draw(generated.tables()))


@given(st.data())
@settings(max_examples=100)
def test_it_makes_no_difference_which_atoms_find_the_rows(data):
    """Paths are drawn, and queries moved from one to another in mid-run, whatever that may cost."""

    def choose(operands, signs, passing, at, now=None):
        path, by, decided = data.draw(st.sampled_from(list(choice._options(operands, signs))))
        return choice.Choice(path, by, tuple(k for k in range(len(operands)) if k not in decided))

    few = data.draw(st.lists(generated.segments(), min_size=1, max_size=3))
    queries = dict(enumerate(alike for each in few for alike in data.draw(generated.like(each))))
    with (
        mock.patch("headgate.engine.kernel.family.choose", choose),
        mock.patch("headgate.engine.kernel.matcher._EVERY", 1),
    ):
        kernel = Kernel({})
        for change in generated.added(queries):
            kernel.apply(change)
        for _ in range(3):
            check(kernel, queries, data.draw(generated.tables()))


@given(st.data())
@settings(max_examples=60)
def test_joined_queries_find_what_each_finds_alone(data):
    table = data.draw(generated.tables(12))
    joins = data.draw(st.lists(generated.lookups(), min_size=1, max_size=2))
    some = st.sampled_from(joins).flatmap(lambda lookup: generated.segments(lookups=(lookup,)))
    queries = dict(enumerate(data.draw(st.lists(some, min_size=1, max_size=5))))
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table, f"{folder}/part.parquet")
        kernel = Kernel({"r": folder})
        for change in generated.added(queries):
            kernel.apply(change)
        check(kernel, queries, data.draw(generated.tables(12)), {"r": table})
