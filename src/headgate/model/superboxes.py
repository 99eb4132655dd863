"""Superboxes: boxes that are scheduled and run as one. How they are cut out of a network, ranked and kept apart.

    fixed beforehand     application trees; pieces between shared boxes; trains of boxes with one input
    made for the moment  what covers the most urgent boxes of an application; what is around a box; what leads to it

Each is a tuple of boxes, inputs before what they feed. Priorities are pairs as QoS-driven schedulers have them: the
higher slope goes first, and then the less slack.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from headgate.model.boxes import Boxes
from headgate.model.qos import LatencyGraph, combined

Superbox = tuple[int, ...]
ALONE = 10
"""A box that costs more than so many times the bound is a superbox of its own."""


class Priority(NamedTuple):
    """How urgent a box or superbox is: more so with a higher slope, then with less slack."""

    slope: float
    slack: float

    @property
    def key(self) -> tuple[float, float]:
        """The more urgent, the smaller."""
        return -self.slope, self.slack


# Fixed beforehand.


def application_trees(boxes: Boxes) -> list[Superbox]:
    """One for each output, of all that leads to it; a shared box is in several."""
    return [tuple(boxes.upstream(root)) for root in boxes.outputs]


def intersections(boxes: Boxes) -> list[Superbox]:
    """The network cut behind each shared box: pieces that end at a shared box or at an output."""
    ends = [b for b, fed in enumerate(boxes.feeds) if len(fed) != 1]
    return [_ordered(boxes, _grown(boxes, end, lambda b: b not in ends)) for end in ends]


def single_input_trains(boxes: Boxes) -> list[Superbox]:
    """Chains as long as can be; a box with several inputs, or after a shared one, can only be the first."""

    def follows(b: int) -> bool:
        return len(boxes[b].inputs) == 1 and len(boxes.feeds[boxes[b].inputs[0]]) == 1

    found = []
    for start in (b for b in range(len(boxes)) if not follows(b)):
        train = [start]
        while len(boxes.feeds[train[-1]]) == 1 and follows(boxes.feeds[train[-1]][0]):
            train.append(boxes.feeds[train[-1]][0])
        found.append(tuple(train))
    return found


# Made for the moment.


def top_k_spanner(
    boxes: Boxes,
    root: int,
    priority: Mapping[int, Priority],
    k: int,
    queued: Mapping[int, int] | None = None,
    *,
    short: float = 1.0,
    most_empty: int = 1,
) -> Superbox:
    """The ways from the k most urgent boxes of an application to its output.

    With `queued`, a box that has several inputs gets tuples from all of them: what leads to an input at which less
    waits than `short` times the most is taken in, past at most `most_empty` empty queues one after the other.
    """
    tree = tuple(boxes.upstream(root))
    urgent = sorted((b for b in tree if b in priority), key=lambda b: (priority[b].key, b))[:k]
    inside = {box for b in urgent for box in _way(boxes, b, tree)}
    if queued is not None:
        for b in tuple(inside):
            lengths = {i: queued.get(i, 0) for i in boxes[b].inputs}
            longest = max(lengths.values(), default=0)
            for i in (i for i, n in lengths.items() if n < short * longest and i not in inside):
                inside |= set(tree_at_box(boxes, i, queued, most_empty))
    return _ordered(boxes, inside)


def center_of_mass(
    boxes: Boxes, seed: int, reach: int, priority: Mapping[int, Priority], least: Priority, most: int
) -> Superbox:
    """What is within `reach` of a box in both directions, and of each box there that is at least so urgent.

    It ends at `most` boxes.
    """
    inside = {seed: None}
    centres = [seed]
    while centres:
        level = [centres.pop(0)]
        for _ in range(reach):
            near = [k for b in level for k in (*boxes[b].inputs, *boxes.feeds[b])]
            level = [k for k in dict.fromkeys(near) if k not in inside][: most - len(inside)]
            inside |= dict.fromkeys(level)
            centres += [k for k in level if k in priority and priority[k].key <= least.key]
    return _ordered(boxes, inside)


def tree_at_box(
    boxes: Boxes, seed: int, queued: Mapping[int, int] | None = None, most_empty: int | None = None
) -> Superbox:
    """What leads to a box; with `most_empty`, no further up than so many empty queues one after the other."""
    if queued is None or most_empty is None:
        return tuple(boxes.upstream(seed))
    inside: set[int] = set()
    level = [(seed, 0)]
    while level:
        b, empty = level.pop()
        empty = 0 if queued.get(b, 0) else empty + 1
        if empty <= most_empty:
            inside.add(b)
            level += [(i, empty) for i in boxes[b].inputs]
    return _ordered(boxes, inside | {seed})


def split_high_cost(boxes: Boxes, superbox: Superbox, bound: float) -> list[Superbox]:
    """A superbox cut below every box that takes longer than the bound for a result, so that none is inside.

    What takes ten times as long per tuple is left alone.
    """
    alone = [b for b in superbox if boxes[b].cost > ALONE * bound]
    rest = [b for b in superbox if b not in alone]
    ends = {b for b in rest if boxes[b].cost / boxes[b].sel > bound}
    pieces: list[Superbox] = []
    left = dict.fromkeys(rest)
    for end in [*(b for b in rest if b in ends), *reversed(rest)]:
        if end in left:
            piece = _grown(boxes, end, lambda b: b in left and b not in ends)
            pieces.append(_ordered(boxes, piece))
            for b in piece:
                del left[b]
    place = {b: n for n, b in enumerate(superbox)}
    return sorted([*pieces, *((b,) for b in alone)], key=lambda piece: place[piece[-1]])


# Ranked.


def best_box(superbox: Superbox, priority: Mapping[int, Priority]) -> Priority:
    """As urgent as the most urgent box."""
    return top_n(superbox, priority, 1)


def top_n(superbox: Superbox, priority: Mapping[int, Priority], n: int) -> Priority:
    """As urgent as the n most urgent boxes together: slopes and slacks add up."""
    best = sorted((priority[b] for b in superbox if b in priority), key=lambda p: p.key)[:n]
    return Priority(sum(p.slope for p in best), sum(p.slack for p in best)) if best else Priority(0.0, float("inf"))


def qos_level(graphs: Sequence[LatencyGraph], latency: float, ect: float) -> Priority:
    """As urgent as results that are expected from the mean latency of all that waits and the time of all work."""
    graph = combined(graphs)
    return Priority(graph.slope(latency + ect), graph.slack(latency + ect))


def feed_order(order: Sequence[Superbox], boxes: Boxes, waiting: Collection[Superbox]) -> list[Superbox]:
    """An order in which a superbox with tuples is moved before a more urgent one that it feeds."""
    found: list[Superbox] = []
    for superbox in order:
        feeding = [
            other
            for other in order
            if other not in found and other != superbox and other in waiting and _feeds(boxes, other, superbox)
        ]
        found += [*feeding, *([superbox] if superbox not in found else [])]
    return found


def composites(graphs: Mapping[int, LatencyGraph], within: float) -> list[tuple[tuple[int, ...], LatencyGraph]]:
    """Applications with deadlines at most a factor `within` apart run together, under the sum of their graphs."""
    order = sorted(graphs, key=lambda app: (graphs[app].deadline, app))
    groups: list[list[int]] = []
    for app in order:
        if groups and graphs[app].deadline <= within * graphs[groups[-1][0]].deadline:
            groups[-1].append(app)
        else:
            groups.append([app])
    return [(tuple(group), combined(graphs[app] for app in group)) for group in groups]


# Kept apart.


@dataclass
class Locks:
    """The boxes that are running. A superbox gets all of its boxes, or it is skipped this round."""

    held: set[int] = field(default_factory=set)

    def acquire(self, superbox: Superbox) -> bool:
        """Lock the boxes, if all are free."""
        if not self.held.isdisjoint(superbox):
            return False
        self.held.update(superbox)
        return True

    def release(self, superbox: Superbox) -> None:
        """Let them go."""
        self.held.difference_update(superbox)


def _way(boxes: Boxes, b: int, inside: Collection[int]) -> Iterator[int]:
    """From a box to the output of a tree that it is in; of several ways, all."""
    level = [b]
    seen = {b}
    while level:
        here = level.pop()
        yield here
        after = [k for k in boxes.feeds[here] if k in inside and k not in seen]
        seen.update(after)
        level += after


def _grown(boxes: Boxes, end: int, goes_on: Callable[[int], bool]) -> set[int]:
    """A box with what leads to it, as far as it goes on."""
    found, level = {end}, [end]
    while level:
        more = [i for i in boxes[level.pop()].inputs if i not in found and goes_on(i)]
        found.update(more)
        level += more
    return found


def _ordered(boxes: Boxes, inside: Collection[int]) -> Superbox:
    return tuple(b for b in boxes.upstream(*boxes.outputs) if b in inside)


def _feeds(boxes: Boxes, one: Superbox, other: Superbox) -> bool:
    return any(k in other for b in one for k in boxes.feeds[b] if k not in one)
