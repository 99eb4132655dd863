"""Numbers and truth values as text, and back. Text that is no number is NULL."""

import math

import polars as pl

from headgate.engine.kernel.functions.op import Build
from headgate.engine.kernel.ir import Call
from headgate.engine.kernel.types import FLOATS, WHOLE, decimal, dtype

_WHITE = "".join(map(chr, range(0x21))) + "\x7f"
_UP_TO_SPACE = "".join(map(chr, range(0x21)))
_DIGITS = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_HEXADECIMAL = r"^[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?$"
_NAMED = {
    math.nan: ["nan"],
    math.inf: ["inf", "+inf", "infinity", "+infinity"],
    -math.inf: ["-inf", "-infinity"],
}
_TRUE = ("t", "true", "y", "yes", "1")
_MOST_PLACES = 6
_FALSE = ("f", "false", "n", "no", "0")


def _to_text(_: Call, args: list[pl.Expr]) -> pl.Expr:
    return args[0].cast(pl.String)


def _truth_to_text(_: Call, args: list[pl.Expr]) -> pl.Expr:
    return pl.when(args[0]).then(pl.lit("true")).when(~args[0]).then(pl.lit("false"))


def _to_whole(call: Call, args: list[pl.Expr]) -> pl.Expr:
    """Digits with a sign; what stands behind a point must be digits too, and is left out."""
    given = args[0].str.strip_chars(_WHITE)
    whole = given.str.extract(r"^([+-]?[0-9]+)(?:\.[0-9]*)?$")
    # A point without digits before it stands for 0.
    found = pl.when(given.str.contains(r"^[+-]?\.[0-9]*$")).then(pl.lit("0")).otherwise(whole)
    return found.str.strip_prefix("+").cast(dtype(call.type), strict=False)


def _to_float(call: Call, args: list[pl.Expr]) -> pl.Expr:
    kind = dtype(call.type)
    return args[0].map_batches(lambda given: _floats(given, kind), return_dtype=kind)


def _floats(given: pl.Series, kind: pl.DataType) -> pl.Series:
    """Numbers as Java writes them: with an exponent, with a letter for the type, by name, or in base 16."""
    text = given.str.strip_chars(_UP_TO_SPACE)
    plain = text.str.extract(rf"^([+-]?(?:{_DIGITS}))[fFdD]?$").str.strip_prefix("+")
    found = plain.cast(kind, strict=False)
    word = text.str.to_lowercase()
    for value, names in _NAMED.items():
        found = found.zip_with(~word.is_in(names).fill_null(value=False), pl.Series([value], dtype=kind))
    hexadecimal = text.str.contains(_HEXADECIMAL).fill_null(value=False)
    if hexadecimal.any():
        read = [_of_base_16(each) if chosen else None for each, chosen in zip(text, hexadecimal, strict=True)]
        found = found.zip_with(~hexadecimal, pl.Series(read, dtype=pl.Float64).cast(kind))
    return found


def _of_base_16(text: str) -> float:
    try:
        return float.fromhex(text.rstrip("fFdD"))
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf


def _to_truth(_: Call, args: list[pl.Expr]) -> pl.Expr:
    given = args[0].str.strip_chars(_WHITE).str.to_lowercase()
    return (
        pl.when(given.is_in(list(_TRUE)))
        .then(pl.lit(value=True))
        .when(given.is_in(list(_FALSE)))
        .then(pl.lit(value=False))
    )


def refusal(call: Call) -> str | None:
    """Why a cast is left to Spark. It writes small decimals of many places like 1E-7."""
    found = decimal(call.args[0].type)
    if call.type == "string" and found and found[1] > _MOST_PLACES:
        return f"it casts {call.args[0].type} to string"
    return None


CASTS: dict[tuple[str, str], Build] = {
    **{(kind, "string"): _to_text for kind in WHOLE},
    ("boolean", "string"): _truth_to_text,
    ("decimal", "string"): _to_text,
    **{("string", kind): _to_whole for kind in WHOLE},
    **{("string", kind): _to_float for kind in FLOATS},
    ("string", "boolean"): _to_truth,
}
"""By the types from and to, without precision and scale."""
