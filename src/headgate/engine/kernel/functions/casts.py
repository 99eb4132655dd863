"""Casts between numbers. A value that does not fit becomes what it becomes in Spark; nothing raises."""

from decimal import ROUND_HALF_UP

import numpy as np
import polars as pl

from headgate.engine.kernel.functions import decimals
from headgate.engine.kernel.functions.arithmetic import each_row
from headgate.engine.kernel.functions.op import Build
from headgate.engine.kernel.functions.rounding import nearest
from headgate.engine.kernel.ir import Call
from headgate.engine.kernel.types import FLOATS, WHOLE, decimal, dtype

_SHORT = 15
"""Decimals of so many digits are whole numbers that a double holds, divided by a power of ten that it holds."""


def _to_float(call: Call, args: list[pl.Expr]) -> pl.Expr:
    return args[0].cast(dtype(call.type))


def _wrapped(call: Call, args: list[pl.Expr]) -> pl.Expr:
    return args[0].cast(dtype(call.type), wrap_numerical=True)


def _truncated(call: Call, args: list[pl.Expr]) -> pl.Expr:
    """Toward zero; what is too large becomes the largest, which in a small type is then cut down to its bits."""
    wide = pl.Int64 if call.type == "bigint" else pl.Int32
    return args[0].cast(wide, wrap_numerical=True).cast(dtype(call.type), wrap_numerical=True)


def _from_boolean(call: Call, args: list[pl.Expr]) -> pl.Expr:
    return args[0].cast(dtype(call.type))


def _to_boolean(_: Call, args: list[pl.Expr]) -> pl.Expr:
    return args[0] != 0


def _whole_to_decimal(call: Call, args: list[pl.Expr]) -> pl.Expr:
    precision, scale = decimals.digits(call.type)
    limit = decimals.power(max(0, precision - scale))
    found = decimals.units(args[0].cast(pl.Int64))
    kept = pl.when((found < limit) & (found > -limit)).then(found)
    return decimals.of_units(kept * decimals.power(scale), call.type)


def _between_decimals(call: Call, args: list[pl.Expr]) -> pl.Expr:
    (p, s), (q, t) = decimals.digits(call.args[0].type), decimals.digits(call.type)
    if t - s > 0 and p + t - s > decimals.MOST_DIGITS:
        # More digits than there are: those that do not fit must go before.
        limit = decimals.power(max(0, q - t + s))
        found = decimals.units(args[0])
        kept = pl.when((found < limit) & (found > -limit)).then(found)
        return decimals.of_units(kept * decimals.power(t - s), call.type)
    return decimals.fitting(decimals.rescaled(args[0], s, t), call.type)


def _decimal_to_whole(call: Call, args: list[pl.Expr]) -> pl.Expr:
    _, scale = decimals.digits(call.args[0].type)
    found = decimals.units(args[0]).truncdiv(decimals.power(scale))
    return found.cast(pl.Int64, wrap_numerical=True).cast(dtype(call.type), wrap_numerical=True)


def _decimal_to_float(call: Call, args: list[pl.Expr]) -> pl.Expr:
    precision, scale = decimals.digits(call.args[0].type)
    if call.type == "double" and precision <= _SHORT:
        found = decimals.units(args[0]).cast(pl.Float64)
        return found / each_row(pl.lit(10.0**scale), found)
    # The digits, read as a number, are rounded but once.
    return args[0].cast(pl.String).cast(dtype(call.type))


def _float_to_decimal(call: Call, args: list[pl.Expr]) -> pl.Expr:
    precision, scale = decimals.digits(call.type)

    def units(values: pl.Series) -> pl.Series:
        given = values.to_numpy()
        with np.errstate(all="ignore"):
            fits = np.abs(given) < 10.0 ** (precision - scale)
            rounded = np.where(fits, given, 0.0)
        found = pl.Series(nearest(rounded, scale, ROUND_HALF_UP), dtype=pl.Float64).cast(pl.Int128)
        return found.zip_with(pl.Series(fits), pl.Series([None], dtype=pl.Int128))

    return decimals.fitting(args[0].map_batches(units, return_dtype=pl.Int128), call.type)


def refusal(call: Call) -> str | None:
    """Why a cast is left to Spark."""
    given, found = call.args[0], decimal(call.type)
    # It takes the digits that Java shows, and versions of Java differ in the last.
    if given.type == "double" and found and found[0] > _SHORT:
        return f"it casts double to {call.type}"
    # Spark may leave out the cast between, which rounds.
    match given:
        case Call(op="Cast", type="float", args=(inner,)) if call.type == "double" and inner.type in (
            "int",
            "bigint",
        ):
            return f"it casts {inner.type} to float and then to double"
    return None


CASTS: dict[tuple[str, str], Build] = {
    **{(a, b): _to_float for a in (*WHOLE, *FLOATS) for b in FLOATS},
    **{(a, b): _wrapped for a in WHOLE for b in WHOLE},
    **{(a, b): _truncated for a in FLOATS for b in WHOLE},
    **{("boolean", b): _from_boolean for b in (*WHOLE, *FLOATS)},
    **{(a, "boolean"): _to_boolean for a in (*WHOLE, *FLOATS, "decimal")},
    **{(a, "decimal"): _whole_to_decimal for a in (*WHOLE, "boolean")},
    ("double", "decimal"): _float_to_decimal,
    ("decimal", "decimal"): _between_decimals,
    **{("decimal", b): _decimal_to_whole for b in WHOLE},
    **{("decimal", b): _decimal_to_float for b in FLOATS},
}
"""By the types from and to, without precision and scale."""
