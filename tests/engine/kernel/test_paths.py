"""Whichever way queries are found, each gets the rows that it gets when every row is shown to every query."""

import operator
from functools import reduce
from itertools import product
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kernel import segments as generated
from engine.kernel.segments import COLUMNS, SCHEMA, holds, negated
from headgate.engine.kernel import choice
from headgate.engine.kernel.index import BITS, EACH, Path
from headgate.engine.kernel.ir import Call, Literal, Segment
from headgate.engine.kernel.kernel import Kernel
from headgate.engine.kernel.program import NUMBER, Remove

PATHS = {
    "by one atom": lambda path: (path.first is None) != (path.second is None),
    "by two atoms": lambda path: path.first is not None and path.second is not None,
    "on every row": lambda path: path == EACH,
    "by bit sets": lambda path: path == BITS,
    "one by one": lambda path: path == Path(),
    "any way": lambda path: True,
}
DOMAINS = {"l": range(8), "d": [-1.5, -0.0, 0.0, 0.1, 0.5, 2.0, 3.0], "s": "abcdef"}
SIGNS = {
    "EqualTo": operator.eq,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
}


def constant(draw, name):
    value = draw(st.sampled_from(DOMAINS[name]))
    return value, Literal(value, COLUMNS[name].type)


def compared(name, op, inverted):
    def condition(draw):
        value, literal = constant(draw, name)
        node = holds(op, COLUMNS[name], literal)
        return (
            negated(node) if inverted else node
        ), lambda row: row[name] is not None and SIGNS[op](row[name], value) != inverted

    return condition


def listed(name, inverted):
    def condition(draw):
        few = [constant(draw, name) for _ in range(draw(st.integers(1, 4)))]
        node = holds("In", COLUMNS[name], *(literal for _, literal in few))
        return (
            negated(node) if inverted else node
        ), lambda row: row[name] is not None and (row[name] in [value for value, _ in few]) != inverted

    return condition


def missing(name, op):
    return lambda draw: (holds(op, COLUMNS[name]), lambda row: (row[name] is None) == (op == "IsNull"))


def near(op, computed):
    def condition(draw):
        (middle, literal), (width, limit) = constant(draw, "d"), constant(draw, "d")
        of = Call(computed, (COLUMNS["d"], literal), "double")
        shift = middle if computed == "Add" else -middle
        return holds(
            op, Call("Abs", (of,), "double"), limit
        ), lambda row: row["d"] is not None and SIGNS[op](abs(row["d"] + shift), width)

    return condition


def joined(op, forms):
    def condition(draw):
        made = [form(draw) for form in forms]
        some = any if op == "Or" else all
        node = reduce(lambda one, other: holds(op, one, other), (node for node, _ in made))
        return node, lambda row: some(wants(row) for _, wants in made)

    return condition


SIMPLE = st.one_of(
    st.builds(compared, st.sampled_from("lds"), st.sampled_from(list(SIGNS)), st.booleans()),
    st.builds(listed, st.sampled_from("lds"), st.booleans()),
    st.builds(missing, st.sampled_from("ld"), st.sampled_from(["IsNull", "IsNotNull"])),
    st.builds(near, st.sampled_from(list(SIGNS)), st.sampled_from(["Add", "Subtract"])),
)
FORMS = st.recursive(
    SIMPLE,
    lambda inner: st.builds(joined, st.sampled_from(["Or", "Or", "And"]), st.lists(inner, min_size=2, max_size=3)),
    max_leaves=3,
)
ROWS = st.lists(
    st.fixed_dictionaries({name: st.one_of(st.none(), st.sampled_from(some)) for name, some in DOMAINS.items()}),
    max_size=12,
)


def forced(pick, wanted):
    """A choice of nothing but one kind of path, where a family has any of it."""

    def choose(operands, signs, passing, at, now=None):
        every = list(choice.options(operands, signs))
        path, by, decided = pick([each for each in every if wanted(each[0])] or every)
        return choice.Choice(path, by, tuple(k for k in range(len(operands)) if k not in decided))

    return choose


def table_of(rows):
    table = pa.Table.from_pylist([{**row, "i": number} for number, row in enumerate(rows)], SCHEMA)
    return table.append_column("_position", pa.array(range(len(rows)), pa.int64()))


def found(kernel, rows):
    answer = kernel.run(table_of(rows))
    assert answer.errors == {}
    return [
        pair
        for part in answer.parts
        for pair in zip(part.column(NUMBER).to_pylist(), part.column("i").to_pylist(), strict=True)
    ]


