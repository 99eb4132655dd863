"""A range of what is computed from a number is the range of the numbers that give it, to the last bit."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.engine.kernel.inverse import undone
from headgate.engine.kernel.ir import Call, Column, Literal
from headgate.engine.kernel.keys import MOST, NULL, Numbers

D, F = Column("d", "double"), Column("f", "float")


def call(op, *args, kind="double"):
    return Call(op, args, kind)


def number(value, kind="double"):
    return Literal(value, kind)


def key(value):
    return Numbers().keys(pl.Series([value], dtype=pl.Float64))


NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("op", ["Add", "Subtract"])
@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
@given(constant=FINITE, limit=NUMBERS, values=st.lists(NUMBERS), nearby=st.lists(st.integers(-3, 3), max_size=5))
def test_a_number_is_in_the_range_if_its_result_is(absolute, op, sign, constant, limit, values, nearby):
    if absolute and sign.startswith(">"):
        sign = sign.replace(">", "<")
    operand = call(op, D, number(constant))
    source, _, steps = undone(call("Abs", operand) if absolute else operand, sign)
    assert source == D
    # Numbers around those at which the result is the limit.
    edges = [edge + constant * (-1 if op == "Add" else 1) for edge in (limit, -limit)]
    values = [*values, *(edge + k * math.ulp(edge) for edge in edges for k in nearby if math.isfinite(edge))]
    with np.errstate(over="ignore"):
        shifted = np.array(values, np.float64) + (constant if op == "Add" else -constant)
    results = Numbers().keys(pl.Series(np.abs(shifted) if absolute else shifted, dtype=pl.Float64))
    least = {">": key(limit) + 1, ">=": key(limit)}.get(sign, np.array([NULL + 1]))
    most = {"<": key(limit) - 1, "<=": key(limit)}.get(sign, np.array([MOST]))
    low, high = least, most
    for step in steps:
        low, high = step(low, high)
    keys = Numbers().keys(pl.Series(values, dtype=pl.Float64))
    assert ((keys >= low) & (keys <= high)).tolist() == ((results >= least) & (results <= most)).tolist()
    assert low[0] > NULL


AS_THEY_ARE = [
    (call("Add", D, number(1.0)), "="),
    (call("Subtract", D, number(1.0)), "<>"),
    (call("Add", D, number(math.inf)), "<"),
    (call("Add", D, number(None)), "<"),
    (call("Add", D, D), "<"),
    (call("Multiply", D, number(2.0)), ">"),
    (call("Add", F, number(1.0, "float"), kind="float"), ">"),
    (call("Abs", D), ">"),
    (call("Abs", Column("l", "bigint"), kind="bigint"), "<"),
    (D, "<"),
]


@pytest.mark.parametrize(("operand", "sign"), AS_THEY_ARE)
def test_what_has_no_such_range_is_left_as_it_is(operand, sign):
    assert undone(operand, sign) == (operand, sign, [])


def test_an_absolute_value_below_a_limit_is_a_range_and_sums_keep_their_sign():
    middle = call("Subtract", call("Add", D, number(2.0)), number(5.0))
    assert undone(call("Abs", middle), "<")[:2] == (D, "range")
    assert undone(middle, ">=")[:2] == (D, ">=")
