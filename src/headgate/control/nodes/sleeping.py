"""Nodes that are not needed: who is drained, who sleeps, who is woken.

A node is drained if all that are awake have been used little for a number of rounds, and the others can take in its
queries; the least loaded is chosen. It sleeps when it has no query left. If anything is lost meanwhile, or the others
have no room any more, it stays.

By the weighed rule, nodes are woken before anything is lost: as soon as one that is awake is full, in more reports
than a spike lasts, and has queries to give away; or all of them will be by the time that somebody woken now has some,
as the load has grown for longer than a spike lasts. To wake one for nothing costs its rest, and loss stays lost. Who
is woken gets queries as soon as it is there, until it is as full as those that it gets them from. So does one that is
new and has none, where another is full.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from headgate.control.nodes.entitled import NEAR
from headgate.control.nodes.options import Options
from headgate.control.nodes.orders import Migrate, Order, Sleep, Wake
from headgate.control.nodes.picture import Node, Picture
from headgate.control.nodes.placement import Placement
from headgate.control.nodes.weighed import fits
from headgate.policy.protocol import Why

DRAIN = "usage < idle for long: its queries fit on the others"
SLEEP = "drained, and nothing runs here"
WAKE = "loss for long that no move has helped"
SHORT = "a node is full, in more reports than a spike lasts"
RISING = "load + rise·ahead > 80 % of what is awake"
FILL = "woken or new: used(n) ≥ used(m), behind the move too"
FULL = 0.8
"""The part of its capacity from which on a node is full."""
_FILLED = 0.6
"""The part of a node that the queries of others fill: when the load shifts, there is to be room for it."""


@dataclass
class Sleeping:
    """Counts rounds of little use and of loss. `draining` is the node that is to sleep; orders wait to be heeded.

    `woken` are those that have just woken up, or are new.
    """

    options: Options
    draining: str | None = None
    idle: int = 0
    losing: int = 0
    woken: list[str] = field(default_factory=list)
    _sleeping: dict[str, int] = field(default_factory=dict)
    _waking: dict[str, int] = field(default_factory=dict)

    def mark(self, picture: Picture, number: int) -> None:
        """Begin a round: who is on its way to sleep is no target."""
        self._sleeping = self._waited_for(self._sleeping, picture.nodes, number)
        self.woken = [name for name in self._waking if name in picture.nodes]
        self._waking = self._waited_for(self._waking, picture.asleep, number)
        self.idle = self.idle + 1 if picture.usage < self.options.idle else 0
        if self.draining not in picture.nodes or picture.losing():
            self.draining = None
        for name in (self.draining, *self._sleeping):
            if name in picture.nodes:
                picture.nodes[name].target = False

    def wake(self, picture: Picture, number: int, lacking: float) -> Iterator[Order]:
        """Wake nodes if load has been lost for long: the largest first, until they could do what is lacking.

        The minimal rule wakes one. While nodes are starting no others are woken.
        """
        self.losing = self.losing + 1 if lacking else 0
        if self.losing < self.options.wakes or self._waking:
            return
        terms = {"rounds": float(self.losing), "lost": lacking, "usage": picture.usage}
        for name in sorted(picture.asleep, key=lambda each: (-picture.asleep[each], each)):
            self._waking[name] = number
            yield Wake(name, Why(WAKE, terms))
            self.losing = self.idle = 0
            lacking -= picture.asleep[name]
            if lacking <= 0 or self.options.rule == "minimal":
                break

    @property
    def waited_for(self) -> bool:
        """Whether somebody was woken who is not there yet."""
        return bool(self._waking)

    def arrived(self, picture: Picture, new: Iterable[str]) -> Iterator[Order]:
        """Give queries to those who have woken up since, and to those who are new."""
        up = [name for name in self._waking if name in picture.nodes]
        for name in up:
            del self._waking[name]
        self.woken = [*up, *sorted(name for name in new if name in picture.nodes and name not in up)]
        yield from self.fill(picture)

    def hurry(self, picture: Picture, number: int, rise: float, *, full: bool) -> Iterator[Order]:
        """Wake nodes as long as there is still room: one for a node that is full, or so many that all are less so,
        with the load that there will be when they have queries.
        """
        ahead = rise * self.options.ahead
        load = sum(node.load for node in picture.nodes.values()) + ahead
        capacity = sum(node.full for node in picture.nodes.values())
        coming = sum(picture.asleep.get(name, 0.0) for name in self._waking)
        lacking = load / _FILLED - capacity - coming
        short = [node for node in picture.nodes.values() if full and node.load > FULL * node.full]
        rising = rise > 0 and load > FULL * (capacity + coming)
        giving = any(_given(node) for node in (picture.nodes.values() if rising else short))
        if not giving or (self._waking and lacking <= 0):
            return
        used = max(map(_used, picture.nodes.values()))
        terms = {"used(n)": used, "usage": picture.usage, "rise": rise}
        for name in sorted(picture.asleep, key=lambda each: (-picture.asleep[each], each)):
            if name not in self._waking:
                self._waking[name] = number
                self.losing = self.idle = 0
                self.draining = None
                yield Wake(name, Why(RISING if rising else SHORT, terms))
                lacking -= picture.asleep[name]
                if lacking <= 0:
                    break

    def fill(self, picture: Picture) -> Iterator[Order]:
        """Give queries to those who were woken, the largest first, from the fullest node that can give one away."""
        while self.woken:
            target = min((picture.nodes[name] for name in self.woken), key=lambda node: (_used(node), node.name))
            others = (node for node in picture.nodes.values() if node.name not in self.woken)
            for origin in sorted(others, key=lambda node: (-_used(node), node.name)):
                query = _given(origin, target)
                seen = origin.queries[query] if query else None
                if query and seen and fits(picture, self.options, target, seen.cls, seen.load):
                    terms = {"used(n)": _used(origin), "used(m)": _used(target), "load(q)": seen.load}
                    picture.move(query, origin, target)
                    yield Migrate(query, origin.name, target.name, Why(FILL, terms))
                    break
            else:
                return

    def drain(self, picture: Picture, placement: Placement, number: int) -> Iterator[Order]:
        """Empty a node, or go on with it, and let it sleep when it is."""
        if self.draining is None:
            self.draining = self._candidate(picture)
            if self.draining is None:
                return
            picture.nodes[self.draining].target = False
        node = picture.nodes[self.draining]
        if not placement.touched(node.name):
            self._sleeping[node.name] = number
            self.draining = None
            yield Sleep(node.name, Why(SLEEP, {"usage": picture.usage}))
            return
        homes = self._homes(picture, node)
        if len(homes) < len(node.queries):
            self.draining = None
            return
        for query, target in homes:
            if query in node.movable() and target.free > 0:
                terms = {"usage": picture.usage, "load(q)": node.queries[query].load, "used(m)": _used(target)}
                picture.move(query, node, target)
                yield Migrate(query, node.name, target.name, Why(DRAIN, terms))

    def _waited_for(self, orders: Mapping[str, int], still: Container[str], number: int) -> dict[str, int]:
        """Orders that are not heeded yet, and not so old that they never will be."""
        return {n: when for n, when in orders.items() if n in still and number - when < self.options.patience}

    def _candidate(self, picture: Picture) -> str | None:
        """The least loaded node of those whose queries can all go elsewhere, if one is not needed."""
        able = [node for node in picture.nodes.values() if node.target]
        if self.idle < self.options.sleeps or picture.losing() or len(able) <= self.options.awake:
            return None
        for node in sorted(able, key=lambda node: (node.load / node.capacity, node.name)):
            free = all(seen.movable for seen in node.queries.values())
            if free and len(self._homes(picture, node)) == len(node.queries):
                return node.name
        return None

    def _homes(self, picture: Picture, node: Node) -> list[tuple[str, Node]]:
        """A node for each query, the largest first; fewer where the others have no room for all.

        Those with more to do are the last to be drained, so that queries stay there if they come.
        """
        others = [n for n in picture.nodes.values() if n is not node and n.target]
        others.sort(key=lambda n: (-n.load / n.capacity, n.name))
        staying = {n.name for n in others[: (len(others) + 1) // 2]}
        room = {n.name: min(_FILLED, 1 - self.options.reserve) * n.full - n.load for n in others}
        found: list[tuple[str, Node]] = []
        for query, seen in sorted(node.queries.items(), key=lambda each: (-each[1].load, each[0])):
            fitting = [n for n in others if room[n.name] >= seen.load]
            if fitting:
                best = max(fitting, key=lambda n: (n.name in staying, picture.sharing(seen, n), room[n.name]))
                room[best.name] -= seen.load
                found.append((query, best))
        return found


def _given(node: Node, target: Node | None = None) -> str | None:
    """The largest query that a node can give to another, or to an empty one, and still be as full as that."""
    to, capacity = (target.load, target.full) if target else (0.0, node.full)
    loads = {query: node.queries[query].load for query in node.movable()}
    fitting = [
        q for q, load in loads.items() if load and (node.load - load) / node.full >= (to + load) / capacity - NEAR
    ]
    return max(fitting, key=lambda query: (loads[query], query), default=None)


def _used(node: Node) -> float:
    return node.load / node.full
