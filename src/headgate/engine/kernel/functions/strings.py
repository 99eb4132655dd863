"""Strings. Characters are code points, positions count from 1, and case is Unicode's, as ICU has it in Spark."""

from collections.abc import Callable
from typing import Any

import polars as pl

from headgate.engine.kernel.functions.op import Build, Op
from headgate.engine.kernel.ir import Call, Literal
from headgate.engine.kernel.types import dtype

_LONGEST = 1_000
"""The longest that a value may be padded to, and the most often that it may be repeated: a train has many."""


def constants(call: Call, subject: int = 0) -> list[Any]:
    """The values of all arguments but the subject, which are constants."""
    return [arg.value for at, arg in enumerate(call.args) if at != subject and isinstance(arg, Literal)]


def only_strings(call: Call) -> str | None:
    """Refuse binary values, which most of these functions take as well."""
    return "it computes with binary values" if any(arg.type == "binary" for arg in call.args) else None


def _plain(build: Callable[..., pl.Expr], type: str = "string") -> Op:  # noqa: A002 - as everywhere in the kernel
    return Op(lambda _, args: build(*args), type, only_strings)


def by_constants(
    build: Callable[..., pl.Expr],
    type: str = "string",  # noqa: A002
    subject: int = 0,
    refuse: Callable[..., str | None] = lambda *_: None,
    options: tuple[str, ...] = (),
) -> Op:
    """An operation on one value, where all else are constants; NULL if one of these is. `refuse` looks at them."""

    def built(call: Call, args: list[pl.Expr]) -> pl.Expr:
        values = constants(call, subject)
        if None in values:
            return pl.lit(None, dtype(call.type))
        return build(args[subject], *values, *call.options)

    def refused(call: Call) -> str | None:
        values = constants(call, subject)
        if len(values) < len(call.args) - 1:
            return f"it uses {call.op} with an argument that is no constant"
        return only_strings(call) or (None if None in values else refuse(*values, *call.options))

    return Op(built, type, refused, options)


def _length(text: pl.Expr) -> pl.Expr:
    return text.str.len_chars().cast(pl.Int64)


def _substring(call: Call, args: list[pl.Expr]) -> pl.Expr:
    start, length = call.args[1:]
    if (
        isinstance(start, Literal)
        and isinstance(length, Literal)
        and start.value is not None
        and length.value is not None
    ):
        return _slice(args[0], start.value, length.value)
    return _slice_by_row(args[0], args[1], args[2])


def _slice(text: pl.Expr, start: Any, length: Any) -> pl.Expr:  # noqa: ANN401 - values of literals
    if start >= 0:
        return text.str.slice(max(start - 1, 0), max(length, 0))
    if length >= -start:
        return text.str.tail(-start)
    return _slice_by_row(text, pl.lit(start), pl.lit(length))


def _slice_by_row(text: pl.Expr, start: pl.Expr, length: pl.Expr) -> pl.Expr:
    """What begins before the first character ends as if there were characters before it."""
    start, length = start.cast(pl.Int64), length.cast(pl.Int64)
    begin = pl.when(start > 0).then(start - 1).when(start < 0).then(_length(text) + start).otherwise(0)
    inside = begin.clip(0)
    sliced = text.str.slice(inside, (begin + length - inside).clip(0))
    return pl.when(start.is_not_null() & length.is_not_null()).then(sliced)


def _left(text: pl.Expr, length: pl.Expr) -> pl.Expr:
    return _slice_by_row(text, pl.lit(1), length)


def _right(text: pl.Expr, length: pl.Expr) -> pl.Expr:
    length = length.cast(pl.Int64)
    return pl.when(length.is_not_null()).then(text.str.slice((_length(text) - length).clip(0), length.clip(0)))


def _concat(_: Call, args: list[pl.Expr]) -> pl.Expr:
    return pl.concat_str(args) if args else pl.lit("")


def _joined(call: Call, args: list[pl.Expr]) -> pl.Expr:
    separator = call.args[0]
    if not isinstance(separator, Literal) or separator.value is None:
        return pl.lit(None, pl.String)
    return pl.concat_str(args[1:], separator=str(separator.value), ignore_nulls=True) if args[1:] else pl.lit("")


def _not_joined(call: Call) -> str | None:
    if not isinstance(call.args[0], Literal):
        return "it uses concat_ws() with a separator that is no constant"
    return only_strings(call)


def _trimmed(strip: Callable[[pl.Expr, str], pl.Expr]) -> Op:
    return by_constants(lambda text, characters=" ": strip(text, characters))


def _replaced(text: pl.Expr, old: str, new: str) -> pl.Expr:
    return text.str.replace_all(old, new, literal=True) if old else text


def _translated(text: pl.Expr, old: str, new: str) -> pl.Expr:
    """Each character of the one as that of the other, or gone if there is none; the first counts."""
    pairs = {character: new[at : at + 1] for at, character in reversed(list(enumerate(old)))}
    return text.str.replace_many(pairs) if pairs else text


