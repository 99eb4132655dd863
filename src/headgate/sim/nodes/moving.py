"""Queries on their way, as UniMiCo moves them: the target prepares, then both nodes process an overlap."""

from dataclasses import dataclass, field

from headgate.errors import InputError
from headgate.sim.metrics import Ints


@dataclass(frozen=True, slots=True)
class Way:
    """A move: the target runs the query from `ready` on, and the origin until `done`."""

    origin: int
    target: int
    ready: float
    done: float


@dataclass
class Homes:
    """The node of each query, by number; one that moves is at its origin until the move is done."""

    place: Ints
    ways: dict[int, Way] = field(default_factory=dict)
    moved: int = 0

    def move(self, query: int, way: Way) -> None:
        """Begin a move."""
        if query in self.ways or self.place[query] != way.origin:
            where = f"on its way or on node {self.place[query]}"
            raise InputError("a query moves from where it is, one move at a time", where, "Wait until it is done.")
        self.ways[query] = way
        self.moved += 1

    def advance(self, now: float) -> bool:
        """End what is done; whether anything has begun or ended to run somewhere since it was last asked."""
        done = [query for query, way in self.ways.items() if way.done <= now]
        for query in done:
            self.place[query] = self.ways.pop(query).target
        return bool(done) or bool(self.ways)

    def twice(self, now: float) -> list[tuple[int, int]]:
        """Queries that a target runs beside the origin, with that target."""
        return [(query, way.target) for query, way in self.ways.items() if way.ready <= now]

    def uses(self, node: int) -> bool:
        """Whether a query is at a node, or on its way there."""
        return bool((self.place == node).any()) or any(way.target == node for way in self.ways.values())
