"""Cores in teams: those of a team share a policy and the units it schedules."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from headgate.errors import InputError
from headgate.model.network import Network
from headgate.model.unit import Unit
from headgate.policy.classes.scheduler import ByClass
from headgate.policy.protocol import Policy, Run
from headgate.sim.trains.tasks import Crew

Plan = Callable[[Network], Sequence[Unit]]


@runtime_checkable
class Programmed(Protocol):
    """A scheduler that follows a program and builds it anew now and then."""

    updates: int
    program: Sequence[int]


@dataclass(frozen=True)
class Team:
    """Cores under one policy. `plan` makes its units of a network, and again of one with measured selectivities."""

    policy: Policy
    plan: Plan
    cores: int = 1

    def __post_init__(self) -> None:
        if self.cores < 1:
            raise InputError("a team has one core or more", self.cores, "Leave the team out instead.")


def for_sources(cores: int, reading: float, working: float) -> int:
    """How many of some cores read streams, by the load of that and of the rest; each has one at least."""
    if cores < 2:
        raise InputError("sources have cores of their own where there are two or more", cores, "Give one team only.")
    share = reading / (reading + working) if reading + working else 0.0
    return min(max(round(cores * share), 1), cores - 1)


@dataclass
class Core:
    """A core: what it has still to run, how long it has worked on tuples, and how many it is at, of which class."""

    number: int
    runs: Iterator[Run] = field(default_factory=lambda: iter(()))
    idle: bool = True
    busy: float = 0.0
    flying: int = 0
    cls: str = ""


class Group:
    """A team at work: its units, their crews and its cores; `fed` are the lines that streams come to."""

    def __init__(self, team: Team, units: Sequence[Unit], crews: Sequence[Crew]) -> None:
        self.policy, self.plan, self.units, self.crews = team.policy, team.plan, units, crews
        self.lines = [crew.line for crew in crews]
        self.cores = [Core(number) for number in range(team.cores)]
        self.running: set[int] = set()
        self.classes = team.policy if isinstance(team.policy, ByClass) else None
        self.programmed = team.policy if isinstance(team.policy, Programmed) else None
        self.updates = 0
        self.fed = [line for line in self.lines if any(port.feed.known for port in line.ports)]
        self.no_results = [(0,) * len(unit.segments) for unit in units]
        # A query that the unit reaches in several places has its results counted at the first.
        self.segment_of = [{s.query: i for i, s in reversed(list(enumerate(unit.segments)))} for unit in units]
        team.policy.prepare(units)
