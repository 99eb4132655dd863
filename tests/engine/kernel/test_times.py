"""Dates and timestamps are computed as Spark computes them, also where Python and Polars have none."""

import itertools
import random

import pyarrow as pa
import pytest

from engine.kernel.against_spark import Sides

DAY = 86_400_000_000
EDGES = [
    *(0, -1, 1, 364, 365, 366),
    *(-719_162, -719_163, -719_164, -719_528, -719_529),  # around the years 1 and 0
    *(2_932_896, 2_932_897, -141_428, -141_427),  # after 9999, and where the Julian calendar once ended
    *(19_782, 19_783, 11_016, 11_017, -25_509, 10_956),  # ends of February
    *(-800_000, 5_000_000, 90_000_000, -90_000_000),
]
TEXTS = [
    *("2024", "2024-1", "2024-1-5", "2024-01-05", " 2024-01-05 ", "2024-01-05T10:00", "2024-01-05 x", "+2024-01-01"),
    *("-0044-03-15", "12345-01-01", "9999999-1-1", "5881580-07-11", "5881580-07-12", "-5877641-06-22", "-2024"),
    *("", "2024-13-01", "2024-02-30", "2023-02-29", "99999999-01-01", "024-1-1", "2024-001-01", "2024-1-", "2024- "),
    *("2024-1 x", "2024-1-1x", "2024-1-1 ", "x", "20240105", "\t2024-01-01\n", "\x002024-01-01\x7f", "2024-01-01é"),
    *("٢٠٢٤-01-01", "2024‐01‐01", "0000-01-01", "-5877641-06-23"),
]


@pytest.fixture(scope="module")
def sides(spark, tmp_path_factory):
    chance = random.Random(7)
    days = [*EDGES, *(chance.randint(-800_000, 3_000_000) for _ in range(150)), *range(18_990, 19_100)]
    times = [day * DAY + chance.choice([0, 1, DAY - 1, chance.randrange(DAY)]) for day in days]
    count = len(days)

    def column(values, kind, through=None):
        filled = pa.array(list(itertools.islice(itertools.cycle([*values, None]), count)), through or kind)
        return filled.cast(kind)

    rows = {
        "d": column(days, pa.date32(), pa.int32()),
        "e": column(reversed(days), pa.date32(), pa.int32()),
        "ts": column(times, pa.timestamp("us", "UTC"), pa.int64()),
        "u": column(reversed(times), pa.timestamp("us", "UTC"), pa.int64()),
        "z": column(times, pa.timestamp("us"), pa.int64()),
        "i": column([0, 1, -1, 5, 12, 13, 29, 31, -31, 400, -5_000, 2024, 1900, 100_000], pa.int32()),
        "l": column([0, 1, -1, 10**9, -(10**12), 1_700_000_000_123, 7, 2**40], pa.int64()),
        "x": column([0.0, -0.0, 1.5, -1.5, 1e9 + 0.1234567, 1e30, -1e30, float("nan"), float("inf")], pa.float64()),
        "s": column(TEXTS, pa.string()),
    }
    return Sides(spark, tmp_path_factory.mktemp("times"), pa.table(rows))


