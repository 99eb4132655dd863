"""Functions of numbers: rounding, roots, powers."""

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

import numpy as np
import polars as pl

from headgate.engine.kernel.functions import decimals
from headgate.engine.kernel.functions.op import Build, Op
from headgate.engine.kernel.ir import Call, Literal, Node
from headgate.engine.kernel.types import WHOLE, decimal

_EXACT = 2.0**52
"""From here on a double has no digits behind the point."""

_MOST_PLACES = 15
_NEAR = 1e-4
"""How near to a tie the product with a power of ten says nothing on which side of it a number is."""


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


def _rounded(to_even: bool) -> Build:
    def build(call: Call, args: list[pl.Expr]) -> pl.Expr:
        places, kind = _places(call) or 0, call.args[0].type
        if kind in WHOLE:
            return args[0]
        if not decimal(kind):
            return args[0].map_batches(_Rounding(places, to_even), return_dtype=pl.Float64)
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


class _Rounding:
    """Rounds doubles as decimal numbers, in which 2.675 is a tie, though as a double it is less."""

    def __init__(self, places: int, to_even: bool) -> None:
        self._power = 10.0**places
        self._unit = Decimal(1).scaleb(-places)
        self._context = Context(prec=400, rounding=ROUND_HALF_EVEN if to_even else ROUND_HALF_UP)

    def __call__(self, values: pl.Series) -> pl.Series:
        given = values.to_numpy()
        with np.errstate(all="ignore"):
            scaled = np.abs(given) * self._power
            found = np.copysign(np.floor(scaled + 0.5) / self._power, given)
            unsure = (np.abs(scaled - np.floor(scaled) - 0.5) < _NEAR) | (scaled >= _EXACT)
        for at in np.flatnonzero(unsure & np.isfinite(given)):
            found[at] = self._one(float(given[at]))
        found[~np.isfinite(given)] = given[~np.isfinite(given)]
        # A decimal number has no negative zero.
        rounded = pl.Series(values.name, found + 0.0)
        return rounded.zip_with(values.is_not_null(), pl.Series([None], dtype=pl.Float64))

    def _one(self, value: float) -> float:
        return float(Decimal(repr(value)).quantize(self._unit, context=self._context))


OPS: dict[str, Op] = {
    "Ceil": Op(_to_whole(lambda value: value.ceil(), 1), _whole_type),
    "Floor": Op(_to_whole(lambda value: value.floor(), 0), _whole_type),
    "Round": Op(_rounded(to_even=False), _round_type, _no_rounding),
    "BRound": Op(_rounded(to_even=True), _round_type, _no_rounding),
    "Sqrt": _unary(lambda value: value.sqrt()),
    "Signum": _unary(lambda value: value.sign()),
    "ToDegrees": _unary(lambda value: value * 57.29577951308232),
    "ToRadians": _unary(lambda value: value * 0.017453292519943295),
}
