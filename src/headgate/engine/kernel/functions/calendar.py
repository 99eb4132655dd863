"""The calendar in whole numbers, so that it holds for every date that Spark has: Polars' own ends, and not quietly.

Days are counted from 1970-01-01, times in microseconds; all are 64-bit numbers.
"""

import polars as pl

DAY = 86_400_000_000
_CYCLE = 146_097
"""The days of 400 years, after which the calendar repeats, weeks too."""


def days(date: pl.Expr) -> pl.Expr:
    return date.cast(pl.Int32).cast(pl.Int64)


def micros(timestamp: pl.Expr) -> pl.Expr:
    return timestamp.cast(pl.Int64)


def date(day: pl.Expr) -> pl.Expr:
    """NULL for a day that is too far away."""
    return day.cast(pl.Int32, strict=False).cast(pl.Date)


def timestamp(micro: pl.Expr) -> pl.Expr:
    return micro.cast(pl.Datetime("us", "UTC"))


def midnight(day: pl.Expr) -> pl.Expr:
    """The microsecond at which a day begins; NULL for a day that is too far away."""
    return (day.cast(pl.Int128) * DAY).cast(pl.Int64, strict=False)


def rest(number: pl.Expr, by: int) -> pl.Expr:
    """What a division leaves, from 0 on. Polars' own takes twenty times as long."""
    return number - number // by * by


def near(day: pl.Expr) -> pl.Expr:
    """The date between 1970 and 2369 at which the calendar is the same."""
    return date(rest(day, _CYCLE))


def year(day: pl.Expr) -> pl.Expr:
    return near(day).dt.year().cast(pl.Int64) + day // _CYCLE * 400


def weekday(day: pl.Expr) -> pl.Expr:
    """0 for Monday."""
    return rest(day + 3, 7)


def from_seconds(seconds: pl.Expr) -> pl.Expr:
    """The timestamp of a number with a fraction, or the first or last if it is beyond; NULL if it is no number."""
    # Unlike other casts this one goes to the first or last number for what is beyond.
    whole = (seconds.cast(pl.Float64) * 1e6).cast(pl.Int64, wrap_numerical=True)
    return timestamp(pl.when(seconds.is_finite()).then(whole))
