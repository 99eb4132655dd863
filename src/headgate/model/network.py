"""Query networks: operators joined into a directed acyclic graph, with operators that several queries share."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias, TypeVar

from headgate.errors import InputError
from headgate.model.operator import Kind, Operator

Port: TypeAlias = tuple[str, int]
"""An input of an operator: its name and the number of the input."""


@dataclass(frozen=True, slots=True)
class Query:
    """A standing query: the operator whose tuples are its results, and the class it belongs to."""

    name: str
    output: str
    cls: str = "default"


@dataclass(frozen=True)
class Network:
    """Operators and the queries that they compute.

    Each query is a tree of operators whose leaves read streams; an operator in the trees of several queries is
    shared and runs once. Sources stand for the streams.
    """

    operators: tuple[Operator, ...]
    queries: tuple[Query, ...]
    by_name: Mapping[str, Operator] = field(init=False, repr=False, compare=False)
    ids: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", _unique(self.operators, "operator"))
        object.__setattr__(self, "ids", {op.name: i for i, op in enumerate(self.operators)})
        _unique(self.queries, "query")
        if not self.queries:
            raise InputError("a network has at least one query", "none", "Add a query.")
        for op in self.operators:
            for name in op.inputs:
                if name not in self.by_name:
                    raise InputError(
                        f"operator '{op.name}': every input is an operator of the network",
                        f"'{name}'",
                        f"Known operators: {_some(self.by_name)}.",
                    )
        for query in self.queries:
            if query.output not in self.by_name:
                raise InputError(
                    f"query '{query.name}': its output is an operator of the network",
                    f"'{query.output}'",
                    f"Known operators: {_some(self.by_name)}.",
                )
        self._check_order()
        self._check_trees()

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Names of the operators, inputs before consumers."""
        waiting = {op.name: len(op.inputs) for op in self.operators}
        ready = [op.name for op in self.operators if not op.inputs]
        done: list[str] = []
        while ready:
            name = ready.pop(0)
            done.append(name)
            for consumer, _ in self.consumers[name]:
                waiting[consumer] -= 1
                if waiting[consumer] == 0:
                    ready.append(consumer)
        return tuple(done)

    @cached_property
    def consumers(self) -> Mapping[str, tuple[Port, ...]]:
        """Where the tuples of each operator go, in the order in which the operators were declared."""
        found: dict[str, list[Port]] = {op.name: [] for op in self.operators}
        for op in self.operators:
            for port, name in enumerate(op.inputs):
                found[name].append((op.name, port))
        return {name: tuple(ports) for name, ports in found.items()}

    @cached_property
    def members(self) -> Mapping[str, frozenset[str]]:
        """The operators in the tree of each query."""
        found = {}
        for query in self.queries:
            tree: set[str] = set()
            front = [query.output]
            while front:
                name = front.pop()
                if name not in tree:
                    tree.add(name)
                    front.extend(self.by_name[name].inputs)
            found[query.name] = frozenset(tree)
        return found

    @cached_property
    def outputs(self) -> Mapping[str, tuple[Query, ...]]:
        """The queries whose results each operator gives."""
        found: dict[str, list[Query]] = {op.name: [] for op in self.operators}
        for query in self.queries:
            found[query.output].append(query)
        return {name: tuple(queries) for name, queries in found.items()}

    @cached_property
    def readers(self) -> Mapping[str, tuple[Query, ...]]:
        """The queries in whose trees each operator stands."""
        found: dict[str, list[Query]] = {op.name: [] for op in self.operators}
        for query in self.queries:
            for name in self.members[query.name]:
                found[name].append(query)
        return {name: tuple(queries) for name, queries in found.items()}

    @property
    def streams(self) -> tuple[str, ...]:
        """Names of the sources."""
        return tuple(op.name for op in self.operators if op.kind is Kind.SOURCE)

    def scaled(self, k: float) -> "Network":
        """The same network on a machine k times slower."""
        return Network(tuple(op.scaled(k) for op in self.operators), self.queries)

    def _check_order(self) -> None:
        done = set(self.order)
        stuck = [op.name for op in self.operators if op.name not in done]
        if stuck:
            cycle = list(self._cycle(stuck))
            remedy = f"Give '{cycle[0]}' an input that it does not feed."
            raise InputError("a query network has no cycle", " -> ".join(cycle), remedy)

    def _cycle(self, stuck: list[str]) -> Iterator[str]:
        """One way round a cycle among the operators that never became ready."""
        seen: list[str] = []
        name = stuck[0]
        while name not in seen:
            seen.append(name)
            name = next(i for i in self.by_name[name].inputs if i in stuck)
        loop = [*seen[seen.index(name) :], name]
        yield from reversed(loop)

    def _check_trees(self) -> None:
        for query in self.queries:
            tree = self.members[query.name]
            for name in tree:
                if self.by_name[name].kind is Kind.SOURCE:
                    continue
                fed = [consumer for consumer, _ in self.consumers[name] if consumer in tree]
                if len(fed) > 1:
                    raise InputError(
                        f"query '{query.name}': an operator feeds a query in one place, only a source may in several",
                        f"'{name}' feeding {', '.join(fed)}",
                        f"Give one of them a copy of '{name}'.",
                    )
            if self.by_name[query.output].kind is Kind.SOURCE:
                raise InputError(
                    f"query '{query.name}': a query computes something",
                    f"the source '{query.output}' as its output",
                    "Put an operator between the source and the output.",
                )
            if sum(self.by_name[name].cost.of(1) for name in tree) <= 0:
                raise InputError(
                    f"query '{query.name}': a query costs some time", "0 in all", "Give an operator a cost."
                )


_Named = TypeVar("_Named", Operator, Query)


def _unique(items: Iterable[_Named], noun: str) -> dict[str, _Named]:
    found: dict[str, _Named] = {}
    for item in items:
        if item.name in found:
            raise InputError(f"every {noun} has a name of its own", f"'{item.name}' twice", "Rename one of them.")
        found[item.name] = item
    return found


def _some(names: Iterable[str], most: int = 8) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")
