"""LIKE, and the regular expressions that mean the same in Java and in Rust."""

import functools
import re
from collections.abc import Iterator

import polars as pl

from headgate.engine.kernel.functions.op import Op
from headgate.engine.kernel.functions.strings import by_constants

_ANY, _ONE = object(), object()
"""The wild cards % and _."""

_LINE_ENDS = r"\n\r\u{85}\u{2028}\u{2029}"
_SETS = {"d": "0-9", "w": "A-Za-z0-9_", "s": r" \t\n\x0B\f\r"}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_TIMES = re.compile(r"([*+?]|\{\d{1,2}(,\d{0,2})?\})\??")
_SET = re.compile(r"\[(\^?)((?:[^\]\\\[&^]|\\.)+)\]", re.DOTALL)
_RANGE = re.compile(r"[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]")
_LINE_END = re.compile(r"\\[nrsDSW]|\[\^|[\n\r\u0085\u2028\u2029]")


def _like(text: pl.Expr, pattern: str, escape: str) -> pl.Expr:
    pieces = _pieces(pattern, escape)
    match pieces:
        case []:
            return text == ""
        case [str(word)]:
            return text == word
        case [str(word), end] if end is _ANY:
            return text.str.starts_with(word)
        case [start, str(word)] if start is _ANY:
            return text.str.ends_with(word)
        case [start, str(word), end] if start is _ANY and end is _ANY:
            return text.str.contains(word, literal=True)
    regex = (pl.escape_regex(each) if isinstance(each, str) else ".*" if each is _ANY else "." for each in pieces)
    return text.str.contains(rf"(?s)\A{''.join(regex)}\z")


def _pieces(pattern: str, escape: str) -> list[object]:
    """A pattern as words and wild cards, without two words or two % in a row."""
    pieces: list[object] = []
    characters = iter(pattern)
    for character in characters:
        wild = {"%": _ANY, "_": _ONE}.get(character, character)
        piece = next(characters) if character == escape else wild
        before = pieces[-1] if pieces else None
        if isinstance(piece, str) and isinstance(before, str):
            pieces[-1] = before + piece
        elif piece is not _ANY or before is not _ANY:
            pieces.append(piece)
    return pieces


def _not_like(pattern: str, escape: str) -> str | None:
    mark = re.escape(escape)
    if re.fullmatch(rf"([^{mark}]|{mark}[%_{mark}])*", pattern, re.DOTALL):
        return None
    return f"its LIKE has an escape before what needs none: {pattern!r}"


def _like_in_any_case(text: pl.Expr, pattern: str, escape: str) -> pl.Expr:
    lowered: str = pl.select(pl.lit(pattern).str.to_lowercase()).item()
    return _like(text.str.to_lowercase(), lowered, escape)


def _matches(text: pl.Expr, pattern: str) -> pl.Expr:
    return text.str.contains(_in_rust(pattern))


def _no_match(pattern: str) -> str | None:
    try:
        pl.select(pl.lit("").str.contains(_in_rust(pattern)))
    except (_UnknownError, pl.exceptions.ComputeError):
        return f"its regular expression may mean something else outside of Java: {pattern!r}"
    return None


class _UnknownError(Exception):
    """Syntax of regular expressions that is not known to mean the same."""


@functools.lru_cache(1_000)
def _in_rust(pattern: str) -> str:
    """A regular expression of Java for Rust. It may match anywhere, and only whether it does counts."""
    any_case = pattern.startswith("(?i)")
    return "".join(_tokens(pattern[4:] if any_case else pattern, any_case))


def _tokens(text: str, any_case: bool) -> Iterator[str]:
    at, depth, repeatable = 0, 0, False
    while at < len(text):
        if repeatable and (times := _TIMES.match(text, at)):
            yield times[0]
            at, repeatable = times.end(), False
            continue
        character, following = text[at], text[at + 1 : at + 2]
        repeatable = character not in "(|^$"
        at += 1
        match character:
            case "(":
                at += 2 if text.startswith("?:", at) else 0
                depth += 1
                yield "(?:"
            case ")":
                depth -= 1
                yield ")"
            case "|" | "^":
                yield character
            case "$":
                # In Java it is before the last line end as well, which nothing before it may be a part of.
                if depth or following not in ("", "|") or _LINE_END.search(text):
                    raise _UnknownError
                yield rf"(?:\r\n|[{_LINE_ENDS}])?\z"
            case ".":
                yield f"[^{_LINE_ENDS}]"
            case "[":
                found = _SET.match(text, at - 1)
                if not found:
                    raise _UnknownError
                yield f"[{found[1]}{''.join(_members(found[2], any_case))}]"
                at = found.end()
            case "\\":
                at += 1
                yield _escaped(following)
            case "*" | "+" | "?" | "{" | "}" | "]":
                raise _UnknownError
            case _:
                yield f"[{_member(character, any_case)}]"
        if depth < 0:
            raise _UnknownError


def _members(text: str, any_case: bool) -> Iterator[str]:
    """What is inside of a set such as [a-z_]."""
    at = 0
    while at < len(text):
        found = _RANGE.match(text, at)
        if found:
            if found[0][0] > found[0][2]:
                raise _UnknownError
            yield found[0] + (found[0].swapcase() if any_case else "")
            at = found.end()
        elif text[at] == "\\" and text[at + 1] in _SETS:
            yield _SETS[text[at + 1]]
            at += 2
        elif text[at] == "\\" and not text[at + 1].isupper():
            yield _escaped(text[at + 1])[1:-1]
            at += 2
        elif text[at] in "-\\":
            raise _UnknownError
        else:
            yield _member(text[at], any_case)
            at += 1


def _escaped(character: str) -> str:
    if character.lower() in _SETS:
        return f"[{'^' if character.isupper() else ''}{_SETS[character.lower()]}]"
    character = _CONTROLS.get(character, character)
    if not character or character.isalnum() or not character.isascii():
        raise _UnknownError
    return f"[{_member(character)}]"


def _member(character: str, any_case: bool = False) -> str:
    if any_case and character.isascii() and character.isalpha():
        return character.lower() + character.upper()
    return pl.escape_regex(character)


OPS: dict[str, Op] = {
    "Like": by_constants(_like, "boolean", refuse=_not_like, options=("escapeChar",)),
    "ILike": by_constants(_like_in_any_case, "boolean", refuse=_not_like, options=("escapeChar",)),
    "RLike": by_constants(_matches, "boolean", refuse=_no_match),
}
