"""The published workloads: classes of select, aggregate and join queries, what they cost, and how fast streams are.

The publication gives the number of queries of each class, not which they are nor what they cost. Queries are dealt
out in a fixed pattern; costs are those at which its scaling experiments come out (CLS-E16, CLS-E18), and are used for
all.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import cycle, islice

import numpy as np

from headgate.model.classes import QueryClass
from headgate.model.network import Network, Query
from headgate.model.operator import FREE, Cost, Kind, Operator
from headgate.sim.trains.machine import Machine, Overheads

US = 1e-6

SETUP = 8.25
PER_TUPLE = {
    "source": 3.0,
    "select": 7.0,
    "project": 5.0,
    "window": 5.0,
    "aggregate": 7.2,
    "join": 5.9,
    "union": 5.0,
    "except": 5.0,
    "output": 6.8,
}
"""Microseconds of a turn and for each tuple, by what an operator does."""

MATCHES = 0.5
"""Results of a join, and of an except, for a tuple of either input."""

OVERHEADS = Overheads(decision=US, dispatch=US, poll=US, rebuild=Cost(20 * US, 0.2 * US))
MACHINE = Machine(noise=0.1, overheads=OVERHEADS, synchronised=True)

PATTERN = "ajsajsa"
"""A class of all types: aggregates, joins and selects in this order, over and over."""
JOINS_AND_AGGREGATES = "jaa"


@dataclass(frozen=True, slots=True)
class Part:
    """A class of a workload: its priority, and its queries by their letters.

    They are aggregates (a), joins (j), selects (s), a union (u) and an except (e); and with selects that let all
    through to begin with, selects (o) and joins of two such (f).
    """

    priority: float
    queries: str


@dataclass(frozen=True, slots=True)
class Workload:
    """Classes, the most important first, over a stream for each leaf of a query, on so many cores."""

    name: str
    parts: tuple[Part, ...]
    rate: float
    cores: int = 1

    @property
    def classes(self) -> tuple[QueryClass, ...]:
        """The classes by their numbers from 1."""
        return tuple(QueryClass(str(k), part.priority) for k, part in enumerate(self.parts, 1))

    @property
    def P(self) -> tuple[float, ...]:
        """The priorities."""
        return tuple(part.priority for part in self.parts)

    def only(self, cls: int) -> "Workload":
        """One class of it alone."""
        return replace(self, name=f"{self.name}_H", parts=(self.parts[cls - 1],))

    def prioritised(self, *priorities: float) -> "Workload":
        """The same queries with other priorities."""
        return replace(self, parts=tuple(replace(p, priority=P) for p, P in zip(self.parts, priorities, strict=True)))


def network(workload: Workload, seed: int, *, sources: Cost = FREE, sharing: int = 1) -> Network:
    """The queries of a workload; a seed fixes the selectivities of its selects, between 0.25 and 1.

    Reading a stream costs what `sources` says. So many leaves of a class read one stream.
    """
    selectivity = np.random.default_rng([seed, 1]).uniform
    operators: list[Operator] = []
    queries = []
    for cls, part in zip(workload.classes, workload.parts, strict=True):
        leaves = sum(_LEAVES[letter] for letter in part.queries)
        streams = [f"{cls.name}.s{k}" for k in range(-(-leaves // sharing))]
        operators += [Operator(name, Kind.SOURCE, (), sources) for name in streams]
        turn = cycle(streams)
        for k, letter in enumerate(part.queries):
            s = float(selectivity(0.25, 1.0)) if letter == "s" else 1.0
            operators += _QUERIES[letter](f"{cls.name}.{k}", list(islice(turn, _LEAVES[letter])), s)
            queries.append(Query(f"{cls.name}.{k}", operators[-1].name, cls.name))
    return Network(tuple(operators), tuple(queries))


def of_class(network: Network, cls: str, *kinds: Kind) -> list[Operator]:
    """The operators of some kinds in a class."""
    return [op for op in network.operators if op.kind in kinds and network.readers[op.name][0].cls == cls]


def cost(what: str) -> Cost:
    """What an operator costs."""
    return Cost(SETUP * US, PER_TUPLE[what] * US)


def _op(name: str, what: str, *inputs: str, s: float = 1.0) -> Operator:
    kind = {"window": Kind.PROJECT, "except": Kind.JOIN}.get(what) or Kind(what)
    return Operator(f"{name}.{what}", kind, inputs, cost(what), s)


def _ended(name: str, first: list[Operator]) -> list[Operator]:
    """What every query ends with."""
    project = _op(name, "project", first[-1].name)
    return [*first, project, _op(name, "output", project.name)]


def _select(name: str, leaves: list[str], s: float) -> list[Operator]:
    return _ended(name, [_op(name, "select", *leaves, s=s)])


def _aggregate(name: str, leaves: list[str], _: float) -> list[Operator]:
    window = _op(name, "window", *leaves)
    return _ended(name, [window, _op(name, "aggregate", window.name)])


def _join(name: str, leaves: list[str], _: float) -> list[Operator]:
    sides = [_op(f"{name}.{side}", "window", leaf) for side, leaf in zip(("left", "right"), leaves, strict=True)]
    return _ended(name, [*sides, _op(name, "join", *(side.name for side in sides), s=MATCHES)])


def _filtered_join(name: str, leaves: list[str], s: float) -> list[Operator]:
    filters = [_op(f"{name}.{side}", "select", leaf, s=s) for side, leaf in zip("lr", leaves, strict=True)]
    return [*filters, *_join(name, [each.name for each in filters], s)]


def _union(name: str, leaves: list[str], _: float) -> list[Operator]:
    return _ended(name, [_op(name, "union", *leaves)])


def _except(name: str, leaves: list[str], _: float) -> list[Operator]:
    return _ended(name, [_op(name, "except", *leaves, s=MATCHES)])


_QUERIES: dict[str, Callable[[str, list[str], float], list[Operator]]] = {
    "s": _select,
    "o": _select,
    "a": _aggregate,
    "j": _join,
    "f": _filtered_join,
    "u": _union,
    "e": _except,
}


_LEAVES = {letter: 1 if letter in "aso" else 2 for letter in _QUERIES}


def _all(*counts: int) -> list[str]:
    return ["".join(islice(cycle(PATTERN), n)) for n in counts]


def _dealt(*counts: int) -> list[str]:
    """The queries of all classes one after the other out of one pattern, so that only their division differs."""
    deal = cycle(PATTERN)
    return ["".join(islice(deal, n)) for n in counts]


def _workload(name: str, queries: list[str], priorities: tuple[int, ...], rate: float, cores: int = 1) -> Workload:
    return Workload(name, tuple(map(Part, priorities, queries)), rate, cores)


_TWO, _EIGHT, _ELEVEN = "jj", "aaaajjss", "aaaaajjssss"
_FIVE = (50, 40, 30, 20, 10)

A = _workload("A", _all(7, 7, 7), (6, 3, 1), 1500)
B = _workload("B", [_TWO, _EIGHT, _ELEVEN], (3, 2, 1), 1500)
C = _workload("C", [_TWO, _EIGHT, _ELEVEN], (6, 3, 1), 1500)
D = _workload("D", _all(7, 7, 7), (30, 20, 10), 1600)
E = _workload("E", [_TWO, _EIGHT, _ELEVEN], (60, 30, 10), 1500)
F = _workload("F", [_ELEVEN, _EIGHT, _TWO], (60, 30, 10), 1500)
W3D_6 = _workload("3D_6", _dealt(21, 21, 21), (60, 30, 10), 3600, 6)
W3E_6 = _workload("3E_6", _dealt(14, 21, 28), (30, 20, 10), 3600, 6)
W3F_6 = _workload("3F_6", _dealt(28, 21, 14), (30, 20, 10), 3600, 6)
W5I = _workload("5I", _dealt(12, 12, 15, 12, 12), _FIVE, 3600, 6)
W5L = _workload("5L", ["ue" + first for first in _all(20)] + _all(32, 38, 38, 32), (80, 30, 30, 10, 10), 1200, 6)


def five(name: str, sets: int, cores: int, rate: float) -> Workload:
    """So many sets of 3, 5, 7, 6 and 4 queries, the first class of joins and aggregates."""
    others = _all(*(n * sets for n in (5, 7, 6, 4)))
    return _workload(name, [JOINS_AND_AGGREGATES * sets, *others], _FIVE, rate, cores)


W5G = five("5G", 1, 1, 1200)
W5G_4 = five("5G_4", 4, 4, 1200)


def scaled_rate(cores: int) -> Workload:
    """5G_c: a hundred queries at 300 tuples per second for each core."""
    return five(f"5G_{cores}", 4, cores, 300 * cores)


def scaled_queries(cores: int) -> Workload:
    """5S_c and 5O_c: 25 queries for each core."""
    return five(f"5S_{cores}", cores, cores, 1200)
