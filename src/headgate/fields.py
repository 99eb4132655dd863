"""What the fields of a file may hold: numbers, times, names and choices, with messages that say what to write.

A mistake in one value is a `field` error, and its key is put in front of the rule; one in a mapping as a whole is
a `whole` error. `headgate.document` gives both their place in the file.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from headgate.document import shown
from headgate.errors import InputError, choose

UNITS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
# Far beyond what anybody means, and far from where squares and products of a few of them overflow or vanish.
_SMALLEST, _LARGEST = 1e-12, 1e12
_SHORTEST, _LONGEST = 1e-12, 1e9
_ROWS = re.compile(r"([0-9]{1,12})\s*rows?")
_TIME = re.compile(r"([-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)\s*([a-zA-Zµ]+)")


class Spec(BaseModel):
    """A mapping in a file, with a fixed set of keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    noun: ClassVar[str]
    example: ClassVar[str]

    @classmethod
    def known(cls, data: Mapping[str, object]) -> Collection[str]:  # noqa: ARG003 - for a spec that looks at it
        """The keys that the mapping may have."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @classmethod
    def called(cls, data: Mapping[str, object]) -> str:  # noqa: ARG003 - for a spec that looks at it
        """What a message calls it."""
        return cls.noun

    @model_validator(mode="before")
    @classmethod
    def _keys(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            raise whole(f"{cls.noun} is a mapping", shown(data), f"Write it like {cls.example}.")
        known = cls.known(data)
        for key in data:
            if key not in known:
                raise whole(
                    f"{cls.called(data)} has known keys only", f"'{key}'", choose(key, known), key, at_key=True
                )
        for name, info in cls.model_fields.items():
            key = info.alias or name
            if info.is_required() and key not in data:
                example = f"{key}: {info.examples[0]}" if info.examples else cls.example
                raise whole(f"{cls.noun} has the key '{key}'", shown(data), f"Add it, as in {example}.")
        return data


def field(rule: str, got: object, remedy: str) -> PydanticCustomError:
    """A mistake in the value of one key. The rule goes on where the name of the key ends."""
    context = {"rule": rule, "got": shown(got), "remedy": remedy}
    return PydanticCustomError("field", "{rule}; got {got}. {remedy}", context)


def whole(rule: str, got: str, remedy: str, key: str | None = None, *, at_key: bool = False) -> PydanticCustomError:
    """A mistake in a mapping: its place is the value under `key`, or the key itself with `at_key`."""
    return _whole(rule, got, remedy, key=key, at_key=at_key)


def _whole(
    rule: str, got: str, remedy: str, *, key: str | None = None, at_key: bool = False, mentions: bool = False
) -> PydanticCustomError:
    context = {"rule": rule, "got": got, "remedy": remedy, "key": key, "at_key": at_key, "mentions": mentions}
    return PydanticCustomError("whole", "{rule}; got {got}. {remedy}", context)


@contextmanager
def as_whole() -> Iterator[None]:
    """Turns an InputError of the model into a mistake of the mapping being checked, or of a key it mentions."""
    try:
        yield
    except InputError as error:
        raise _whole(error.rule, str(error.got), error.remedy, mentions=True) from None


def _real(value: object) -> float:
    """A number of the file as a float; NaN where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def number(*, above: float | None = None, least: float = -math.inf, such_as: float) -> Callable[[object], float]:
    """A check for finite numbers."""
    limit = f" above {above:g}" if above is not None else f", {least:g} or more" if least > -math.inf else ""

    def check(value: object) -> float:
        x = _real(value)
        if not (math.isfinite(x) and x >= least and (above is None or x > above)):
            raise field(f"is a finite number{limit}", value, f"Give a number such as {such_as:g}.")
        if x and not _SMALLEST <= abs(x) <= _LARGEST:
            raise field(f"is from {_SMALLEST:g} to {_LARGEST:g}", value, f"Give a number such as {such_as:g}.")
        return x

    return check


