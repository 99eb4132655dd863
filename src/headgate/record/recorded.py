"""A record that is read: the last run in it, by the lives of its units."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from headgate.errors import InputError
from headgate.model.classes import QueryClass
from headgate.model.operator import Cost
from headgate.model.qos import LatencyGraph
from headgate.monitor.figures import Response, Served, Summary, summarise
from headgate.monitor.responses import values
from headgate.monitor.utility import Shared
from headgate.record.entries import (
    NAME,
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
from headgate.record.segments import joined, needed

_Entry = TypeVar("_Entry", Opened, Began, Arrived, Planned, Ran, Changed, Managed, Iterated, Refused, Reduced)

_AWAY = ("paused", "failed")


class Logged(NamedTuple):
    """The tuples of a stream: their arrivals, when their trains could be read, and their numbers; all ascending."""

    at: NDArray[np.float64]
    readable: NDArray[np.float64]
    numbers: NDArray[np.int64]


@dataclass(frozen=True)
class Life:
    """A unit from when it was planned until it was removed: its statistics over time, its runs, when it was away."""

    planned: tuple[Planned, ...]
    ran: tuple[Ran, ...]
    away: tuple[tuple[float, float], ...]
    removed: bool = False

    @property
    def latest(self) -> Planned:
        """The unit with its latest statistics."""
        return self.planned[-1]

    @property
    def stands(self) -> dict[str, int]:
        """The number of the tuple of each stream that it would read next."""
        found = dict(self.planned[0].reads)
        for ran in self.ran:
            found |= {stream: hi for stream, (_, hi) in ran.positions.items() if ran.error is None}
        return found

    @cached_property
    def served(self) -> Served:
        """What became of its tuples, but for those that wait."""
        unit = self.latest
        worth = Shared.of(unit.queries, unit.valued, map(LatencyGraph, unit.graphs))
        found = Served(unit.unit, unit.cls, Cost(unit.a, unit.b), worth=worth)
        for ran in self.ran:
            busy = ran.finished - ran.started
            if ran.error is None:
                found.add(ran.n, busy, ran.results, ran.response)
                found.shed += ran.shed
                if worth:
                    worth.add(*late(ran))
            else:
                found.add(0, busy, 0, Response())
        return found


@dataclass(frozen=True)
class Recorded:
    """A run in a record: what is read of it since the engine began, and the tuples that had arrived before.

    Of a long run that is a part, `since` which there is all.
    """

    path: Path
    began: Began
    arrived: tuple[Arrived, ...]
    lives: tuple[Life, ...]
    managed: tuple[Managed, ...] = ()
    iterated: tuple[Iterated, ...] = ()
    refused: tuple[Refused, ...] = ()
    reduced: tuple[Reduced, ...] = ()
    opened: Opened | None = None

    @property
    def since(self) -> float:
        """The time from which on the record has everything."""
        return self.opened.time if self.opened and self.opened.goes_on else self.began.time

    @cached_property
    def ran(self) -> tuple[Ran, ...]:
        """The runs, in the order in which they ended."""
        return tuple(sorted((ran for life in self.lives for ran in life.ran), key=lambda ran: ran.finished))

    @cached_property
    def units(self) -> dict[str, Planned]:
        """The units with their latest statistics."""
        return {life.latest.unit: life.latest for life in self.lives}

    @cached_property
    def classes(self) -> tuple[QueryClass, ...]:
        """The classes of the run, and those that its units have without."""
        given = {c.name: QueryClass(c.name, c.priority, c.target or math.inf) for c in self.began.classes}
        used = dict.fromkeys(life.latest.cls for life in self.lives)
        return (*given.values(), *(QueryClass(name) for name in used if name not in given))

    @cached_property
    def ended(self) -> float:
        """The last time that the record knows of."""
        known = [self.since, *(train.until for train in self.arrived), *(ran.finished for ran in self.ran)]
        return max(known + [planned.time for planned in self.units.values()])

    @cached_property
    def streams(self) -> dict[str, Logged]:
        """The tuples of each stream that a unit reads, those of a train evenly spread."""
        names = dict.fromkeys(stream for planned in self.units.values() for stream in planned.reads)
        return {name: _logged([a for a in self.arrived if a.stream == name]) for name in names}

    @cached_property
    def measured(self) -> Summary:
        """What the run's results showed."""
        served = [replace(life.served, waiting=self._waiting(life)) for life in self.lives]
        return summarise(served, self.began.lanes * (self.ended - self.since))

    def _waiting(self, life: Life) -> int:
        """The tuples that it had not read in the end, if it could still have run."""
        if life.removed or life.away[-1][1] == math.inf:
            return 0
        if (passed := self.passed(life.latest.unit)) > -math.inf:
            return sum(int((self.streams[name].readable > passed).sum()) for name in life.latest.reads)
        return sum(int((self.streams[name].numbers >= at).sum()) for name, at in life.stands.items())

    def passed(self, unit: str, time: float = math.inf) -> float:
        """The release of the last window that a query with a deadline had done by a time, with all that had come."""
        done = (each.release for each in self.iterated if each.query == unit and each.finish <= time)
        return max(done, default=-math.inf)


