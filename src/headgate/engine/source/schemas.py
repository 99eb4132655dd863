"""The columns of a stream: from Spark's DDL or Arrow's types to the ones that Spark reads back unchanged.

Times are microseconds in UTC; a time without a zone is taken as UTC. Nothing is encoded, unsigned or finer than a
microsecond, and every column may hold NULL.
"""

from collections import Counter
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import DataType, StructType

from headgate.errors import InputError

TIMESTAMP = pa.timestamp("us", tz="UTC")

Columns: TypeAlias = str | pa.Schema
"""Columns as a user gives them: `sym STRING, price DOUBLE, ts TIMESTAMP`, or Arrow's schema."""

_PLAIN = {
    pa.null(): pa.string(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}
_KEPT = {
    *(pa.string(), pa.binary(), pa.bool_(), pa.date32(), pa.float32(), pa.float64()),
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
}
_MOST_DIGITS = 38


class MisfitError(InputError):
    """A table that does not have the columns of a stream."""


def declared(columns: Columns) -> pa.Schema:
    """The schema that a user has given. Spark, which has to be running, reads the text."""
    if not isinstance(columns, str):
        return normalised(columns)
    rule, remedy = "a schema lists columns and their types", "Write it like sym STRING, price DOUBLE, ts TIMESTAMP."
    try:
        found = DataType.fromDDL(columns)
    except PySparkException as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(rule, f"'{columns}': {reason}", remedy) from None
    if not isinstance(found, StructType) or not found.fields:
        raise InputError(rule, f"'{columns}'", remedy)
    for field in found.fields:
        if not field.nullable:
            raise InputError("every column may hold NULL", f"'{field.name}' NOT NULL", "Leave NOT NULL out.")
    return of_spark(found)


def of_spark(columns: StructType) -> pa.Schema:
    """The schema of a DataFrame."""
    try:
        return normalised(to_arrow_schema(columns, timezone="UTC"))
    except PySparkException as error:
        reason = str(error).strip().splitlines()[0]
        remedy = "Leave the column out, or convert it to another type."
        raise InputError("a column has a type that streams know", reason, remedy) from None


def normalised(schema: pa.Schema) -> pa.Schema:
    """The schema with the types that a stream has."""
    # Spark does not tell apart names that differ in case only.
    twice = [name for name, n in Counter(name.lower() for name in schema.names).items() if n > 1]
    if twice:
        raise InputError("the columns of a stream have names of their own", f"'{twice[0]}' twice", "Rename one.")
    return pa.schema([pa.field(field.name, _normal(field.type, field.name)) for field in schema])


def _normal(kind: pa.DataType, name: str) -> pa.DataType:
    types = pa.types
    if kind in _PLAIN or kind in _KEPT:
        return _PLAIN.get(kind, kind)
    if types.is_timestamp(kind):
        return TIMESTAMP
    if types.is_decimal(kind) and kind.precision <= _MOST_DIGITS and 0 <= kind.scale <= kind.precision:
        return pa.decimal128(kind.precision, kind.scale)
    if types.is_dictionary(kind):
        return _normal(kind.value_type, name)
    if types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_map(kind):
        return pa.map_(_normal(kind.key_type, name), _normal(kind.item_type, name))
    if types.is_struct(kind):
        return pa.struct([pa.field(field.name, _normal(field.type, name)) for field in kind])
    if any(is_list(kind) for is_list in (types.is_list, types.is_large_list, types.is_fixed_size_list)):
        return pa.list_(_normal(kind.value_type, name))
    remedy = "Leave the column out, or convert it to another type."
    raise InputError("a column has a type that streams know", f"'{name}' of type {kind}", remedy)


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with exactly the columns of a normalised schema; raises MisfitError where that cannot be.

    Columns may come in any order and may be narrower numbers; what the schema does not name is left out.
    """
    return pa.Table.from_arrays([_column(table, field) for field in schema], schema=schema)


def _column(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    at = table.schema.get_all_field_indices(field.name)
    remedy = "Give the stream tables with the same columns."
    if len(at) != 1:
        how = "missing" if not at else "there more than once"
        raise MisfitError(f"column '{field.name}' is {named(field.type)}", f"a table where it is {how}", remedy)
    column = table.column(at[0])
    misfit = MisfitError(f"column '{field.name}' is {named(field.type)}", f"{column.type}", remedy)
    if not _widens(_normal(column.type, field.name), field.type):
        raise misfit
    try:
        options = pc.CastOptions(field.type, allow_time_truncate=True)
        return column if column.type == field.type else column.cast(options=options)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        misfit.got = f"{column.type} ({error})"
        raise misfit from None


def _widens(have: pa.DataType, want: pa.DataType) -> bool:
    types = pa.types
    if have == want:
        return True
    if types.is_integer(want):
        return bool(types.is_integer(have) and have.bit_width < want.bit_width)
    if types.is_floating(want):
        narrow = types.is_floating(have) and have.bit_width < want.bit_width
        return bool(narrow or (types.is_integer(have) and want == pa.float64()))
    if types.is_decimal(want) and types.is_decimal(have):
        return bool(have.scale <= want.scale and have.precision - have.scale <= want.precision - want.scale)
    return False


def named(kind: pa.DataType) -> str:
    """A type of a stream as a user writes it."""
    return from_arrow_type(kind).simpleString().upper()
