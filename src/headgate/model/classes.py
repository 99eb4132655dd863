"""Classes of queries: who matters how much, and how long results may take."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headgate.errors import InputError

DEFAULT = "default"
"""The class of queries that name none."""


@dataclass(frozen=True, slots=True)
class QueryClass:
    """Queries with one priority, the greater the more important, and one delay target in seconds.

    Without a delay target nothing is ever shed for the class.
    """

    name: str
    priority: float = 1.0
    delay_target: float = math.inf

    def __post_init__(self) -> None:
        if not (math.isfinite(self.priority) and self.priority > 0):
            rule = f"class '{self.name}': a priority is a number above 0"
            raise InputError(rule, self.priority, "Give the most important class the greatest, such as 6, 3 and 1.")
        if not self.delay_target > 0:
            rule = f"class '{self.name}': a delay target is longer than 0 s"
            raise InputError(rule, self.delay_target, "Give the longest response time that is still good.")


def ranked(classes: Sequence[QueryClass]) -> list[QueryClass]:
    """The classes, the most important first; of equal ones in the order in which they are given."""
    return sorted(classes, key=lambda each: -each.priority)


def shares(classes: Sequence[QueryClass]) -> Mapping[str, float]:
    """The share of the capacity that each class has by its priority alone, `P_k / ΣP`."""
    total = sum(each.priority for each in classes)
    return {each.name: each.priority / total for each in classes}
