"""Aggregates over the rows of a group."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from headgate.engine.kernel.functions import decimals
from headgate.engine.kernel.functions.logic import normal
from headgate.engine.kernel.functions.op import Rule, first
from headgate.engine.kernel.ir import Literal, Node, Part
from headgate.engine.kernel.types import FLOATS, WHOLE, decimal, dtype, is_simple

_MORE_DIGITS = 10
"""The digits that a sum of decimals has more than they have."""

_LIMIT = 2**63


@dataclass(frozen=True, slots=True)
class Aggregate:
    """How an aggregate is computed from the expressions of its arguments, over the rows that its filter keeps."""

    build: Callable[[Part, list[pl.Expr]], pl.Expr]
    type: Rule = first
    refuse: Callable[[Part], str | None] = lambda _: None


def aggregate(part: Part, args: list[pl.Expr], where: pl.Expr | None) -> pl.Expr:
    """The value of a part for each group, from the expressions of its arguments. Constants must be columns."""
    if part.where == Literal(value=True, type="boolean"):
        where = None
    if part.op == "Count":
        return _count(part, args, where)
    kept = args if where is None else [arg.filter(where) for arg in args]
    return AGGREGATES[part.op].build(part, kept)


def refusal(part: Part) -> str | None:
    """Why an aggregate is left to Spark; None if the kernel computes it."""
    if part.distinct:
        return f"it has {part.op.lower()}(DISTINCT ...)"
    for kind in (part.type, *(each.type for each in part.args)):
        if not is_simple(kind):
            return f"it aggregates values of type {kind}"
    return AGGREGATES[part.op].refuse(part)


def _count(part: Part, args: list[pl.Expr], where: pl.Expr | None = None) -> pl.Expr:
    """The rows in which nothing is NULL."""
    known = [isinstance(each, Literal) and each.value is not None for each in part.args]
    conditions = [arg.is_not_null() for arg, always in zip(args, known, strict=True) if not always]
    conditions += [] if where is None else [where]
    if not conditions:
        return pl.len().cast(pl.Int64)
    return pl.all_horizontal(*conditions).sum().cast(pl.Int64)


def _sum_type(args: tuple[Node, ...]) -> str:
    kind = args[0].type
    if digits := decimal(kind):
        return f"decimal({min(decimals.MOST_DIGITS, digits[0] + _MORE_DIGITS)},{digits[1]})"
    return "bigint" if kind in WHOLE else "double"


def _sum(part: Part, args: list[pl.Expr]) -> pl.Expr:
    value = args[0]
    if decimal(part.type):
        found = decimals.of_units(decimals.units(value).sum(), part.type)
    else:
        found = value.cast(dtype(part.type)).sum()
        # Spark begins at 0.0, and so never ends at -0.0.
        found = normal(found) if part.type == "double" else found
    return pl.when(value.count() > 0).then(found)


def _sum_or_null(part: Part, args: list[pl.Expr]) -> pl.Expr:
    """NULL where the sum overflows at any row, even if it comes back."""
    if part.args[0].type != "bigint":
        return _sum(part, args)
    sums = args[0].cast(pl.Int128).cum_sum()
    fits = (sums.max() < _LIMIT) & (sums.min() >= -_LIMIT)
    return pl.when(fits).then(_sum(part, args))


def _average_type(args: tuple[Node, ...]) -> str:
    if digits := decimal(args[0].type):
        return f"decimal({digits[0] + 4},{digits[1] + 4})"
    return "double"


def _average(part: Part, args: list[pl.Expr]) -> pl.Expr:
    value = args[0]
    if not decimal(part.type):
        return pl.when(value.count() > 0).then(normal(value.cast(pl.Float64).sum()) / value.count())
    count = value.count().cast(pl.Int128)
    found = decimals.half_up(decimals.units(value).sum() * decimals.power(4), count)
    return decimals.of_units(pl.when(count > 0).then(found), part.type)


def _no_long_decimals(part: Part) -> str | None:
    found = decimal(part.args[0].type)
    long = found is not None and found[0] + _MORE_DIGITS + 4 * (part.op == "Average") > decimals.MOST_DIGITS
    return f"it adds up values of type {part.args[0].type}" if long else None


def _min(part: Part, args: list[pl.Expr]) -> pl.Expr:
    """Of numbers that are equal, as 0.0 and -0.0 are, the first."""
    return args[0].get(args[0].arg_min()) if part.type in FLOATS else args[0].min()


def _max(part: Part, args: list[pl.Expr]) -> pl.Expr:
    """NaN is the greatest number."""
    if part.type not in FLOATS:
        return args[0].max()
    nan = pl.lit(math.nan, dtype(part.type))
    return pl.when(args[0].is_nan().any()).then(nan).otherwise(args[0].get(args[0].arg_max()))


def _by(part: Part, args: list[pl.Expr]) -> pl.Expr:
    """The value of the last row, or the first, by one key (those without it are left out) or by several.

    Of rows that are alike in that it is the last one, either way.
    """
    value, *order = args
    keys = [normal(key) if node.type in FLOATS else key for key, node in zip(order, part.args[1:], strict=True)]
    if len(keys) == 1:
        known = keys[0].is_not_null()
        value, keys = value.filter(known), [keys[0].filter(known)]
    least = part.op == "MinBy"
    return value.sort_by(*keys, descending=least, nulls_last=least, maintain_order=True).last()


def _spread(degrees: int, *, root: bool) -> Callable[[Part, list[pl.Expr]], pl.Expr]:
    def build(_: Part, args: list[pl.Expr]) -> pl.Expr:
        return args[0].std(ddof=degrees) if root else args[0].var(ddof=degrees)

    return build


def _double(_: tuple[Node, ...]) -> str:
    return "double"


AGGREGATES: dict[str, Aggregate] = {
    "Sum": Aggregate(_sum, _sum_type, _no_long_decimals),
    "TrySum": Aggregate(_sum_or_null, _sum_type, _no_long_decimals),
    "Count": Aggregate(_count, lambda _: "bigint"),
    "Average": Aggregate(_average, _average_type, _no_long_decimals),
    "Min": Aggregate(_min),
    "Max": Aggregate(_max),
    "MinBy": Aggregate(_by),
    "MaxBy": Aggregate(_by),
    "BitAndAgg": Aggregate(lambda _, args: args[0].bitwise_and()),
    "BitOrAgg": Aggregate(lambda _, args: args[0].bitwise_or()),
    "BitXorAgg": Aggregate(lambda _, args: args[0].bitwise_xor()),
    "VariancePop": Aggregate(_spread(0, root=False), _double),
    "VarianceSamp": Aggregate(_spread(1, root=False), _double),
    "StddevPop": Aggregate(_spread(0, root=True), _double),
    "StddevSamp": Aggregate(_spread(1, root=True), _double),
}
