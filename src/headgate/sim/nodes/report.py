"""What a run of several nodes has shown."""

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.sim.metrics import Floats


@dataclass(frozen=True)
class ClassFigures:
    """A class on all nodes: tuples offered, dropped, served and still waiting, each query's counted; their mean
    response time in seconds; and the part of the time in which it was within its delay target where its queries were.
    """

    offered: float
    dropped: float
    served: float
    waiting: float
    response: float
    in_target: float

    @property
    def loss(self) -> float:
        """The part of what was offered that was dropped."""
        return self.dropped / self.offered if self.offered else 0.0


@dataclass(frozen=True)
class ClusterReport:
    """A run: figures by class, the part of the capacity of all nodes that was worked, the part of the time that nodes
    were awake, and orders by kind.

    By bins of time: when they begin, the load dropped by class as a part of what came, and the nodes that were awake.
    """

    classes: Mapping[str, ClassFigures]
    worked: float
    awake: float
    orders: Mapping[str, int]
    times: Floats
    lost: Mapping[str, Floats]
    nodes: Floats

    @property
    def moves(self) -> int:
        """How many queries moved."""
        return self.orders.get("Migrate", 0)

    @property
    def loss(self) -> float:
        """What was dropped of the tuples of all classes."""
        offered = sum(each.offered for each in self.classes.values())
        return sum(each.dropped for each in self.classes.values()) / offered if offered else 0.0
