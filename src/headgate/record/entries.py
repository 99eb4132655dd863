"""The entries of a record: that the engine began, a train, a unit's statistics, a run, and what else happens."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from headgate.monitor.figures import Response

NAME = "record"


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
class Opened:
    """A segment of the record begins: so many entries after this one repeat what still holds.

    It `goes_on` with the start of the segment before, which had become too long.
    """

    time: float
    repeats: int
    goes_on: bool


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
    have closed; one that evaluates them `whole` reads nothing before. `graphs` are the points of its QoS graphs: of
    several that are alike, those of one with so many times the utility. So many queries are `valued` so; older
    records do not say.
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
    whole: bool = False
    valued: int | None = None


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


@dataclass(frozen=True, slots=True)
class Reduced:
    """A query was taken in though not all of every window can be read with it."""

    time: float
    query: str
    why: str


Entry: TypeAlias = Opened | Began | Arrived | Planned | Ran | Changed | Managed | Iterated | Refused | Reduced
