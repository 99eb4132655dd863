"""The query networks of load management and DILoS, and what they cost.

Table 2 of the publication implies a capacity of 207 tuples per second under S_c, and Table 1 costs that make Aurora
believe in 213. So a tuple is 1/213 s of work in QN-flat; to look at one that is dropped takes 0.15 ms; what is then
missing to 207 is time that the system does not have. Costs of QN-A are those of a visit to a class.
"""

from collections.abc import Callable, Mapping, Sequence

from headgate.control.boundaries import Division
from headgate.model.classes import QueryClass
from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.model.parameters import rates, segment
from headgate.model.unit import Basis, Entry, Unit
from headgate.sim.trains.machine import Machine
from headgate.sim.trains.timeline import Timeline, constant

US = 1e-6
BATCH = 50
CAPACITY = 207.0
"""Tuples per second that QN-flat can work on while S_c is shed."""
WORK = 1 / 213.0
"""Seconds of work for a tuple of QN-flat."""
LOOK = 0.15e-3
"""Seconds to look at a tuple of S_c that is dropped."""
OVERLOAD = 350.0
HEADROOM = CAPACITY * WORK
"""The true headroom under S_c: what a headroom is tuned to."""
SHARE = HEADROOM + (OVERLOAD - CAPACITY) * LOOK
"""The part of the time that the system has."""

PASSES = 0.8
VISIT, READ, PROCESS = 0.8e-3, 4 * US, 22 * US
"""Of a visit to a class of QN-A: once, for each tuple read, and for each that is kept, on top."""

ONE = (QueryClass("all", 1.0, 2.0),)
THREE = (QueryClass("1", 6.0, 0.3), QueryClass("2", 3.0, 0.4), QueryClass("3", 1.0, 0.5))


def busy_machine(share: Timeline | None = None, batch: float = BATCH) -> Machine:
    """The machine of QN-flat, QN-complex and QN-long; background jobs leave a share of it."""
    capacity = constant(SHARE)
    if share is not None:
        capacity = Timeline(tuple((time, SHARE * part) for time, part in share.levels))
    return Machine(capacity=capacity, noise=0.1, batch=batch, read=LOOK)


def batched(setup: float = 91 * US, each: float = 29 * US) -> Network:
    """One query in which a turn pays for its set-up, and the tuples of a batch share it."""
    ops = [Operator("s", Kind.SOURCE)]
    for k in range(3):
        below = ops[-1].name
        ops.append(Operator(f"q.{k}", Kind.PROJECT, (below,), Cost(setup / 3, each / 3)))
    return Network(tuple(ops), (Query("q", ops[-1].name, "all"),))


def flat() -> Network:
    """QN-flat: a source, four selects with a project behind each, and an output."""
    ops = [Operator("s", Kind.SOURCE, cost=Cost(b=1.0))]
    for k in range(4):
        ops.append(Operator(f"select{k}", Kind.SELECT, (ops[-1].name,), Cost(b=1.0), PASSES))
        ops.append(Operator(f"project{k}", Kind.PROJECT, (ops[-1].name,), Cost(b=1.0)))
    ops.append(Operator("out", Kind.OUTPUT, (ops[-1].name,), Cost(b=1.0)))
    return costing(Network(tuple(ops), (Query("q", "out", "all"),)), {"s": 1.0}, WORK)


def complex_network(groups: int) -> Network:
    """QN-complex: groups of four queries over one stream, of which two share a select each.

    A tuple on every stream is as much work as one in QN-flat.
    """
    ops, queries = [], []
    for g in range(groups):
        ops.append(Operator(f"s{g}", Kind.SOURCE, cost=Cost(b=1.0)))
        for pair in ("high", "low"):
            shared = f"{g}.{pair}"
            ops.append(Operator(shared, Kind.SELECT, (f"s{g}",), Cost(b=1.0), PASSES))
            for k in range(2):
                name = f"{shared}.{k}"
                ops.append(Operator(f"{name}.select", Kind.SELECT, (shared,), Cost(b=1.0), PASSES))
                ops.append(Operator(f"{name}.project", Kind.PROJECT, (f"{name}.select",), Cost(b=1.0)))
                ops.append(Operator(f"{name}.filter", Kind.SELECT, (f"{name}.project",), Cost(b=1.0), PASSES))
                ops.append(Operator(f"{name}.out", Kind.OUTPUT, (f"{name}.filter",), Cost(b=1.0)))
                queries.append(Query(name, f"{name}.out", "all"))
    network = Network(tuple(ops), tuple(queries))
    return costing(network, dict.fromkeys(network.streams, 1.0), WORK)


WINDOW = 10.0


