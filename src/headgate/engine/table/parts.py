"""The parts of a table, each of which is refreshed by itself: by values of a column, or by ranges of them."""

import datetime as dt
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import get_args

from pyspark.sql import Column, DataFrame, functions

from headgate.errors import InputError

Value = str | int | float | Decimal | dt.date | dt.datetime

WHOLE = "all"
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Parts:
    """How a table is divided by a column: into rows with each of some values and all others, or between bounds.

    Every row is in exactly one part; NULL is among the others, or in the first range.
    """

    column: str
    given: tuple[Value, ...]
    ranged: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """What the parts are called, in their order."""
        said = [str(each) for each in self.given]
        if not self.ranged:
            return (*said, OTHERS)
        return (f"< {said[0]}", *(f"{a} to {b}" for a, b in itertools.pairwise(said)), f"≥ {said[-1]}")

    def condition(self, part: int) -> Column:
        """What holds for the rows of a part."""
        column, given = functions.col(self.column), self.given
        if self.ranged:
            if part == 0:
                return (column < given[0]) | column.isNull()
            if part == len(given):
                return column >= given[-1]
            return (column >= given[part - 1]) & (column < given[part])
        if part < len(given):
            return column == given[part]
        others = [column != each for each in given]
        return reduce(lambda a, b: a & b, others) | column.isNull()


def names(parts: Parts | None) -> tuple[str, ...]:
    """The parts of a table, of which there is one if it is not divided."""
    return parts.names if parts else (WHOLE,)


def cut(frame: DataFrame, parts: Parts | None, part: int) -> DataFrame:
    """The rows of a part. Sources that can filter read no others."""
    if parts is None:
        return frame
    if parts.column not in frame.columns:
        remedy = f"Choose one of {', '.join(frame.columns)}."
        raise InputError("a table is divided by a column of it", f"'{parts.column}'", remedy)
    return frame.where(parts.condition(part))


def values(column: str, *given: Value) -> Parts:
    """A part for each of these values of a column, and one for all other rows."""
    return _checked(Parts(column, given))


def ranges(column: str, *bounds: Value) -> Parts:
    """A part below the first bound, one from each bound up to the next, and one from the last on."""
    return _checked(Parts(column, bounds, ranged=True))


def _checked(parts: Parts) -> Parts:
    given = parts.given
    what = "bounds" if parts.ranged else "values"
    if not given:
        raise InputError(f"a table is divided by {what} of a column", "none", f"Give {what} of '{parts.column}'.")
    for each in given:
        if type(each) not in get_args(Value):
            raise InputError(f"{what} are texts, numbers or dates", repr(each), "Give others.")
    if not parts.ranged and len(set(given)) < len(given):
        raise InputError("values of parts differ", _listed(given), "Give each once.")
    if parts.ranged and not _rising(given):
        raise InputError("bounds of parts rise", _listed(given), "Give them in order, each once, of one kind.")
    return parts


def _rising(given: Sequence[Value]) -> bool:
    try:
        return all(a < b for a, b in itertools.pairwise(given))  # type: ignore[operator]
    except TypeError:
        return False


def _listed(given: Sequence[Value]) -> str:
    return ", ".join(map(str, given))
