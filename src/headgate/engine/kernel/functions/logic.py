"""Comparisons, three-valued logic, and choices between values."""

import functools
import operator
from collections.abc import Callable

import polars as pl

from headgate.engine.kernel.functions.op import Build, Op
from headgate.engine.kernel.ir import Call, Literal, Node
from headgate.engine.kernel.types import dtype


def _binary(compute: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> Build:
    return lambda _, args: compute(args[0], args[1])


def _in(call: Call, args: list[pl.Expr]) -> pl.Expr:
    """Equal to one of them: NULL where none is known to be, but may be."""
    value, *others = args
    given = [each.value for each in call.args[1:] if isinstance(each, Literal)]
    if len(given) < len(others):
        return functools.reduce(operator.or_, (value == other for other in others))
    known = pl.Series([each for each in given if each is not None], dtype=dtype(call.args[0].type))
    found = value.is_in(known.implode())
    return found if None not in given else pl.when(found).then(pl.lit(value=True))


def _case(call: Call, args: list[pl.Expr]) -> pl.Expr:
    otherwise = args[-1] if len(args) % 2 else pl.lit(None, dtype(call.type))
    pairs = zip(args[: len(args) // 2 * 2 : 2], args[1::2], strict=True)
    for condition, value in reversed(list(pairs)):
        otherwise = pl.when(condition).then(value).otherwise(otherwise)
    return otherwise


def _null_if(_: Call, args: list[pl.Expr]) -> pl.Expr:
    return pl.when(args[0]).then(None).otherwise(args[1])


def _most(call: Call, args: list[pl.Expr]) -> pl.Expr:
    """The greatest or least of those that are not NULL; NaN is the greatest number."""
    least = call.op == "Least"

    def better(a: pl.Expr, b: pl.Expr) -> pl.Expr:
        wins = (b < a) if least else (b > a)
        return pl.when(a.is_null() | wins).then(b).otherwise(a)

    return functools.reduce(better, args)


def _value_of_choice(args: tuple[Node, ...]) -> str:
    return args[1].type


def normal(value: pl.Expr) -> pl.Expr:
    """Numbers with -0.0 as 0.0, so that equal keys are one. (Polars takes the sum with 0.0 for the number itself.)"""
    return pl.when(value == 0).then(value.abs()).otherwise(value)


def _nan(_: Call, args: list[pl.Expr]) -> pl.Expr:
    return args[0].is_nan().fill_null(value=False)


def _or_if_nan(_: Call, args: list[pl.Expr]) -> pl.Expr:
    return pl.when(args[0].is_nan()).then(args[1]).otherwise(args[0])


OPS: dict[str, Op] = {
    "EqualTo": Op(_binary(operator.eq), "boolean"),
    "EqualNullSafe": Op(_binary(lambda a, b: a.eq_missing(b)), "boolean"),
    "LessThan": Op(_binary(operator.lt), "boolean"),
    "LessThanOrEqual": Op(_binary(operator.le), "boolean"),
    "GreaterThan": Op(_binary(operator.gt), "boolean"),
    "GreaterThanOrEqual": Op(_binary(operator.ge), "boolean"),
    "And": Op(_binary(operator.and_), "boolean"),
    "Or": Op(_binary(operator.or_), "boolean"),
    "Not": Op(lambda _, args: ~args[0], "boolean"),
    "IsNull": Op(lambda _, args: args[0].is_null(), "boolean"),
    "IsNotNull": Op(lambda _, args: args[0].is_not_null(), "boolean"),
    "IsNaN": Op(_nan, "boolean"),
    "In": Op(_in, "boolean"),
    "If": Op(_case, _value_of_choice),
    "CaseWhen": Op(_case, _value_of_choice),
    "NullIfResult": Op(_null_if, _value_of_choice),
    "Coalesce": Op(lambda _, args: pl.coalesce(*args)),
    "NaNvl": Op(_or_if_nan),
    "Greatest": Op(_most),
    "Least": Op(_most),
    "NormalizeNaNAndZero": Op(lambda _, args: normal(args[0])),
}