def _reversed(text: pl.Expr) -> pl.Expr:
    # Polars' own reversal keeps what is seen as one character together.
    return text.str.split("").list.reverse().list.join("")


def _padding(text: pl.Expr, length: int, pad: str) -> pl.Expr:
    missing = (pl.lit(length, pl.Int64) - _length(text)).clip(0)
    return pl.lit((pad * length)[: max(length, 0)]).str.slice(0, missing)


def _left_padded(text: pl.Expr, length: int, pad: str) -> pl.Expr:
    if len(pad) == 1:
        return text.str.slice(0, max(length, 0)).str.pad_start(max(length, 0), pad)
    return pl.concat_str([_padding(text, length, pad), text.str.slice(0, max(length, 0))])


def _right_padded(text: pl.Expr, length: int, pad: str) -> pl.Expr:
    if len(pad) == 1:
        return text.str.slice(0, max(length, 0)).str.pad_end(max(length, 0), pad)
    return pl.concat_str([text.str.slice(0, max(length, 0)), _padding(text, length, pad)])


def _too_long(length: int, *_: object) -> str | None:
    return f"it makes strings of more than {_LONGEST} characters" if length > _LONGEST else None


def _repeated(text: pl.Expr, times: int) -> pl.Expr:
    return pl.concat_str([text] * times) if times > 0 else text.str.head(0)


def _position(text: pl.Expr, part: str, start: int = 1) -> pl.Expr:
    if start < 1:
        return (text.str.len_bytes() * 0).cast(pl.Int32)
    if not part:
        return (text.str.len_bytes() * 0 + 1).cast(pl.Int32)
    rest = text.str.slice(start - 1)
    before = rest.str.splitn(part, 2).struct.field("field_0").str.len_chars()
    return rest.str.contains(part, literal=True).cast(pl.Int32) * (before.cast(pl.Int32) + start)


def _up_to(text: pl.Expr, delimiter: str, count: int) -> pl.Expr:
    if not delimiter or not count:
        return text.str.head(0)
    parts = text.str.split(delimiter).list
    return (parts.head(count) if count > 0 else parts.tail(-count)).list.join(delimiter)


def _overlaps(delimiter: str, _: int) -> str | None:
    """Spark counts 'aa' twice in 'aaa'."""
    if any(delimiter.startswith(delimiter[at:]) for at in range(1, len(delimiter))):
        return "it uses substring_index() with a delimiter that can overlap itself"
    return None


def _part(text: pl.Expr, delimiter: str, number: int) -> pl.Expr:
    found = text.str.split(delimiter).list.get(number - (number > 0), null_on_oob=True)
    return pl.when(text.is_not_null()).then(found.fill_null(""))


def _no_part(delimiter: str, number: int) -> str | None:
    return "it uses split_part() without a delimiter, or for part 0" if not delimiter or not number else None


def _comparing(compare: Build) -> Op:
    return Op(compare, "boolean", only_strings)


OPS: dict[str, Op] = {
    "Upper": _plain(lambda text: text.str.to_uppercase()),
    "Lower": _plain(lambda text: text.str.to_lowercase()),
    "Length": _plain(lambda text: text.str.len_chars().cast(pl.Int32), "int"),
    "OctetLength": _plain(lambda text: text.str.len_bytes().cast(pl.Int32), "int"),
    "BitLength": _plain(lambda text: text.str.len_bytes().cast(pl.Int32) * 8, "int"),
    "Substring": Op(_substring, "string", only_strings),
    "Left": _plain(_left),
    "Right": _plain(_right),
    "Concat": Op(_concat, "string", only_strings),
    "ConcatWs": Op(_joined, "string", _not_joined),
    "StringTrim": _trimmed(lambda text, characters: text.str.strip_chars(characters)),
    "StringTrimLeft": _trimmed(lambda text, characters: text.str.strip_chars_start(characters)),
    "StringTrimRight": _trimmed(lambda text, characters: text.str.strip_chars_end(characters)),
    "StringReplace": by_constants(_replaced),
    "StringTranslate": by_constants(_translated),
    "StringLPad": by_constants(_left_padded, refuse=_too_long),
    "StringRPad": by_constants(_right_padded, refuse=_too_long),
    "StringRepeat": by_constants(_repeated, refuse=_too_long),
    "StringInstr": by_constants(_position, "int"),
    "StringLocate": by_constants(_position, "int", subject=1),
    "SubstringIndex": by_constants(_up_to, refuse=_overlaps),
    "SplitPart": by_constants(_part, refuse=_no_part),
    "Reverse": _plain(_reversed),
    "StartsWith": _comparing(lambda _, args: args[0].str.starts_with(args[1])),
    "EndsWith": _comparing(lambda _, args: args[0].str.ends_with(args[1])),
    "Contains": _comparing(lambda _, args: args[0].str.contains(args[1], literal=True)),
}
