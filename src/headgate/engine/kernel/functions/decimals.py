"""Decimals, as whole numbers of their last digit: 1.25 is 125 units of a decimal(10,2).

Units are kept in 128 bits, which hold 38 digits. What could need more is left to Spark.
"""

from collections.abc import Callable

import polars as pl

from headgate.engine.kernel.functions.op import Rule
from headgate.engine.kernel.ir import Call, Node
from headgate.engine.kernel.types import decimal

MOST_DIGITS = 38


def digits(type: str) -> tuple[int, int]:  # noqa: A002
    """The precision and scale of a type that is known to be a decimal's."""
    found = decimal(type)
    if found is None:
        raise TypeError(type)
    return found


def units(value: pl.Expr, scale: int = 0) -> pl.Expr:
    """The units of decimals, or of whole numbers, with `scale` more digits."""
    found = value.to_physical().cast(pl.Int128)
    return found * power(scale) if scale else found


def of_units(found: pl.Expr, type: str) -> pl.Expr:  # noqa: A002
    """The decimals of units that are known to fit."""
    return found.reinterpret(dtype=pl.Decimal(*digits(type)))


def fitting(found: pl.Expr, type: str) -> pl.Expr:  # noqa: A002
    """The decimals of units; NULL where they have too many digits."""
    limit = power(digits(type)[0])
    return of_units(pl.when((found < limit) & (found > -limit)).then(found), type)


def power(of_ten: int) -> pl.Expr:
    """A power of ten, in units."""
    return pl.lit(10**of_ten, pl.Int128)


def half_up(found: pl.Expr, divisor: pl.Expr) -> pl.Expr:
    """The quotient, rounded to the nearest; of two as near, away from zero. NULL where the divisor is 0."""
    quotient = found.truncdiv(divisor)
    rest = (found - quotient * divisor).abs()
    away = pl.when((found < 0) != (divisor < 0)).then(-1).otherwise(1).cast(pl.Int128)
    # Twice the rest might not fit into 128 bits.
    return quotient + pl.when(rest >= divisor.abs() - rest).then(away).otherwise(pl.lit(0, pl.Int128))


def rescaled(value: pl.Expr, given: int, wanted: int) -> pl.Expr:
    """The units of decimals of one scale, as those of another; rounded if that has fewer digits."""
    return units(value, wanted - given) if wanted >= given else half_up(units(value), power(given - wanted))


def sum_type(args: tuple[Node, ...]) -> str:
    """The type of a sum or difference."""
    (p, s), (q, t) = (digits(each.type) for each in args)
    return _named(max(s, t) + max(p - s, q - t) + 1, max(s, t))


def product_type(args: tuple[Node, ...]) -> str:
    """The type of a product."""
    (p, s), (q, t) = (digits(each.type) for each in args)
    return _named(p + q + 1, s + t)


def quotient_type(args: tuple[Node, ...]) -> str:
    """The type of a quotient."""
    (p, s), (q, t) = (digits(each.type) for each in args)
    scale = max(6, s + q + 1)
    return _named(p - s + t + scale, scale)


def rest_type(args: tuple[Node, ...]) -> str:
    """The type of a remainder."""
    (p, s), (q, t) = (digits(each.type) for each in args)
    return _named(min(p - s, q - t) + max(s, t), max(s, t))


def by_scale(compute: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> Callable[[Call, list[pl.Expr]], pl.Expr]:
    """An operation on units of the same scale, which is that of its result."""

    def build(call: Call, args: list[pl.Expr]) -> pl.Expr:
        scale = digits(call.type)[1]
        a, b = (units(arg, scale - digits(node.type)[1]) for arg, node in zip(args, call.args, strict=True))
        return of_units(compute(a, b), call.type)

    return build


def product(call: Call, args: list[pl.Expr]) -> pl.Expr:
    """Multiply."""
    return of_units(units(args[0]) * units(args[1]), call.type)


def quotient(call: Call, args: list[pl.Expr]) -> pl.Expr:
    """Divide, rounding to the scale of the result; NULL where the divisor is 0."""
    (_, s), (_, t) = (digits(each.type) for each in call.args)
    return of_units(half_up(units(args[0], digits(call.type)[1] - s + t), units(args[1])), call.type)


def too_long(call: Call) -> str | None:
    """Refuse what needs more digits than there are: Spark would cut some off."""
    (p, s), (q, t) = (digits(each.type) for each in call.args)
    scale = max(s, t)
    widest = max(p + scale - s, q + scale - t, digits(call.type)[0])
    # Spark rounds a quotient to 39 digits first, which must not matter.
    fine = widest <= MOST_DIGITS and (call.op != "Divide" or digits(call.type)[1] + q <= MOST_DIGITS)
    return None if fine else f"it computes decimals of more than {MOST_DIGITS} digits"


def _named(precision: int, scale: int) -> str:
    return f"decimal({precision},{scale})"


def by_type(of_decimals: Rule, otherwise: Rule) -> Rule:
    """A rule for decimals, and one for other numbers."""
    return lambda args: (of_decimals if decimal(args[0].type) else otherwise)(args)
