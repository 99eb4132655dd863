"""JSON lines: one object per line, with exactly the columns of the stream as keys.

Where they are `lenient`, other keys are left out and a column that is not there is NULL, as long as there is one.
"""

import io
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation, localcontext
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from headgate.engine.source.decode import BLANK, check, is_utf8, short, unfit, values, wrong_value
from headgate.engine.source.schemas import TIMESTAMP

_STRETCH = 500
"""How many lines are looked at one by one for the sake of a bad one among them."""


class _RefusedError(Exception):
    """A line that is no tuple; the text is the reason."""


@dataclass(frozen=True, slots=True)
class JsonLines:
    """The columns that every line has; a value may be null."""

    schema: pa.Schema
    lenient: bool = False
    _flat: bool = field(init=False)

    def __post_init__(self) -> None:
        check(self.schema, nested=True)
        slow = (pa.types.is_nested, pa.types.is_decimal)
        object.__setattr__(self, "_flat", not any(is_slow(f.type) for f in self.schema for is_slow in slow))

    def decode(self, lines: Sequence[bytes]) -> tuple[pa.Table, dict[int, str]]:
        whole = self._block(lines) if self._flat else None
        if whole is not None:
            return whole, {}
        if len(lines) <= _STRETCH:
            return self._one_by_one(lines)
        stretches = [
            (start, self.decode(lines[start : start + _STRETCH])) for start in range(0, len(lines), _STRETCH)
        ]
        reasons = {start + k: reason for start, (_, found) in stretches for k, reason in found.items()}
        return pa.concat_tables([table for _, (table, _) in stretches]), reasons

    def _block(self, lines: Sequence[bytes]) -> pa.Table | None:
        """The lines through Arrow's reader; None if that may not be what they say one by one."""
        block = b"\n".join(lines)
        if not lines or not all(map(is_object, lines)) or not is_utf8(block):
            return None
        try:
            found = pa.json.read_json(
                io.BytesIO(block),
                read_options=pa.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
                parse_options=pa.json.ParseOptions(
                    explicit_schema=pa.schema([(column.name, _read_as(column.type)) for column in self.schema]),
                    unexpected_field_behavior="ignore" if self.lenient else "error",
                ),
            )
            complete = _any(found) if self.lenient else self._complete(found, block)
            if found.num_rows != len(lines) or not _finite(found) or not complete:
                return None
            return self._table(found.columns)
        except pa.ArrowInvalid:
            return None

    def _complete(self, found: pa.Table, block: bytes) -> bool:
        """Whether every NULL was written as such, so that no line lacks a column."""
        for name in self.schema.names:
            nulls = found[name].null_count
            key = re.escape(json.dumps(name, ensure_ascii=False).encode())
            if nulls and len(re.findall(key + rb"\s*:\s*null", block)) != nulls:
                return False
        return True

    def _table(self, columns: Sequence[pa.ChunkedArray]) -> pa.Table:
        found = [values(column, f.type) for f, column in zip(self.schema, columns, strict=True)]
        table = pa.Table.from_arrays(found, schema=self.schema)
        if not _finite(table):
            msg = "out of the range of a FLOAT"
            raise pa.ArrowInvalid(msg)
        return table

    def _one_by_one(self, lines: Sequence[bytes]) -> tuple[pa.Table, dict[int, str]]:
        rows, at, reasons = [], [], {}
        for i, line in enumerate(lines):
            try:
                rows.append(self._tuple(line))
                at.append(i)
            except _RefusedError as refused:
                reasons[i] = str(refused)
        columns = list(zip(*rows, strict=True)) or [()] * len(self.schema)
        arrays = [
            pa.chunked_array([pa.array(c, _read_as(f.type))]) for f, c in zip(self.schema, columns, strict=True)
        ]
        wrong: dict[int, str] = {}
        for column, array in zip(self.schema, arrays, strict=True):
            for k in unfit(array, column.type) if array.type == pa.string() else ():
                wrong.setdefault(k, wrong_value(column.name, column.type, _written(array[k].as_py())))
        if wrong:
            kept = np.delete(np.arange(len(at)), list(wrong))
            arrays = [array.take(kept) for array in arrays]
        return self._table(arrays), reasons | {at[k]: reason for k, reason in wrong.items()}

    def _tuple(self, line: bytes) -> tuple[Any, ...]:
        found = _object(line)
        names = self.schema.names
        for name in found.twice:
            if name in names or not self.lenient:
                raise _RefusedError(f"column '{short(name)}' is there twice")
        unknown = [name for name in found if name not in names]
        missing = [name for name in names if name not in found]
        if self.lenient and len(missing) == len(names):
            raise _RefusedError("no column of the stream is there")
        if unknown and not self.lenient:
            raise _RefusedError(f"unknown column '{short(unknown[0])}'")
        if missing and not self.lenient:
            raise _RefusedError(f"column '{missing[0]}' is missing")
        return tuple(self._value(column, found.get(column.name)) for column in self.schema)

    def _value(self, column: pa.Field, value: Any) -> Any:  # noqa: ANN401 - JSON
        try:
            # Times stay text until there is a column of them, which takes a hundredth of the time.
            kind = pa.string() if isinstance(value, str) and _read_as(column.type) == pa.string() else column.type
            return _value(value, kind, lenient=self.lenient)
        except (ValueError, ArithmeticError):
            raise _RefusedError(wrong_value(column.name, column.type, _written(value))) from None


