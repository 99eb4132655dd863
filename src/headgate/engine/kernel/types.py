"""Spark's types by their short names, as Polars and Arrow have them."""

import functools
import re

import polars as pl
import pyarrow as pa

WHOLE = ("tinyint", "smallint", "int", "bigint")
"""Whole numbers, from the smallest on."""

FLOATS = ("float", "double")

_POLARS: dict[str, pl.DataType] = {
    "boolean": pl.Boolean(),
    "tinyint": pl.Int8(),
    "smallint": pl.Int16(),
    "int": pl.Int32(),
    "bigint": pl.Int64(),
    "float": pl.Float32(),
    "double": pl.Float64(),
    "string": pl.String(),
    "binary": pl.Binary(),
    "date": pl.Date(),
    "timestamp": pl.Datetime("us", "UTC"),
    "timestamp_ntz": pl.Datetime("us"),
}
_ARROW = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
SIMPLE = frozenset(_POLARS)
"""All but decimals, which have many types."""


@functools.cache
def dtype(type: str) -> pl.DataType:  # noqa: A002 - as everywhere in the kernel
    """Polars' type for a simple one of Spark's."""
    if digits := decimal(type):
        return pl.Decimal(*digits)
    return _POLARS[type]


@functools.cache
def arrow(type: str) -> pa.DataType:  # noqa: A002
    """Arrow's type for one of Spark's, as results have it; arrays and structs too."""
    if digits := decimal(type):
        return pa.decimal128(*digits)
    if type.startswith("array<"):
        return pa.list_(pa.field("element", arrow(type[6:-1])))
    if type.startswith("struct<"):
        return pa.struct([(name, arrow(inner)) for name, inner in _fields(type[7:-1])])
    return _ARROW[type]


@functools.cache
def decimal(type: str) -> tuple[int, int] | None:  # noqa: A002
    """The precision and scale of a decimal type."""
    found = _DECIMAL.fullmatch(type)
    return (int(found[1]), int(found[2])) if found else None


def base(type: str) -> str:  # noqa: A002
    """The name of a type without precision and scale."""
    return type.partition("(")[0]


def is_simple(type: str) -> bool:  # noqa: A002
    """Whether the kernel computes with a type; others only pass through."""
    return type in SIMPLE or decimal(type) is not None


def _fields(text: str) -> list[tuple[str, str]]:
    """The fields of `a:int,b:struct<c:int>`, by commas that are not within a type."""
    found, depth, start = [], 0, 0
    for at, letter in enumerate([*text, ","]):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            name, _, inner = text[start:at].partition(":")
            found.append((name, inner))
            start = at + 1
    return found
