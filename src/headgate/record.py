"""The record of a live run: what arrived, what the units cost, every decision and its outcome.

It is a file of JSON lines in the run's state folder, one entry per line under the name of its kind, and a workload of
the simulator. A line is written whole or torn at the end of the file, where a crash cut it off.
"""

import json
import logging
import math
import mmap
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from headgate.errors import InputError
from headgate.model.classes import QueryClass
from headgate.model.operator import Cost
from headgate.monitor.figures import Response, Served, Summary, summarise

NAME = "record.jsonl"
_log = logging.getLogger(__name__)


class Classed(NamedTuple):
    """A class of queries: how much it matters, and its delay target, if it has one."""

    name: str
    priority: float
    target: float | None = None


class Reason(NamedTuple):
    """A formula, and the numbers in it."""

    formula: str
    terms: Mapping[str, float]


class Dropped(NamedTuple):
    """What a run dropped of the tuples with the numbers [lo, hi): so many percent, chosen as `shed.droppers` says."""

    lo: int
    hi: int
    percent: int
    how: str = ""


@dataclass(frozen=True, slots=True)
class Began:
    """The engine starts, or starts again. Whatever was waiting then still waits.

    So many of the lanes are `resident`, and run units of the kernel; with none, all lanes are alike. `shed` says how
    load is managed, in the words of `control.shedding.Shed`; `empty` are the seconds of a run over nothing. The
    classes are `named`, or are words that queries have.
    """

    time: float
    policy: str
    options: Mapping[str, Any]
    lanes: int
    resident: int = 0
    classes: tuple[Classed, ...] = ()
    named: bool = False
    shed: Mapping[str, Any] | None = None
    empty: float = 0.0


@dataclass(frozen=True, slots=True)
class Arrived:
    """A train was logged: `count` tuples from number `first` of the stream on, from the first to the last arrival."""

    stream: str
    first: int
    count: int
    at: float
    until: float