def long_network() -> Network:
    """A group of QN-long: five joins of six streams, a mean, groups of rows, and a filter on what they are.

    Two queries share all up to the groups; with the other two they share the first join. At the capacity of QN-flat
    each join gives as many tuples as one of its streams brings, and that is just what the system can do.
    """
    match = 1 / (2 * WINDOW * CAPACITY)
    streams = [f"s{k}" for k in range(6)]
    ops = [Operator(name, Kind.SOURCE) for name in streams]
    ops += [Operator(f"range{k}", Kind.PROJECT, (name,), Cost(b=1.0)) for k, name in enumerate(streams)]
    ops.append(Operator("join0", Kind.WINDOW_JOIN, ("range0", "range1"), Cost(b=1.0), match, WINDOW))
    queries = []
    for pair in ("a", "b"):
        below = "join0"
        for k in range(1, 5):
            name = f"{pair}.join{k}"
            ops.append(Operator(name, Kind.WINDOW_JOIN, (below, f"range{k + 1}"), Cost(b=1.0), match, WINDOW))
            below = name
        for what in ("mean", "istream", "rows"):
            ops.append(Operator(f"{pair}.{what}", Kind.PROJECT, (below,), Cost(b=1.0)))
            below = f"{pair}.{what}"
        for k in range(2):
            ops.append(Operator(f"{pair}.{k}.groups", Kind.AGGREGATE, (below,), Cost(b=1.0)))
            ops.append(Operator(f"{pair}.{k}.having", Kind.SELECT, (f"{pair}.{k}.groups",), Cost(b=1.0), PASSES))
            ops.append(Operator(f"{pair}.{k}.out", Kind.OUTPUT, (f"{pair}.{k}.having",), Cost(b=1.0)))
            queries.append(Query(f"{pair}.{k}", f"{pair}.{k}.out", "all"))
    network = Network(tuple(ops), tuple(queries))
    return costing(network, dict.fromkeys(streams, CAPACITY), HEADROOM)


def costing(network: Network, streams: Mapping[str, float], work: float) -> Network:
    """The network with its costs scaled so that the streams at these rates are so much work per second."""
    out = rates(network, streams)
    now = sum(op.cost.b * sum(out[name] for name in op.inputs or (op.name,)) for op in network.operators)
    return network.scaled(work / now)


AGGREGATES, JOINS, SELECTS = 5, 2, 4
SHARED = ("select0", "select1")
"""The queries of class 3 that read what class 1 has selected, in the variant with sharing."""


def classes_network(copies: int = 1, *, sharing: bool = False) -> Network:
    """QN-A: eleven queries over thirteen streams in each of three classes; QN-B has those of class 1 three times.

    With `sharing` classes 1 and 3 have two sources and two selects in common.
    """
    ops: list[Operator] = []
    queries: list[Query] = []
    for cls in ("1", "2", "3"):
        for copy in ("", "b", "c")[: copies if cls == "1" else 1]:
            mine, found = _eleven(cls, cls + copy, SHARED if sharing and cls == "3" else ())
            ops += mine
            queries += found
    return Network(tuple(ops), tuple(queries))


def _eleven(cls: str, prefix: str, shared: Sequence[str]) -> tuple[list[Operator], list[Query]]:
    setup = Cost(VISIT / (4 * AGGREGATES + 6 * JOINS + 3 * SELECTS), 0.0)
    # Tuples that come to operators behind the sources, while every stream brings one.
    passing = 3 * AGGREGATES + 5 * JOINS + 1.5 * SELECTS
    works = setup + Cost(b=PROCESS * (AGGREGATES + 2 * JOINS + SELECTS) / passing)
    ops: list[Operator] = []
    queries: list[Query] = []

    def add(name: str, kind: Kind, inputs: Sequence[str], cost: Cost, s: float = 1.0) -> str:
        ops.append(Operator(f"{prefix}.{name}", kind, tuple(inputs), cost, s))
        return ops[-1].name

    def reader(name: str) -> str:
        stream = add(f"{name}.s", Kind.SOURCE, (), Cost())
        return add(f"{name}.read", Kind.PROJECT, [stream], setup + Cost(b=READ))

    def answer(name: str, below: str) -> None:
        queries.append(Query(f"{prefix}.{name}", add(f"{name}.out", Kind.OUTPUT, [below], works), cls))

    for k in range(AGGREGATES):
        window = add(f"aggregate{k}.window", Kind.PROJECT, [reader(f"aggregate{k}")], works)
        answer(f"aggregate{k}", add(f"aggregate{k}.groups", Kind.AGGREGATE, [window], works))
    for k in range(JOINS):
        sides = [add(f"join{k}.{s}.window", Kind.PROJECT, [reader(f"join{k}.{s}")], works) for s in "lr"]
        answer(f"join{k}", add(f"join{k}.match", Kind.JOIN, sides, works, 0.5))
    for k in range(SELECTS):
        name = f"select{k}"
        below = f"1.{name}.match" if name in shared else add(f"{name}.match", Kind.SELECT, [reader(name)], works, 0.5)
        answer(name, below)
    return ops, queries


def by_visit(
    network: Network, streams: Mapping[str, float], classes: Sequence[QueryClass], apart: Callable[[str], str]
) -> tuple[Unit, ...]:
    """A unit for all operators of a class, or for those of them for which `apart` gives the same word.

    A unit whose tuples come from streams counts as a source: to visit a class is to read its sources and to work on
    what they have.
    """
    division = Division(network, classes)
    out = rates(network, streams)
    groups: dict[tuple[str, str], list[str]] = {}
    for name in network.order:
        if name in division.owners:
            groups.setdefault((division.owners[name], apart(name)), []).append(name)
    units: list[Unit] = []
    for (cls, _), members in groups.items():
        inside = set(members)
        leaves = [
            (name, i)
            for name in members
            for i, feeder in enumerate(network.by_name[name].inputs)
            if feeder not in inside
        ]
        segments = tuple(
            segment(network, out, query, leaf)
            for leaf in leaves
            for query in network.readers[leaf[0]]
            if network.by_name[query.output].name in inside
        )
        cost = sum((network.by_name[name].cost for name in members), Cost())
        entry = Entry(*leaves[0])
        first = network.by_name[leaves[0][0]].inputs[leaves[0][1]]
        source = network.by_name[first].kind is Kind.SOURCE
        units.append(
            Unit(len(units), entry, tuple(members), segments, cost, Basis(segments, cost), cls=cls, source=source)
        )
    return tuple(units)
