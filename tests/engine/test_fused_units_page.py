"""docs/fused-units.md names the functions that are fused: these, and no others."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from headgate import Engine
from headgate.engine import sink, source

PAGE = Path(__file__).parents[2] / "docs" / "fused-units.md"

# A call of each function, over market ticks.
FUNCTIONS = """
    if(vol > 5, 1, 2) coalesce(sym, venue) nvl(sym, 'x') nvl2(sym, 1, 2) ifnull(sym, 'x') nullif(sym, 'A') isnull(sym)
    isnotnull(sym) greatest(vol, 5) least(vol, 5) isnan(price) nanvl(price, 0.0D)
    abs(vol) negative(vol) positive(vol) mod(vol, 3) pmod(vol, 3) try_add(vol, 1) try_subtract(vol, 1)
    try_multiply(vol, 2) try_divide(vol, 2) bit_count(vol) shiftleft(vol, 1) shiftright(vol, 1)
    shiftrightunsigned(vol, 1) ceil(price) floor(price) round(price, 2) bround(price, 1) rint(price) sqrt(price)
    sign(price) degrees(price) radians(price) power(price, 2)
    upper(sym) lower(sym) length(sym) octet_length(sym) bit_length(sym) substring(sym, 1, 2) left(sym, 2)
    right(sym, 2) concat(sym, venue) concat_ws('-', sym, venue) trim(sym) ltrim(sym) rtrim(sym) btrim(sym)
    replace(sym, 'A', 'B') translate(sym, 'A', 'B') lpad(sym, 5, '0') rpad(sym, 5, '0') repeat(sym, 2)
    instr(sym, 'A') locate('A', sym) position('A', sym) substring_index(sym, '.', 1) split_part(sym, '.', 1)
    reverse(sym) startswith(sym, 'A') endswith(sym, 'A') contains(sym, 'A') regexp_like(sym, '^A')
    year(ts) quarter(ts) month(ts) day(ts) dayofyear(ts) weekofyear(ts) weekday(ts) dayofweek(ts) dayname(ts)
    monthname(ts) hour(ts) minute(ts) second(ts) extract(HOUR FROM ts) date_part('hour', ts) unix_seconds(ts)
    unix_millis(ts) unix_micros(ts) unix_timestamp(ts) to_unix_timestamp(ts) unix_date(date(ts))
    date_from_unix_date(int(vol)) timestamp_seconds(vol) timestamp_millis(vol) timestamp_micros(vol) trunc(ts, 'MM')
    date_trunc('HOUR', ts) last_day(ts) next_day(ts, 'MO') date_add(ts, 1) date_sub(ts, 1)
    datediff(ts, DATE '2026-01-01') add_months(ts, 1) months_between(ts, TIMESTAMP '2026-01-01 00:00:00')
    make_date(2026, 1, int(vol)) date_format(ts, 'yyyy-MM-dd HH:mm') from_unixtime(vol) timestampadd(HOUR, 1, ts)
    timestampdiff(HOUR, TIMESTAMP '2026-01-01 00:00:00', ts) to_date(ts)
"""
OTHERS = [
    "vol BETWEEN 1 AND 5 AND sym IN ('A', 'B') OR NOT (sym IS NULL)",
    "sym LIKE 'A%' OR sym ILIKE 'a%' OR sym RLIKE '^A[BC]'",
    "CASE WHEN vol > 5 THEN 1 ELSE 2 END",
    "power(price, 0.5)",
    "-vol + 2 * vol - vol / 3 + vol % 7 + vol div 3 + (vol & 1) + (vol | 1) + (vol ^ 1) + ~vol",
    "ts + INTERVAL 5 MINUTES",
    "ts - INTERVAL 2 MONTHS",
    "CAST(CAST(vol AS DOUBLE) AS BIGINT) + CAST(vol > 1 AS INT)",
    "CAST(vol AS TIMESTAMP)",
    "CAST(ts AS BIGINT)",
    "concat(CAST(vol AS STRING), CAST(ts AS STRING), CAST(vol > 1 AS STRING))",
    "CAST(CAST(vol AS DECIMAL(20, 2)) AS STRING)",
    "CAST(price AS DECIMAL(10, 2))",
    "CAST(sym AS INT) > 1 OR CAST(sym AS DOUBLE) > 1",
    "CAST(sym AS BOOLEAN) AND CAST(sym AS DATE) > DATE '2026-01-01'",
]
LEFT_TO_SPARK = [
    "exp(price)",
    "ln(price)",
    "regexp_replace(sym, 'A', 'B')",
    "split(sym, 'A')",
    "CAST(sym AS TIMESTAMP)",
    "CAST(sym AS DECIMAL(10, 2))",
    "CAST(price AS STRING)",
    "array(vol)",
]
AGGREGATES = """
    sum(vol) count(*) avg(price) min(vol) max(sym) first(price) last(price) min_by(sym, price) max_by(sym, price)
    bit_and(vol) bit_or(vol) bit_xor(vol) bool_and(vol > 1) bool_or(vol > 1) count_if(vol > 1)
"""
_CALL = re.compile(r"(\w+)\((?:[^()]|\([^()]*\))*\)")


def calls(text):
    return [found[0] for found in _CALL.finditer(text)]


def named(text):
    return {found[1] for found in _CALL.finditer(text)}


def on_page(*rows):
    lines = PAGE.read_text().splitlines()
    texts = [line for line in lines if line.startswith(tuple(f"| {row} |" for row in rows))]
    return {word for line in texts for word in re.findall(r"`([a-z0-9_]+)`", line)}


@pytest.fixture(scope="module")
def engine(spark, tmp_path_factory):
    with Engine(spark, tmp_path_factory.mktemp("page"), lanes="jobs") as made:
        made.stream("ticks", source.ticks(), event_time="ts")
        made.table("symbols", spark.createDataFrame(pa.table({"sym": ["AAA"]})))
        yield made


def test_every_function_of_the_page_is_tried_here():
    assert named(FUNCTIONS) == on_page("conditions", "numbers", "text", "times")
    assert named(AGGREGATES) == on_page("aggregates")


def test_functions_and_operators_are_fused(engine):
    columns = ", ".join(f"{each} AS c{i}" for i, each in enumerate([*calls(FUNCTIONS), *OTHERS]))
    sql = f"SELECT {columns} FROM ticks WHERE sym IN (SELECT sym FROM symbols)"
    engine.query("functions", sql, sink=sink.discard())
    assert engine.queries["functions"].why_not is None


@pytest.mark.parametrize("expression", LEFT_TO_SPARK)
def test_what_the_page_leaves_to_spark_is_not_fused(engine, expression):
    name = f"spark_{LEFT_TO_SPARK.index(expression)}"
    engine.query(name, f"SELECT {expression} AS x FROM ticks", sink=sink.discard())
    assert engine.queries[name].why_not


def test_aggregates_over_windows_are_fused_with_a_filter_or_without(engine):
    aggregates = calls(AGGREGATES)
    filtered = [f"{each} FILTER (WHERE side = 'B')" for each in aggregates]
    columns = ", ".join(f"{each} AS c{i}" for i, each in enumerate([*aggregates, *filtered]))
    sql = f"SELECT sym, {columns} FROM ticks GROUP BY sym"
    engine.query("aggregates", sql, window="10s", slide="2s", sink=sink.discard())
    assert engine.queries["aggregates"].why_not is None
