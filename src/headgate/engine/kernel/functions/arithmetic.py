"""Numbers. Whole numbers that overflow wrap around, and what is divided by zero is NULL."""

import operator
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from headgate.engine.kernel.functions import decimals
from headgate.engine.kernel.functions.op import Build, Op, Rule, first
from headgate.engine.kernel.ir import Call, Column, Literal, Node, walk
from headgate.engine.kernel.types import FLOATS, WHOLE, decimal, dtype

_CHOICES = ("CaseWhen", "If", "Coalesce", "NullIfResult", "NaNvl", "Greatest", "Least")
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def _unary(compute: Callable[[pl.Expr], pl.Expr]) -> Build:
    return lambda _, args: compute(args[0])


def _binary(compute: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> Build:
    return lambda _, args: compute(args[0], args[1])


def _numbers(plain: Build, of_decimals: Build, of_decimals_type: Rule) -> Op:
    """An operation that decimals have their own rules for."""

    def build(call: Call, args: list[pl.Expr]) -> pl.Expr:
        return (of_decimals if decimal(call.type) else plain)(call, args)

    def refuse(call: Call) -> str | None:
        return decimals.too_long(call) if decimal(call.type) else _regrouped(call)

    return Op(build, decimals.by_type(of_decimals_type, first), refuse)


def _no_numbers(call: Call) -> str | None:
    return None if call.type in (*WHOLE, *FLOATS) else f"it uses {call.op} of {call.type}"


def _regrouped(call: Call) -> str | None:
    """Spark may take apart sums in sums, by which what may overflow, and what then becomes NULL, is another."""
    plain = call.op.removeprefix("Try")
    inside = (f"Try{plain}",) if call.op == plain else (f"Try{plain}", plain)
    for each in walk(call):
        if each is not call and isinstance(each, Call) and each.op in inside:
            return f"it uses {call.op} of {each.op}"
    return _no_numbers(call)


def _whole(call: Call) -> str | None:
    return None if all(arg.type in WHOLE for arg in call.args) else f"it uses {call.op} of {call.args[0].type}"


def _quotient(call: Call, args: list[pl.Expr]) -> pl.Expr:
    a, b = args
    by = b if isinstance(call.args[1], Column) else each_row(b, a)
    return pl.when(b != 0).then(a / by)


def each_row(constant: pl.Expr, beside: pl.Expr, kind: str = "double") -> pl.Expr:
    """A constant as a column. Polars multiplies by the inverse of a single divisor, which is not the same."""
    return (beside.ne(beside).cast(dtype(kind)) + 1.0) * constant


def _sum(compute: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> Build:
    """Polars leaves out a single zero, but -0.0 + 0.0 is 0.0."""

    def build(call: Call, args: list[pl.Expr]) -> pl.Expr:
        a, b = args
        if call.type in FLOATS and _may_be_zero(call.args[0]):
            a = each_row(a, b, call.type)
        elif call.type in FLOATS and _may_be_zero(call.args[1]):
            b = each_row(b, a, call.type)
        return compute(a, b)

    return build


def _may_be_zero(node: Node) -> bool:
    """Whether it may be one zero for all rows."""
    if isinstance(node, Call):
        return any(map(_may_be_zero, node.args)) if node.op in _CHOICES else all(map(_may_be_zero, node.args))
    return isinstance(node, Literal) and not node.value


def _remainder(call: Call, args: list[pl.Expr]) -> pl.Expr:
    """With the sign of the dividend."""
    a, b = args
    if call.type in FLOATS:
        return _float_remainder(a, b, call.type)
    return a - a.truncdiv(b) * b


def _positive_remainder(call: Call, args: list[pl.Expr]) -> pl.Expr:
    if call.type in FLOATS:
        a, b = args
        rest = _float_remainder(a, b, call.type)
        return pl.when(rest < 0).then(_float_remainder(rest + b, b, call.type)).otherwise(rest)
    # Java computes with at least 32 bits.
    wide = pl.Int64 if call.type == "bigint" else pl.Int32
    a, b = (arg.cast(wide) for arg in args)
    rest = a - a.truncdiv(b) * b
    more = rest + b
    return pl.when(rest < 0).then(more - more.truncdiv(b) * b).otherwise(rest).cast(dtype(call.type))


def _float_remainder(a: pl.Expr, b: pl.Expr, type: str) -> pl.Expr:  # noqa: A002
    found = pl.map_batches([a, b], _fmod, return_dtype=dtype(type))
    return pl.when(b != 0).then(found)


def _fmod(pair: Sequence[pl.Series]) -> pl.Series:
    # The quotient may be too large for a number of any kind, so that only the C library gets it right.
    a, b = (each.to_numpy() for each in pair)
    with np.errstate(all="ignore"):
        found = pl.Series(np.fmod(a, b))
    known = pair[0].is_not_null() & pair[1].is_not_null()
    return found.zip_with(known, pl.Series([None], dtype=found.dtype))


def _no_sign(call: Call) -> str | None:
    """Spark rounds decimals of more than 34 digits when it changes their sign."""
    found = decimal(call.type)
    return "it changes the sign of decimals of more than 34 digits" if found and found[0] > 34 else None


def _or_null(compute: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> Build:
    """The same with NULL where the result does not fit."""

    def build(call: Call, args: list[pl.Expr]) -> pl.Expr:
        if call.type in FLOATS:
            return _sum(compute)(call, args)
        limit = 2 ** (_BITS[call.type] - 1)
        found = compute(args[0].cast(pl.Int128), args[1].cast(pl.Int128))
        return pl.when((found >= -limit) & (found < limit)).then(found).cast(dtype(call.type))

    return build


def _ones(value: pl.Expr) -> pl.Expr:
    return value.cast(pl.Int64).bitwise_count_ones().cast(pl.Int32)


def _shift(compute: Callable[[pl.Expr, int, int], pl.Expr]) -> Op:
    def bits(call: Call) -> int:
        return _BITS[call.type]

    def build(call: Call, args: list[pl.Expr]) -> pl.Expr:
        by = call.args[1]
        if not isinstance(by, Literal) or not isinstance(by.value, int):
            return pl.lit(None, dtype(call.type))
        return compute(args[0], by.value % bits(call), bits(call))

    def refuse(call: Call) -> str | None:
        return None if isinstance(call.args[1], Literal) else "it shifts by what is no constant"

    return Op(build, first, refuse)


def _left(value: pl.Expr, by: int, bits: int) -> pl.Expr:
    factor = 1 << by
    wrapped = factor - (1 << bits) if factor >= 1 << (bits - 1) else factor
    return value * wrapped


def _right(value: pl.Expr, by: int, bits: int) -> pl.Expr:
    return value.cast(pl.Int128).floordiv(pl.lit(1 << by, pl.Int128)).cast(_of(bits))


def _right_unsigned(value: pl.Expr, by: int, bits: int) -> pl.Expr:
    wide = value.cast(pl.Int128)
    positive = pl.when(wide < 0).then(wide + pl.lit(1 << bits, pl.Int128)).otherwise(wide)
    return positive.floordiv(pl.lit(1 << by, pl.Int128)).cast(_of(bits), wrap_numerical=True)


def _of(bits: int) -> pl.DataType:
    return pl.Int32() if bits == _BITS["int"] else pl.Int64()


_ADD = _numbers(_sum(operator.add), decimals.by_scale(operator.add), decimals.sum_type)
_SUBTRACT = _numbers(_sum(operator.sub), decimals.by_scale(operator.sub), decimals.sum_type)

OPS: dict[str, Op] = {
    "Add": _ADD,
    "Subtract": _SUBTRACT,
    "Multiply": _numbers(_binary(operator.mul), decimals.product, decimals.product_type),
    "Divide": _numbers(_quotient, decimals.quotient, decimals.quotient_type),
    "IntegralDivide": Op(_binary(lambda a, b: a.truncdiv(b)), "bigint", _whole),
    "Remainder": _numbers(_remainder, decimals.by_scale(lambda a, b: a - a.truncdiv(b) * b), decimals.rest_type),
    "Pmod": Op(_positive_remainder, first, _no_numbers),
    "TryAdd": Op(_or_null(operator.add), first, _regrouped),
    "TrySubtract": Op(_or_null(operator.sub), first, _no_numbers),
    "TryMultiply": Op(_or_null(operator.mul), first, _regrouped),
    "TryDivide": Op(_quotient, first, _no_numbers),
    "TryRemainder": Op(_remainder, first, _no_numbers),
    "UnaryMinus": Op(_unary(operator.neg), first, _no_sign),
    "UnaryPositive": Op(_unary(lambda value: value), first),
    "Abs": Op(_unary(abs), first, _no_sign),
    "BitwiseAnd": Op(_binary(operator.and_), first, _whole),
    "BitwiseOr": Op(_binary(operator.or_), first, _whole),
    "BitwiseXor": Op(_binary(operator.xor), first, _whole),
    "BitwiseNot": Op(_unary(operator.invert), first, _whole),
    "BitwiseCount": Op(_unary(_ones), "int", _whole),
    "ShiftLeft": _shift(_left),
    "ShiftRight": _shift(_right),
    "ShiftRightUnsigned": _shift(_right_unsigned),
}
