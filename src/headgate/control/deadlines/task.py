"""What the analysis sees of a query: a task that is released again and again and has to be done by its deadline.

The order of tasks is their priority. It comes from the period, or from the deadline where that is shorter; the weight
has no part in it and says only who pays how much when not everything can be done.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from headgate.control.deadlines.exact import Number
from headgate.errors import InputError

LEAST_SELECTIVITY = 0.01
"""A query with hardly any results, such as an aggregate, would otherwise pay for all the others."""


@dataclass(frozen=True, slots=True)
class Task:
    """A query as the analysis sees it.

    `cost` (E) is the time of one iteration with nothing shed, `floor` what it takes at the smallest kept fraction.
    `deadline` (d) is relative to the release and at most the `period` (P). `selectivity` (s) is results per source
    tuple. `piece` (q) is the longest stretch that cannot be interrupted: 0 where everything can.
    """

    name: str
    cost: Number
    period: Number
    deadline: Number
    weight: Number = 1
    selectivity: Number = 1
    floor: Number = 0
    piece: Number = 0

    def __post_init__(self) -> None:
        if not self.period > 0:
            raise InputError(f"query '{self.name}': a stride is longer than 0 s", self.period, "Give it a stride.")
        if not 0 < self.deadline <= self.period:
            rule = f"query '{self.name}': a deadline is above 0 s and at most the stride of {self.period} s"
            raise InputError(rule, self.deadline, "Give a shorter deadline, or a longer stride.")
        if not self.weight > 0:
            rule = f"query '{self.name}': a weight is a number above 0"
            raise InputError(rule, self.weight, "Give the most important query the greatest.")

    @property
    def worth(self) -> Number:
        """What a source tuple is worth, s·g."""
        return max(self.selectivity, LEAST_SELECTIVITY) * self.weight

    @property
    def ratio(self) -> Number:
        """How much it pays beside others, r = 1/(s·g)."""
        worth = self.worth
        return 1 / worth if isinstance(worth, float) else Fraction(1) / worth


def by_rate(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Rate-monotonic order: the shortest period first, equal ones as they are given."""
    return tuple(sorted(tasks, key=lambda task: task.period))


def by_deadline(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Deadline-monotonic order: the shortest deadline first, equal ones as they are given."""
    return tuple(sorted(tasks, key=lambda task: task.deadline))
