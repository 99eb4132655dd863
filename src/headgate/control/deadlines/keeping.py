"""From what an iteration may cost to what it reads: the kept fraction, what is held between plans, which tuples.

A plan is made for the load that was seen. Until the next one the load may be another, and what stays the same then
decides who is late:

    frac     the kept fraction: a higher rate costs more time, and deadlines are missed until there is a new plan
    count    the number of tuples dropped: a higher rate costs even more
    budget   the time of a query that is shed; others may still grow
    clamp    the time of every query: nobody exceeds what the test has seen, and slack is left unused
    clampx   as clamp, with all times stretched until the test just passes: the slack is used
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headgate.control.deadlines.exact import TOLERANCE
from headgate.shed.droppers import evenly

Hold = Literal["frac", "count", "budget", "clamp", "clampx"]
Kept = NDArray[np.bool_]
Solve = Callable[[float], float]
"""The fraction of a window that can be read in such a time."""


def fraction(budget: float, cost: float, fixed: float) -> float:
    """The kept fraction for a budget where each tuple costs the same: k = (E' − c0)/(E − c0), from 0 to 1.

    A fixed part c0 is paid in any case; a budget below it leaves an iteration that reads nothing.
    """
    if budget >= cost:
        return 1.0
    return max(0.0, (budget - fixed) / (cost - fixed)) if cost > fixed else 0.0


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a query may read in each iteration until the next plan.

    At the load of the plan that is the `fraction`; `dropped` tuples go then and `budget` seconds are needed, already
    stretched where that is what is held. `shed` says whether the query was reduced at all.
    """

    hold: Hold
    fraction: float
    dropped: float
    budget: float
    shed: bool

    def keep(self, w: float, cost: float, solve: Solve) -> float:
        """The fraction of a window of w tuples that is read, if all of it costs `cost`."""
        if self.hold == "frac":
            return self.fraction
        if self.hold == "count":
            return max(0.0, 1 - self.dropped / w) if w > 0 else 1.0
        bound = self.shed or self.hold != "budget"
        return solve(self.budget) if bound and cost > self.budget else 1.0


def kept_count(k: float, w: int) -> int:
    """The tuples of w that a fraction leaves, rounded down so that the budget is not exceeded."""
    return min(w, math.floor(k * w * (1 + TOLERANCE)))


def systematic(w: int, kept: int) -> Kept:
    """Which tuples of a window stay: exactly so many, evenly over the window."""
    return evenly(np.arange(w), max(w, 1), kept)


def sample(w: int, k: float, rng: np.random.Generator) -> Kept:
    """Which tuples of a window stay if each does so by chance; the budget then holds on average only."""
    return rng.random(w) < k
