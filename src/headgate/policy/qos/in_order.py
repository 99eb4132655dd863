"""SlopeSlack without a look at all that waits: units are kept in the order in which they come.

While a queue does not change, its expected output latency grows with the clock, and that of every other as fast. So
units with the same slope stay in the order in which they come to their next critical points. Only who has come there,
or whose queue has changed, is put into another place.

A train that has only grown is looked at when it is among the first: it is expected later by its new tuples, and
sooner by the work with them. As long as that is little against its deadline, it cannot be far ahead of its place.
Where nothing can be lost any more the least work comes first, and that of a train that grows only becomes more.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, View, Work
from headgate.policy.qos.changes import Changes
from headgate.policy.qos.slope_slack import FORMULA, Expectant

AHEAD = 0.01
"""The part of its deadline by which a unit may be ahead of its place."""

Row = tuple[float, int, int]
"""When a unit comes to its next critical point, its place among equals, and its number; of a unit that has nothing
left to lose, how much work waits."""

_LOST = -1.0
"""In place of the slope of such a unit: it comes behind all others."""


class Seen(NamedTuple):
    """A queue when its unit was put into its place.

    That is good for up to `most` tuples. What was lost is so while the `n` that came at `arrived`, on average, and
    others at once would have waited for more than `spare`.
    """

    position: int
    origin: float
    most: float
    n: int
    arrived: float
    spare: float


@dataclass
class InOrder(Expectant):
    """The units with the highest priority (slope, −slack), out of an order that is kept."""

    _changes: Changes = field(init=False, repr=False, compare=False)
    _rows: dict[float, list[Row]] = field(default_factory=dict, init=False)
    """By slope, none of them empty."""
    _grown: set[int] = field(default_factory=set, init=False)
    """Units whose trains have grown since they were put into their places."""
    _segments: list[tuple[tuple[float, ...], tuple[float, ...], list[bool]]] = field(default_factory=list, init=False)
    """By graph, where each of its segments ends, its slope, and whether it is steeper than all before it."""
    _place: list[tuple[float, Row] | None] = field(default_factory=list, init=False)
    _seen: list[Seen | None] = field(default_factory=list, init=False)
    """By unit, how its queue was when it was put into its place; None if nothing waited."""

    def prepare(self, units: Sequence[Unit]) -> None:
        """Take the units; all that wait are put into their places when they are seen next."""
        super().prepare(units)
        self._changes = Changes(units, carries=self._prospects.carries)
        self._rows, self._grown = {}, set()
        self._segments = [(graph.critical, graph.slopes, _steeper(graph.slopes)) for graph in self._prospects.graphs]
        self._place, self._seen = [None] * len(units), [None] * len(units)

    def choose(self, view: View) -> Decision | None:
        """Put units into their places, and take the first."""
        placed = self._follow(view)
        first = self._first()
        if grown := [i for i in first if i in self._grown]:
            while grown:
                placed += self._put(view, grown)
                grown = self._in_front()
            first = self._first()
        if not first:
            return None
        chosen = self._saved(view, first)[: self.size]
        return self._decision(view, chosen, FORMULA, Work(placed, len(first), len(self._rows)))

    def _since(self, view: View, unit: int) -> float:
        seen = self._seen[unit]
        return seen.origin if seen else view.now

    def _slack(self, view: View, units: Sequence[int]) -> list[float]:
        now, place = view.now, self._place
        return [found[1][0] - now if (found := place[i]) and found[0] != _LOST else inf for i in units]

    def _first(self) -> list[int]:
        """As many as a decision needs, in their order."""
        found: list[int] = []
        for slope in sorted(self._rows, reverse=True):
            found += [i for _, _, i in self._rows[slope][: self._looked_at - len(found)]]
            if len(found) == self._looked_at:
                return found
        return found

    def _in_front(self) -> list[int]:
        """All that have grown and are in front of as many as a decision needs that have not."""
        found, settled = [], 0
        for slope in sorted(self._rows, reverse=True):
            for _, _, i in self._rows[slope]:
                if i in self._grown:
                    found.append(i)
                elif (settled := settled + 1) == self._looked_at:
                    return found
        return found

    def _follow(self, view: View) -> int:
        """Look at the units whose queues have changed, or that have come to a critical point; how many were put."""
        now, queues, seen, grown = view.now, view.queues, self._seen, self._grown
        due = [rows[: bisect_left(rows, (now,))] for slope, rows in self._rows.items() if slope != _LOST]
        moving = {i for rows in due for _, _, i in rows}
        for i in self._changes.trust(view):
            before, queue = seen[i], queues[i]
            n = queue.pending
            if not n:
                self._leave(i)
                seen[i] = None
                moving.discard(i)
            elif before is None or queue.position != before.position:
                moving.add(i)
            elif n <= before.most or before.n * (now - before.arrived) > before.spare * n:
                grown.add(i)
            else:
                moving.add(i)
        return self._put(view, moving)

    def _put(self, view: View, units: Collection[int]) -> int:
        """Put units where they belong now; how many they are."""
        prospects, alone, chosen, now = self._prospects, self._changes.alone, [*units], view.now
        for i, (n, origin) in zip(chosen, prospects.trains(view, chosen), strict=True):
            self._leave(i)
            critical, slopes, steeper = self._segments[prospects.kind[i]]
            k = bisect_left(critical, now - origin)
            most, spare, arrived = 0.0, inf, origin
            if k == len(critical):
                slope, comes = _LOST, self._left(view, i) if self.recover else 0.0
                if alone:
                    spare, arrived = prospects.spare(i), origin + prospects.ect(view, i)
            else:
                slope, comes = slopes[k], origin + critical[k]
                if alone and steeper[k]:
                    most = prospects.most(i, n, AHEAD * critical[0])
            row = comes, self._rank[i], i
            insort(self._rows.setdefault(slope, []), row)
            self._place[i] = slope, row
            self._seen[i] = Seen(view.queues[i].position, origin, most, n, arrived, spare)
        return len(chosen)

    def _leave(self, i: int) -> None:
        self._grown.discard(i)
        if (place := self._place[i]) is not None:
            slope, row = place
            rows = self._rows[slope]
            del rows[bisect_left(rows, row)]
            if not rows:
                del self._rows[slope]
            self._place[i] = None


def _steeper(slopes: Sequence[float]) -> list[bool]:
    return [slope > max(slopes[:k], default=-inf) for k, slope in enumerate(slopes)]
