"""Dates and timestamps as text, and dates from it."""

import re

import numpy as np
import polars as pl
import pyarrow as pa

from headgate.engine.kernel.functions import calendar, months
from headgate.engine.kernel.functions.calendar import DAY, days, micros, rest
from headgate.engine.kernel.functions.op import Op
from headgate.engine.kernel.functions.strings import by_constants

_FIELDS = {"MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "SSS": "%3f", "SSSSSS": "%6f"}
_LETTERS = re.compile(r"([A-Za-z])\1*|'[^'%]+'|[-/:., _]")
_PLAIN_DATE = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z"
_BLANK = r"[\x00-\x20\x7f]*"
_DATE = rf"(?s)\A{_BLANK}([+-]?)([0-9]{{4,7}})(?:-([0-9]{{1,2}})(?:-([0-9]{{1,2}})(?:[ T].*)?)?)?{_BLANK}\z"


def of_date(date: pl.Expr) -> pl.Expr:
    day = days(date)
    return pl.concat_str([_year(calendar.year(day)), calendar.near(day).dt.to_string("-%m-%d")])


def of_timestamp(timestamp: pl.Expr) -> pl.Expr:
    """To the second, and behind it what there is of a fraction."""
    time = micros(timestamp)
    text = [_year(calendar.year(time // DAY)), _near(time).dt.to_string("-%m-%d %H:%M:%S")]
    fraction = _near(time).dt.to_string(".%6f").str.strip_chars_end("0")
    return pl.concat_str([*text, pl.when(rest(time, 1_000_000) != 0).then(fraction).otherwise(pl.lit(""))])


def to_date(text: pl.Expr) -> pl.Expr:
    """A year, or one with month, or day and anything behind; NULL for what is no date."""
    plain = text.str.contains(_PLAIN_DATE)
    # What is written as usual need not go the long way, on which NULL costs nothing.
    found = pl.when(~plain).then(text).str.extract_groups(_DATE)
    long = found.map_batches(_groups_to_days, return_dtype=pl.Int64(), is_elementwise=True)
    return pl.when(plain).then(text.str.to_date("%Y-%m-%d", strict=False)).otherwise(calendar.date(long))


def _groups_to_days(found: pl.Series) -> pl.Series:
    sign, year, month, day = found.struct.unnest().get_columns()
    numbers = [each.cast(pl.Int64, strict=False).fill_null(1).to_numpy() for each in (year, month, day)]
    numbers[0] = np.where((sign == "-").fill_null(value=False).to_numpy(), -numbers[0], numbers[0])
    return pl.Series(pa.array(months.made(*numbers), mask=year.is_null().to_numpy()))


def _near(time: pl.Expr) -> pl.Expr:
    return calendar.near(time // DAY).cast(pl.Datetime("us")) + pl.duration(microseconds=rest(time, DAY))


def _year(year: pl.Expr) -> pl.Expr:
    digits = year.abs().cast(pl.String).str.zfill(4)
    sign = pl.when(year > 9_999).then(pl.lit("+")).when(year < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    return pl.concat_str([sign, digits])


def _formatted(timestamp: pl.Expr, pattern: str) -> pl.Expr:
    time = micros(timestamp)
    year = _year(calendar.year(time // DAY))
    # The rest of the pattern, between and around the years.
    rest = "".join("\n" if each == "yyyy" else _FIELDS.get(each, each.strip("'")) for each in _tokens(pattern))
    pieces = [each for part in rest.split("\n") for each in (year, _near(time).dt.to_string(part))]
    return pl.concat_str(pieces[1:])


def _tokens(pattern: str) -> list[str]:
    return [found[0] for found in _LETTERS.finditer(pattern)]


def _unknown(pattern: str) -> str | None:
    tokens = _tokens(pattern)
    known = all(each == "yyyy" or each in _FIELDS or not each[0].isalpha() for each in tokens)
    return None if known and "".join(tokens) == pattern else f"it writes times with the pattern {pattern!r}"


def _from_seconds(seconds: pl.Expr, pattern: str) -> pl.Expr:
    return _formatted(seconds * 1_000_000, pattern)


OPS: dict[str, Op] = {
    "DateFormatClass": by_constants(_formatted, refuse=_unknown),
    "FromUnixTime": by_constants(_from_seconds, refuse=_unknown),
}
