"""The columns of a stream: which types they have, and which tables fit."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from headgate.engine.source.schemas import TIMESTAMP, MisfitError, conform, declared, named, normalised
from headgate.errors import InputError


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (pa.large_string(), pa.string()),
        (pa.string_view(), pa.string()),
        (pa.dictionary(pa.int32(), pa.large_string()), pa.string()),
        (pa.null(), pa.string()),
        (pa.binary(4), pa.binary()),
        (pa.uint8(), pa.int16()),
        (pa.uint32(), pa.int64()),
        (pa.uint64(), pa.decimal128(20, 0)),
        (pa.float16(), pa.float32()),
        (pa.date64(), pa.date32()),
        (pa.decimal256(30, 2), pa.decimal128(30, 2)),
        (pa.timestamp("ns"), TIMESTAMP),
        (pa.timestamp("s", tz="Europe/Rome"), TIMESTAMP),
        (pa.large_list(pa.uint8()), pa.list_(pa.int16())),
        (pa.struct([("a", pa.timestamp("ms"))]), pa.struct([("a", TIMESTAMP)])),
        (pa.map_(pa.large_string(), pa.uint8()), pa.map_(pa.string(), pa.int16())),
    ],
)
def test_types_become_those_that_spark_reads_back_and_tables_of_them_fit(given, kind):
    schema = normalised(pa.schema([("x", given)]))
    assert schema == pa.schema([("x", kind)])
    assert normalised(schema) == schema
    assert named(kind)
    assert conform(pa.table({"x": pa.array([], given)}), schema).schema == schema


def test_every_column_may_hold_null():
    assert normalised(pa.schema([pa.field("x", pa.int64(), nullable=False)])).field("x").nullable


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.duration("s"), pa.decimal256(50, 0), pa.list_(pa.time32("s"))])
def test_a_type_that_streams_do_not_know_is_refused(kind):
    with pytest.raises(InputError, match="'x'"):
        normalised(pa.schema([("x", kind)]))


def test_names_that_differ_in_case_only_are_refused():
    with pytest.raises(InputError, match="names of their own"):
        normalised(pa.schema([("Sym", pa.string()), ("sym", pa.string())]))


@pytest.mark.parametrize(
    ("values", "kind", "found"),
    [
        (pa.array([1], pa.int8()), pa.int64(), [1]),
        (pa.array([1], pa.uint8()), pa.int32(), [1]),
        (pa.array([1], pa.int32()), pa.float64(), [1.0]),
        (pa.array([0.5], pa.float32()), pa.float64(), [0.5]),
        (pa.array(["a"]).dictionary_encode(), pa.string(), ["a"]),
        (pa.array([1_999], pa.timestamp("ns")), TIMESTAMP, [datetime(1970, 1, 1, 0, 0, 0, 1, UTC)]),
        (pa.array([0], pa.timestamp("s", tz="Asia/Tokyo")), TIMESTAMP, [datetime(1970, 1, 1, tzinfo=UTC)]),
    ],
)
def test_narrower_and_encoded_columns_fit(values, kind, found):
    table = pa.table({"more": [0], "x": values})
    assert conform(table, pa.schema([("x", kind)])).to_pydict() == {"x": found}


@pytest.mark.parametrize(
    ("table", "got"),
    [
        (pa.table({"y": [1]}), "missing"),
        (pa.Table.from_arrays([pa.array([1])] * 2, names=["x", "x"]), "more than once"),
        (pa.table({"x": ["1"]}), "string"),
        (pa.table({"x": [1.0]}), "double"),
        (pa.table({"x": pa.array([1], pa.int64())}), "int64"),
    ],
)
def test_other_tables_do_not_fit(table, got):
    with pytest.raises(MisfitError, match=f"column 'x' is INT; got .*{got}"):
        conform(table, pa.schema([("x", pa.int32())]))


def test_a_time_out_of_range_does_not_fit():
    with pytest.raises(MisfitError, match="out of bounds"):
        conform(pa.table({"x": pa.array([2**62], pa.timestamp("s"))}), pa.schema([("x", TIMESTAMP)]))


def test_a_schema_is_written_as_in_spark(spark):
    assert declared("sym STRING, price DOUBLE, ts TIMESTAMP, tags ARRAY<INT>") == pa.schema(
        [("sym", pa.string()), ("price", pa.float64()), ("ts", TIMESTAMP), ("tags", pa.list_(pa.int32()))]
    )


@pytest.mark.parametrize(
    "text", ["", "sym", "sym STRUNG", "INT", "sym STRING,", "sym STRING NOT NULL", "a INT, A INT"]
)
def test_a_schema_that_spark_cannot_read_is_refused(spark, text):
    with pytest.raises(InputError):
        declared(text)