def whole_number(least: int, such_as: int, most: int = 2**63 - 1) -> Callable[[object], int]:
    """A check for whole numbers; 2e4 is one."""
    limit = f", {least} or more" if most == 2**63 - 1 else f" from {least} to {most}"

    def check(value: object) -> int:
        x = _real(value)
        if not (math.isfinite(x) and x == int(x) and least <= x <= most):
            raise field(f"is a whole number{limit}", value, f"Give a number such as {such_as}.")
        return int(x)

    return check


@dataclass(frozen=True, slots=True)
class Span:
    """A time, in seconds or in multiples of K, the factor by which costs are scaled to a utilisation."""

    value: float
    of_K: bool = False

    def at(self, K: float) -> float:
        """Seconds."""
        return self.value * K if self.of_K else self.value


def span(*, above: float | None = None, of_K: bool = False) -> Callable[[object], Span]:
    """A check for times: numbers are seconds, text is a number with a unit."""
    units = [*UNITS, *(["K"] if of_K else [])]
    limit = " above 0" if above is not None else ", 0 or more"
    rule = f"is a finite time{limit}: a number of seconds, or a number with a unit"

    def check(value: object) -> Span:
        x, unit = _real(value), "s"
        if isinstance(value, str) and (found := _TIME.fullmatch(value.strip())):
            x, unit = float(found[1]), found[2]
        if unit not in units or not (math.isfinite(x) and x >= 0 and (above is None or x > above)):
            raise field(rule, value, f"Write it like 5ms; the units are {', '.join(u for u in units if u != 'µs')}.")
        found_span = Span(x, of_K=True) if unit == "K" else Span(x * UNITS[unit])
        if found_span.value and not _SHORTEST <= found_span.value <= _LONGEST:
            raise field(f"is 0 or a time from {_SHORTEST:g} s to {_LONGEST:g} s", value, "Write it like 5ms.")
        return found_span

    return check


def seconds(*, above: float | None = None) -> Callable[[object], float]:
    """A check for times, giving seconds."""
    check = span(above=above)
    return lambda value: check(value).value


def rows(value: object) -> int | None:
    """The number of a text that speaks of rows, like 5 rows."""
    found = _ROWS.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(found[1]) if found else None


def length(value: object) -> float | str:
    """A check for what windows are long: seconds above 0, or as a text so many rows."""
    n = rows(value)
    if n is None:
        return seconds(above=0)(value)
    if n < 1:
        raise field("is a row or more", value, "Write it like 5 rows.")
    return f"{n} rows"


def choice(noun: str, known: Collection[str]) -> Callable[[object], str]:
    """A check for one word of several."""

    def check(value: object) -> str:
        if not isinstance(value, str) or value not in known:
            raise field(f"is a known {noun}", value, choose(str(value), known))
        return value

    return check


def text(value: object) -> str:
    """A check for names. A whole number may be one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise field("is a name", value, "Write a word.")
    return value


def or_all(check: Callable[[object], int]) -> Callable[[object], float]:
    """The check, with the word `all` for no bound."""
    return lambda value: math.inf if value == "all" else check(value)


def or_auto(check: Callable[[object], int]) -> Callable[[object], int | str]:
    """The check, with the word `auto` for a number that is found out."""
    return lambda value: "auto" if value == "auto" else check(value)


Above0 = Annotated[float, BeforeValidator(number(above=0, such_as=100))]
AtLeast0 = Annotated[float, BeforeValidator(number(least=0, such_as=100))]
Seconds = Annotated[float, BeforeValidator(seconds())]
Longer = Annotated[float, BeforeValidator(seconds(above=0))]
Span0 = Annotated[Span, PlainValidator(span(of_K=True))]
LongerSpan = Annotated[Span, PlainValidator(span(above=0, of_K=True))]
Text = Annotated[str, BeforeValidator(text)]
