"""What depends on how long months are, over arrays of days and of months, both counted from 1970-01."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from headgate.engine.kernel.functions.calendar import DAY

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_NEVER = 2**40
"""A day that there is no date for."""


def computed(compute: Callable[..., Ints | Floats], *args: pl.Expr, kind: pl.DataType | None = None) -> pl.Expr:
    """An expression by arrays, in which each argument is computed once; NULL where one of them is."""

    def batch(given: Sequence[pl.Series]) -> pl.Series:
        found = compute(*(each.fill_null(0).to_numpy() for each in given))
        unknown = np.zeros(1, np.bool_)
        for each in given:
            if each.null_count():
                unknown = unknown | each.is_null().to_numpy()
        return pl.Series(pa.array(found, mask=np.broadcast_to(unknown, found.shape)) if unknown.any() else found)

    return pl.map_batches(list(args), batch, return_dtype=kind or pl.Int64(), is_elementwise=True)


def month(day: Ints) -> Ints:
    return day.astype("M8[D]").astype("M8[M]").astype(np.int64)


def first_day(month: Ints) -> Ints:
    return month.astype("M8[M]").astype("M8[D]").astype(np.int64)


def last_day(month: Ints) -> Ints:
    return first_day(month + 1) - 1


def day_of_month(day: Ints) -> Ints:
    return day - first_day(month(day)) + 1


def plus(day: Ints, months: Ints) -> Ints:
    """The same day of another month, or its last."""
    own = month(day)
    there = own + months
    found: Ints = np.minimum(first_day(there) + day - first_day(own), last_day(there))
    return found


def made(year: Ints, month: Ints, day: Ints) -> Ints:
    """The day of these numbers, or one that there is no date for."""
    number = (year - 1970) * 12 + month - 1
    there = first_day(number) + day - 1
    valid = (month >= 1) & (month <= 12) & (day >= 1) & (there <= last_day(number))
    return np.where(valid, there, _NEVER)


def whole_between(start: Ints, end: Ints) -> Ints:
    """The whole months between two times, toward zero."""
    first, last = start // DAY, end // DAY
    earlier, later = end % DAY < start % DAY, end % DAY > start % DAY
    last = last - ((last > first) & earlier) + ((last < first) & later)
    distance = month(last) * 32 + day_of_month(last) - month(first) * 32 - day_of_month(first)
    found: Ints = np.sign(distance) * (np.abs(distance) // 32)
    return found


def between(one: Ints, other: Ints) -> Floats:
    """The months between two times, as if each had 31 days; whole ones between the same days, or between the last."""
    day, other_day = one // DAY, other // DAY
    number, other_number = month(day), month(other_day)
    of_month, other_of_month = day - first_day(number) + 1, other_day - first_day(other_number) + 1
    both_last = (day == last_day(number)) & (other_day == last_day(other_number))
    seconds = (of_month - other_of_month) * 86_400 + one % DAY // 1_000_000 - other % DAY // 1_000_000
    rest = np.where(both_last | (of_month == other_of_month), 0.0, seconds / (31 * 86_400.0))
    return (number - other_number).astype(np.float64) + rest


def between_rounded(one: Ints, other: Ints) -> Floats:
    """The same to eight digits."""
    return np.floor(between(one, other) * 1e8 + 0.5) / 1e8
