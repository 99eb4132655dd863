"""What users care about: how often each accesses what, and the master profile of all of them."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from headgate.errors import InputError

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Profile(Generic[Name]):
    """How often a user accesses each object, and how much the user counts."""

    frequencies: Mapping[Name, float]
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not self.weight >= 0:
            raise InputError("a user's weight is a number of 0 or more", self.weight, "Give the others more.")
        for name, often in self.frequencies.items():
            if not often >= 0:
                rule = f"an access frequency, here of '{name}', is a number of 0 or more"
                raise InputError(rule, often, "Leave out what is not accessed.")


def master(users: Iterable[Profile[Name]], *, equally: bool = False) -> dict[Name, float]:
    """The access probabilities p over all users, which add up to 1.

    A user with many accesses counts for more, unless users of the same weight are to count `equally`.
    """
    total: dict[Name, float] = {}
    for user in users:
        accesses = sum(user.frequencies.values()) if equally else 1.0
        for name, often in user.frequencies.items():
            total[name] = total.get(name, 0.0) + user.weight * often / (accesses or 1.0)
    every = sum(total.values())
    if not every > 0:
        raise InputError("somebody accesses something", "no accesses", "Give a user a frequency and a weight.")
    return {name: often / every for name, often in total.items()}


@dataclass
class Accesses(Generic[Name]):
    """A profile that is learned from accesses and forgets them: half of their weight in every `half_life`."""

    half_life: float
    _counts: dict[Name, float] = field(default_factory=dict, init=False)
    _since: float = field(default=0.0, init=False)

    def observe(self, name: Name, now: float, times: float = 1.0) -> None:
        """Count accesses to an object at a time."""
        # Later accesses weigh more in place of earlier ones less, so that only one count is touched.
        if now - self._since > 32 * self.half_life:
            self._rescale(now)
        self._counts[name] = self._counts.get(name, 0.0) + times * 2 ** ((now - self._since) / self.half_life)

    def _rescale(self, now: float) -> None:
        factor = 2 ** ((self._since - now) / self.half_life)
        self._counts = {name: count * factor for name, count in self._counts.items()}
        self._since = now

    def counts(self, now: float) -> dict[Name, float]:
        """The accesses to each object, those of a half-life ago by half."""
        factor = 2 ** ((self._since - now) / self.half_life)
        return {name: count * factor for name, count in self._counts.items()}

    @property
    def profile(self) -> Profile[Name]:
        """What was accessed, as far as it is remembered."""
        return Profile(dict(self._counts))
