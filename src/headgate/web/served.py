"""What is served: an engine by values. The pages know nothing else of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from headgate.engine.status import Snapshot
from headgate.record import Entry


@dataclass(frozen=True, slots=True)
class Wiring:
    """Between what a query stands: the streams and tables that it reads, and the sink that its results go to.

    The `kernel` runs it, or a Spark plan of its own.
    """

    streams: Sequence[str]
    tables: Sequence[str]
    sink: str
    kernel: bool


@dataclass(frozen=True, slots=True)
class Results:
    """The latest results of a query that keeps them in memory, the newest first."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Description:
    """A query at length: its text, how it is evaluated and by whom, and why not by the kernel if it is not.

    `steps` is what is run for it: the shape that the kernel computes, with `?` for constants, or the SQL for Spark.
    """

    sql: str
    window: str | None
    evaluation: str
    runner: str
    why_not: str | None
    steps: Sequence[str]
    wiring: Wiring
    results: Results | None


class Served(Protocol):
    """An engine, or what looks like one."""

    @property
    def state(self) -> Path:
        """The folder that has its record."""

    @property
    def running(self) -> bool:
        """Whether it has started and is not stopping."""

    def recent(self) -> Snapshot:
        """How everything fared a moment ago. Costs nothing to ask; the same object until there is a newer one."""

    def wirings(self, names: Iterable[str]) -> Mapping[str, Wiring]:
        """Between what each of these queries stands, of those that are there."""

    def described(self, name: str) -> Description:
        """A query at length; raises an InputError if there is none of that name."""

    def listen(self, hear: Callable[[Entry], None]) -> Callable[[], None]:
        """Have somebody hear every entry of the record from now on; gives what ends that."""

    def pause(self, name: str) -> None:
        """Stop running a query or reading a stream for now."""

    def resume(self, name: str) -> None:
        """Go on with what was paused or has failed."""

    def prioritise(self, cls: str, priority: float) -> None:
        """Give a class another priority."""
