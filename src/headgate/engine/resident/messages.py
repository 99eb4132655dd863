"""What is said over a channel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headgate.engine.kernel.program import Change, Joined


@dataclass(frozen=True, slots=True)
class Run:
    """Run a program, with the changes that the worker does not know yet, on what a JobInput names. Forget others."""

    number: int
    program: str
    source: str
    tables: Mapping[str, str]
    changes: Sequence[Change]
    given: dict[str, Any]
    forget: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class End:
    """There is nothing more to do."""


@dataclass(frozen=True, slots=True)
class Beat:
    """The worker is alive."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A run is done: the lengths of its packed tables, which follow or are in a file of the lane, and who failed.

    `joined` is what was looked up in reference tables.
    """

    number: int
    sizes: Sequence[int]
    errors: Mapping[int, str]
    file: str | None = None
    joined: Joined = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failed:
    """A run could not be done. The worker has forgotten the program."""

    number: int
    error: str