def is_object(line: bytes) -> bool:
    """Whether a line looks like one object to Arrow's reader, if it then finds no more rows than lines.

    The reader takes several objects on a line and objects over several lines, and crashes at a null before the
    first. But an object cannot go on with `{` after a line that ends in `}`.
    """
    line = line.strip(BLANK)
    return line[:1] == b"{" and line[-1:] == b"}"


def _read_as(kind: pa.DataType) -> pa.DataType:
    """The type that Arrow's reader is asked for."""
    if kind == TIMESTAMP or pa.types.is_date(kind):
        return pa.string()
    return pa.float64() if kind == pa.float32() else kind


def _any(table: pa.Table) -> bool:
    """Whether every row has a value; of one that has none, it does not show whether a column was there."""
    none = reduce(pc.and_, (pc.is_null(column) for column in table.columns))
    return not pc.any(none).as_py()


def _finite(table: pa.Table) -> bool:
    floats = (column for column in table.columns if pa.types.is_floating(column.type))
    return all(pc.all(pc.is_finite(column)).as_py() is not False for column in floats)


class _Object(dict[str, Any]):
    """A JSON object, and the keys that it has more than once."""

    __slots__ = ("twice",)

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counted = Counter(key for key, _ in pairs) if len(self) < len(pairs) else {}
        self.twice = [key for key, n in counted.items() if n > 1]


def _object(line: bytes) -> _Object:
    try:
        text = line.decode()
        found = json.loads(text, object_pairs_hook=_Object, parse_float=Decimal, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise _RefusedError("not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _RefusedError(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except (ValueError, ArithmeticError) as error:
        raise _RefusedError(f"not JSON: {str(error) or 'a number out of range'}") from None
    except RecursionError:
        raise _RefusedError("not JSON that can be read: nested too deep") from None
    if not isinstance(found, _Object):
        raise _RefusedError(f"not a JSON object, got {short(_written(found))}")
    return found


def _no_constant(word: str) -> None:
    msg = f"{word} is no JSON number"
    raise ValueError(msg)


def _written(value: Any) -> str:  # noqa: ANN401 - JSON
    return json.dumps(value, ensure_ascii=False, default=str)


def _value(value: Any, kind: pa.DataType, *, lenient: bool) -> Any:  # noqa: ANN401 - JSON
    """A JSON value as Arrow takes it for a type; raises ValueError or ArithmeticError where it does not fit."""
    types = pa.types
    match value:
        case None:
            return None
        case bool() if types.is_boolean(kind):
            return value
        case bool():
            pass
        case int() if types.is_integer(kind) and -(1 << kind.bit_width - 1) <= value < 1 << kind.bit_width - 1:
            return value
        case int() | Decimal() if types.is_floating(kind):
            return _real(value, kind)
        case int() | Decimal() | str() if types.is_decimal(kind):
            return _decimal(Decimal(value), kind)
        case str() if types.is_string(kind):
            value.encode()  # half of a surrogate pair is no text
            return value
        case str() if kind == TIMESTAMP:
            return values(pa.chunked_array([[value]]), kind).cast(pa.int64())[0].as_py()
        case str() if types.is_date(kind):
            return pa.scalar(value).cast(kind).as_py()
        case list() if types.is_list(kind):
            return [_value(each, kind.value_type, lenient=lenient) for each in value]
        case _Object() if types.is_struct(kind) and _fits(value, [part.name for part in kind], lenient=lenient):
            return {part.name: _value(value.get(part.name), part.type, lenient=lenient) for part in kind}
    raise ValueError


def _fits(found: _Object, names: Sequence[str], *, lenient: bool) -> bool:
    """Whether an object is a value of a struct with fields of these names."""
    return not any(key in names or not lenient for key in found.twice) and (lenient or found.keys() <= set(names))


def _real(value: int | Decimal, kind: pa.DataType) -> float:
    found = float(value)
    with np.errstate(over="ignore"):
        if not math.isfinite(np.float32(found) if kind == pa.float32() else found):
            raise ValueError
    return found


def _decimal(value: Decimal, kind: pa.DataType) -> Decimal:
    with localcontext() as context:
        context.prec = kind.precision
        context.traps[InvalidOperation] = True
        found = value.quantize(Decimal(1).scaleb(-kind.scale))
        if found != value:
            raise ValueError
    return found
