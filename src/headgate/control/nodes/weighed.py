"""The weighed rule: every move is weighed by what DILoS would make of it on both nodes, and as many are made as help.

A class that lacks its share gets it back from lower ones before anything is shed, so that taking a query of a lower
class away may not help at all, while one of its own, or of a class that holds its full share, does. With lost_k(n)
the load that a class loses on a node by `entitled.lost`,

    gain(q, n → m) = lost_k before − lost_k after, over n and m

for the class k that loses on n. A query may go to m if there, beside the reserve, its class and those above it then
lose nothing, or if it is alone there; if no class above k loses more in all, and if the gain is worth the move. Of
what may go, the one with the largest gain up to the excess goes, of about the same the lowest class, then stateless,
then the smallest load; to a node where it can share work, then to the one with the most room. That goes on until
nothing is lost or nothing helps.

What no move helps is raised: P_k ← P_k/(1 − lost_k/L_k), up to `raised` times the original. But only if no class
above it loses by that, and if the class gets less on all nodes together than it would on one node as large as all of
them: else it loses because there is not enough, and not because of where its queries are.
"""

from collections.abc import Iterator
from typing import NamedTuple

from headgate.control.nodes.entitled import NEAR, lost, served
from headgate.control.nodes.options import Options
from headgate.control.nodes.orders import Migrate, Order, Prioritise
from headgate.control.nodes.picture import Node, Picture
from headgate.policy.protocol import Why

MOVE = "gain = lost before − lost after, by what DILoS gives"
RAISE = "P/(1 − lost/L), as no move helps and the class is below its share of the cluster"
_WORTH = 0.1
"""The least gain of a move, as a part of the load that is moved."""
_SMALL = 0.001
"""An excess below this part of a node's capacity is none."""
_STEPS = 10
"""Gains are the same if they remove the same so many parts of the excess."""


class _Choice(NamedTuple):
    """A move, in the order in which moves are preferred."""

    less: int
    rank: int
    stateful: bool
    load: float
    apart: bool
    used: float
    query: str
    target: str
    gain: float


def weighed(picture: Picture, options: Options) -> Iterator[Order]:
    """The orders for this round."""
    for cls, node in picture.losing():
        while (excess := node.lost()[cls]) > _SMALL * node.capacity:
            choice = _best(picture, options, node, cls, excess)
            if choice is None:
                break
            target = picture.nodes[choice.target]
            terms = {"lost": excess, "gain": choice.gain, "load(q)": choice.load, "used(m)": choice.used}
            picture.move(choice.query, node, target)
            yield Migrate(choice.query, node.name, target.name, Why(MOVE, terms))
    owed = _owed(picture)
    for cls, node in picture.losing():
        excess, load, before = node.lost()[cls], node.loads[cls], node.priorities[cls]
        if not owed[cls] > NEAR or not excess > _SMALL * node.capacity:
            continue
        priority = min(options.raised * node.classes[cls].original, before / (1 - min(0.5, excess / load)))
        if priority > before * (1 + NEAR) and not _harms(picture, node, cls, priority):
            node.priorities[cls] = priority
            terms = {"P": before, "lost": excess, "L": load, "owed": owed[cls]}
            yield Prioritise(node.name, cls, priority, Why(RAISE, terms))


def fits(picture: Picture, options: Options, node: Node, cls: str, load: float) -> bool:
    """Whether a node can take in a query: beside the reserve, its class and those above it lose nothing then.

    Neither do the classes of queries that have come in the same round.
    """
    after = node.with_load(cls, load, node.full - options.reserve * node.capacity)
    return not any(after[each] for each in {*picture.above(cls), *node.came})


def _best(picture: Picture, options: Options, node: Node, cls: str, excess: float) -> _Choice | None:
    here = node.lost()
    others = [(n, n.lost()) for n in picture.nodes.values() if n is not node and n.target and n.free > 0]
    best: _Choice | None = None
    above = picture.above(cls)
    for query in node.movable():
        seen = node.queries[query]
        left = node.with_load(seen.cls, -seen.load, node.full)
        removed = here[cls] - left[cls]
        if removed < _WORTH * seen.load or removed <= NEAR:
            continue
        for target, before in others:
            # Nobody would lose by what comes to an empty node, and no query can get more than one.
            if target.queries and not fits(picture, options, target, seen.cls, seen.load):
                continue
            after = target.with_load(seen.cls, seen.load, target.full)
            changes = {each: left[each] + after[each] - here[each] - before[each] for each in above}
            gain = -changes.pop(cls)
            if gain < _WORTH * seen.load or any(change > NEAR for change in changes.values()):
                continue
            found = _Choice(
                less=-round(_STEPS * min(1.0, gain / excess)),
                rank=-picture.classes.index(seen.cls),
                stateful=not seen.stateless,
                load=seen.load,
                apart=not picture.sharing(seen, target),
                used=(target.load + seen.load) / target.full,
                query=query,
                target=target.name,
                gain=gain,
            )
            best = found if best is None else min(best, found)
    return best


def _owed(picture: Picture) -> dict[str, float]:
    """What each class would get on one node as large as all of them, beyond what it gets."""
    nodes = list(picture.nodes.values())
    loads = {cls: sum(node.loads[cls] for node in nodes) for cls in picture.classes}
    ideal = served(sum(node.full for node in nodes), picture.originals, loads)
    lacking = {cls: sum(node.lost()[cls] for node in nodes) for cls in picture.classes}
    return {cls: lacking[cls] - (loads[cls] - ideal[cls]) for cls in picture.classes}


def _harms(picture: Picture, node: Node, cls: str, priority: float) -> bool:
    """Whether a class above loses more with such a priority."""
    before, after = node.lost(), lost(node.full, node.priorities | {cls: priority}, node.loads)
    return any(after[each] > before[each] + NEAR for each in picture.above(cls)[:-1])
