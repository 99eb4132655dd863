"""How much of its line a box takes in one call."""

import math
from dataclasses import dataclass

from headgate.errors import InputError


@dataclass(frozen=True, slots=True)
class Trains:
    """A train is this share of what waits, rounded up, and at most so many tuples."""

    share: float = 1.0
    most: float = math.inf

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError("trains: a share above 0 and up to 1", self.share, "Give 0.2 for a fifth of the line.")
        if not self.most >= 1:
            raise InputError("trains: at least one tuple", self.most, "Give a bound of 1 or more.")

    def length(self, waiting: int) -> int:
        """Tuples of the next train, of so many that wait."""
        return int(min(waiting, self.most, max(1, math.ceil(self.share * waiting))))


WHOLE = Trains()
ONE = Trains(most=1)
"""Tuple at a time."""
