"""Who takes over a query whose node is gone, or is given one that is new: the node that has the fewest.

By their number and not by their load: nobody reports the load of what no node runs, and a query cannot wait for that.
The balancer goes by loads, as soon as the nodes that have them now have reported.
"""

from collections.abc import Iterable, Mapping


def fewest(nodes: Iterable[str], queries: Mapping[str, int]) -> str:
    """The node with the fewest queries, by how many each has; the first by name where several have as few."""
    return min(nodes, key=lambda node: (queries.get(node, 0), node))
