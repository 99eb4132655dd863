"""Functions of numbers: rounding, roots, powers."""

import math
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP

import numpy as np
import polars as pl

from headgate.engine.kernel.functions import decimals
from headgate.engine.kernel.functions.logic import normal
from headgate.engine.kernel.functions.op import Build, Op
from headgate.engine.kernel.functions.rounding import LARGEST, nearest
from headgate.engine.kernel.ir import Call, Literal, Node
from headgate.engine.kernel.types import WHOLE, decimal

_SQUARE, _ROOT = 2.0, 0.5
_MOST_PLACES = 15


def _unary(compute: Callable[[pl.Expr], pl.Expr]) -> Op:
    return Op(lambda _, args: compute(args[0]), "double")


def _to_whole(compute: Callable[[pl.Expr], pl.Expr], up: int) -> Build:
    """The next whole number; `up` is what is added to units that are no whole number, toward it."""

    def build(call: Call, args: list[pl.Expr]) -> pl.Expr:
        kind = call.args[0].type
        if kind in WHOLE:
            return args[0].cast(pl.Int64)
        if not decimal(kind):
            return compute(args[0]).cast(pl.Int64, wrap_numerical=True)
        one = decimals.power(decimals.digits(kind)[1])
        found = decimals.units(args[0])
        return decimals.of_units((found + up * (one - 1)).floordiv(one), call.type)

    return build


def _whole_type(args: tuple[Node, ...]) -> str:
    if found := decimal(args[0].type):
        precision, scale = found
        return f"decimal({precision - scale + 1 if scale else precision},0)"
    return "bigint"


def _places(call: Call) -> int | None:
    places = call.args[1]
    if isinstance(places, Literal) and isinstance(places.value, int):
        return places.value
    return None


def _round_type(args: tuple[Node, ...]) -> str:
    found = decimal(args[0].type)
    if not found or not isinstance(args[1], Literal) or not isinstance(args[1].value, int):
        return args[0].type
    precision, scale = found
    kept = min(args[1].value, scale)
    return f"decimal({precision - scale + 1 + kept},{kept})"


def _rounded(way: str) -> Build:
    def build(call: Call, args: list[pl.Expr]) -> pl.Expr:
        places, kind = _places(call) or 0, call.args[0].type
        if kind in WHOLE:
            return args[0]
        if not decimal(kind):
            return args[0].map_batches(_round_doubles(places, way), return_dtype=pl.Float64)
        scale, kept = decimals.digits(kind)[1], decimals.digits(call.type)[1]
        return decimals.of_units(decimals.rescaled(args[0], scale, kept), call.type)

    return build


def _no_rounding(call: Call) -> str | None:
    places, kind = _places(call), call.args[0].type
    if places is None or not 0 <= places <= _MOST_PLACES:
        return "it rounds to places that are no constant from 0 on"
    if kind == "float" or (decimal(kind) and (call.op == "BRound" or decimals.digits(call.type)[0] > 38)):
        return f"it rounds values of type {kind}"
    return None


def _round_doubles(places: int, way: str) -> Callable[[pl.Series], pl.Series]:
    def each(values: pl.Series) -> pl.Series:
        given = values.to_numpy()
        # What is larger is shown without digits that could be rounded.
        small = np.abs(given) < LARGEST / 10.0**places
        found = nearest(np.where(small, given, 0.0), places, way) / 10.0**places
        rounded = pl.Series(values.name, np.where(small, found, given))
        return rounded.zip_with(values.is_not_null(), pl.Series([None], dtype=pl.Float64))

    return each


def _power(call: Call, args: list[pl.Expr]) -> pl.Expr:
    exponent = call.args[1]
    if isinstance(exponent, Literal) and exponent.value == _SQUARE:
        return args[0] * args[0]
    # Zero has no sign there, and the least of all numbers has a root.
    return pl.when(args[0] == -math.inf).then(math.inf).otherwise(normal(args[0]).sqrt())


def _no_power(call: Call) -> str | None:
    """Java computes other powers, exponentials and logarithms to another last digit."""
    exponent = call.args[1]
    known = isinstance(exponent, Literal) and exponent.value in (_SQUARE, _ROOT)
    return None if known else "it calls power()"


OPS: dict[str, Op] = {
    "Ceil": Op(_to_whole(lambda value: value.ceil(), 1), _whole_type),
    "Floor": Op(_to_whole(lambda value: value.floor(), 0), _whole_type),
    "Round": Op(_rounded(ROUND_HALF_UP), _round_type, _no_rounding),
    "BRound": Op(_rounded(ROUND_HALF_EVEN), _round_type, _no_rounding),
    "Sqrt": _unary(lambda value: value.sqrt()),
    "Pow": Op(_power, "double", _no_power),
    "Rint": _unary(lambda value: value.round(0, mode="half_to_even")),
    "Signum": _unary(lambda value: value.sign()),
    "ToDegrees": _unary(lambda value: value * 57.29577951308232),
    "ToRadians": _unary(lambda value: value * 0.017453292519943295),
}
