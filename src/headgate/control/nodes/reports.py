"""What a node tells the coordinator, once in a redistribution cycle.

Loads and capacities are in seconds of work per second.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ClassReport:
    """A class on a node since the last report: the headroom H_k that it has, the load that came, dropped or not, and
    the part of its tuples that was dropped.

    `original` is the priority that the class has everywhere, `priority` the one that is in force on the node.
    """

    headroom: float
    load: float
    drop: float
    original: float
    priority: float

    @property
    def usage(self) -> float:
        """u_k, the load relative to the headroom."""
        return self.load / self.headroom if self.headroom > 0 else 0.0


@dataclass(frozen=True, slots=True)
class QueryReport:
    """A query that a node runs: its class, its mean load as if nothing were dropped, and what moving it would take.

    A `stateless` query has no window to fill again. Queries with the same word in `shares` can share work, such as
    those that read the same stream. One that is not `movable` stays: it is bound to its node, or on its way.
    """

    cls: str
    load: float
    stateless: bool = False
    shares: frozenset[str] = frozenset()
    movable: bool = True


@dataclass(frozen=True, slots=True)
class NodeReport:
    """A node at a time: what it can do, its classes by name, and the queries that it runs.

    The time is that of the coordinator's clock when the report came. A node that sleeps is not `awake`, and runs
    nothing. One that is not heard of is not there.
    """

    node: str
    time: float
    capacity: float
    classes: Mapping[str, ClassReport] = field(default_factory=dict)
    queries: Mapping[str, QueryReport] = field(default_factory=dict)
    awake: bool = True
