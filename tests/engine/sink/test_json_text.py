"""Tables as JSON lines."""

import base64
import datetime as dt
import json
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.engine.sink import json_text

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
UTC = pa.timestamp("us", "UTC")


@pytest.fixture(params=[0, 128], ids=["column by column", "row by row"])
def few(request, monkeypatch):
    """Both ways of writing, over as few rows."""
    monkeypatch.setattr(json_text, "_FEW", request.param)


def written(column, kind):
    return bytes(json_text.lines(pa.record_batch([pa.array(column, kind)], ["x"]))).decode()


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.int64(), -(2**63), "-9223372036854775808"),
        (pa.int8(), 7, "7"),
        (pa.bool_(), True, "true"),
        (pa.float64(), 1.0, "1.0"),
        (pa.float64(), -0.0, "-0.0"),
        (pa.float64(), 0.1 + 0.2, "0.30000000000000004"),
        (pa.float64(), 1e300, "1e+300"),
        (pa.float64(), math.nan, "null"),
        (pa.float64(), math.inf, "null"),
        (pa.float64(), -math.inf, "null"),
        (pa.float32(), 0.1, "0.1"),
        (pa.decimal128(20, 2), Decimal("-1.50"), '"-1.50"'),
        (pa.string(), "plain", '"plain"'),
        (pa.string(), 'a "b" \\ c', r'"a \"b\" \\ c"'),
        (pa.string(), "tab\tline\nnull\0bell\7", r'"tab\tline\nnull\u0000bell\u0007"'),
        (pa.string(), "größer 中 🙂", '"größer 中 🙂"'),
        (pa.string(), "", '""'),
        (UTC, NOON, '"2026-01-01T12:00:00.000000Z"'),
        (pa.timestamp("us", "America/New_York"), NOON, '"2026-01-01T12:00:00.000000Z"'),
        (UTC, NOON.replace(year=1965, microsecond=1), '"1965-01-01T12:00:00.000001Z"'),
        (pa.timestamp("us"), NOON.replace(tzinfo=None), '"2026-01-01T12:00:00.000000"'),
        (pa.date32(), dt.date(2026, 1, 1), '"2026-01-01"'),
        (pa.duration("us"), dt.timedelta(seconds=-90, microseconds=5), "-89.999995"),
        (pa.binary(), b"\0\xff", '"AP8="'),
        (pa.null(), None, "null"),
        (pa.list_(pa.int64()), [1, None, 3], "[1,null,3]"),
        (pa.list_(pa.int64()), [], "[]"),
        (pa.list_(pa.list_(pa.string())), [["a"], None, []], '[["a"],null,[]]'),
        (pa.struct([("a b", pa.int64()), ("c", UTC)]), {"a b": 1, "c": None}, '{"a b":1,"c":null}'),
        (pa.struct([]), {}, "{}"),
        (pa.map_(pa.string(), pa.float64()), [('k"', 1.5), ("l", None)], r'{"k\"":1.5,"l":null}'),
        (pa.map_(pa.int64(), pa.bool_()), [(7, True)], '{"7":true}'),
        (pa.map_(pa.date32(), pa.int64()), [(dt.date(2026, 1, 1), 1)], '{"2026-01-01":1}'),
        (pa.map_(pa.string(), pa.int64()), [], "{}"),
    ],
)
@pytest.mark.usefixtures("few")
def test_a_value_is_written_so_and_null_as_null(kind, value, text):
    assert json_text._known(kind)
    assert written([value, None, value], kind) == f'{{"x":{text}}}\n{{"x":null}}\n{{"x":{text}}}\n'


@pytest.mark.usefixtures("few")
def test_names_of_columns_are_escaped_and_rows_without_columns_are_empty_objects():
    batch = pa.record_batch([pa.array([1]), pa.array([2])], ['a "b"', "ü"])
    assert bytes(json_text.lines(batch)).decode() == '{"a \\"b\\"":1,"ü":2}\n'
    assert bytes(json_text.lines(batch.slice(0, 0))) == b""


KINDS = st.recursive(
    st.sampled_from([pa.int64(), pa.float64(), pa.string(), pa.bool_(), UTC, pa.binary(), pa.decimal128(9, 2)]),
    lambda inner: st.one_of(
        inner.map(pa.list_),
        st.lists(inner, min_size=1, max_size=3).map(
            lambda kinds: pa.struct([(f"f{i}", k) for i, k in enumerate(kinds)])
        ),
        inner.map(lambda item: pa.map_(pa.string(), item)),
    ),
    max_leaves=4,
)


def values_of(kind):
    """Values of an Arrow type, null among them."""
    if pa.types.is_list(kind):
        some = st.lists(values_of(kind.value_type), max_size=3)
    elif pa.types.is_struct(kind):
        some = st.fixed_dictionaries({field.name: values_of(field.type) for field in kind})
    elif pa.types.is_map(kind):
        some = st.dictionaries(st.text(max_size=2), values_of(kind.item_type), max_size=2).map(
            lambda d: list(d.items())
        )
    else:
        some = {
            pa.int64(): st.integers(-(2**63), 2**63 - 1),
            pa.float64(): st.floats(),
            pa.string(): st.text(max_size=5),
            pa.bool_(): st.booleans(),
            UTC: st.datetimes(min_value=dt.datetime(1900, 1, 1), timezones=st.just(dt.UTC)),  # noqa: DTZ001
            pa.binary(): st.binary(max_size=4),
            pa.decimal128(9, 2): st.decimals(-9999, 9999, places=2),
        }[kind]
    return st.none() | some


def expected(value, kind):
    """What a reader of the JSON gets."""
    match value:
        case None:
            return None
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case dt.datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        case dict():
            return {field.name: expected(value[field.name], field.type) for field in kind}
        case list() if pa.types.is_map(kind):
            return {key: expected(item, kind.item_type) for key, item in value}
        case list():
            return [expected(item, kind.value_type) for item in value]
    return value


@pytest.mark.usefixtures("few")
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_what_is_read_back_is_what_was_written_from_any_slice(data):
    kind = data.draw(KINDS)
    column = data.draw(st.lists(values_of(kind), max_size=5))
    start = data.draw(st.integers(0, len(column)))
    batch = pa.record_batch([pa.array(column, kind)], ["x"]).slice(start)
    read = [json.loads(line)["x"] for line in bytes(json_text.lines(batch)).decode().split("\n")[:-1]]
    assert read == [expected(value, kind) for value in column[start:]]
