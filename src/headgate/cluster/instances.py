"""What coordinator and nodes speak of: queries, their instances, what nodes report and what is wanted of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from headgate.cluster.borders import Checkpoint, Point, Reached
from headgate.engine.log.mark import Mark

Status = Literal["START_PREPARING", "START_PENDING", "ACTIVE", "STOP_PREPARING", "INACTIVE"]
"""An instance: is being prepared, waits for its boundary, runs, runs up to its boundary, has reached it."""

How = Literal["unimico", "copy"]

Serial = tuple[int, int]
"""When a coordinator said something: its own number, and how many it has said. Later is higher."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query as far as placing needs to know it. Its results may be a stream, which it `gives`."""

    name: str
    cls: str
    streams: tuple[str, ...]
    stateless: bool = True
    gives: str | None = None

    @property
    def near(self) -> tuple[str, ...]:
        """The streams that the node which has it has at hand."""
        return self.streams if self.gives is None else (*self.streams, self.gives)


@dataclass(frozen=True, slots=True)
class Instance:
    """One placement of a query, as it stands in the ledger.

    It begins behind a boundary (`since`), or with what another instance had committed (`inherits`, its number), or
    as a new query. With `until` it is a tail, and ends there. If it inherits from a node apart, that is the boundary
    of the other, of which so many `results` count.
    """

    query: str
    number: int
    node: str
    since: Point | None = None
    inherits: int | None = None
    until: Point | None = None
    results: int | None = None

    @property
    def label(self) -> str:
        """Under which it keeps apart what it writes."""
        return f"{self.number:06d}"

    @property
    def alias(self) -> str:
        """Under which an engine knows it: a tail may be there beside the instance that comes after it."""
        return self.query if self.until is None else f"{self.query}__tail{self.number}"


@dataclass(frozen=True, slots=True)
class Over:
    """An entry of the ledger: an instance has reached its boundary; apart, with so many results."""

    query: str
    number: int
    results: int | None = None


Entry = Instance | Over | Checkpoint


@dataclass(frozen=True, slots=True)
class Running:
    """An instance on a node, as the node sees it: from when it can read, up to where it goes; apart, its border."""

    number: int
    status: Status
    readable: int | None = None
    boundary: Point | None = None
    reached: Reached | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something could not be done, and how often in a row; of an order, which instance it was about.

    What is only waited for has not failed: 0 times.
    """

    why: str
    times: int = 1
    number: int = 0


@dataclass(frozen=True, slots=True)
class Membership:
    """Of which cluster somebody is, and what stands for the streams, queries and classes of its pipeline."""

    cluster: str = ""
    pipeline: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a node says of itself: its instances by query, tails by their alias, and from where on it needs streams.

    `life` is another one each time that the process starts, and `serial` counts its reports. `load` is for whoever
    balances. A node apart has a state folder that nobody else has (`home`), and `marks` of the streams that it reads.

    Orders that it could not carry out are in `failed`, by query. Queries that run here no more are `down`, streams
    whose source has failed here `dry`. `trouble` is what else is wrong; who is `stuck` does nothing any more. Who is
    `draining` has been told to give its queries away; it says so itself, to coordinators that come later too.
    """

    node: str
    life: str
    running: Mapping[str, Running] = field(default_factory=dict)
    tails: Mapping[str, Running] = field(default_factory=dict)
    needed: Mapping[str, int] = field(default_factory=dict)
    feeding: Sequence[str] = ()
    load: Mapping[str, Any] = field(default_factory=dict)
    failed: Mapping[str, Failure] = field(default_factory=dict)
    down: Mapping[str, str] = field(default_factory=dict)
    dry: Mapping[str, Failure] = field(default_factory=dict)
    trouble: str = ""
    stuck: bool = False
    serial: int = 0
    member: Membership = Membership()
    home: str = ""
    marks: Mapping[str, Mark] = field(default_factory=dict)
    draining: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """What a node should do with a query: prepare it, run it, or leave it to another one.

    That one can read from a time on (`readable`); once a boundary is agreed upon, it goes `until` there. `inherited`
    are the instances whose place it takes, the last one first: one that never ran has left that to the one before it.
    Apart, it is ready to run once it has read so far (`come`) as others had when it was told to prepare.
    """

    do: Literal["prepare", "run", "leave"]
    instance: Instance
    readable: int | None = None
    until: Point | None = None
    inherited: tuple[Instance, ...] = ()
    come: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """All that a node should be doing."""

    queries: Mapping[str, Order] = field(default_factory=dict)
    tails: Mapping[str, Order] = field(default_factory=dict)
    feeds: tuple[str, ...] = ()
    floors: Mapping[str, int] = field(default_factory=dict)
    gone: Mapping[str, int] = field(default_factory=dict)
    """Instances up to this number whose place others have taken for good, by query."""
    priorities: Mapping[str, float] = field(default_factory=dict)
    begins: Mapping[str, Mark] = field(default_factory=dict)
    """Where to begin to read streams, apart."""
    counted: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Of the last instance of a query here that others have taken over: its number, and how many results count."""
    draining: bool = False
    """Whether it gives its queries away, and gets none."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a coordinator tells people: nodes, and where each query is."""

    nodes: Sequence[Mapping[str, Any]]
    queries: Sequence[Mapping[str, Any]]
    moves: Sequence[Mapping[str, Any]]
    """The last ones: when, from where to where, why, and what became of it."""
    apart: bool
    instances: Mapping[str, Sequence[Mapping[str, Any]]]
    """Of each query, apart: where each instance is, from where to where it goes, how many of its results count."""
    gone: Sequence[Mapping[str, Any]]
    """Nodes that were lost, and have not come back."""
    cluster: str
