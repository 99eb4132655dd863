"""What is a tuple in JSON, what is not and why; and that its neighbours do not matter."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.engine.source.decode import decode
from headgate.engine.source.json_lines import JsonLines
from headgate.engine.source.schemas import TIMESTAMP
from headgate.errors import InputError

FLAT = pa.schema([("sym", pa.string()), ("price", pa.float64()), ("vol", pa.int32()), ("ts", TIMESTAMP)])
GOOD = b'{"sym":"a","price":1.5,"vol":2,"ts":"2026-01-01T00:00:00Z"}'
MORE = pa.schema(
    [
        ("f", pa.float32()),
        ("ok", pa.bool_()),
        ("day", pa.date32()),
        ("sum", pa.decimal128(6, 2)),
        ("tags", pa.list_(pa.string())),
        ("at", pa.struct([("x", pa.int64()), ("when", TIMESTAMP)])),
    ]
)
ALL = {"f": 0.5, "ok": True, "day": "2026-01-31", "sum": 12.5, "tags": ["a", None], "at": {"x": 1}}


def decoded(schema, *lines, lenient=False):
    return decode(JsonLines(schema, lenient), lines, str)


def line(**changes):
    return json.dumps({"sym": "a", "price": 1.5, "vol": 2, "ts": None} | changes).encode()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"tick", "not JSON: Expecting value at character 1"),
        (b'{"sym":"a"', "not JSON: Expecting ',' delimiter at character 11"),
        (GOOD + GOOD, "not JSON: Extra data at character 60"),
        (GOOD + b"null" + GOOD, "not JSON: Extra data at character 60"),
        (b'{"sym":"\xff"}', "not UTF-8"),
        (b"[" * 100_000, "not JSON that can be read: nested too deep"),
        (b"null", "not a JSON object, got null"),
        (b"null" + GOOD, "not JSON: Extra data at character 5"),
        (b'["a", 1]', 'not a JSON object, got ["a", 1]'),
        (b"{}", "column 'sym' is missing"),
        (b'{"sym":"a","price":1,"ts":null}', "column 'vol' is missing"),
        (b'{"sym":"a","sym":"b","price":1,"vol":1,"ts":null}', "column 'sym' is there twice"),
        (line(size=3), "unknown column 'size'"),
        (line(sym=7), "column 'sym' is STRING, got 7"),
        (line(sym=["a"]), "column 'sym' is STRING, got [\"a\"]"),
        (line(price="1.5"), "column 'price' is DOUBLE, got \"1.5\""),
        (line(price=True), "column 'price' is DOUBLE, got true"),
        (line().replace(b"1.5", b"1e400"), "column 'price' is DOUBLE, got \"1E+400\""),
        (line().replace(b"1.5", b"NaN"), "not JSON: NaN is no JSON number"),
        (line(vol=2.0), "column 'vol' is INT, got \"2.0\""),
        (line(vol=2**31), "column 'vol' is INT, got 2147483648"),
        (line(ts="soon"), "column 'ts' is TIMESTAMP, got \"soon\""),
        (line(ts=1767225600), "column 'ts' is TIMESTAMP, got 1767225600"),
        (line(ts="2026-13-01T00:00:00Z"), "column 'ts' is TIMESTAMP, got \"2026-13-01T00:00:00Z\""),
        (b'{"sym":"\\ud800","price":1,"vol":1,"ts":null}', "column 'sym' is STRING, got \"\ud800\""),
    ],
)
def test_a_line_that_is_no_tuple_is_refused_with_the_reason(text, reason):
    found = decoded(FLAT, GOOD, text, GOOD)
    assert [(k, row.reason, row.place) for k, row in found.rejected] == [(1, reason, "1")]
    assert found.rows.num_rows == 2
    assert found.lines.tolist() == [0, 2]
    alone = decoded(FLAT, text)
    assert [row.reason for _, row in alone.rejected] == [reason]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T02:00:00+02:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01 00:00:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00.123456", datetime(2026, 1, 1, 0, 0, 0, 123456, UTC)),
        ("2026-01-01T00:00:00.123456789Z", datetime(2026, 1, 1, 0, 0, 0, 123456, UTC)),
        ("2026-01-01T00:00:00.1234567", datetime(2026, 1, 1, 0, 0, 0, 123456, UTC)),
    ],
)
def test_a_time_without_a_zone_is_utc_and_cut_off_after_the_microsecond(text, value):
    mixed = decoded(FLAT, line(ts=text), GOOD, line(ts="2026-01-01"), line(ts=None))
    assert not mixed.rejected
    assert mixed.rows["ts"].to_pylist()[0] == value


def test_values_of_every_type_are_read():
    found = decoded(MORE, json.dumps(ALL).encode(), json.dumps(dict.fromkeys(ALL)).encode())
    assert not found.rejected
    assert found.rows.to_pylist() == [
        ALL | {"day": date(2026, 1, 31), "sum": Decimal("12.50"), "at": {"x": 1, "when": None}},
        dict.fromkeys(ALL),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"f": 1e39},
        {"ok": 1},
        {"day": "2026-02-30"},
        {"sum": 1.234},
        {"sum": 12345},
        {"sum": "NaN"},
        {"tags": "a"},
        {"tags": [1]},
        {"at": {"x": "a"}},
        {"at": {"y": 1}},
        {"at": {"x": 1, "when": "soon"}},
    ],
)
def test_a_value_that_does_not_fit_its_type_is_refused(change):
    (name,) = change
    found = decoded(MORE, json.dumps(ALL | change).encode())
    assert [row.reason.startswith(f"column '{name}' is ") for _, row in found.rejected] == [True]


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (b'{"vol":3}', (None, None, 3, None)),
        (b'{"size":{"sym":1},"vol":3,"size":2,"sym":"a"}', ("a", None, 3, None)),
        (b'{"sym":null,"size":1}', (None, None, None, None)),
    ],
)
def test_where_lines_are_lenient_other_keys_are_left_out_and_missing_columns_are_null(text, row):
    found = decoded(FLAT, GOOD, text, lenient=True)
    assert not found.rejected
    assert tuple(found.rows.to_pylist()[1].values()) == row


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{}", "no column of the stream is there"),
        (b'{"size":1}', "no column of the stream is there"),
        (b'{"vol":1,"vol":2}', "column 'vol' is there twice"),
        (b'{"vol":"1"}', "column 'vol' is INT, got \"1\""),
    ],
)
def test_a_lenient_line_has_one_column_at_least_and_none_twice_or_of_another_type(text, reason):
    found = decoded(FLAT, GOOD, text, lenient=True)
    assert [row.reason for _, row in found.rejected] == [reason]


def test_in_lenient_lines_nested_values_are_lenient_too():
    found = decoded(MORE, b'{"at":{"x":1,"y":{"x":2,"x":3}}}', b'{"at":{"x":1,"x":2}}', lenient=True)
    assert found.rows["at"].to_pylist() == [{"x": 1, "when": None}]
    assert [row.reason for _, row in found.rejected] == [
        "column 'at' is STRUCT<X:BIGINT,WHEN:TIMESTAMP>, got {\"x\": 2}"
    ]


def test_blank_lines_are_no_rows():
    found = decoded(FLAT, b"", GOOD, b"  \r", GOOD + b"\r")
    assert found.lines.tolist() == [1, 3]
    assert not found.rejected


def test_of_a_long_line_the_beginning_is_kept():
    ((_, row),) = decoded(FLAT, b"x" * 10_000).rejected
    assert row.row == "x" * 1000 + "…"


def test_a_type_that_json_cannot_hold_is_refused_at_once():
    with pytest.raises(InputError, match="'raw' BINARY"):
        JsonLines(pa.schema([("raw", pa.binary())]))


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["2026-01-01", "2026-01-01T00:00:00Z", "1.5", "} null"]),
    st.lists(st.integers(), max_size=2),
)
LINES = st.one_of(
    st.just(GOOD),
    st.fixed_dictionaries({"sym": VALUES, "price": VALUES, "vol": VALUES, "ts": VALUES}).map(
        lambda row: json.dumps(row).encode()
    ),
    st.dictionaries(st.sampled_from([*FLAT.names, "more"]), VALUES).map(lambda row: json.dumps(row).encode()),
    st.fixed_dictionaries(
        {"sym": st.text(), "price": st.floats(allow_nan=False), "vol": st.integers(0, 9), "ts": st.none()}
    ).map(lambda row: json.dumps(row, ensure_ascii=False, indent=None).encode()),
    st.binary(max_size=8).filter(lambda text: b"\n" not in text),
    st.sampled_from([b'{"more":1,"sym":"a","more":2}', b'{"more":{"sym":null},"vol":1}', b'{"more":null}', b"{}"]),
    st.sampled_from([b"null", b'{"sym":', b'"a"}', GOOD + GOOD, GOOD + b" null", b"{" + GOOD + b"}", GOOD[:-1]]),
)


@given(st.lists(LINES, max_size=8), st.booleans())
def test_what_becomes_of_a_line_does_not_depend_on_its_neighbours(lines, lenient):
    together = decoded(FLAT, *lines, lenient=lenient)
    apart = [decoded(FLAT, line, lenient=lenient) for line in lines]
    assert together.rows.equals(pa.concat_tables([FLAT.empty_table(), *(each.rows for each in apart)]))
    assert [(row.row, row.reason) for _, row in together.rejected] == [
        (row.row, row.reason) for each in apart for _, row in each.rejected
    ]
