"""The minimal rule: for each class that loses on a node, one query moves, or the class gets a higher priority there.

supply(m) = Σ_k max(0, (1 − u_k)·H_k) − reserve·C
q: the lowest class first, then stateless, then the smallest load that removes the excess d_k·L_k
if supply(m) ≥ load(q) for a node m, then q moves to the one with most; to one where it can share work, if any
else P_k ← P_k/(1 − d_k), at most `raised` times the original one
"""

from collections.abc import Iterator

from headgate.control.nodes.options import Options
from headgate.control.nodes.orders import Migrate, Order, Prioritise
from headgate.control.nodes.picture import Node, Picture
from headgate.policy.protocol import Why

MOVE = "supply(m) ≥ load(q), for what a class loses"
RAISE = "P/(1 − d), as nothing can move"


def minimal(picture: Picture, options: Options) -> Iterator[Order]:
    """The orders for this round."""
    supply = {name: _supply(node, options) for name, node in picture.nodes.items()}
    for cls, node in picture.losing():
        seen = node.classes[cls]
        excess = seen.drop * seen.load
        others = [n for n in picture.nodes.values() if n is not node and n.target and n.free > 0]
        most = max((supply[n.name] for n in others), default=0.0)
        fitting = [q for q in _in_order(picture, node, excess) if node.queries[q].load <= most]
        if fitting:
            query = fitting[0]
            moved = node.queries[query]
            target = max(
                (n for n in others if supply[n.name] >= moved.load),
                key=lambda n: (picture.sharing(moved, n), supply[n.name]),
            )
            terms = {"load(q)": moved.load, "supply(m)": supply[target.name], "d": seen.drop, "excess": excess}
            picture.move(query, node, target)
            supply[target.name] -= moved.load
            yield Migrate(query, node.name, target.name, Why(MOVE, terms))
        elif (priority := min(options.raised * seen.original, node.priorities[cls] / (1 - seen.drop))) > (
            node.priorities[cls]
        ):
            terms = {"P": node.priorities[cls], "d": seen.drop, "excess": excess, "most supply": most}
            node.priorities[cls] = priority
            yield Prioritise(node.name, cls, priority, Why(RAISE, terms))


def _supply(node: Node, options: Options) -> float:
    spare = sum(max(0.0, (1 - seen.usage) * seen.headroom) for seen in node.classes.values())
    # Queries that are on their way here have their part of it already.
    coming = max(0.0, node.load - sum(seen.load for seen in node.classes.values()))
    return min(spare, node.capacity) - coming - options.reserve * node.capacity


def _in_order(picture: Picture, node: Node, excess: float) -> list[str]:
    def key(query: str) -> tuple[int, bool, bool, float, str]:
        seen = node.queries[query]
        enough = seen.load >= excess
        # What does not remove the excess removes the more of it the larger it is.
        return (
            -picture.classes.index(seen.cls),
            not seen.stateless,
            not enough,
            seen.load if enough else -seen.load,
            query,
        )

    return sorted((q for q in node.movable() if node.queries[q].load > 0), key=key)
