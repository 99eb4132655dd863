"""All queries at once give what each gives alone."""

import itertools
import tempfile
from dataclasses import replace
from unittest import mock

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.kernel import segments as generated
from engine.kernel.against_spark import assert_same, evaluate
from engine.kernel.segments import COLUMNS, holds
from headgate.engine.kernel import choice
from headgate.engine.kernel.functions import OPS
from headgate.engine.kernel.functions.op import Op
from headgate.engine.kernel.ir import Call, Column, Grouping, Literal, Lookup, Part, Segment
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
def test_it_makes_no_difference_which_atoms_find_the_rows(data):
    """Paths are drawn, and queries moved from one to another in mid-run, whatever that may cost."""

    def choose(operands, signs, passing, at, now=None):
        path, by, decided = data.draw(st.sampled_from(list(choice.options(operands, signs))))
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
def test_it_makes_no_difference_what_is_computed_apart(data):
    """Whatever an operation mentions twice is a formula of its own, however little work it is."""
    queries = dict(enumerate(data.draw(st.lists(generated.segments(), min_size=1, max_size=8))))
    with mock.patch("headgate.engine.kernel.expressions._WORTH", 0.1):
        kernel = kernel_of(queries)
    for _ in range(2):
        check(kernel, queries, data.draw(generated.tables()))


@given(st.data())
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


S, N, L, D = (COLUMNS[name] for name in "sild")


def literal(value, kind="bigint"):
    return Literal(value, kind)


def query(*where, columns=(("s", S),), **more):
    return Segment("t", more.get("lookups", ()), where, more.get("grouping"), columns)


def kernel_of(queries, tables=None):
    kernel = Kernel(tables or {})
    for change in generated.added(queries):
        kernel.apply(change)
    return kernel


def rows_of(**columns):
    n = len(next(iter(columns.values())))
    return pa.table([pa.array(columns.get(f.name, [None] * n), f.type) for f in generated.SCHEMA], generated.SCHEMA)


EXTREMES = [-(2**63), -(2**63) + 1, -(2**63) + 2, 0, 2**63 - 2, 2**63 - 1, None]


@pytest.mark.parametrize("op", sorted(set(generated.COMPARISONS)))
def test_the_extremes_of_whole_numbers_are_compared_like_all_others(op):
    queries = {k: query(holds(op, L, literal(value))) for k, value in enumerate(EXTREMES)}
    queries |= {k + 10: query(generated.negated(each.where[0])) for k, each in queries.items()}
    check(kernel_of(queries), queries, rows_of(l=EXTREMES))


def test_counting_rows_needs_no_column():
    counted = Grouping((), (Part("Count", (literal(1, "int"),), "bigint"),))
    kernel = kernel_of({5: query(grouping=counted, columns=(("n", Column("a0", "bigint")),))})
    assert kernel.columns == ["_position"]
    for n in (3, 0):
        (part,) = kernel.run(pa.table({"_position": pa.array(range(n), pa.int64())})).parts
        assert part.to_pylist() == [{"_q": 5, "n": n}]


def test_only_columns_that_a_query_needs_are_asked_for():
    assert kernel_of({1: query(holds("EqualTo", N, literal(1, "int"))), 2: query(L)}).columns == ["i", "l", "s"]


def test_results_of_different_shapes_with_the_same_columns_are_one_part():
    queries = {
        3: query(columns=(("a", S), ("b", D))),
        1: query(columns=(("a", Call("Upper", (S,), "string")), ("b", literal(0.5, "double")))),
        2: query(columns=(("a", literal("x", "string")), ("b", literal(1.5, "double")))),
    }
    (part,) = kernel_of(queries).run(rows_of(s=["p", "q"], d=[1.0, 2.0])).parts
    assert [list(row.values()) for row in part.to_pylist()] == [
        [1, "P", 0.5],
        [1, "Q", 0.5],
        [2, "x", 1.5],
        [2, "x", 1.5],
        [3, "p", 1.0],
        [3, "q", 2.0],
    ]


def test_rows_come_in_the_order_of_the_train_for_each_query():
    queries = {number: query(columns=(("i", N),)) for number in (7, 3)}
    (part,) = kernel_of(queries).run(rows_of(i=[5, 1, 3])).parts
    assert part.column("i").to_pylist() == [5, 1, 3, 5, 1, 3]
    assert part.column(NUMBER).to_pylist() == [3, 3, 3, 7, 7, 7]


def test_a_train_may_be_in_pieces():
    queries = {1: query(holds("GreaterThan", N, literal(1, "int")), columns=(("s", S), ("i", N)))}
    one, other = rows_of(i=[1, 2], s=["a", "b"]), rows_of(i=[3], s=["c"])
    check(kernel_of(queries), queries, pa.concat_tables([one, other]))


