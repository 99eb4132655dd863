"""What holds as a segment of the record is opened, so that it can be read without those before."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from headgate.record.entries import (
    Arrived,
    Began,
    Changed,
    Entry,
    Iterated,
    Managed,
    Opened,
    Planned,
    Ran,
    Reduced,
    Refused,
)

TRAINS = 10_000
"""Trains that wait are repeated as far back as that."""
_ANSWERS = 100


class _Unit(NamedTuple):
    planned: Planned
    stopped: Changed | None


class Head:
    """Hears every entry, and says which have to be repeated: of the start that goes on, or of none."""

    def __init__(self, arrived: Iterable[Arrived] = ()) -> None:
        self.began: Began | None = None
        self._time = 0.0
        self._arrived = deque(arrived, TRAINS)
        self._units: dict[str, _Unit] = {}
        self._managed: Managed | None = None
        self._answers: deque[Refused | Reduced] = deque(maxlen=_ANSWERS)

    def note(self, entry: Entry) -> None:
        """An entry was written."""
        if isinstance(entry, Began):
            # A start says again which units there are, and what they cost.
            self.began, self._time, self._units, self._managed = entry, entry.time, {}, None
            self._answers.clear()
        elif isinstance(entry, Arrived):
            self._arrived.append(entry)
            self._time = max(self._time, entry.until)
        elif isinstance(entry, Planned):
            self._units[entry.unit] = _Unit(entry, self._stopped(entry.unit))
        elif isinstance(entry, Ran):
            self._ran(entry)
        elif isinstance(entry, Iterated):
            self._iterated(entry)
        elif isinstance(entry, Changed):
            self._changed(entry)
        elif isinstance(entry, Managed):
            self._managed = entry
        elif isinstance(entry, Refused | Reduced):
            self._answers.append(entry)

    def opens(self, entry: Entry) -> list[Entry]:
        """What a segment begins with whose first entry of its own is this: a start, or any of one that goes on."""
        goes_on = self.began is not None and not isinstance(entry, Began)
        found: list[Entry] = [each for each in self._arrived if self._waits(each)]
        if self.began and goes_on:
            found.append(self.began)
            for planned, stopped in self._units.values():
                found += [planned, stopped] if stopped else [planned]
            found += [self._managed] if self._managed else []
            found += self._answers
        time = entry.time if isinstance(entry, Began) else self._time
        return [Opened(time, len(found), goes_on), *found]

    def _ran(self, ran: Ran) -> None:
        self._time = max(self._time, ran.finished)
        unit = self._units.get(ran.unit)
        if unit and ran.error is None:
            reads = {**unit.planned.reads, **{stream: hi for stream, (_, hi) in ran.positions.items()}}
            self._units[ran.unit] = unit._replace(planned=replace(unit.planned, reads=reads))

    def _iterated(self, done: Iterated) -> None:
        """A query with a deadline is done with what had come by the end of its window; its runs do not say so."""
        if unit := self._units.get(done.query):
            reads = {stream: self._come(stream, done.release, at) for stream, at in unit.planned.reads.items()}
            self._units[done.query] = unit._replace(planned=replace(unit.planned, reads=reads))

    def _come(self, stream: str, time: float, otherwise: int) -> int:
        """The number after those of a stream that had come by a time."""
        trains = (each for each in reversed(self._arrived) if each.stream == stream and each.until <= time)
        return next((train.first + train.count for train in trains), otherwise)

    def _changed(self, change: Changed) -> None:
        self._time = max(self._time, change.time)
        if change.what == "removed":
            self._units.pop(change.unit, None)
        elif unit := self._units.get(change.unit):
            away = change.what in ("paused", "failed")
            self._units[change.unit] = unit._replace(stopped=change if away else None)

    def _stopped(self, unit: str) -> Changed | None:
        return self._units[unit].stopped if unit in self._units else None

    def _waits(self, train: Arrived) -> bool:
        """Whether a unit has not read all of a train; where no unit is known, it may be so."""
        if not self._units:
            return True
        stands = (unit.planned.reads.get(train.stream) for unit in self._units.values())
        return any(at is not None and at < train.first + train.count for at in stands)
