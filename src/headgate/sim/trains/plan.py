"""Units of the train kernel: an operator with all its inputs, or a whole query with all its leaves.

The model's own plan has a unit for each input, as trains there start at one queue. Here a unit reads all its ports in
one run, so the inputs of a binary operator, and the leaves of a query, are one unit.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from headgate.control.boundaries import Division
from headgate.model.classes import QueryClass, ranked
from headgate.model.network import Network, Port, Query
from headgate.model.operator import Cost, Kind
from headgate.model.parameters import rates, segment
from headgate.model.unit import Basis, Entry, Unit, Weight, plan


def by_operator(
    network: Network, streams: Mapping[str, float], weight: Weight, classes: Sequence[QueryClass]
) -> tuple[Unit, ...]:
    """A unit for each operator that costs something, of the highest class among its readers.

    An operator is worth what its best input is worth. They come in the order in which operators were declared, so
    that one that takes turns goes along a query.
    """
    owners = Division(network, classes).owners
    best: dict[str, Unit] = {}
    for unit in plan(network, streams, weight, "operator"):
        name = unit.entry.operator
        if name not in best or _worth(unit, weight) > _worth(best[name], weight):
            best[name] = replace(unit, leaf=unit.leaf or (name in best and best[name].leaf), cls=owners[name])
    return _numbered(best[name] for name in sorted(best, key=network.ids.__getitem__))


def by_query(network: Network, streams: Mapping[str, float], classes: Sequence[QueryClass]) -> tuple[Unit, ...]:
    """A unit for each query with all its operators, and one for each source that costs something.

    Queries that share an operator are one unit, of the highest class among them. A unit has a segment for each of
    its leaves and each query behind it: their C add up to the work of a moment in which every leaf gets a tuple. Its
    cost is that of a train whose tuples come to the leaves in proportion to the rates, every operator set up once.
    """
    rank = [each.name for each in ranked(classes)]
    out = rates(network, streams)
    sources = [unit for unit in by_operator(network, streams, lambda s: s.S, classes) if unit.source]
    found = []
    for queries in _sharing(network):
        trees = frozenset[str]().union(*(network.members[query.name] for query in queries))
        members = tuple(n for n in network.order if n in trees and network.by_name[n].kind is not Kind.SOURCE)
        leaves = [port for name in members for port in _leaves(network, name)]
        segments = tuple(
            segment(network, out, query, leaf)
            for query in queries
            for leaf in leaves
            if leaf[0] in network.members[query.name]
        )
        cost = _cost(network, out, members, leaves)
        cls = min((query.cls for query in queries), key=rank.index)
        found.append(Unit(0, Entry(*leaves[0]), members, segments, cost, Basis(segments, cost), cls=cls))
    return _numbered([*found, *sources])


def sources(units: Iterable[Unit]) -> tuple[Unit, ...]:
    """The units that only bring tuples in, numbered anew: for cores of their own."""
    return _numbered(unit for unit in units if unit.source)


def inner(units: Iterable[Unit]) -> tuple[Unit, ...]:
    """The units that work on tuples, numbered anew."""
    return _numbered(unit for unit in units if not unit.source)


def _numbered(units: Iterable[Unit]) -> tuple[Unit, ...]:
    return tuple(replace(unit, id=i) for i, unit in enumerate(units))


def _worth(unit: Unit, weight: Weight) -> float:
    total = sum(weight(s) for s in unit.basis.segments)
    return total / unit.basis.cost.of(1) if unit.basis.cost.of(1) else total


def _leaves(network: Network, name: str) -> list[Port]:
    inputs = network.by_name[name].inputs
    return [(name, i) for i, feeder in enumerate(inputs) if network.by_name[feeder].kind is Kind.SOURCE]


def _cost(network: Network, out: Mapping[str, float], members: Sequence[str], leaves: Sequence[Port]) -> Cost:
    ops = [network.by_name[name] for name in members]
    comes = sum(out[network.by_name[name].inputs[i]] for name, i in leaves)
    work = sum(op.cost.b * sum(out[feeder] for feeder in op.inputs) for op in ops)
    return Cost(sum(op.cost.a for op in ops), work / comes)


def _sharing(network: Network) -> list[list[Query]]:
    """The queries in groups that share operators, directly or by way of others; a source alone is not shared."""
    groups: list[tuple[set[str], list[Query]]] = []
    for query in network.queries:
        tree = {name for name in network.members[query.name] if network.by_name[name].kind is not Kind.SOURCE}
        apart = [group for group in groups if not group[0] & tree]
        joined = [group for group in groups if group[0] & tree]
        merged = [each for _, queries in joined for each in queries]
        groups = [*apart, (tree.union(*(names for names, _ in joined)), [*merged, query])]
    turn = {query.name: i for i, query in enumerate(network.queries)}
    return sorted((queries for _, queries in groups), key=lambda queries: turn[queries[0].name])
