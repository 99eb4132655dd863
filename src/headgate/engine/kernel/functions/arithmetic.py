"""Numbers."""

import operator
from collections.abc import Callable

import polars as pl

from headgate.engine.kernel.functions.op import Build, Op
from headgate.engine.kernel.ir import Call


def _binary(compute: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> Build:
    return lambda _, args: compute(args[0], args[1])


def _divide(_: Call, args: list[pl.Expr]) -> pl.Expr:
    return pl.when(args[1] != 0).then(args[0] / args[1])


OPS: dict[str, Op] = {
    "Add": Op(_binary(operator.add)),
    "Subtract": Op(_binary(operator.sub)),
    "Multiply": Op(_binary(operator.mul)),
    "Divide": Op(_divide),
}
