"""Units: what one decision runs. A unit starts at an entry and goes on to the results or to the next entry.

Query level has one unit per leaf of a query; operator level one per operator. A shared operator makes a unit
with the segments that its sharing strategy runs along with it, and a unit for each of the others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

from headgate.errors import InputError
from headgate.model.deadlines import Deadline
from headgate.model.network import Network, Port
from headgate.model.operator import FREE, Cost, Kind
from headgate.model.parameters import Segment, Stage, rates, segment, stage
from headgate.model.qos import LatencyGraph
from headgate.model.sharing import STRATEGIES, Branch, pdt, pdt_opt, value

Level = Literal["query", "operator"]
Together = Literal["pdt", "operator", "group"]
Weight = Callable[[Segment], float]


class Entry(NamedTuple):
    """The input of an operator at which a unit's queue stands."""

    operator: str
    port: int = 0


@dataclass(frozen=True, slots=True)
class Basis:
    """The segments and the cost that a priority is computed from."""

    segments: tuple[Segment, ...]
    cost: Cost

    def __add__(self, other: "Basis") -> "Basis":
        return Basis(self.segments + other.segments, self.cost + other.cost)

    def seen_from(self, stage: Stage) -> "Basis":
        """The same as it looks from the operator that feeds it."""
        return Basis(tuple(s.after(stage) for s in self.segments), Cost(self.cost.a, stage.s * self.cost.b))


