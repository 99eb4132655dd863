"""Tuples that are worth more than others: a class names the values of a column, and all others are shed first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from headgate.engine.log.trains import Trains
from headgate.engine.reader import Utility
from headgate.errors import InputError
from headgate.shed.droppers import UNSHED, Drop, by_utility
from headgate.shed.drops import set_drop

_NEWS = 0.4
"""The weight of a control period in the part of the tuples that is not protected."""
_LAST = 10_000
"""So many tuples at the end of a stream show what that part is."""

Value = str | int | float
Protect = Mapping[str, Mapping[str, Sequence[Value]]]
"""By stream, a column with the values of it that are worth more."""


@dataclass(frozen=True, slots=True)
class Protected:
    """The tuples of a stream that are worth more than others: those with one of the values in a column."""

    column: str
    values: tuple[Value, ...]

    def drop(self, percent: int, mass: float) -> Drop:
        """What goes, if so many percent of all tuples are to go and the others are the part `mass` of all.

        Something of each kind stays, so that results can say from which share of their tuples they come.
        """
        low, high = (set_drop(rate) for rate in by_utility(percent / 100, mass))
        return Drop(percent, Utility(self.column, self.values, low, high).text) if low or high else UNSHED

    def missing(self, log: Trains, low: int, high: int) -> float:
        """The part of the tuples from one position to before another that is not protected."""
        found = Utility(self.column, self.values, 0, 0).protects(log.column(self.column, low, high))
        return 1 - float(found.mean())

    def check(self, stream: str, schema: pa.Schema) -> None:
        """Refuse a column that the stream does not have, and values that are not of its type."""
        if self.column not in schema.names:
            rule = f"what is protected of stream '{stream}' is told by a column of it"
            raise InputError(rule, f"'{self.column}'", f"Choose one of {', '.join(schema.names)}.")
        kind = schema.field(self.column).type
        try:
            pa.array(self.values).cast(kind)
        except pa.ArrowException:
            rule = f"values to protect are of the type of '{self.column}', {kind}"
            raise InputError(rule, list(self.values), "Write values that the column can have.") from None


def protections(given: object) -> dict[str, Protected]:
    """What is protected of each stream, as a user gives it: a `Protect`."""
    found = {}
    if not isinstance(given, Mapping):
        raise InputError("what is protected is told by stream", given, "Write it like {ticks: {sym: [AAA, BBB]}}.")
    for stream, columns in given.items():
        if not isinstance(columns, Mapping) or len(columns) != 1:
            rule = f"what is protected of stream '{stream}' is told by one column"
            raise InputError(rule, columns, "Write it like {sym: [AAA, BBB]}.")
        ((column, values),) = columns.items()
        listed = isinstance(values, list | tuple)
        if not listed or not values or not all(isinstance(each, str | int | float) for each in values):
            rule = f"column '{column}' protects some values, texts or numbers"
            raise InputError(rule, values, "Write it like {sym: [AAA, BBB]}.")
        found[stream] = Protected(column, tuple(values))
    return found


class Masses:
    """The part of the tuples of each stream that is not protected, by what is; smoothed over control periods."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Protected], float] = {}

    def take(self, log: Trains, protected: Protected) -> None:
        """Look at the end of a stream, once in a control period."""
        first = log.trains[0].first if log.trains else log.head
        low = max(first, log.head - _LAST)
        if low < log.head:
            fresh = protected.missing(log, low, log.head)
            before = self._known.get((log.name, protected), fresh)
            self._known[log.name, protected] = before + _NEWS * (fresh - before)

    def of(self, stream: str, protected: Protected) -> float:
        """The part that is not protected; all, as long as nothing was seen."""
        return self._known.get((stream, protected), 1.0)
