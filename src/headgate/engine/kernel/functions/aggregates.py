"""Aggregates over the rows of a group."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from headgate.engine.kernel.functions.op import Rule, first
from headgate.engine.kernel.ir import Node, Part
from headgate.engine.kernel.types import FLOATS, WHOLE, decimal, dtype, is_simple


@dataclass(frozen=True, slots=True)
class Aggregate:
    """How an aggregate is computed from the expressions of its arguments, over the rows that its filter keeps."""

    build: Callable[[Part, list[pl.Expr]], pl.Expr]
    type: Rule = first
    refuse: Callable[[Part], str | None] = lambda _: None


def aggregate(part: Part, args: list[pl.Expr], where: pl.Expr | None) -> pl.Expr:
    """The value of a part for each group."""
    kept = args if where is None else [arg.filter(where) for arg in args]
    return AGGREGATES[part.op].build(part, kept)


def refusal(part: Part) -> str | None:
    """Why an aggregate is left to Spark; None if the kernel computes it."""
    if part.distinct:
        return f"it has {part.op.lower()}(DISTINCT ...)"
    for each in (part, *part.args):
        if not is_simple(each.type):
            return f"it aggregates values of type {each.type}"
    return AGGREGATES[part.op].refuse(part)


def _sum_type(args: tuple[Node, ...]) -> str:
    kind = args[0].type
    if digits := decimal(kind):
        return f"decimal({min(38, digits[0] + 10)},{digits[1]})"
    return "bigint" if kind in WHOLE else "double"


def _sum(part: Part, args: list[pl.Expr]) -> pl.Expr:
    value = args[0].cast(dtype(part.type))
    return pl.when(value.count() > 0).then(value.sum())


def _count(_: Part, args: list[pl.Expr]) -> pl.Expr:
    return pl.all_horizontal(*(each.is_not_null() for each in args)).sum().cast(pl.Int64)


def _no_decimals(part: Part) -> str | None:
    return "it sums decimals" if decimal(part.type) else None


AGGREGATES: dict[str, Aggregate] = {
    "Sum": Aggregate(_sum, _sum_type, _no_decimals),
    "Count": Aggregate(_count, lambda _: "bigint"),
    "Min": Aggregate(lambda _, args: args[0].min()),
    "Max": Aggregate(lambda part, args: args[0].nan_max() if part.type in FLOATS else args[0].max()),
}
