"""Queries on their way, as UniMiCo moves them: the target prepares, then both nodes process an overlap.

Where the node of a query is gone, there is nobody to hand it over: another one begins it.
"""

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
    """The node of each query, by number; one that moves is at its origin until the move is done.

    `heirs` are the nodes that begin queries of others that are gone, and from when on each runs.
    """

    place: Ints
    ways: dict[int, Way] = field(default_factory=dict)
    heirs: dict[int, tuple[int, float]] = field(default_factory=dict)
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
        begun = [query for query, (_, begins) in self.heirs.items() if begins <= now]
        for query in begun:
            self.place[query] = self.heirs.pop(query)[0]
        return bool(done) or bool(begun) or bool(self.ways)

    def lose(self, node: int, now: float) -> None:
        """A node is dead: what it has handed over is elsewhere, what it was to get stays where it is.

        What has been handed over to it is its own.
        """
        for query, way in list(self.ways.items()):
            if way.origin == node and way.ready <= now:
                self.place[query] = way.target
                del self.ways[query]
            elif way.origin == node or (way.target == node and way.ready > now):
                del self.ways[query]
        for query in [query for query, (heir, _) in self.heirs.items() if heir == node]:
            del self.heirs[query]

    def inherit(self, query: int, node: int, begins: float) -> None:
        """Another node takes over a query, and runs it from some time on."""
        self.heirs[query] = (node, begins)

    def twice(self, now: float) -> list[tuple[int, int]]:
        """Queries that a target runs beside the origin, with that target."""
        return [(query, way.target) for query, way in self.ways.items() if way.ready <= now]

    def uses(self, node: int) -> bool:
        """Whether a query is at a node, or on its way there."""
        coming = {way.target for way in self.ways.values()} | {heir for heir, _ in self.heirs.values()}
        return bool((self.place == node).any()) or node in coming
