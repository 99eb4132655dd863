"""Window queries as the simulator knows them, and the mix of ten that the experiments run."""

import math
from dataclasses import dataclass, replace

from headgate.model.costs import Tree, aggregate, join, project, select
from headgate.model.deadlines import Deadline
from headgate.sim.trains.timeline import Timeline

AVERAGES = 0.05
"""What counts as the selectivity of an average: one result of a window says nothing of what its tuples are worth."""


@dataclass(frozen=True)
class Query:
    """A query with windows, a stride and a deadline, from the release of its first window until it is removed.

    `nominal` are results per tuple where those of the tree are not to be used. `drift` is by what the real cost of
    windows differs from that of the tree, which is all that the controller knows.
    """

    name: str
    tree: Tree
    deadline: Deadline
    first: float = 0.0
    removed: float = math.inf
    nominal: float | None = None
    drift: Timeline | None = None

    @property
    def admitted(self) -> float:
        """When its first window begins."""
        return self.first - self.deadline.window

    def release(self, index: int) -> float:
        """When the window of an iteration, counted from 1, is complete."""
        return self.first + (index - 1) * self.deadline.stride


_SHAPES = (
    (select("A", 0.5), 1.0, 5.0),
    (select("B", 0.3), 2.0, 6.0),
    (project(select("A", 0.6)), 2.0, 3.0),
    (project(select("B", 0.4)), 3.0, 2.0),
    (join("A", "B", 0.5), 4.0, 1.0),
    (join("B", "C", 0.3), 5.0, 7.0),
    (join(join("A", "B", 0.5), "C", 0.4), 5.0, 8.0),
    (project(join("A", "C", 0.4)), 6.0, 9.0),
    (join(project("B"), project("C"), 0.5), 6.0, 10.0),
    (aggregate("C"), 6.0, 4.0),
)
"""The mix: operators, period and weight."""


def mix(n: int = 10) -> tuple[Query, ...]:
    """The first n queries Q1, Q2, … of the mix, which begins anew after the tenth; all windows tumble."""
    found = []
    for k in range(n):
        root, period, weight = _SHAPES[k % len(_SHAPES)]
        nominal = AVERAGES if root.kind == "aggregate" else None
        found.append(Query(f"Q{k + 1}", Tree(root), Deadline(period, period, period, weight), nominal=nominal))
    return tuple(found)


def visiting(n: int, after: int, admitted: float, removed: float) -> tuple[Query, ...]:
    """The n queries of the mix behind the first `after`, of which each is there for a while."""
    return tuple(
        replace(each, first=admitted + each.deadline.window, removed=removed) for each in mix(after + n)[after:]
    )