@dataclass(frozen=True, slots=True)
class Unit:
    """What one decision runs: an entry with a queue, and the operators that follow without a queue between.

    `segments` are the queries that the unit carries to their results, `cost` the expected time of a train of n,
    `a + b·n`. A policy values the unit by `basis`, which is what it runs unless a sharing strategy says other. A
    `source` only brings tuples of a stream in, for other units to work on. Results may be due by a `deadline`, or be
    worth what `graphs` say together, those of its queries; where several are alike, there is one of so many times the
    utility. Results that are not at the output yet go through the units `behind`, in this order.
    """

    id: int
    entry: Entry
    members: tuple[str, ...]
    segments: tuple[Segment, ...]
    cost: Cost
    basis: Basis
    leaf: bool = True
    cls: str = "default"
    source: bool = False
    deadline: Deadline | None = None
    graphs: tuple[LatencyGraph, ...] = ()
    behind: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The queries of the unit where it carries any, else its operator."""
        queries = [s.query for s in self.segments]
        if not queries:
            return self.entry.operator
        return queries[0] if len(queries) == 1 else f"{queries[0]}+{len(queries) - 1}"

    def measured(self, cost: Cost, segments: tuple[Segment, ...]) -> "Unit":
        """The same unit with what a monitor has measured in place of what was declared."""
        return replace(self, cost=cost, segments=segments, basis=Basis(segments, cost))


@dataclass(frozen=True, slots=True)
class Sharing:
    """How shared operators are valued and run.

    `strategy` gives the priority of the shared operator. `together` says what runs with it in one go: the
    segments of the priority-defining tree (`pdt`), nothing (`operator`) or the whole group (`group`).
    """

    strategy: str = "pdt"
    together: Together = "pdt"

    def __post_init__(self) -> None:
        for what, got, known in (
            ("strategy", self.strategy, tuple(STRATEGIES)),
            ("together", self.together, get_args(Together)),
        ):
            if got not in known:
                raise InputError(f"sharing: a known {what}", f"'{got}'", f"Choose {', '.join(known)}.")


@dataclass(frozen=True, slots=True)
class _Bundle:
    """The fused part from one port on: its operators, what they yield and cost, and what a policy values it by.

    Of the ports at which another unit takes over, `following` is the first.
    """

    members: tuple[str, ...]
    runs: Basis
    worth: Basis
    following: Port | None


def plan(
    network: Network,
    streams: Mapping[str, float],
    weight: Weight,
    level: Level = "query",
    sharing: Sharing | None = None,
) -> tuple[Unit, ...]:
    """The units of a network, leaves first in the order of the queries.

    `streams` are the mean rates, which the expected matches of window joins depend on; `weight` is the policy's
    benefit of a segment, which decides the priority-defining trees.
    """
    if level not in get_args(Level):
        raise InputError("a known level", f"'{level}'", f"Choose {', '.join(get_args(Level))}.")
    planner = _Planner(network, rates(network, streams), weight, level, sharing or Sharing())
    return planner.units()


class _Planner:
    def __init__(
        self, network: Network, out: Mapping[str, float], weight: Weight, level: Level, sharing: Sharing
    ) -> None:
        self.network, self.out, self.weight, self.level, self.sharing = network, out, weight, level, sharing
        self.bundles: dict[Port, _Bundle] = {}
        self.cuts: set[Port] = set()

    def units(self) -> tuple[Unit, ...]:
        for name in reversed(self.network.order):
            op = self.network.by_name[name]
            for port in range(max(1, len(op.inputs))):
                if self.network.readers[name]:
                    self._fuse((name, port))
        leaves = self._leaves()
        entries = leaves + sorted(self.cuts - set(leaves), key=self._place)
        number = {port: i for i, port in enumerate(entries)}
        return tuple(
            replace(self._unit(i, port, leaf=i < len(leaves)), behind=tuple(number[p] for p in self._behind(port)))
            for i, port in enumerate(entries)
        )

    def _behind(self, port: Port) -> Iterator[Port]:
        """The ports that results go through, unless the unit has some itself; of several ways, the first."""
        following = None if self.bundles[port].runs.segments else self.bundles[port].following
        while following is not None:
            yield following
            following = self.bundles[following].following

    def _place(self, port: Port) -> tuple[int, int]:
        return self.network.ids[port[0]], port[1]

    def _leaves(self) -> list[Port]:
        """Where tuples of the streams queue. A source that costs nothing is no work, so its readers are leaves."""
        found: list[Port] = []
        for name in self.network.streams:
            if not self.network.readers[name]:
                continue
            free = self.network.by_name[name].cost == FREE
            found.extend([p for p in self.network.consumers[name] if self._wanted(p)] if free else [(name, 0)])
        turn = {query.name: i for i, query in enumerate(self.network.queries)}
        return sorted(found, key=lambda p: (turn[self.network.readers[p[0]][0].name], self._place(p)))

    def _wanted(self, port: Port) -> bool:
        return bool(self.network.readers[port[0]])

    def _fuse(self, port: Port) -> None:
        """What runs in one go from this port on; what does not becomes an entry of its own."""
        name = port[0]
        op = self.network.by_name[name]
        here = stage(self.network, self.out, port)
        done = tuple(segment(self.network, self.out, q, port) for q in self.network.outputs[name])
        behind = [p for p in self.network.consumers[name] if self._wanted(p)]
        if op.kind is Kind.SOURCE and op.cost == FREE:
            return
        runs = Basis(done, op.cost)
        together, worth = self._together(port, here, behind, runs)
        members: tuple[str, ...] = (name,)
        cut = [p for p in behind if p not in together]
        self.cuts.update(cut)
        cut += [f for p in together if (f := self.bundles[p].following)]
        for p in together:
            members += self.bundles[p].members
            runs += self.bundles[p].runs.seen_from(here)
        # An operator that both inputs of a join lead to runs after both, so its last place counts.
        in_order = tuple(dict.fromkeys(reversed(members)))[::-1]
        self.bundles[port] = _Bundle(in_order, runs, worth, cut[0] if cut else None)

    def _together(self, port: Port, here: Stage, behind: Sequence[Port], own: Basis) -> tuple[list[Port], Basis]:
        """The ports that run with this one, best first, and what all of that is valued by."""
        # What costs nothing is no work of its own: it runs with what feeds it.
        free = [p for p in behind if self.bundles[p].runs.cost == FREE]
        costly = [p for p in behind if p not in free]
        worth = sum((self.bundles[p].worth.seen_from(here) for p in free), own)
        if self.level == "operator":
            whole = tuple(segment(self.network, self.out, q, port) for q in self.network.readers[port[0]])
            return free, self._basis(port, whole) if all(s.C for s in whole) else worth
        seen = [self.bundles[p].worth.seen_from(here) for p in costly]
        if len(costly) < 2:
            return free + costly, sum(seen, worth)
        branches = [Branch(sum(self.weight(s) for s in b.segments), b.cost.b) for b in seen]
        base = sum(self.weight(s) for s in worth.segments)
        defining = STRATEGIES[self.sharing.strategy](branches, own.cost.b, base)
        runs = [costly[i] for i in self._runs(branches, own.cost.b, base)]
        return free + runs, sum((seen[i] for i in defining.chosen), worth)

    def _runs(self, branches: Sequence[Branch], c: float, base: float) -> Sequence[int]:
        """The branches that run along with a shared operator of cost c."""
        if self.sharing.together == "operator":
            return ()
        if self.sharing.together == "group":
            return sorted(range(len(branches)), key=lambda i: -value(branches, [i], c))
        return (pdt_opt if self.sharing.strategy == "pdt-opt" else pdt)(branches, c, base).chosen

    def _basis(self, port: Port, whole: tuple[Segment, ...]) -> Basis:
        """At operator level an operator is worth the segments behind it, valued like a shared operator."""
        op = self.network.by_name[port[0]]
        branches = [Branch(self.weight(s), s.C - op.cost.b) for s in whole]
        chosen = [whole[i] for i in STRATEGIES[self.sharing.strategy](branches, op.cost.b, 0.0).chosen]
        rest = Cost(0.0, sum(s.C - op.cost.b for s in chosen))
        return Basis(tuple(chosen), op.cost + rest)

    def _unit(self, number: int, port: Port, *, leaf: bool) -> Unit:
        bundle = self.bundles[port]
        readers = self.network.readers[port[0]]
        return Unit(
            number,
            Entry(*port),
            bundle.members,
            bundle.runs.segments,
            bundle.runs.cost,
            bundle.worth,
            leaf,
            readers[0].cls,
            self.network.by_name[port[0]].kind is Kind.SOURCE and bundle.members == (port[0],),
        )
