"""What operators do to a tuple in the event kernel: filter, multiply, count, match."""

import math
from collections.abc import Callable, Iterator

from headgate.model.network import Network, Port
from headgate.model.operator import Kind, Operator
from headgate.sim.draws import Word, draw, pair
from headgate.sim.items import Item
from headgate.sim.joins import Side


class Operators:
    """The operators of a network with what they remember: an aggregate its count, a window join its tuples.

    `chance` gives a number in [0, 1) for a tuple at an operator, `oldest_at` the earliest arrival waiting at a port.
    """

    def __init__(
        self, network: Network, chance: Callable[[int, int], float], oldest_at: Callable[[Port], float]
    ) -> None:
        self._network = network
        self._chance = chance
        self._oldest_at = oldest_at
        self._sides: dict[Port, Side[Item]] = {}
        self._seen: dict[str, int] = {}

    def process(self, op: Operator, port: int, item: Item) -> list[Item]:
        """What one tuple that enters an operator gives."""
        done = item.worked(op.cost.of(1))
        if op.kind is Kind.WINDOW_JOIN:
            return list(self._join(op, port, done))
        copies = self._copies(op, item)
        if copies == 1:
            return [done]
        return [done._replace(identity=pair(item.identity, Word(k))) for k in range(copies)]

    def evict(self, op: Operator, now: float) -> None:
        """Forget what nothing can match that waits or is still to come; a run's own tuples have all been here."""
        for port in range(2):
            if side := self._sides.get((op.name, port)):
                ahead = min(self._oldest_ahead((op.name, 1 - port)), now)
                side.evict(ahead - (op.window or 0.0))

    def _copies(self, op: Operator, item: Item) -> int:
        """How many results one tuple gives at an operator."""
        if op.kind is Kind.AGGREGATE:
            seen = self._seen.get(op.name, 0) + 1
            self._seen[op.name] = seen
            return math.floor(seen * op.selectivity) - math.floor((seen - 1) * op.selectivity)
        whole = math.floor(op.selectivity)
        part = op.selectivity - whole
        return whole + (part > 0 and self._draw(item.identity, op) < part)

    def _draw(self, identity: Word, op: Operator) -> float:
        return self._chance(int(identity), self._network.ids[op.name])

    def _join(self, op: Operator, port: int, item: Item) -> Iterator[Item]:
        """Insert a tuple into its side of a symmetric hash join and probe the other."""
        mine, other = (self._sides.setdefault((op.name, p), Side()) for p in (port, 1 - port))
        mine.insert(item.arrival, item)
        for partner in other.within(item.arrival, op.window or 0.0):
            left, right = (item, partner) if port == 0 else (partner, item)
            identity = pair(left.identity, right.identity)
            if self._draw(identity, op) < op.selectivity:
                steps = tuple(sorted(left.steps + right.steps))
                last = max(left, right, key=lambda i: i.position)
                yield last._replace(identity=identity, steps=steps)

    def _oldest_ahead(self, port: Port) -> float:
        """Arrival of the oldest tuple that may still come to an input of an operator."""
        oldest = self._oldest_at(port)
        op = self._network.by_name[port[0]]
        if op.kind is Kind.SOURCE:
            return oldest
        below = op.inputs[port[1]]
        ports = range(max(1, len(self._network.by_name[below].inputs)))
        return min([oldest, *(self._oldest_ahead((below, p)) for p in ports)])


def hashed(seed: int) -> Callable[[int, int], float]:
    """The chance that every kernel uses: a hash of the seed, the tuple and the operator."""
    word = Word(seed)
    return lambda identity, operator: draw(word, Word(identity), Word(operator))
