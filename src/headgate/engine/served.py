"""How queries with a deadline are served, as a user says it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.control.deadlines.profiles import Profile, create
from headgate.errors import InputError

_LIVE: Mapping[str, Mapping[str, Any]] = {"lrm+": {"margin": 0.05}, "ledf+": {"margin": 0.05}}
"""Options of profiles here: runs on Spark vary."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How queries with a deadline are served: a profile by name with its options, and their part of a lane's time.

    What is left of that lane is for the other queries; as long as there are none, deadlines have all of it.
    """

    profile: str = "lrm+"
    share: float = 0.9
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            rule = "the share of queries with a deadline is a part of the time"
            raise InputError(rule, self.share, "Give a number above 0 and up to 1, such as 0.9.")
        create(self.profile, **self.options)

    @property
    def made(self) -> Profile:
        """The profile, with the options that it has here where none are given."""
        return create(self.profile, **{**_LIVE.get(self.profile, {}), **self.options})


def served(given: Deadlines | str | None) -> Deadlines:
    """How queries with a deadline are served, by a profile's name or as it is said."""
    if given is None:
        return Deadlines()
    return Deadlines(given) if isinstance(given, str) else given
