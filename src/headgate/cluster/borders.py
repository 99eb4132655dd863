"""What nodes that share no storage have to know of each other: borders of instances, marks of streams.

A node apart makes its own log of each stream that it reads. Since sources give the same tuples in the same order to
all of them, and whoever comes later begins at a mark of somebody else's, tuples have the same numbers everywhere.

The *border* of an instance is the point behind which another one can go on, with the number of results up to there.
Nodes report it once all of these can be seen in the sink. If a node is lost, the last border is where its instances
end: what they have given out behind it does not count, and who takes over gives it out again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headgate.engine.log.mark import Mark

_MOST = 64
"""Marks of a stream. With more, one goes of which the neighbours are close."""

Point = Mapping[str, Any]
"""A boundary, as `headgate.engine.moving.Boundary` has it in JSON."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The border of an instance: where another can go on, results up to there, from where on that one reads."""

    at: Point
    results: int
    needed: Mapping[str, int]

    def later(self, other: "Reached") -> "Reached":
        """The one that is further: a report may come in late, when more is known to count already."""
        behind = other.results > self.results or any(
            at > self.needed.get(stream, at) for stream, at in other.needed.items()
        )
        return other if behind else self


Borders = Mapping[str, tuple[str, Reached]]
"""By query, or the alias of a tail: the label of the instance that it is, and its border."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What of this is in the ledger: no node lets go of what is needed by it, and readers count on it.

    The borders of all instances that are there, by query and number; the positions before which no node needs a
    stream, and a mark at or before it, at which nodes begin to read; and the state folders that nodes have.
    """

    number: int
    reached: Mapping[str, Mapping[int, Reached]] = field(default_factory=dict)
    floors: Mapping[str, int] = field(default_factory=dict)
    begins: Mapping[str, Mark] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)


class Marks:
    """Marks of streams that nodes have reported, from the one on at which nodes begin to read now."""

    def __init__(self) -> None:
        self._known: dict[str, list[Mark]] = {}

    def note(self, stream: str, mark: Mark) -> None:
        """Take note of one; nobody has begun to read before the first one is entered."""
        known = self._known.get(stream)
        if known and mark.position > known[-1].position:
            known.append(mark)
            if len(known) > _MOST:
                del known[_least(known)]

    def begin(self, stream: str, mark: Mark) -> None:
        """Forget those before the one at which nodes begin to read from now on."""
        later = [each for each in self._known.get(stream, []) if each.position > mark.position]
        self._known[stream] = [mark, *later]

    def base(self, stream: str, floor: int) -> Mark | None:
        """The last one that is not behind a position; the first, if all of them are."""
        known = self._known.get(stream, [])
        return next((mark for mark in reversed(known) if mark.position <= floor), known[0] if known else None)

    def newest(self, stream: str) -> int:
        """How far anybody has come."""
        known = self._known.get(stream)
        return known[-1].position if known else 0


def _least(known: Sequence[Mark]) -> int:
    """The mark without which the longest way between two is the shortest."""
    inner = range(1, len(known) - 1)
    return min(inner, key=lambda i: known[i + 1].position - known[i - 1].position)
