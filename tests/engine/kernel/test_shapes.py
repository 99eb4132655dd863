"""Queries that differ in constants have one shape, and shape and constants mean what the query means."""

from dataclasses import replace

import pytest
from hypothesis import given

from engine.kernel import segments as generated
from engine.kernel.against_spark import assert_same, evaluate
from engine.kernel.segments import COLUMNS, holds, negated
from headgate.engine.kernel.ir import Call, Literal, Segment
from headgate.engine.kernel.shapes import segment_of, shape_of

NUMBER, D, S, B = (COLUMNS[name] for name in "idsb")


def integer(value):
    return Literal(value, "int")


def text(value):
    return Literal(value, "string")


def like(pattern, escape="\\"):
    return holds("Like", S, text(pattern), options=(escape,))


def query(*where, columns=(("i", NUMBER),)):
    return Segment("t", (), where, None, columns)


SAME = [
    (holds("GreaterThan", NUMBER, integer(5)), holds("LessThan", integer(7), NUMBER)),
    (holds("GreaterThan", NUMBER, integer(5)), negated(holds("LessThanOrEqual", NUMBER, integer(1)))),
    (holds("GreaterThan", D, Literal(5.0, "double")), holds("GreaterThan", D, Call("Cast", (integer(2),), "double"))),
    (holds("EqualTo", S, text("a")), holds("EqualTo", text("b"), S)),
    (holds("EqualTo", S, text("a")), negated(negated(holds("EqualTo", S, text(None))))),
    (like("ab%"), like("é%")),
    (like("ab%"), holds("StartsWith", S, text("x"))),
    (like("%b"), holds("EndsWith", S, text("abc"))),
    (holds("In", NUMBER, integer(1), integer(2)), holds("In", NUMBER, integer(3), integer(4))),
    (
        negated(holds("And", B, holds("EqualTo", NUMBER, integer(1)))),
        holds("Or", negated(B), negated(holds("EqualTo", integer(2), NUMBER))),
    ),
]
OTHERS = [
    *(
        (
            holds("EqualTo", Call("Coalesce", (D, Literal(one, "double")), "double"), Literal(1.0, "double")),
            holds("EqualTo", Call("Coalesce", (D, Literal(other, "double")), "double"), Literal(1.0, "double")),
        )
        for one, other in ((0.0, -0.0), (0.5, float("nan")))
    ),
    (holds("GreaterThan", NUMBER, integer(5)), holds("GreaterThanOrEqual", NUMBER, integer(5))),
    (like("ab"), like("cd")),
    (like("a%b"), like("c%d")),
    (like("a_%"), like("b_%")),
    (like("a\\%"), like("b\\%")),
    (like("a%%"), like("b%%")),
    (holds("In", NUMBER, integer(1)), holds("In", NUMBER, integer(1), integer(2))),
    (
        holds("EqualTo", Call("Add", (NUMBER, integer(1)), "int"), integer(0)),
        holds("EqualTo", Call("Add", (NUMBER, integer(2)), "int"), integer(0)),
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_conditions_that_differ_in_constants_and_form_have_one_shape(one, other):
    assert shape_of(query(one))[0] == shape_of(query(other))[0]
    assert hash(shape_of(query(one))[0]) == hash(shape_of(query(other))[0])


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_conditions_that_differ_in_more_have_not(one, other):
    assert shape_of(query(one))[0] != shape_of(query(other))[0]


def test_constants_come_in_the_order_of_the_parameters():
    where = (holds("LessThan", integer(5), NUMBER), holds("In", S, text("a"), text("b")))
    shape, constants = shape_of(query(*where, columns=(("s", S), ("c", text("x")), ("n", integer(1)))))
    assert [each.value for each in constants] == [5, "a", "b", "x", 1]
    assert segment_of(shape, constants).where[0] == holds("GreaterThan", NUMBER, integer(5))


def test_a_prefix_is_a_constant_without_its_wild_card():
    assert [each.value for each in shape_of(query(like("ab%"), like("%cd")))[1]] == ["ab", "cd"]


def test_conjunctions_are_taken_apart_and_what_is_always_true_left_out():
    both = holds("And", B, holds("EqualTo", integer(1), integer(1)))
    assert shape_of(query(both))[0].where == (B,)


@given(generated.segments(), generated.tables(12))
def test_shape_and_constants_mean_what_the_query_means(segment, rows):
    shape, constants = shape_of(segment)
    assert_same(evaluate(segment_of(shape, constants), rows), evaluate(segment, rows), segment)
    assert shape_of(segment_of(shape, constants))[0] == shape


@given(generated.segments())
def test_where_a_query_comes_from_is_part_of_its_shape(segment):
    assert shape_of(replace(segment, source="other"))[0] != shape_of(segment)[0]