FIELDS = [
    *("year(d)", "quarter(d)", "month(d)", "day(d)", "dayofyear(d)", "weekofyear(d)", "weekday(d)", "dayofweek(d)"),
    *("year(ts)", "quarter(ts)", "month(ts)", "day(ts)", "weekofyear(z)", "dayname(d)", "monthname(d)"),
    *("hour(ts)", "minute(ts)", "second(ts)", "hour(z)", "extract(second from ts)", "extract(dow from ts)"),
    *("unix_date(d)", "unix_seconds(ts)", "unix_millis(ts)", "unix_micros(ts)"),
    *("unix_timestamp(ts)", "unix_timestamp(d)", "to_unix_timestamp(ts)"),
]
TRUNCATED = [
    *(f"trunc(d, '{unit}')" for unit in ("year", "yyyy", "YY", "quarter", "month", "MM", "mon", "week", "day", "no")),
    *(f"date_trunc('{unit}', ts)" for unit in ("YEAR", "yyyy", "yy", "quarter", "month", "mm", "mon", "week")),
    *(
        f"date_trunc('{unit}', ts)"
        for unit in ("day", "DD", "hour", "minute", "second", "millisecond", "microsecond")
    ),
    *("date_trunc('no', ts)", "date_trunc('hour', d)", "date_trunc('week', z)", "trunc(d, NULL)", "last_day(d)"),
]
MOVED = [
    *("date_add(d, 1)", "date_add(d, i)", "date_sub(d, i)", "d + 5", "d - 5", "datediff(d, e)", "datediff(ts, d)"),
    *("add_months(d, 1)", "add_months(d, -13)", "add_months(d, i)", "d + INTERVAL 1 MONTH", "d - INTERVAL 3 YEARS"),
    *("d + INTERVAL 5 DAYS", "ts + INTERVAL 1 HOUR", "ts - INTERVAL 1 DAY", "z + INTERVAL 1 HOUR"),
    *("ts + INTERVAL '3-2' YEAR TO MONTH", "ts - INTERVAL 1 MONTH", "z + INTERVAL 1 MONTH"),
    "ts + INTERVAL '1 02:03:04.5' DAY TO SECOND",
    *(f"timestampadd({unit}, i, ts)" for unit in ("microsecond", "millisecond", "second", "minute", "hour", "day")),
    *(f"timestampadd({unit}, i, ts)" for unit in ("week", "month", "quarter", "year", "dayofyear")),
    *(f"timestampdiff({unit}, ts, u)" for unit in ("microsecond", "millisecond", "second", "minute", "hour", "day")),
    *(f"timestampdiff({unit}, ts, u)" for unit in ("week", "month", "quarter", "year")),
    *("next_day(d, 'Mon')", "next_day(d, 'SU')", "next_day(d, 'thursday')", "next_day(d, 'no')"),
    *("months_between(ts, u)", "months_between(ts, u, false)", "months_between(d, e)"),
    *("dateadd(month, 2, d)", "dateadd(day, 2, ts)"),
]
MADE = [
    *("make_date(i, 3, 31)", "make_date(2024, i, 29)", "make_date(2023, 2, i)", "date_from_unix_date(i)"),
    *("timestamp_seconds(i)", "timestamp_seconds(x)", "timestamp_millis(l)", "timestamp_micros(l)"),
    *("CAST(ts AS date)", "CAST(z AS date)", "CAST(ts AS timestamp_ntz)", "CAST(z AS timestamp)", "to_date(ts)"),
    *("CAST(ts AS bigint)", "CAST(ts AS int)", "CAST(ts AS tinyint)", "CAST(ts AS double)", "CAST(ts AS float)"),
    *("CAST(i AS timestamp)", "CAST(l AS timestamp)", "CAST(l * 1000000 AS timestamp)", "CAST(x AS timestamp)"),
    *("CAST(s AS date)", "to_date(s)", "CAST(d AS string)", "CAST(ts AS string)", "CAST(z AS string)"),
]
WRITTEN = [
    *("date_format(ts, 'yyyy-MM-dd HH:mm:ss.SSS')", "date_format(ts, 'HH:mm')", "date_format(d, 'yyyyMMdd')"),
    *("""date_format(ts, "yyyy/MM/dd'T'HH:mm:ss.SSSSSS")""", "date_format(ts, 'dd.MM.yyyy yyyy')"),
    *("date_format(z, 'yyyy')", "date_format(ts, '')", "from_unixtime(l)", "from_unixtime(l, 'yyyy-MM')"),
]
COMPARED = [
    *("ts > '2024-01-01'", "ts BETWEEN '2020-01-01' AND '2024-01-01 10:00:00.5'", "d = '2024-01-05'", "ts > d"),
    *("d IN ('2024-01-05', '1970-01-01')", "d IN (DATE'1970-01-01', DATE'1970-01-02')", "greatest(d, e)"),
    *("coalesce(u, ts)", "CASE WHEN d > e THEN d ELSE e END", "year(ts) = 2022 AND month(ts) IN (1, 2)"),
]


@pytest.mark.parametrize("expressions", [FIELDS, TRUNCATED, MOVED, MADE, WRITTEN, COMPARED])
def test_expressions_of_times_give_what_spark_gives(sides, expressions):
    assert sides.check_each(expressions) == {}


REFUSED = {
    "date_format(ts, 'yyyyy')": "pattern 'yyyyy'",
    "date_format(ts, 'E')": "pattern 'E'",
    "date_format(ts, s)": "no constant",
    "date_trunc(s, ts)": "unit that varies",
    "trunc(d, s)": "no constant",
    "unix_timestamp(s)": "parses times",
    "CAST(s AS timestamp)": "casts string to timestamp",
    "ts + make_interval(1, 2, 0, 3)": "both months and days",
    "ts + make_dt_interval(i)": "make_dt_interval",
    "ts - u": "subtracttimestamps",
    "from_utc_timestamp(ts, 'Europe/Paris')": "from_utc_timestamp",
    "timestamp_seconds(CAST(x AS decimal(20,6)))": "decimal",
}


def test_what_is_left_to_spark_says_why(sides):
    reasons = sides.check_each(REFUSED)
    assert [each for each, why in REFUSED.items() if why not in reasons.get(each, "taken")] == []
