"""Which query is where, which are on their way, and since when: what keeps a query from being moved to and fro."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from headgate.control.nodes.options import Options
from headgate.control.nodes.reports import NodeReport


class Move(NamedTuple):
    """A move that was ordered in a round, and is not done yet."""

    origin: str
    target: str
    round: int


@dataclass
class Placement:
    """The places of all queries, as reports show them and as they will be after the moves that are ordered."""

    moves: dict[str, Move] = field(default_factory=dict)
    _places: dict[str, str] = field(default_factory=dict)
    _twice: set[str] = field(default_factory=set)
    _moved: dict[str, int] = field(default_factory=dict)

    def take(self, reports: Iterable[NodeReport], number: int, options: Options) -> None:
        """Take what is reported in a round. A move is done when the target alone has the query.

        One that nobody has for a moment is on its way, or has been removed.
        """
        where: dict[str, list[str]] = {}
        there: set[str] = set()
        for report in reports:
            there.add(report.node)
            for query in report.queries:
                where.setdefault(query, []).append(report.node)
        for query, move in list(self.moves.items()):
            if where.get(query) == [move.target] or number - move.round >= options.patience:
                del self.moves[query]
        self._twice = {query for query, nodes in where.items() if len(nodes) > 1}
        places = {query: self._place(query, nodes) for query, nodes in where.items()}
        for query, place in places.items():
            # Whoever has moved a query: it is to stay for a while. One whose node is gone was put where few were.
            if (before := self._places.get(query, place)) != place and before in there:
                self._moved[query] = number
        self._places = places
        self._moved = {query: when for query, when in self._moved.items() if number - when < options.rest}

    def _place(self, query: str, nodes: list[str]) -> str:
        if query in self.moves and self.moves[query].target in nodes:
            return self.moves[query].target
        known = self._places.get(query)
        # One that several run is on its way to the one that it was not at before.
        new = [node for node in nodes if node != known]
        return new[0] if new and len(nodes) > 1 else nodes[0]

    def order(self, query: str, origin: str, target: str, number: int) -> None:
        """A move is ordered."""
        self.moves[query] = Move(origin, target, number)
        self._moved[query] = number

    def of(self) -> Mapping[str, str]:
        """Where each query will be when all moves are done."""
        return self._places | {query: move.target for query, move in self.moves.items()}

    def unsettled(self, query: str, number: int, rest: int) -> bool:
        """Whether a query is not to be moved in a round: it is on its way, or moved less than so many rounds ago."""
        on_its_way = query in self.moves or query in self._twice
        return on_its_way or (query in self._moved and number - self._moved[query] < rest)

    def touched(self, node: str) -> bool:
        """Whether anything is at a node, or on its way from or to it."""
        return node in self._places.values() or any(node in (m.origin, m.target) for m in self.moves.values())
