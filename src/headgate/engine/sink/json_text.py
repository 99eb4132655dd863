"""Tables as JSON lines, column by column: no Python object is made for a value, unless there are only a few.

    whole numbers, booleans   as they are
    DOUBLE, FLOAT             the shortest form that reads back the same
    DECIMAL                   text, since most readers of JSON would round it to a double
    TIMESTAMP                 text, ISO 8601 in UTC: 2026-01-01T12:00:00.000000Z; without the Z for TIMESTAMP_NTZ
    DATE, TIME                text, ISO 8601
    INTERVAL DAY TO SECOND    seconds
    BINARY                    text, in base 64
    ARRAY, STRUCT, MAP        lists and objects; the keys of a map become text

NULL is null, and so are NaN and the infinities, which JSON does not have.
"""

import base64
import json
import math
from json.encoder import encode_basestring

import pyarrow as pa
import pyarrow.compute as pc

from headgate.errors import InputError

_TEXT = pa.large_string()
_SPECIAL = r'["\\]'
_CONTROL = r"[\x00-\x1f]"
_FEW = 128
"""So many rows are written one by one in the time in which Arrow gets ready."""
_CONTROLS = {chr(code): json.dumps(chr(code))[1:-1] for code in range(0x20)}


def check(schema: pa.Schema) -> None:
    """Raise an error for columns that have no form in JSON."""
    for field in schema:
        if not _known(field.type):
            rule = "a sink of JSON lines takes numbers, text, times, and arrays, structs and maps of those"
            raise InputError(rule, f"column '{field.name}' of type {field.type}", "Cast it in the query.")


def lines(batch: pa.RecordBatch) -> pa.Buffer:
    """A JSON object per row, each on a line of its own, in UTF-8."""
    if batch.num_rows == 0:
        return pa.py_buffer(b"")
    if batch.num_rows <= _FEW:
        return pa.py_buffer(_few(batch).encode())
    text = _joined(_members(batch.schema, batch.columns), after="\n", length=batch.num_rows)
    _, offsets, data = text.buffers()
    ends = memoryview(offsets).cast("q")
    return data.slice(ends[text.offset], ends[text.offset + len(text)] - ends[text.offset])


def _few(batch: pa.RecordBatch) -> str:
    """The same, row by row."""
    names = [encode_basestring(name) + ":" for name in batch.schema.names]
    columns = [_texts(column) for column in batch.columns]
    if not columns:
        return "{}\n" * int(batch.num_rows)
    rows = ("{" + ",".join(map(str.__add__, names, row)) + "}\n" for row in zip(*columns, strict=True))
    return "".join(rows)


def _texts(values: pa.Array) -> list[str]:
    kind = values.type
    if pa.types.is_string(kind):
        return ["null" if value is None else encode_basestring(value) for value in values.to_pylist()]
    if pa.types.is_integer(kind):
        return ["null" if value is None else str(value) for value in values.to_pylist()]
    if pa.types.is_float64(kind):
        return ["null" if value is None or not math.isfinite(value) else repr(value) for value in values.to_pylist()]
    texts: list[str] = _json(values).to_pylist()
    return texts


def _known(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return all(_known(field.type) for field in kind)
    if pa.types.is_map(kind):
        return _known(kind.key_type) and not pa.types.is_nested(kind.key_type) and _known(kind.item_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _known(kind.value_type)
    plain = (
        *(pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null),
        *(pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary),
        *(pa.types.is_timestamp, pa.types.is_date, pa.types.is_time, pa.types.is_duration),
    )
    return any(belongs(kind) for belongs in plain)


def _json(values: pa.Array) -> pa.Array:
    """The values as JSON, each a text and none of them null."""
    kind = values.type
    if pa.types.is_struct(kind):
        text = _joined(_members(kind, values.flatten()), length=len(values))
    elif pa.types.is_map(kind):
        entries = _joined([_key(_inside(values, values.keys)), ":", _json(_inside(values, values.items))])
        text = _joined(["{", _list(values, entries), "}"])
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        text = _joined(["[", _list(values, _json(_inside(values, values.values))), "]"])
    elif pa.types.is_floating(kind):
        number = pc.replace_substring_regex(values.cast(_TEXT), r"^(-?[0-9]+)$", r"\1.0")
        return pc.if_else(pc.fill_null(pc.is_finite(values), fill_value=False), number, "null").cast(_TEXT)
    elif pa.types.is_duration(kind):
        return _json(pc.divide(values.cast(pa.duration("us")).cast(pa.int64()).cast(pa.float64()), 1e6))
    elif pa.types.is_timestamp(kind):
        clock = pc.replace_substring(values.cast(pa.timestamp(kind.unit)).cast(_TEXT), " ", "T", max_replacements=1)
        text = _joined(['"', clock, 'Z"' if kind.tz else '"'])
    elif pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        text = values.cast(_TEXT)
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        coded = [None if value is None else base64.b64encode(value).decode() for value in values.to_pylist()]
        text = _quoted(pa.array(coded, _TEXT))
    else:
        text = _quoted(values.cast(_TEXT))
    return pc.if_else(values.is_valid(), text, pa.scalar("null", _TEXT))


def _members(fields: pa.Schema | pa.StructType, columns: list[pa.Array]) -> list[pa.Array | str]:
    """The parts of an object: names and values."""
    parts: list[pa.Array | str] = []
    for field, column in zip(fields, columns, strict=True):
        parts += [("," if parts else "{") + json.dumps(field.name, ensure_ascii=False) + ":", _json(column)]
    return [*parts, "}"] if parts else ["{}"]


def _inside(values: pa.Array, children: pa.Array) -> pa.Array:
    """What the lists hold, of children that a slice shares with the rest of its column."""
    first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
    return children.slice(first, last - first)


def _list(values: pa.Array, texts: pa.Array) -> pa.Array:
    """The texts of each list's elements, with commas between."""
    offsets = values.offsets.cast(pa.int64())
    lists = pa.LargeListArray.from_arrays(pc.subtract(offsets, offsets[0]), texts)
    return pc.binary_join(lists, pa.scalar(",", _TEXT))


def _key(keys: pa.Array) -> pa.Array:
    number = pa.types.is_integer(keys.type) or pa.types.is_floating(keys.type) or pa.types.is_boolean(keys.type)
    return _joined(['"', _json(keys), '"']) if number or pa.types.is_duration(keys.type) else _json(keys)


def _quoted(text: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(text, _SPECIAL)).as_py():
        text = pc.replace_substring(pc.replace_substring(text, "\\", "\\\\"), '"', '\\"')
    if pc.any(pc.match_substring_regex(text, _CONTROL)).as_py():
        for character, escaped in _CONTROLS.items():
            text = pc.replace_substring(text, character, escaped)
    return _joined(['"', text, '"'])


def _joined(parts: list[pa.Array | str], *, after: str = "", length: int = 0) -> pa.Array:
    """The parts side by side, row by row; null where one is. The length counts where all parts are constant."""
    texts = [pa.scalar(part, _TEXT) if isinstance(part, str) else part for part in parts]
    found = pc.binary_join_element_wise(*texts, pa.scalar(after, _TEXT), pa.scalar("", _TEXT))
    return pa.repeat(found, length) if isinstance(found, pa.Scalar) else found
