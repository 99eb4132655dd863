"""An explanation as tables."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from headgate.engine.explain.conditions import Condition
from headgate.engine.explain.explanation import Class, Due, Explanation, Graph, Query, Shared, Unit
from headgate.engine.readable import share, span

_MOST_NAMES = 3
_MOST_ROWS = 20


def shown(explanation: Explanation) -> Iterator[RenderableType]:
    """What is printed for people."""
    kernel = [each for each in explanation.queries if each.runner == "kernel"]
    spark = [each for each in explanation.queries if each.runner == "Spark"]
    units = _n(len(explanation.units), "unit")
    yield Text(f"{len(kernel):,} in {units} of the kernel, {len(spark):,} on Spark plans of their own")
    if not explanation.fuse:
        said = "fusing is off: a policy is named, or the file says fuse: false; with fuse: true, queries run together"
        yield Text(said, style="yellow")
    if explanation.classes:
        yield from headed("classes", _classes(explanation.classes))
    if explanation.graphs:
        yield from headed("QoS graphs", _graphs(explanation.graphs))
    if explanation.deadlines:
        yield from headed("deadlines", _deadlines(explanation.deadlines))
    members: list[list[Query]] = [[] for _ in explanation.units]
    for query in kernel:
        members[query.unit or 0].append(query)
    both = list(zip(explanation.units, members, strict=True))
    for unit, queries in both:
        if unit.queries > 1:
            yield from _unit(unit, queries)
    if singles := [(unit, queries[0]) for unit, queries in both if unit.queries == 1]:
        yield from headed("in units of their own", _singles(singles))
    if spark:
        yield from headed("on Spark plans of their own", _spark(spark))


def _classes(classes: Sequence[Class]) -> Table:
    rows = [
        (each.name, f"{each.queries:,}", f"{each.priority:g}", share(each.share), _target(each)) for each in classes
    ]
    return table(("class", "queries", "priority", "share of the time", "delay target"), rows)


def _graphs(graphs: Sequence[Graph]) -> Table:
    drawn = [", ".join(f"{u:g} at {span(x)}" for x, u in each.points) for each in graphs]
    return table(
        ("queries", "worth"), [(_names(each.queries), said) for each, said in zip(graphs, drawn, strict=True)]
    )


def _deadlines(dues: Sequence[Due]) -> Table:
    rows = [
        (each.query, each.window, span(each.deadline), f"{each.weight:g}", "yes" if each.divided else "no")
        for each in dues
    ]
    return table(("query", "window", "due in", "weight", "lets others in between"), rows)


def _target(each: Class) -> str:
    return "none, nothing is dropped" if each.delay_target is None else span(each.delay_target)


def _unit(unit: Unit, queries: Sequence[Query]) -> Iterator[RenderableType]:
    yield Text()
    name = " · ".join(part for part in (unit.stream, unit.cls, unit.window) if part)
    riding = f", {unit.riding} riding with their class" if unit.riding else ""
    yield Text.assemble((name, "bold"), f": {_n(unit.queries, 'query')} of {_n(len(unit.shapes), 'shape')}{riding}")
    names: list[list[str]] = [[] for _ in unit.shapes]
    for query in queries:
        names[query.shape or 0].append(query.name)
    shapes = [(_names(some), Text(shape.sql)) for shape, some in zip(unit.shapes, names, strict=True)]
    yield table(("queries", "what they compute"), shapes)
    if unit.lookups:
        yield table(("joined once, for", ""), _shared(unit.lookups))
    if unit.conditions:
        yield table(("found by index", "tested", "queries"), [_condition(each) for each in unit.conditions])
    if unit.expressions:
        yield table(("computed once, for", ""), _shared(unit.expressions))


def _condition(found: Condition) -> tuple[Text, Text, str]:
    return Text(" AND ".join(found.index) or "–"), Text(" AND ".join(found.tested)), f"{found.queries:,}"


def _shared(found: Sequence[Shared]) -> list[tuple[str, Text]]:
    return [(_n(each.queries, "query"), Text(each.sql)) for each in found]


def _singles(units: Sequence[tuple[Unit, Query]]) -> Table:
    rows = [(query.name, unit.window or "", Text(unit.shapes[0].sql)) for unit, query in units]
    return table(("query", "window", "what it computes"), rows)


def _spark(queries: Sequence[Query]) -> Table:
    alike: dict[tuple[str, str], list[str]] = {}
    for query in queries:
        alike.setdefault((query.evaluation, query.why_not or ""), []).append(query.name)
    rows = [(_names(names), evaluation, Text(why)) for (evaluation, why), names in alike.items()]
    return table(("queries", "evaluated", "why not in a unit"), rows)


def _names(names: Sequence[str]) -> Text:
    if len(names) <= _MOST_NAMES:
        return Text("\n".join(names))
    return Text(f"{names[0]}\n… {len(names):,} in all")


def headed(heading: str, below: RenderableType) -> Iterator[RenderableType]:
    """A heading, and what stands below it."""
    yield Text()
    yield Text(heading, style="bold")
    yield below


def table(headings: Sequence[str], rows: Sequence[Sequence[RenderableType]]) -> Table:
    """Rows below their headings, as many as one can look at."""
    made = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in headings:
        made.add_column(
            heading, justify="right" if heading == "queries" and heading != headings[0] else "left", overflow="fold"
        )
    for row in rows[:_MOST_ROWS]:
        made.add_row(*row)
    if len(rows) > _MOST_ROWS:
        made.add_row(Text(f"… {len(rows) - _MOST_ROWS:,} more", style="dim"))
    return made


def _n(n: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"
