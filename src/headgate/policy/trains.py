"""How many tuples one run takes: as many as wait, within a bound in tuples and one in time."""

import math
from dataclasses import dataclass

from headgate.errors import InputError
from headgate.model.unit import Unit


@dataclass(frozen=True, slots=True)
class Train:
    """A train takes what waits, at most `most` tuples and about `slice` seconds of work, at least one tuple.

    Preemption exists only between runs, so the slice bounds how long anything else is blocked.
    """

    most: float = 1
    slice: float = math.inf

    def __post_init__(self) -> None:
        if not self.most >= 1:
            raise InputError("a train has at least one tuple", self.most, "Give a bound of 1 or more.")
        if not self.slice > 0:
            raise InputError("a train's slice is longer than 0 s", self.slice, "Give seconds, such as 0.05.")

    @classmethod
    def of(cls, most: float | None = None, slice: float | None = None) -> "Train":  # noqa: A002 - the field's name
        """A train with the bounds that are given: one tuple without any, and with a slice alone only the time."""
        bound = most if most is not None else (1 if slice is None else math.inf)
        return cls(bound, math.inf if slice is None else slice)

    def length(self, unit: Unit, pending: int) -> int:
        """Tuples of the unit's next train."""
        return max(1, int(min(pending, self.longest(unit))))

    def longest(self, unit: Unit) -> float:
        """Tuples that fit into the bounds, a whole number or infinite."""
        n = self.most
        if self.slice < math.inf and unit.cost.b > 0:
            n = min(n, (self.slice - unit.cost.a) / unit.cost.b)
        return math.floor(n) if n < math.inf else n


ONE = Train()
