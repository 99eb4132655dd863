"""Numbers that change with time by steps: the capacity beside background jobs, the selectivity of an operator."""

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise

from headgate.errors import InputError


@dataclass(frozen=True)
class Timeline:
    """A value from each time on, given as (from_time, value) in the order of time; the first holds before it too."""

    levels: tuple[tuple[float, float], ...]
    _times: list[float] = field(init=False, repr=False, compare=False)
    _values: list[float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.levels:
            raise InputError("a timeline has at least one level", "none", "Give levels such as ((0.0, 1.0),).")
        for (before, _), (after, _) in pairwise(self.levels):
            if not before < after:
                rule = "a timeline goes forward in time"
                raise InputError(rule, f"{after} after {before}", "Sort the levels; give each time once.")
        for _, value in self.levels:
            if not value > 0:
                raise InputError("a timeline's values are above 0", value, "Give a small share instead of none.")
        object.__setattr__(self, "_times", [time for time, _ in self.levels])
        object.__setattr__(self, "_values", [value for _, value in self.levels])

    def at(self, time: float) -> float:
        """The value at a time."""
        return self._values[max(0, bisect_right(self._times, time) - 1)]


def constant(value: float) -> Timeline:
    """A value that stays."""
    return Timeline(((0.0, value),))


def interrupted(start: float, end: float, *, on: float, off: float, share: float) -> Timeline:
    """The capacity beside a job that comes and goes: for `on` seconds a share is left, then for `off` all of it."""
    levels = [(0.0, 1.0)] if start > 0 else []
    time = start
    while time < end:
        levels += [(time, share), (min(end, time + on), 1.0)]
        time += on + off
    return Timeline(tuple(levels))
