"""The calendar in whole numbers, so that it holds for every date that Spark has: Polars' own ends, and not quietly.

Days are counted from 1970-01-01, months from the one of year 0, times in microseconds; all are 64-bit numbers.
"""

import polars as pl

DAY = 86_400_000_000
_CYCLE = 146_097
"""The days of 400 years, after which the calendar repeats, weeks too."""

_LAST_DAY = 106_751_991
"""The last day all of which a timestamp can hold; the first is as far on the other side."""


def days(date: pl.Expr) -> pl.Expr:
    return date.cast(pl.Int32).cast(pl.Int64)


def micros(timestamp: pl.Expr) -> pl.Expr:
    return timestamp.cast(pl.Int64)


def date(day: pl.Expr) -> pl.Expr:
    """NULL for a day that is too far away."""
    return day.cast(pl.Int32, strict=False).cast(pl.Date)


def timestamp(micro: pl.Expr, zone: str | None = "UTC") -> pl.Expr:
    return micro.cast(pl.Datetime("us", zone))


def midnight(day: pl.Expr) -> pl.Expr:
    """The microsecond at which a day begins; NULL for a day that is too far away."""
    return pl.when(day.is_between(-_LAST_DAY, _LAST_DAY)).then(day * DAY)


def near(day: pl.Expr) -> pl.Expr:
    """The date between 1970 and 2369 at which the calendar is the same."""
    return date(day % _CYCLE)


def year(day: pl.Expr) -> pl.Expr:
    return near(day).dt.year().cast(pl.Int64) + day // _CYCLE * 400


def month(day: pl.Expr) -> pl.Expr:
    """The number of the month of a day."""
    return year(day) * 12 + near(day).dt.month().cast(pl.Int64) - 1


def day_of_month(day: pl.Expr) -> pl.Expr:
    return near(day).dt.day().cast(pl.Int64)


def weekday(day: pl.Expr) -> pl.Expr:
    """0 for Monday."""
    return (day + 3) % 7


def first_day(month: pl.Expr) -> pl.Expr:
    """The day on which a month begins."""
    march = month - 2  # Years that begin in March have their odd day last.
    whole, rest = march // 12, march % 12
    return whole * 365 + whole // 4 - whole // 100 + whole // 400 + (rest * 153 + 2) // 5 - 719_468


def last_day(month: pl.Expr) -> pl.Expr:
    return first_day(month + 1) - 1


def plus_months(day: pl.Expr, months: pl.Expr | int) -> pl.Expr:
    """The same day of another month, or its last."""
    there = month(day) + months
    return pl.min_horizontal(first_day(there) + day_of_month(day) - 1, last_day(there))


def made(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    """The date of these numbers; NULL if there is none."""
    number = year * 12 + month - 1
    there = first_day(number) + day - 1
    valid = month.is_between(1, 12) & (day >= 1) & (there <= last_day(number))
    return date(pl.when(valid).then(there))


def from_seconds(seconds: pl.Expr) -> pl.Expr:
    """The timestamp of a number with a fraction, or the first or last if it is beyond; NULL if it is no number."""
    # Unlike other casts this one goes to the first or last number for what is beyond.
    whole = (seconds.cast(pl.Float64) * 1e6).cast(pl.Int64, wrap_numerical=True)
    return timestamp(pl.when(seconds.is_finite()).then(whole))