def test_long_lists_and_many_conditions_find_their_rows():
    numbers = [literal(k, "int") for k in range(0, 600, 2)]
    words = [literal(chr(97 + k), "string") for k in range(20)]
    conditions = [holds("Not", holds("EqualTo", L, literal(k))) for k in range(30)]
    queries = {
        1: query(holds("In", N, *numbers)),
        2: query(holds("In", N, *numbers), holds("In", S, *words), holds("GreaterThan", L, literal(40))),
        3: query(holds("Not", holds("In", N, *numbers)), holds("IsNotNull", S)),
        4: query(*conditions, holds("GreaterThan", N, literal(590, "int"))),
        5: query(holds("Or", holds("In", N, *numbers[:40]), holds("In", S, *words))),
    }
    n = 200
    rows = rows_of(i=[3 * k for k in range(n)], l=range(n), s=[chr(97 + k % 26) for k in range(n)])
    check(kernel_of(queries), queries, rows)


def test_zeros_of_either_sign_are_not_mixed_up():
    def known(value):
        return query(columns=(("d", Call("Coalesce", (D, Literal(value, "double")), "double")),))

    queries = {1: known(0.0), 2: known(-0.0)}
    check(kernel_of(queries), queries, rows_of(d=[None, 1.0]))


def many(n=3000):
    """Queries of one shape that find each other's rows if anything is mixed up."""
    both = (lambda k: holds("EqualTo", L, literal(k // 3)), lambda k: holds("GreaterThan", N, literal(k % 3, "int")))
    return {k: query(*(each(k) for each in both), columns=(("l", L),)) for k in range(n)}


def test_many_queries_of_one_shape_find_their_rows_as_they_come_and_go():
    queries = many()
    kernel = kernel_of(queries)
    rows = rows_of(l=[k % 1200 for k in range(500)], i=[k % 4 for k in range(500)])

    def found():
        return {
            (number, value)
            for part in kernel.run(rows).parts
            for number, value in zip(*(part.column(name).to_pylist() for name in (NUMBER, "l")), strict=True)
        }

    def expected(numbers):
        return {
            (k, at)
            for k in numbers
            for at, i in {(k % 1200, k % 4) for k in range(500)}
            if at == k // 3 and i > k % 3
        }

    numbers = set(queries)
    assert found() == expected(numbers)
    for gone in ({0}, set(range(10, 60)), set(range(100, 2900))):
        kernel.apply(Remove(sorted(gone)))
        numbers -= gone
        assert found() == expected(numbers)
    for number in (0, 50):
        (change,) = generated.added({number: queries[number]})
        kernel.apply(change)
        numbers.add(number)
        assert found() == expected(numbers)


def test_the_atom_that_lets_least_through_finds_the_rows_and_another_one_once_that_has_changed():
    atoms = [(holds("GreaterThan", N, literal(k, "int")), holds("GreaterThan", L, literal(k))) for k in range(500)]
    queries = {k: query(*both) for k, both in enumerate(atoms)}
    kernel = kernel_of(queries)
    one, other = rows_of(i=[3] * 300, l=[490] * 300), rows_of(i=[490] * 300, l=[3] * 300)

    def index():
        (described,) = kernel.describe()
        assert described.queries == 500
        return described.atoms[0].operand

    check(kernel, queries, one)
    assert index() == N
    for _ in range(100):
        kernel.run(other)
    assert index() == L
    check(kernel, queries, other)


def failing():
    """An operation that fails for a value that does not fit, as no operation should."""
    return mock.patch.dict(OPS, {"Fails": Op(lambda _, args: args[0].cast(pl.Int8), "tinyint")})


FAILS = Call("Fails", (L,), "tinyint")
COUNT = Part("Count", (FAILS,), "bigint")
FAILING = {
    "condition": query(holds("EqualTo", FAILS, literal(1, "tinyint"))),
    "column": query(columns=(("x", FAILS),)),
    "key": query(grouping=Grouping((FAILS,), ()), columns=(("k0", Column("k0", "tinyint")),)),
    "aggregate": query(grouping=Grouping((S,), (COUNT,)), columns=(("a0", Column("a0", "bigint")),)),
    "condition of groups": query(
        holds("EqualTo", FAILS, literal(1, "tinyint")),
        grouping=Grouping((), (Part("Count", (N,), "bigint"),)),
        columns=(("a0", Column("a0", "bigint")),),
    ),
}


@pytest.mark.parametrize("where", FAILING)
def test_a_query_that_fails_fails_alone_and_not_for_ever(where):
    count = Grouping((S,), (Part("Count", (N,), "bigint"),))
    fine = {
        1: query(holds("GreaterThan", N, literal(0, "int"))),
        2: query(columns=(("x", Call("Add", (D, literal(1.0, "double")), "double")),)),
        4: query(grouping=count, columns=(("k0", Column("k0", "string")), ("a0", Column("a0", "bigint")))),
    }
    with failing():
        kernel = kernel_of({**fine, 3: FAILING[where]})
        good, bad = rows_of(l=[1, 2], i=[1, 2], s=["a", "b"]), rows_of(l=[1, 2000], i=[1, 2], s=["a", "b"])
        whole = kernel.run(good)
        assert whole.errors == {}
        answer = kernel.run(bad)
        assert list(answer.errors) == [3]
        assert "conversion" in answer.errors[3]
        found = [part.filter(pa.compute.not_equal(part.column(NUMBER), 3)) for part in whole.parts]
        assert [part for part in found if part.num_rows] == list(answer.parts)
        assert kernel.run(good) == whole


def test_a_query_that_cannot_be_entered_fails_alone_until_it_is_removed():
    fine, wrong = query(), query(columns=(("x", Call("Unknown", (S,), "string")),))
    kernel = kernel_of({1: fine, 2: wrong})
    answer = kernel.run(rows_of(s=["a"]))
    assert list(answer.errors) == [2]
    assert [part.column(NUMBER).to_pylist() for part in answer.parts] == [[1]]
    kernel.apply(Remove([2]))
    assert kernel.run(rows_of(s=["a"])).errors == {}


def joined(tmp_path, table, *queries, key):
    """A kernel whose queries look rows up by one key."""
    other = Column(f"0:{key.name}", key.type)
    lookup = Lookup("r", "inner", ((key, other),), (other, Column("0:i", "int")))
    pq.write_table(table, tmp_path / "part.parquet")
    return kernel_of({k: replace(each, lookups=(lookup,)) for k, each in enumerate(queries)}, {"r": str(tmp_path)})


def test_the_extremes_of_whole_numbers_are_looked_up_like_all_others(tmp_path):
    columns = (("l", L), ("i", Column("0:i", "int")))
    kernel = joined(tmp_path, rows_of(l=EXTREMES, i=range(len(EXTREMES))), query(columns=columns), key=L)
    (part,) = kernel.run(rows_of(l=EXTREMES)).parts
    assert list(zip(*(part.column(name).to_pylist() for name in "li"), strict=True)) == [
        (value, k) for k, value in enumerate(EXTREMES) if value is not None
    ]


@pytest.mark.parametrize("key", COLUMNS.values(), ids=lambda column: column.type)
def test_values_of_every_type_are_looked_up(tmp_path, key):
    values = [*generated.VALUES[key.type], None]
    table, other = rows_of(**{key.name: values}), Column(f"0:{key.name}", key.type)
    pq.write_table(table, tmp_path / "part.parquet")
    lookup = Lookup("r", "inner", ((key, other),), (other,))
    queries = {1: query(columns=(("x", key), ("y", other)), lookups=(lookup,))}
    rows = rows_of(**{key.name: values[::-1]})
    check(kernel_of(queries, {"r": str(tmp_path)}), queries, rows, {"r": table})


def test_a_table_is_read_once_however_much_queries_change(tmp_path):
    kernel = joined(tmp_path, rows_of(s=["a"], i=[5]), query(columns=(("i", Column("0:i", "int")),)), key=S)
    rows = rows_of(s=["a", "b"])
    before = kernel.run(rows)
    (tmp_path / "part.parquet").unlink()
    fleeting = {k: query(holds("EqualTo", L, literal(k))) for k in range(10, 3000)}
    for change in generated.added(fleeting):
        kernel.apply(change)
    kernel.apply(Remove(sorted(fleeting)))
    assert kernel.run(rows) == before


def test_queries_that_look_up_what_is_not_there_fail_alone():
    lookup = Lookup("r", "inner", ((S, Column("0:s", "string")),), (Column("0:s", "string"),))
    kernel = kernel_of({1: query(), 2: query(lookups=(lookup,))}, {"r": "/nowhere"})
    answer = kernel.run(rows_of(s=["a"]))
    assert list(answer.errors) == [2]
    assert [part.column(NUMBER).to_pylist() for part in answer.parts] == [[1]]


def test_constants_for_which_no_key_is_left_are_given_new_ones():
    words = ["a", "c", *("b" * length for length in range(1, 80))]
    queries = {k: query(holds("GreaterThan", S, literal(word, "string"))) for k, word in enumerate(words)}
    kernel = Kernel({})
    for number, each in queries.items():
        (change,) = generated.added({number: each})
        kernel.apply(change)
    check(kernel, queries, rows_of(s=[*words, "", "bc", "z"]))