@dataclass(frozen=True, slots=True)
class Planned:
    """A unit has new statistics: a run over n tuples takes a + b·n, and a tuple gives S results.

    `reads` has the streams of the unit, and for each the number of the tuple that it reads next. It runs on lanes of
    a kind, if there are such; `alone` says why the kernel does not run it. The results of `windows` come when these
    have closed. `graphs` are the points of the QoS graphs of its queries.
    """

    time: float
    unit: str
    queries: tuple[str, ...]
    cls: str
    reads: Mapping[str, int]
    a: float
    b: float
    S: float
    kind: Literal["jobs", "resident"] = "jobs"
    alone: str | None = None
    windows: bool = False
    graphs: tuple[tuple[tuple[float, float], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Ran:
    """A decision of the policy at `time`, why, and how the run went. A run with an error served nothing.

    `positions` has the numbers [lo, hi) of the tuples of each stream, `n` how many that are. Of these so many were
    `shed`, by the rates that `dropped` has for each stream. `spread` counts the response times by magnitude, as
    `monitor.responses` has it. `utility` is what results were worth in all, where queries have QoS graphs.
    """

    time: float
    unit: str
    positions: Mapping[str, tuple[int, int]]
    n: int
    started: float
    finished: float
    lane: int
    results: int
    response: Response
    formula: str
    terms: Mapping[str, float]
    over: str | None = None
    error: str | None = None
    shed: int = 0
    dropped: Mapping[str, tuple[Dropped, ...]] = field(default_factory=dict)
    spread: Mapping[int, int] = field(default_factory=dict)
    utility: float | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """Something happened to a unit other than a run. While it is away, its tuples wait."""

    time: float
    unit: str
    what: Literal["added", "paused", "resumed", "removed", "failed"]


@dataclass(frozen=True, slots=True)
class Managed:
    """A control period ended: the share of its tuples that each class drops, its share of the time, and its usage.

    `orders` say why a class drops what it does, `why` how shares came about.
    """

    time: float
    drops: Mapping[str, float]
    shares: Mapping[str, float]
    usage: Mapping[str, float]
    orders: Mapping[str, Reason] = field(default_factory=dict)
    why: Reason | None = None


@dataclass(frozen=True, slots=True)
class Iterated:
    """A window of a query with a deadline is done: when that was, over which share of its tuples, and what it took.

    `planned` are the seconds that it was expected to take with nothing dropped, `worked` those of its `pieces`,
    between which others ran so many times. `why` says what made it late, if it `missed` its deadline.
    """

    query: str
    end: float
    release: float
    begin: float
    finish: float
    due: float
    tuples: int
    kept: float
    planned: float
    worked: float
    pieces: int
    interrupted: int
    plan: int
    missed: bool
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A query was not taken in."""

    time: float
    query: str
    why: str


Entry: TypeAlias = Began | Arrived | Planned | Ran | Changed | Managed | Iterated | Refused
_Entry = TypeVar("_Entry", Began, Arrived, Planned, Ran, Changed, Managed, Iterated, Refused)

_KINDS: dict[str, TypeAdapter[Entry]] = {kind.__name__.lower(): TypeAdapter(kind) for kind in get_args(Entry)}
_AWAY = ("paused", "failed")


class Recorder:
    """Appends to the record in a folder, from any thread. Each entry is with the system when `append` returns.

    Listeners hear every entry, in the thread that appends it: they have to be quick.
    """

    def __init__(self, folder: Path) -> None:
        self.listeners: tuple[Callable[[Entry], None], ...] = ()
        self._lock = threading.Lock()
        self._file = (folder / NAME).open("a+b", buffering=0)
        if self._file.tell():
            # A line that a crash tore would spoil the first of this run.
            with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                whole = content.rfind(b"\n") + 1
            self._file.truncate(whole)

    def append(self, entry: Entry) -> None:
        """Add an entry; where there is no room for it, the record has a gap and the run goes on."""
        for hear in self.listeners:
            hear(entry)
        values = {each.name: getattr(entry, each.name) for each in fields(entry)}
        line = json.dumps({type(entry).__name__.lower(): values}, separators=(",", ":"), default=_plain)
        data = line.encode() + b"\n"
        with self._lock:
            try:
                written = self._file.write(data)
                if written < len(data):
                    self._file.truncate(self._file.tell() - written)
                    _log.warning("the record has a gap: no room for a line")
            except OSError as error:
                _log.warning("the record has a gap: %s", error.strerror)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def _plain(value: Any) -> Any:  # noqa: ANN401 - a mapping or a number that json does not know
    return dict(value) if isinstance(value, Mapping) else value.item()


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
        found = Served(self.latest.unit, self.latest.cls, Cost(self.latest.a, self.latest.b))
        for ran in self.ran:
            busy = ran.finished - ran.started
            if ran.error is None:
                found.add(ran.n, busy, ran.results, ran.response)
                found.shed += ran.shed
            else:
                found.add(0, busy, 0, Response())
        return found


@dataclass(frozen=True)
class Recorded:
    """The last run in a record: all since the engine last began, and the tuples that had arrived before."""

    path: Path
    began: Began
    arrived: tuple[Arrived, ...]
    lives: tuple[Life, ...]
    managed: tuple[Managed, ...] = ()
    iterated: tuple[Iterated, ...] = ()
    refused: tuple[Refused, ...] = ()

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
        known = [self.began.time, *(train.until for train in self.arrived), *(ran.finished for ran in self.ran)]
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
        return summarise(served, self.began.lanes * (self.ended - self.began.time))

    def _waiting(self, life: Life) -> int:
        """The tuples that it had not read in the end, if it could still have run."""
        if life.removed or life.away[-1][1] == math.inf:
            return 0
        return sum(int((self.streams[name].numbers >= at).sum()) for name, at in life.stands.items())


def _logged(trains: list[Arrived]) -> Logged:
    trains = [train for train in trains if train.count]
    if not trains:
        return Logged(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64))
    at = np.concatenate([np.linspace(train.at, train.until, train.count) for train in trains])
    readable = np.repeat([train.until for train in trains], [train.count for train in trains])
    numbers = np.concatenate([np.arange(train.first, train.first + train.count) for train in trains])
    # The clock of a live run may be set back, that of a simulation may not.
    return Logged(np.maximum.accumulate(at), np.maximum.accumulate(readable), numbers)


def read(path: Path) -> Recorded:
    """The last run of a record, given by its file or the state folder that it is in."""
    file = path / NAME if path.is_dir() else path
    entries = _entries(file)
    starts = [(i, entry) for i, entry in enumerate(entries) if isinstance(entry, Began)]
    if not starts:
        got = "none that began" if entries else "an empty file"
        raise InputError("a record holds a run", got, "Run the pipeline first.", str(file))
    start, began = starts[-1]
    lives = _lives(entries[start:], str(file))
    if not any(life.ran for life in lives):
        rule, remedy = "a recorded run has at least one run of a unit", "Let the engine run until it has results."
        raise InputError(rule, "none since the engine last began", remedy, str(file))
    run = entries[start:]
    rest = _only(Managed, run), _only(Iterated, run), _only(Refused, run)
    return Recorded(file, began, _only(Arrived, entries), lives, *rest)


def _lives(entries: list[Entry], place: str) -> tuple[Life, ...]:
    """The entries of one run by the life of a unit that they belong to."""
    found: list[list[Entry]] = []
    latest: dict[str, list[Entry]] = {}
    gone: set[str] = set()
    for entry in entries:
        if isinstance(entry, Began | Arrived | Managed | Iterated | Refused):
            continue
        if isinstance(entry, Planned) and (entry.unit not in latest or entry.unit in gone):
            found.append([])
            latest[entry.unit] = found[-1]
            gone.discard(entry.unit)
        if entry.unit in latest:
            latest[entry.unit].append(entry)
        elif isinstance(entry, Ran):
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


def _entries(file: Path) -> list[Entry]:
    try:
        with file.open("rb") as lines:
            return [_parsed(line, f"{file}:{i}") for i, line in enumerate(lines, 1) if line.endswith(b"\n")]
    except OSError as error:
        got = f"'{file}' ({error.strerror})"
        raise InputError(f"a run's state folder has its {NAME}", got, "Give the folder of a run.") from None


def _parsed(line: bytes, place: str) -> Entry:
    try:
        ((kind, values),) = json.loads(line).items()
        return _KINDS[kind].validate_python(values)
    except (ValueError, AttributeError, KeyError, ValidationError):
        got = f"'{line[:60].decode(errors='replace')}'"
        raise InputError("a line of a record is an entry", got, f"Give a {NAME}.", place) from None