@pytest.mark.parametrize("kind", PATHS)
@settings(max_examples=15)
@given(data=st.data())
def test_every_path_finds_what_a_look_at_every_row_finds(kind, data):
    forms = data.draw(st.lists(st.lists(FORMS, min_size=1, max_size=2), min_size=1, max_size=2))
    queries, wants = {}, {}

    def pick(some):
        return data.draw(st.sampled_from(some))

    with (
        mock.patch("headgate.engine.kernel.family.choose", forced(pick, PATHS[kind])),
        mock.patch("headgate.engine.kernel.matcher._EVERY", 1),
    ):
        kernel = Kernel({})
        for turn in range(3):
            new = range(20 * turn, 20 * turn + data.draw(st.integers(1, 8)))
            for number in new:
                made = [form(data.draw) for form in forms[number % len(forms)]]
                where = tuple(node for node, _ in made)
                queries[number] = Segment("t", (), where, None, (("i", COLUMNS["i"]),))
                wants[number] = [wanted for _, wanted in made]
            for change in generated.added({number: queries[number] for number in new}):
                kernel.apply(change)
            gone = data.draw(st.sets(st.sampled_from(sorted(wants))))
            if gone:
                kernel.apply(Remove(sorted(gone)))
            wants = {number: each for number, each in wants.items() if number not in gone}
            rows = data.draw(ROWS)
            expected = [
                (number, place)
                for (number, each), (place, row) in product(sorted(wants.items()), enumerate(rows))
                if all(wanted(row) for wanted in each)
            ]
            assert found(kernel, rows) == expected


def weak(count):
    """Queries of four shapes whose atoms let a tenth of the rows through, or a sixth; and what they want."""
    rng = np.random.default_rng(7)
    queries, wants = {}, {}
    for number in range(count):
        made = []
        for name, op in zip(
            "ld", ("GreaterThan", "LessThan") if number % 2 else ("LessThan", "GreaterThan"), strict=True
        ):
            limit = int(rng.integers(850, 950)) if op == "GreaterThan" else int(rng.integers(50, 150))
            made.append((name, SIGNS[op], limit, holds(op, COLUMNS[name], literal(name, limit))))
        letter = "abcdef"[rng.integers(6)]
        made.append(("s", operator.eq, letter, holds("EqualTo", COLUMNS["s"], literal("s", letter))))
        made = made[number // 2 % 2 :]
        queries[number] = Segment("t", (), tuple(each[3] for each in made), None, (("i", COLUMNS["i"]),))
        wants[number] = [each[:3] for each in made]
    return queries, wants


def literal(name, value):
    return Literal(float(value) if name == "d" else value, COLUMNS[name].type)


def drawn(count):
    given = np.random.default_rng(8).integers(0, 1000, (count, 3)).tolist()
    return [{"l": a, "d": float(b), "s": "abcdef"[c % 6]} for a, b, c in given]


def expected_of(wants, numbers, rows):
    return [
        (number, place)
        for number in sorted(numbers)
        for place, row in enumerate(rows)
        if all(compare(row[name], value) for name, compare, value in wants[number])
    ]


def test_as_many_queries_as_make_several_words_find_their_rows():
    """By bit sets, and with more rows than are looked at together."""
    (queries, wants), rows, numbers = weak(300), drawn(1000), set(range(300))
    with (
        mock.patch("headgate.engine.kernel.family.choose", forced(operator.itemgetter(0), PATHS["by bit sets"])),
        mock.patch("headgate.engine.kernel.bitsets._AT_ONCE", 1000),
    ):
        kernel = Kernel({})
        for change in generated.added(queries):
            kernel.apply(change)
        for gone in (set(), {3, 70}, set(range(100, 290))):
            if gone:
                kernel.apply(Remove(sorted(gone)))
            numbers -= gone
            assert found(kernel, rows) == expected_of(wants, numbers, rows)


def test_queries_have_bit_sets_if_no_atom_lets_little_through_and_no_longer_if_there_is_no_room():
    (queries, wants), rows = weak(200), drawn(2000)
    kernel = Kernel({})

    def add(numbers):
        for change in generated.added({number: queries[number] for number in numbers}):
            kernel.apply(change)

    def roles():
        return {atom.role for described in kernel.describe() for atom in described.atoms}

    add(range(190))
    for _ in range(3):
        assert found(kernel, rows) == expected_of(wants, range(190), rows)
    assert roles() == {"bits"}
    add(range(190, 195))
    assert roles() == {"bits"}
    with mock.patch("headgate.engine.kernel.bitsets._MOST", 1):
        add(range(195, 200))
        assert "bits" not in roles()
        for _ in range(20):
            kernel.run(table_of(rows))
        assert found(kernel, rows) == expected_of(wants, range(200), rows)
        assert "bits" not in roles()
