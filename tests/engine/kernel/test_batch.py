"""Formulas over rows: what an operation mentions several times is computed once, and fails with it."""

import numpy as np
import polars as pl
import pytest

from headgate.engine.kernel.batch import Batch, Formulas
from headgate.engine.kernel.ir import Call, Column, Literal

V = Column("v", "bigint")
DATA = {"v": pl.Series("v", [3, -4, 25, None, 7])}


def literal(value):
    return Literal(value, "bigint")


def plus(node, n):
    return Call("Add", (node, literal(n)), "bigint")


def pmod(node, n):
    return Call("Pmod", (node, literal(n)), "bigint")


def long(steps=6):
    """Something that is worth a column of its own."""
    node = V
    for n in range(1, steps + 1):
        node = plus(node, n)
    return node


def batch(formulas, **more):
    return Batch(formulas, 5, DATA.__getitem__, **more)


def values(formulas, number, rows=None):
    made = batch(formulas)
    found = made.values([number]) if rows is None else made.at(np.array(rows), [number])
    return found[number].to_list()


def test_an_operand_that_is_mentioned_several_times_is_a_formula_of_its_own():
    formulas = Formulas()
    number = formulas.enter(pmod(long(), 20))
    assert formulas.nodes == [long(), pmod(long(), 20)]
    assert formulas.expressions[number].meta.root_names().count("v") == 0
    assert values(formulas, number) == [4, 17, 6, None, 8]
    assert values(formulas, number, [2]) == [6]
    # The same value is known by the number that it has already.
    assert formulas.enter(long()) == 0


@pytest.mark.parametrize("node", [long(), pmod(V, 20)])
def test_what_is_mentioned_once_or_is_no_work_is_not(node):
    formulas = Formulas()
    formulas.enter(node)
    assert formulas.nodes == [node]


def test_operands_inside_operands_are_computed_before_them():
    formulas = Formulas()
    node = pmod(plus(pmod(long(), 1000), 5), 7)
    number = formulas.enter(node)
    assert formulas.nodes[0] == long()
    expected = [((v + 21) % 1000 + 5) % 7 for v in (3, -4, 25, 7)]
    assert values(formulas, number) == [*expected[:3], None, expected[3]]


def test_a_formula_fails_with_what_it_mentions():
    formulas = Formulas()
    number = formulas.enter(pmod(long(), 20))
    formulas.expressions[0] = pl.col("nowhere").alias("0")
    made = batch(formulas)
    assert made.values([number]) == {}
    assert made.failed.keys() == {0, number}
    assert made.failed[number] == made.failed[0]


def test_a_column_that_is_broken_breaks_what_depends_on_it_in_any_way():
    formulas = Formulas()
    number = formulas.enter(pmod(long(), 20))
    made = batch(formulas, broken={"v": "it is broken"})
    assert made.values([number]) == {}
    assert made.failed == {number: "it is broken"}


def test_a_column_may_be_called_like_a_number():
    formulas = Formulas()
    number = formulas.enter(Call("Pmod", (long(), Column("#0", "bigint")), "bigint"))
    assert number == 1
    data = {**DATA, "#0": pl.Series("#0", [20, 20, 20, 20, 3])}
    found = Batch(formulas, 5, data.__getitem__).values([number])[number]
    assert found.to_list() == [4, 17, 6, None, 1]
