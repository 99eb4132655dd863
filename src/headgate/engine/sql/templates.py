"""Queries that differ in their constants only: two are planned, and the others follow from their text.

The constants are taken out of the text; what is left is its template. How each constant comes to the parameters of
the shape is found out by planning the text once more with other constants. What cannot be found out is never guessed:
such a query is planned in full.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal as OneOf
from typing import NamedTuple, TypeAlias

from headgate.engine.kernel.ir import Literal, Segment
from headgate.engine.kernel.types import decimal
from headgate.engine.sql.catalyst import NotFusableError
from headgate.errors import HeadgateError

Planned: TypeAlias = tuple[Segment, tuple[Literal, ...]]
"""A shape and its constants."""

Mode: TypeAlias = OneOf["free", "sized", "fixed"]
"""Whether another constant makes the same shape: any, one of as many digits, or none."""

_FREE: Mode = "free"

Key: TypeAlias = tuple[str, tuple[object, ...]]

_TOKEN = re.compile(
    r"""(?P<comment>--[^\r\n]*|/\*(?!\+).*?\*/)
      | `[^`]*` | \w'[^']*' | \w"[^"]*"                # a name, or a string that belongs to a word, as in x'ff'
      | (?P<string>'(?:[^']|'')*'|"(?:[^"]|"")*")
      | (?P<number>(?<![\w.])(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?![\w.]))""",
    re.VERBOSE | re.DOTALL,
)
_SLOW = re.compile(r"\\|/\*.*/\*|\bescape\b", re.DOTALL | re.IGNORECASE)
"""What makes a text hard to read for a quick scan."""

_CLOCK = re.compile(r"\s*(now|today|tomorrow|yesterday|epoch)\b", re.IGNORECASE)
_MOST_CONSTANTS = 16
_LONGEST = 30
"""Numbers of more digits may be too long for Spark."""

_MOST_DIGITS = 10
_OTHERS = 8
_LARGEST = {"int": 2**31 - 1, "bigint": 2**63 - 1}


class Constant(NamedTuple):
    """A constant of a text: its kind, its text without quotes, and where that stands."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def is_text(self) -> bool:
        """Whether it is a string."""
        return "string" in self.kind

    @property
    def size(self) -> object:
        """Its digits, all and those behind the point; Spark's types of decimals depend on them."""
        if self.is_text or self.kind == "double":
            return None
        _, digits, exponent = Decimal(self.text).as_tuple()
        return max(len(digits), -int(exponent)), -int(exponent)

    @property
    def is_long(self) -> bool:
        """Whether it has more digits than those that the template was tried with."""
        if self.kind != "decimal":
            return False
        whole, _, fraction = self.text.partition(".")
        return len(whole) > _MOST_DIGITS or len(fraction) > _MOST_DIGITS - 1


@dataclass(frozen=True, slots=True)
class _Feed:
    """A parameter that gets its value from a constant of the text."""

    parameter: int
    constant: int
    convert: Callable[[str], object]


@dataclass(frozen=True, slots=True)
class _Known:
    shape: Segment
    constants: tuple[Literal, ...]
    feeds: tuple[_Feed, ...]

    def filled(self, given: Sequence[Constant]) -> Planned | None:
        """The shape with the constants of another text; None if one of them does not fit."""
        found = list(self.constants)
        for feed in self.feeds:
            value = feed.convert(given[feed.constant].text)
            if value is None:
                return None
            found[feed.parameter] = Literal(value, found[feed.parameter].type)
        return self.shape, tuple(found)


class Templates:
    """Templates of the texts that have come, and what is known of them. `plan` plans a text in full."""

    def __init__(self, plan: Callable[[str], Planned]) -> None:
        self._plan = plan
        self._modes: dict[str, tuple[Mode, ...]] = {}
        self._known: dict[Key, _Known | None] = {}
        self._seen: set[Key] = set()

    def of(self, text: str) -> tuple[Key, tuple[Constant, ...]]:
        """What texts with other constants have in common with this one, and its constants."""
        template, constants = _scan(text)
        modes = self._modes.get(template, ())
        return (template, tuple(_mark(m, c) for m, c in zip(modes, constants, strict=False))), constants

    def instance(self, text: str) -> Planned | None:
        """The shape and the constants of a query, if they follow from those of queries before it."""
        key, constants = self.of(text)
        if key not in self._known:
            if key not in self._seen:
                self._seen.add(key)
                return None
            key = self._learn(text, constants)
        known = self._known[key]
        if known is None or any(_CLOCK.match(each.text) for each in constants if each.kind == "string"):
            return None
        return known.filled(constants)

    def _learn(self, text: str, constants: tuple[Constant, ...]) -> Key:
        template, _ = _scan(text)
        new = template not in self._modes
        modes = self._modes.setdefault(template, (_FREE,) * len(constants))
        original = self._planned(text) if len(constants) <= _MOST_CONSTANTS else None
        known = original and self._known_by(text, original, constants, modes)
        if original and not known and new:
            self._modes[template] = modes = self._classified(text, original, constants)
            known = self._known_by(text, original, constants, modes)
        key, _ = self.of(text)
        self._known[key] = known
        return key

    def _classified(self, text: str, original: Planned, constants: tuple[Constant, ...]) -> tuple[Mode, ...]:
        def of(number: int) -> Mode:
            tried: list[Mode] = ["fixed"] * len(constants)
            modes: tuple[Mode, ...] = ("free", "sized")
            for mode in modes:
                tried[number] = mode
                if self._known_by(text, original, constants, tried):
                    return mode
            return "fixed"

        return tuple(of(number) for number in range(len(constants)))

    def _known_by(
        self, text: str, original: Planned, constants: tuple[Constant, ...], modes: Sequence[Mode]
    ) -> _Known | None:
        """Where the constants go that are not fixed; None unless all that changes with them is understood."""
        others = _others(constants, modes)
        if others is None:
            return None
        known = None
        for other in others:
            changed = self._planned(_written(text, constants, other))
            if changed is None or changed[0] != original[0]:
                return None
            known = known or _explained(original, changed, constants, other)
            if known is None or known.filled(other) != changed:
                return None
        return known

    def _planned(self, text: str) -> Planned | None:
        try:
            return self._plan(text)
        except (NotFusableError, HeadgateError):
            return None


def _scan(text: str) -> tuple[str, tuple[Constant, ...]]:
    """The text with the kinds of its constants in their place, and the constants."""
    if _SLOW.search(text):
        return text, ()
    constants: list[Constant] = []

    def take(found: re.Match[str]) -> str:
        if found.lastgroup is None:
            return found[0]
        if found.lastgroup == "comment":
            return " "
        quote = found.lastgroup == "string"
        inner = found[0][1:-1] if quote else found[0]
        kind = _kind_of_string(inner) if quote else _kind_of_number(inner)
        if kind is None:
            return found[0]
        constants.append(Constant(kind, inner, found.start() + quote, found.end() - quote))
        return f"\0{kind}\0"

    return _TOKEN.sub(take, text), tuple(constants)


def _kind_of_string(inner: str) -> str | None:
    """A string, or one that may be a pattern: with a % at its ends and nothing else of that sort."""
    word = inner.strip("%")
    if "''" in inner or '""' in inner:
        return None
    if word == inner:
        return "string"
    if not word or "%" in word or "_" in word:
        return None
    kind = inner.replace(word, "string")
    return kind if kind in ("string%", "%string", "%string%") else None


def _kind_of_number(text: str) -> str | None:
    if len(text) > _LONGEST:
        return None
    if "e" in text or "E" in text:
        return "double"
    if "." in text:
        return "decimal"
    return next((kind for kind, largest in _LARGEST.items() if int(text) <= largest), "decimal")


def _mark(mode: Mode, constant: Constant) -> object:
    """What of a constant belongs to the key."""
    if mode == "free" and not constant.is_long:
        return None
    return constant.text if mode == "fixed" else constant.size


def _others(constants: Sequence[Constant], modes: Sequence[Mode]) -> list[list[Constant]] | None:
    """Other constants in the place of those that are not fixed, long ones and short ones; None if there are none."""
    given = list(zip(range(len(constants)), constants, modes, strict=True))
    texts = [[constant.text] if mode == "fixed" else _texts(constant, i, mode) for i, constant, mode in given]
    if not all(texts):
        return None
    variants = range(max(map(len, texts), default=1))
    return [
        [c._replace(text=some[min(v, len(some) - 1)]) for c, some in zip(constants, texts, strict=True)]
        for v in variants
    ]


def _texts(constant: Constant, number: int, mode: Mode) -> list[str]:
    """Other constants of the same kind, of which the first is unlike that of any other number."""
    if constant.is_text:
        return [constant.kind.replace("string", f"qz{number}vx")] if mode == "free" else []
    if mode == "sized":
        return [_other_digits(constant.text, number)] if number < _OTHERS and constant.size else []
    short = number % _OTHERS + 1
    match constant.kind:
        case "int":
            return [f"13579{number + 10}357", f"{short}"]
        case "bigint":
            return [f"13579{number + 10}357913579135", f"300000000{short}"]
        case "decimal":
            return [f"13579{number + 10}357.913579135", f"0.{short}"]
    return [f"1.3579{number + 10}e9"]


def _other_digits(text: str, number: int) -> str:
    """Another number with as many digits, which begins with as many zeros."""
    if not text.strip("0."):
        return f"{text.rstrip('.')[:-1]}{number + 1}"
    return "".join(d if d in "0." else str((int(d) + number) % 9 + 1) for d in text)


def _written(text: str, constants: Sequence[Constant], others: Sequence[Constant]) -> str:
    for each, other in reversed(list(zip(constants, others, strict=True))):
        text = f"{text[: each.start]}{other.text}{text[each.end :]}"
    return text


def _explained(
    original: Planned, changed: Planned, constants: Sequence[Constant], others: Sequence[Constant]
) -> _Known | None:
    """What feeds the parameters that have changed; None if one of them, or of the constants, has no counterpart."""
    moved = [i for i, (each, other) in enumerate(zip(constants, others, strict=True)) if each != other]
    feeds = []
    for parameter, (before, after) in enumerate(zip(original[1], changed[1], strict=True)):
        if before != after:
            feed = _feed(parameter, before, after, [(i, constants[i], others[i]) for i in moved])
            if feed is None:
                return None
            feeds.append(feed)
    return _Known(*original, tuple(feeds)) if {feed.constant for feed in feeds} == set(moved) else None


def _feed(
    parameter: int, before: Literal, after: Literal, moved: Sequence[tuple[int, Constant, Constant]]
) -> _Feed | None:
    for number, constant, other in moved:
        for convert in _conversions(constant.kind, after.type):
            if convert(constant.text) == before.value and convert(other.text) == after.value:
                return _Feed(parameter, number, convert)
    return None


def _conversions(kind: str, wanted: str) -> list[Callable[[str], object]]:
    """The ways in which a constant of a kind may become a value of a type."""
    if "string" in kind:
        return [str, lambda text: text.strip("%")] if wanted == "string" else []
    if wanted == "double":
        return [_double, lambda text: _double(f"-{text}")]
    if wanted in _LARGEST and kind in _LARGEST:
        return [int, lambda text: -int(text)]
    if (digits := decimal(wanted)) and kind != "double":
        return [lambda text: _decimal(text, *digits), lambda text: _decimal(f"-{text}", *digits)]
    return []


def _double(text: str) -> float | None:
    """The number; None if it is too large, or the one below zero that is not less than it."""
    found = float(text)
    return None if math.isinf(found) or (not found and text.startswith("-")) else found


def _decimal(text: str, precision: int, scale: int) -> Decimal | None:
    """The number with so many digits behind the point; None if it does not fit."""
    whole, _, fraction = text.lstrip("-").partition(".")
    if len(fraction) > scale or len(whole.lstrip("0")) > precision - scale:
        return None
    return Decimal(f"{'-' * text.startswith('-')}{whole or 0}.{fraction.ljust(scale, '0')}")
