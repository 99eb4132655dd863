"""Casts from and to dates and timestamps. As numbers, timestamps are seconds."""

import polars as pl

from headgate.engine.kernel.functions import calendar, formats
from headgate.engine.kernel.functions.arithmetic import each_row
from headgate.engine.kernel.functions.calendar import DAY, days, micros
from headgate.engine.kernel.functions.op import Build
from headgate.engine.kernel.ir import Call
from headgate.engine.kernel.types import FLOATS, WHOLE, dtype

_TIMESTAMPS = ("timestamp", "timestamp_ntz")
_MOST = 2**63 // 1_000_000


def _midnight(call: Call, args: list[pl.Expr]) -> pl.Expr:
    return calendar.midnight(days(args[0])).cast(dtype(call.type))


def _day(_: Call, args: list[pl.Expr]) -> pl.Expr:
    return calendar.date(micros(args[0]) // DAY)


def _same_clock(call: Call, args: list[pl.Expr]) -> pl.Expr:
    return micros(args[0]).cast(dtype(call.type))


def _whole_seconds(call: Call, args: list[pl.Expr]) -> pl.Expr:
    return (micros(args[0]) // 1_000_000).cast(dtype(call.type), strict=False)


def _seconds(call: Call, args: list[pl.Expr]) -> pl.Expr:
    exact = micros(args[0]).cast(pl.Float64)
    return (exact / each_row(pl.lit(1e6), exact)).cast(dtype(call.type))


def _from_whole_seconds(_: Call, args: list[pl.Expr]) -> pl.Expr:
    number = args[0].cast(pl.Int64)
    ends = pl.when(number > 0).then(2**63 - 1).when(number < 0).then(-(2**63))
    return calendar.timestamp(pl.when(number.is_between(-_MOST, _MOST)).then(number * 1_000_000).otherwise(ends))


def _from_seconds(_: Call, args: list[pl.Expr]) -> pl.Expr:
    return calendar.from_seconds(args[0])


CASTS: dict[tuple[str, str], Build] = {
    **{("date", kind): _midnight for kind in _TIMESTAMPS},
    **{(kind, "date"): _day for kind in _TIMESTAMPS},
    **{(kind, "string"): lambda _, args: formats.of_timestamp(args[0]) for kind in _TIMESTAMPS},
    ("timestamp", "timestamp_ntz"): _same_clock,
    ("timestamp_ntz", "timestamp"): _same_clock,
    ("date", "string"): lambda _, args: formats.of_date(args[0]),
    ("string", "date"): lambda _, args: formats.to_date(args[0]),
    **{("timestamp", kind): _whole_seconds for kind in WHOLE},
    **{("timestamp", kind): _seconds for kind in FLOATS},
    **{(kind, "timestamp"): _from_whole_seconds for kind in WHOLE},
    **{(kind, "timestamp"): _from_seconds for kind in FLOATS},
}
