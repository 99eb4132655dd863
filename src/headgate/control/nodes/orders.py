"""What the coordinator orders, and why."""

from dataclasses import dataclass

from headgate.policy.protocol import Why


@dataclass(frozen=True, slots=True)
class Migrate:
    """Move a query from one node to another."""

    query: str
    origin: str
    target: str
    why: Why


@dataclass(frozen=True, slots=True)
class Prioritise:
    """Give a class this priority on a node; elsewhere it stays as it is."""

    node: str
    cls: str
    priority: float
    why: Why


@dataclass(frozen=True, slots=True)
class Sleep:
    """Let a node sleep, which runs nothing any more."""

    node: str
    why: Why


@dataclass(frozen=True, slots=True)
class Wake:
    """Have a node that sleeps take part again."""

    node: str
    why: Why


Order = Migrate | Prioritise | Sleep | Wake
