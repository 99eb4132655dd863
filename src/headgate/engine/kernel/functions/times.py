"""Dates and timestamps, in the time zone UTC."""

from collections.abc import Callable
from typing import Any

import polars as pl

from headgate.engine.kernel.functions import calendar, months
from headgate.engine.kernel.functions.calendar import DAY, days, micros, rest
from headgate.engine.kernel.functions.months import computed
from headgate.engine.kernel.functions.op import Op
from headgate.engine.kernel.functions.strings import by_constants
from headgate.engine.kernel.ir import Call, Literal
from headgate.engine.kernel.types import FLOATS, dtype

_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": DAY,
    "DAYOFYEAR": DAY,
    "WEEK": 7 * DAY,
}
"""In microseconds."""

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_OTHER_NAMES = {"YYYY": "YEAR", "YY": "YEAR", "MM": "MONTH", "MON": "MONTH", "DD": "DAY"}
_WEEKDAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")


def _of_date(compute: Callable[[pl.Expr], pl.Expr]) -> Op:
    return Op(lambda _, args: compute(days(args[0])).cast(pl.Int32), "int")


def _of_time(unit: str, most: int) -> Op:
    return Op(lambda _, args: rest(micros(args[0]) // _UNITS[unit], most).cast(pl.Int32), "int")


def _since_1970(unit: str) -> Op:
    return Op(lambda _, args: micros(args[0]) // _UNITS[unit], "bigint")


def _seconds_with_fraction(_: Call, args: list[pl.Expr]) -> pl.Expr:
    return (rest(micros(args[0]), _UNITS["MINUTE"]).cast(pl.Decimal(20, 6)) / 1_000_000).cast(pl.Decimal(8, 6))


def _unix_timestamp(call: Call, args: list[pl.Expr]) -> pl.Expr:
    return days(args[0]) * 86_400 if call.args[0].type == "date" else micros(args[0]).truncdiv(1_000_000)


def _no_unix_timestamp(call: Call) -> str | None:
    return "it parses times from strings" if call.args[0].type == "string" else None


def _from_1970(unit: int) -> Op:
    """Times from numbers of a unit. Where Spark fails, for there is no such time, it is NULL."""

    def build(call: Call, args: list[pl.Expr]) -> pl.Expr:
        if call.args[0].type in FLOATS:
            return calendar.from_seconds(args[0])
        most = 2**63 // unit
        number = args[0].cast(pl.Int64)
        return calendar.timestamp(pl.when(number.is_between(-most, most - 1)).then(number * unit))

    return Op(build, "timestamp", lambda call: "it makes times from decimals" if "(" in call.args[0].type else None)


def _truncated_days(day: pl.Expr, unit: str) -> pl.Expr:
    if unit == "WEEK":
        return day - calendar.weekday(day)
    each = _MONTHS[unit]
    return computed(lambda given: months.first_day(months.month(given) // each * each), day)


def _truncated_date(date: pl.Expr, unit: str) -> pl.Expr:
    name = _OTHER_NAMES.get(unit.upper(), unit.upper())
    if name not in (*_MONTHS, "WEEK"):
        return pl.lit(None, pl.Date)
    return calendar.date(_truncated_days(days(date), name))


def _truncated_timestamp(call: Call, args: list[pl.Expr]) -> pl.Expr:
    given, kind = call.args[0], dtype(call.type)
    unit = str(given.value).upper() if isinstance(given, Literal) else ""
    name, time = _OTHER_NAMES.get(unit, unit), micros(args[1])
    if name in (*_MONTHS, "WEEK"):
        return calendar.midnight(_truncated_days(time // DAY, name)).cast(kind)
    if name not in _UNITS or name == "DAYOFYEAR":
        return pl.lit(None, kind)
    return (time // _UNITS[name] * _UNITS[name]).cast(kind)


def _unit_varies(call: Call) -> str | None:
    return None if isinstance(call.args[0], Literal) else "it truncates times to a unit that varies"


def _second_type(args: tuple[Any, ...]) -> str:
    kind: str = args[1].type
    return kind


def _next_day(date: pl.Expr, name: str) -> pl.Expr:
    wanted = name.upper()
    found = [number for number, full in enumerate(_WEEKDAYS) if wanted in (full[:2], full[:3], full)]
    if not found:
        return pl.lit(None, pl.Date)
    tomorrow = days(date) + 1
    return calendar.date(tomorrow + rest(found[0] - calendar.weekday(tomorrow), 7))


def _date_plus_months(_: Call, args: list[pl.Expr]) -> pl.Expr:
    return calendar.date(computed(months.plus, days(args[0]), args[1].cast(pl.Int64)))


def _plus_months(time: pl.Expr, number: pl.Expr) -> pl.Expr:
    return calendar.midnight(computed(months.plus, time // DAY, number)) + rest(time, DAY)


def _last_day(_: Call, args: list[pl.Expr]) -> pl.Expr:
    return calendar.date(computed(lambda day: months.last_day(months.month(day)), days(args[0])))


def _months_between(call: Call, args: list[pl.Expr]) -> pl.Expr:
    rounded = isinstance(call.args[2], Literal) and call.args[2].value
    compute = months.between_rounded if rounded else months.between
    return computed(compute, micros(args[0]), micros(args[1]), kind=pl.Float64())


def _rounding_varies(call: Call) -> str | None:
    known = isinstance(call.args[2], Literal) and call.args[2].value is not None
    return None if known else "it uses months_between() with rounding that varies"


def _plus_interval(call: Call, args: list[pl.Expr]) -> pl.Expr:
    added, kind = call.args[1], dtype(call.type)
    interval = added.value if isinstance(added, Literal) else None
    return (micros(args[0]) + interval).cast(kind) if isinstance(interval, int) else pl.lit(None, kind)


def _plus_year_months(call: Call, args: list[pl.Expr]) -> pl.Expr:
    return _plus_months(micros(args[0]), _number(call)).cast(dtype(call.type))


def _date_plus_year_months(call: Call, args: list[pl.Expr]) -> pl.Expr:
    return calendar.date(computed(months.plus, days(args[0]), _number(call)))


def _number(call: Call) -> pl.Expr:
    """The months of a constant interval."""
    return pl.lit(call.args[1].value if isinstance(call.args[1], Literal) else None, pl.Int64)


def _interval_varies(call: Call) -> str | None:
    known = isinstance(call.args[1], Literal) and call.args[1].type != "interval"
    return None if known else "it adds an interval that is no constant, or one of both months and days"


def _plus_units(call: Call, args: list[pl.Expr]) -> pl.Expr:
    unit, number, time = str(call.options[0]).upper(), args[0].cast(pl.Int64), micros(args[1])
    if unit in _MONTHS:
        return _plus_months(time, number * _MONTHS[unit]).cast(dtype(call.type))
    return (time + number * _UNITS[unit]).cast(dtype(call.type))


def _units_between(call: Call, args: list[pl.Expr]) -> pl.Expr:
    """Whole units, without what is left over on either side of 0."""
    unit, start, end = str(call.options[0]).upper(), micros(args[0]), micros(args[1])
    if unit not in _MONTHS:
        # The distance between far times is more than 64 bits hold.
        distance = end.cast(pl.Int128) - start.cast(pl.Int128)
        return (distance.sign() * (distance.abs() // _UNITS[unit])).cast(pl.Int64, strict=False)
    return computed(months.whole_between, start, end).truncdiv(_MONTHS[unit])


def _unknown_unit(call: Call) -> str | None:
    unit = str(call.options[0]).upper()
    return None if unit in _UNITS or unit in _MONTHS else f"it counts in units of {unit}"


def _made_date(_: Call, args: list[pl.Expr]) -> pl.Expr:
    return calendar.date(computed(months.made, *(each.cast(pl.Int64) for each in args)))


def _plus_days(sign: int) -> Op:
    def build(_: Call, args: list[pl.Expr]) -> pl.Expr:
        return (args[0].cast(pl.Int32) + args[1].cast(pl.Int32) * sign).cast(pl.Date)

    return Op(build, "date")


def _name(pattern: str) -> Op:
    return Op(lambda _, args: calendar.near(days(args[0])).dt.to_string(pattern), "string")


OPS: dict[str, Op] = {
    "Year": _of_date(calendar.year),
    "Quarter": _of_date(lambda day: calendar.near(day).dt.quarter()),
    "Month": _of_date(lambda day: calendar.near(day).dt.month()),
    "DayOfMonth": _of_date(lambda day: calendar.near(day).dt.day()),
    "DayOfYear": _of_date(lambda day: calendar.near(day).dt.ordinal_day()),
    "WeekOfYear": _of_date(lambda day: calendar.near(day).dt.week()),
    "WeekDay": _of_date(calendar.weekday),
    "DayOfWeek": _of_date(lambda day: rest(day + 4, 7) + 1),
    "UnixDate": _of_date(lambda day: day),
    "DayName": _name("%a"),
    "MonthName": _name("%b"),
    "Hour": _of_time("HOUR", 24),
    "Minute": _of_time("MINUTE", 60),
    "Second": _of_time("SECOND", 60),
    "SecondWithFraction": Op(_seconds_with_fraction, "decimal(8,6)"),
    "UnixSeconds": _since_1970("SECOND"),
    "UnixMillis": _since_1970("MILLISECOND"),
    "UnixMicros": _since_1970("MICROSECOND"),
    "UnixTimestamp": Op(_unix_timestamp, "bigint", _no_unix_timestamp),
    "ToUnixTimestamp": Op(_unix_timestamp, "bigint", _no_unix_timestamp),
    "DateFromUnixDate": Op(lambda _, args: args[0].cast(pl.Date), "date"),
    "SecondsToTimestamp": _from_1970(1_000_000),
    "MillisToTimestamp": _from_1970(1_000),
    "MicrosToTimestamp": _from_1970(1),
    "TruncDate": by_constants(_truncated_date, "date"),
    "TruncTimestamp": Op(_truncated_timestamp, _second_type, _unit_varies),
    "LastDay": Op(_last_day, "date"),
    "NextDay": by_constants(_next_day, "date"),
    "DateAdd": _plus_days(1),
    "DateSub": _plus_days(-1),
    "DateDiff": Op(lambda _, args: args[0].cast(pl.Int32) - args[1].cast(pl.Int32), "int"),
    "AddMonths": Op(_date_plus_months, "date"),
    "MonthsBetween": Op(_months_between, "double", _rounding_varies),
    "MakeDate": Op(_made_date, "date"),
    "DateAddYMInterval": Op(_date_plus_year_months, "date", _interval_varies),
    "TimestampAddYMInterval": Op(_plus_year_months, refuse=_interval_varies),
    "TimestampAddInterval": Op(_plus_interval, refuse=_interval_varies),
    "TimestampAdd": Op(_plus_units, _second_type, _unknown_unit, ("unit",)),
    "TimestampDiff": Op(_units_between, "bigint", _unknown_unit, ("unit",)),
}