def late(ran: Ran) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How late the results of a run were, by magnitude, and how many had each; all together exactly."""
    times = values([*ran.spread])
    many = np.array([*ran.spread.values()], dtype=np.float64)
    return (times * (ran.response.total / float(times @ many)) if many.any() else times), many


def _logged(trains: list[Arrived]) -> Logged:
    trains = [train for train in trains if train.count]
    if not trains:
        return Logged(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64))
    at = np.concatenate([np.linspace(train.at, train.until, train.count) for train in trains])
    readable = np.repeat([train.until for train in trains], [train.count for train in trains])
    numbers = np.concatenate([np.arange(train.first, train.first + train.count) for train in trains])
    # The clock of a live run may be set back, that of a simulation may not.
    return Logged(np.maximum.accumulate(at), np.maximum.accumulate(readable), numbers)


def read(path: Path, at: float | None = None) -> Recorded:
    """The last run of a record, or that of a time, given by the state folder or a file; something has run in it.

    Of a long run it has the latest part, or what is around the time.
    """
    found = begun(path, at)
    if not any(life.ran for life in found.lives):
        rule, remedy = "a recorded run has at least one run of a unit", "Let the engine run until it has results."
        raise InputError(rule, "none since the engine last began", remedy, str(found.path))
    return found


def begun(path: Path, at: float | None = None) -> Recorded:
    """The same where nothing need have run yet, as on a node to which no query has come."""
    folder = path.parent if path.name == NAME else path
    files = [path] if path.is_file() else needed(folder, at)
    entries = joined(files)
    place = files[0] if path.is_file() or files[0].parent == folder else folder / NAME
    starts = [(i, entry) for i, entry in enumerate(entries) if isinstance(entry, Began)]
    if not starts:
        got = "none that began" if entries else "an empty file"
        raise InputError("a record holds a run", got, "Run the pipeline first.", str(place))
    start, began = starts[-1]
    run = entries[start:]
    opened = next(iter(_only(Opened, entries[:1])), None)
    rest = _only(Managed, run), _only(Iterated, run), _only(Refused, run), _only(Reduced, run)
    return Recorded(place, began, _only(Arrived, entries), _lives(run, opened, str(place)), *rest, opened)


def _lives(entries: list[Entry], opened: Opened | None, place: str) -> tuple[Life, ...]:
    """The entries of one run by the life of a unit that they belong to.

    What a part of a run begins with has no unit that was removed before, though its last run may have ended later.
    """
    found: list[list[Entry]] = []
    latest: dict[str, list[Entry]] = {}
    gone: set[str] = set()
    for entry in entries:
        if isinstance(entry, Opened | Began | Arrived | Managed | Iterated | Refused | Reduced):
            continue
        if isinstance(entry, Planned) and (entry.unit not in latest or entry.unit in gone):
            found.append([])
            latest[entry.unit] = found[-1]
            gone.discard(entry.unit)
        if entry.unit in latest:
            latest[entry.unit].append(entry)
        elif isinstance(entry, Ran) and not (opened and opened.goes_on):
            rule, got = "every unit that ran has its statistics in the record", f"'{entry.unit}' without"
            raise InputError(rule, got, "Record again.", place)
        if isinstance(entry, Changed) and entry.what == "removed":
            gone.add(entry.unit)
    return tuple(_life(life) for life in found)


def _life(entries: list[Entry]) -> Life:
    planned = _only(Planned, entries)
    away, since = [(-math.inf, planned[0].time)], math.inf
    changes = _only(Changed, entries)
    for change in changes:
        if change.what in _AWAY:
            since = min(since, change.time)
        elif since < math.inf:
            away.append((since, change.time))
            since = math.inf
    if since < math.inf:
        away.append((since, math.inf))
    return Life(planned, _only(Ran, entries), tuple(away), bool(changes) and changes[-1].what == "removed")


def _only(kind: type[_Entry], entries: list[Entry]) -> tuple[_Entry, ...]:
    return tuple(entry for entry in entries if isinstance(entry, kind))
