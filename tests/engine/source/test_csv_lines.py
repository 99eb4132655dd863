"""What is a tuple in CSV, what is not and why; and that its neighbours do not matter."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.engine.source.csv_lines import CsvLines
from headgate.engine.source.decode import decode
from headgate.engine.source.schemas import TIMESTAMP
from headgate.errors import InputError

SCHEMA = pa.schema([("sym", pa.string()), ("price", pa.float64()), ("vol", pa.int64()), ("ts", TIMESTAMP)])
GOOD = b"a,1.5,2,2026-01-01T00:00:00Z"


def decoded(*lines, schema=SCHEMA, header=SCHEMA.names):
    return decode(CsvLines(schema, tuple(header)), lines, str)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"a", "the header has 4 columns, got 1"),
        (b"a,1,2,2026-01-01,", "the header has 4 columns, got 5"),
        (b'a,1,2,"2026-01-01', "a quoted value does not end on its line"),
        (b'"a,1,2,2026-01-01', "a quoted value does not end on its line"),
        (b"\xff,1,2,2026-01-01", "not UTF-8"),
        (b"a\rb,1,2,2026-01-01", "a carriage return within the line"),
        (b"a,high,2,2026-01-01", "column 'price' is DOUBLE, got 'high'"),
        (b"a,1.5.2,2,2026-01-01", "column 'price' is DOUBLE, got '1.5.2'"),
        (b"a,1,2.5,2026-01-01", "column 'vol' is BIGINT, got '2.5'"),
        (b"a,1,99999999999999999999,", "column 'vol' is BIGINT, got '99999999999999999999'"),
        (b"a,1,2,soon", "column 'ts' is TIMESTAMP, got 'soon'"),
        (b"a,1,2,2026-02-30", "column 'ts' is TIMESTAMP, got '2026-02-30'"),
        (b"a,high,low,soon", "column 'price' is DOUBLE, got 'high'"),
        (b'a,"",2,2026-01-01', "column 'price' is DOUBLE, got ''"),
    ],
)
def test_a_line_that_is_no_tuple_is_refused_with_the_reason(text, reason):
    found = decoded(GOOD, text, GOOD)
    assert [(k, row.reason) for k, row in found.rejected] == [(1, reason)]
    assert found.lines.tolist() == [0, 2]
    assert [row.reason for _, row in decoded(text).rejected] == [reason]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (GOOD, ["a", 1.5, 2, datetime(2026, 1, 1, tzinfo=UTC)]),
        (b",,,", [None] * 4),
        (b'"",,,', ["", None, None, None]),
        (b'"a,""b""", 1.5 ,2,', ['a,"b"', 1.5, 2, None]),
        (b" a ,1,2,\r", [" a ", 1.0, 2, None]),
        (b'5" disk,1,2,', ['5" disk', 1.0, 2, None]),
    ],
)
def test_fields_are_read_as_values(text, values):
    found = decoded(text)
    assert not found.rejected
    assert list(found.rows.to_pylist()[0].values()) == values


def test_columns_go_by_the_header_whatever_their_order():
    found = decoded(b"1,x,a", b"2,y,b", schema=SCHEMA.remove(3), header=["vol", "more", "sym", "price"][:3])
    assert [row.reason for _, row in found.rejected] == ["column 'price' is missing"] * 2
    found = decoded(b"1,x,a,7", schema=SCHEMA.remove(3), header=["vol", "more", "sym", "price"])
    assert found.rows.to_pylist() == [{"sym": "a", "price": 7.0, "vol": 1}]


def test_under_a_header_with_a_column_twice_every_row_is_refused():
    found = decoded(b"1,2", schema=pa.schema([("a", pa.int64())]), header=["a", "a"])
    assert [row.reason for _, row in found.rejected] == ["column 'a' is there twice"]


def test_other_columns_may_be_there_twice():
    found = decoded(b"1,2,3", schema=pa.schema([("a", pa.int64())]), header=["b", "a", "b"])
    assert found.rows.to_pylist() == [{"a": 2}]


def test_values_of_every_type_are_read():
    kinds = [pa.bool_(), pa.int8(), pa.float32(), pa.decimal128(6, 2), pa.date32()]
    schema = pa.schema([(f"c{k}", kind) for k, kind in enumerate(kinds)])
    found = decoded(b"true,1,0.5,2.5,2026-01-01", b"x,1000,y,2.555,z", schema=schema, header=schema.names)
    assert list(found.rows.to_pylist()[0].values()) == [True, 1, 0.5, Decimal("2.50"), date(2026, 1, 1)]
    assert [row.reason for _, row in found.rejected] == ["column 'c0' is BOOLEAN, got 'x'"]


def test_a_type_that_csv_cannot_hold_is_refused_at_once():
    with pytest.raises(InputError, match="'tags' ARRAY<STRING>"):
        CsvLines(pa.schema([("tags", pa.list_(pa.string()))]), ("tags",))


FIELDS = st.one_of(
    st.sampled_from(
        ["a", "1", "2.5", "", '""', '"', '"a,b"', "nan", "0x1F", "2026-01-01", "2026-01-01T00:00:00Z", "-"]
    ),
    st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=4),
)
LINES = st.one_of(
    st.just(GOOD),
    st.lists(FIELDS, min_size=3, max_size=5).map(lambda fields: ",".join(fields).encode()),
    st.binary(max_size=8).filter(lambda text: b"\n" not in text),
)


@given(st.lists(LINES, max_size=8))
def test_what_becomes_of_a_line_does_not_depend_on_its_neighbours(lines):
    together = decoded(*lines)
    apart = [decoded(line) for line in lines]
    # As text, in which a NaN equals another.
    assert str(together.rows.to_pylist()) == str([row for each in apart for row in each.rows.to_pylist()])
    assert [(row.row, row.reason) for _, row in together.rejected] == [
        (row.row, row.reason) for each in apart for _, row in each.rejected
    ]
