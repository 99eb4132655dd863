"""How queries are evaluated: together in units, by shape, or each by itself. Plain values, for `--json`."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from headgate.engine.compiled import Compiled
from headgate.engine.explain.conditions import Condition, conditions
from headgate.engine.explain.written import lookups, shape, tables, text
from headgate.engine.fused import Kin
from headgate.engine.kernel.atoms import terms
from headgate.engine.kernel.ir import Call, Lookup, Node, Segment
from headgate.engine.placing import together
from headgate.engine.query import LiveQuery
from headgate.engine.riding import Riding
from headgate.engine.sql.plan import ByPanes, BySession, PerTrain, PerWindow
from headgate.engine.windows import Window
from headgate.model.classes import QueryClass, ranked, shares

Runner = Literal["kernel", "Spark"]

EVALUATION = {
    PerTrain: "tuple by tuple",
    ByPanes: "by panes",
    PerWindow: "window by window",
    BySession: "by session",
}
_NOT_FUSED = "neither fusing nor resident lanes are on"


@dataclass(frozen=True, slots=True)
class Shape:
    """Queries that differ in their constants only."""

    sql: str
    queries: int


@dataclass(frozen=True, slots=True)
class Shared:
    """What is computed once for so many queries."""

    sql: str
    queries: int


@dataclass(frozen=True, slots=True)
class Unit:
    """Queries that one run of the kernel evaluates. A window is written like `10s every 2s`.

    So many of them are of lower classes than the unit, and ride along.
    """

    stream: str
    cls: str
    window: str | None
    queries: int
    riding: int
    shapes: tuple[Shape, ...]
    lookups: tuple[Shared, ...]
    conditions: tuple[Condition, ...]
    expressions: tuple[Shared, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """How one query is evaluated, and by whom. `unit` and `shape` count from 0; a Spark plan has none."""

    name: str
    cls: str
    evaluation: str
    runner: Runner
    unit: int | None
    shape: int | None
    why_not: str | None


@dataclass(frozen=True, slots=True)
class Class:
    """A class: the share of the time that its priority gives it, and how long its results may take."""

    name: str
    queries: int
    priority: float
    share: float
    delay_target: float | None


@dataclass(frozen=True, slots=True)
class Graph:
    """A QoS graph, by its points of a latency in seconds and a utility, and the queries that have it."""

    points: tuple[tuple[float, float], ...]
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Due:
    """A query with a deadline, in seconds from the end of a window, and its weight.

    `divided` says whether its windows are run in pieces, between which others have their turn.
    """

    query: str
    window: str
    deadline: float
    weight: float
    divided: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """The units of the kernel, and every query; whether fusing is on, and resident lanes are there.

    The classes that the pipeline names, the most important first; none if it names none. The QoS graphs of queries.
    The queries with a deadline, the shortest first.
    """

    fuse: bool
    resident: bool
    units: tuple[Unit, ...]
    queries: tuple[Query, ...]
    classes: tuple[Class, ...] = ()
    graphs: tuple[Graph, ...] = ()
    deadlines: tuple[Due, ...] = ()


def explained(
    queries: Iterable[LiveQuery],
    classes: Sequence[QueryClass] = (),
    *,
    fuse: bool = True,
    resident: bool = True,
    sharing: bool = False,
) -> Explanation:
    """What an engine makes of queries that begin together, with fusing and resident lanes or without.

    With sharing, queries ride along with those of higher classes.
    """
    every = list(queries)
    able = [query for query in every if query.compiled] if fuse or resident else []
    groups = together(able, Riding(classes, lambda _: 0) if fuse and sharing else None, apart=not fuse)
    places: dict[str, tuple[int, int]] = {}
    made = []
    for number, group in enumerate(groups):
        members = [query.compiled for query in group if query.compiled]
        numbers = {each: i for i, each in enumerate(dict.fromkeys(compiled.shape for compiled in members))}
        places |= {q.name: (number, numbers[each.shape]) for q, each in zip(group, members, strict=True)}
        kin = Kin.of(group[0])
        made.append(_unit(kin, members, sum(query.cls != kin.cls for query in group)))
    found = tuple(_query(query, places.get(query.name)) for query in every)
    due = sorted(_due(every), key=lambda each: each.deadline)
    return Explanation(
        fuse, resident, tuple(made), found, tuple(_classes(classes, every)), _graphs(every), tuple(due)
    )


def _classes(classes: Sequence[QueryClass], queries: Sequence[LiveQuery]) -> Iterator[Class]:
    counts = Counter(query.cls for query in queries)
    by_priority = shares(classes) if classes else {}
    for each in ranked(classes):
        target = each.delay_target if math.isfinite(each.delay_target) else None
        yield Class(each.name, counts[each.name], each.priority, by_priority[each.name], target)


def _graphs(queries: Sequence[LiveQuery]) -> tuple[Graph, ...]:
    names: dict[tuple[tuple[float, float], ...], list[str]] = {}
    for query in queries:
        if query.qos:
            names.setdefault(query.qos.points, []).append(query.name)
    return tuple(Graph(points, tuple(some)) for points, some in names.items())


def _due(queries: Sequence[LiveQuery]) -> Iterator[Due]:
    for query in queries:
        deadline, plan = query.draft.deadline, query.draft.plan
        if deadline and isinstance(plan, ByPanes | PerWindow):
            divided = isinstance(plan, ByPanes) or plan.divided is not None
            yield Due(query.name, spelled(plan.window), deadline.due, deadline.weight, divided)


def _query(query: LiveQuery, place: tuple[int, int] | None) -> Query:
    kind = EVALUATION[type(query.draft.plan)]
    if place:
        return Query(query.name, query.cls, kind, "kernel", *place, None)
    why_not = (query.why_not or _NOT_FUSED).removeprefix(f"it is evaluated {kind}: ")
    return Query(query.name, query.cls, kind, "Spark", None, None, why_not)


def _unit(kin: Kin, members: Sequence[Compiled], riding: int) -> Unit:
    counts = Counter(compiled.shape for compiled in members)
    return Unit(
        kin.stream,
        kin.cls,
        spelled(kin.window) if kin.window else None,
        len(members),
        riding,
        tuple(Shape(shape(each), n) for each, n in counts.items()),
        _lookups(counts),
        conditions(members),
        _expressions(counts),
    )


def spelled(window: Window) -> str:
    """A window as one writes it."""
    if window.over_rows:
        size, slide = (f"{n} row{'s' if n > 1 else ''}" for n in (window.size, window.slide))
    else:
        size, slide = (f"{micros / 1e6:g}s" for micros in (window.size, window.slide))
    return size if window.size == window.slide else f"{size} every {slide}"


def _lookups(counts: Counter[Segment]) -> tuple[Shared, ...]:
    """Prefixes: joins with tables, which the queries behind them have in common."""
    found: Counter[tuple[Lookup, ...]] = Counter()
    for each, n in counts.items():
        if each.lookups:
            found[each.lookups] += n
    return tuple(Shared(" ".join(lookups(prefix)), n) for prefix, n in found.items())


def _expressions(counts: Counter[Segment]) -> tuple[Shared, ...]:
    """What is compared, or is a column of results, for more queries than one."""
    found: Counter[tuple[tuple[Lookup, ...], Node]] = Counter()
    for each, n in counts.items():
        found.update({(each.lookups, node): n for node in _computed(each) if isinstance(node, Call)})
    often = [(prefix, node, n) for (prefix, node), n in found.most_common() if n > 1]
    return tuple(Shared(text(node, tables(prefix)), n) for prefix, node, n in often)


def _computed(segment: Segment) -> Iterator[Node]:
    for term in terms(segment.where):
        yield from (atom.operand for atom in term)
    if segment.grouping:
        yield from segment.grouping.keys
        for part in segment.grouping.parts:
            yield from part.args
            yield from [part.where] if part.where else []
    else:
        yield from (node for _, node in segment.columns)
