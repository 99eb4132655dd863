"""An explanation as tables."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from headgate.engine.explain.explanation import Explanation, Query, Shared, Unit

_MOST_NAMES = 3
_MOST_ROWS = 20


def shown(explanation: Explanation) -> Iterator[RenderableType]:
    """What is printed for people."""
    queries = explanation.queries
    fused = [each for each in queries if each.runner == "kernel"]
    alone = [each for each in queries if each.runner == "Spark"]
    yield Text(
        f"{_n(len(queries), 'query')}: {len(fused)} in {_n(len(explanation.units), 'unit')} of the kernel, "
        f"{len(alone)} on Spark plans of their own",
        style="bold",
    )
    if not explanation.fuse:
        yield Text("fusing is off, since a policy is named or the file says so; fuse: true turns it on", style="dim")
    for number, unit in enumerate(explanation.units):
        yield Text()
        yield from _unit(unit, [each for each in fused if each.unit == number])
    if alone:
        yield Text()
        yield Text("on Spark plans of their own", style="bold")
        yield _alone(alone)


def _unit(unit: Unit, queries: Sequence[Query]) -> Iterator[RenderableType]:
    counts = f"{_n(unit.queries, 'query')} of {_n(len(unit.shapes), 'shape')}"
    yield Text.assemble((unit.name, "bold"), f": {counts}")
    names: list[list[str]] = [[] for _ in unit.shapes]
    for query in queries:
        names[query.shape or 0].append(query.name)
    table = _table("queries", "what they compute")
    for shape, some in list(zip(unit.shapes, names, strict=True))[:_MOST_ROWS]:
        table.add_row(_names(some), Text(shape.sql))
    yield table
    if len(unit.shapes) > _MOST_ROWS:
        yield Text(f"… and {_n(len(unit.shapes) - _MOST_ROWS, 'more shape')}", style="dim")
    yield from _shared("looked up once", unit.lookups)
    yield from _conditions(unit)
    yield from _shared("computed once", unit.expressions)


def _conditions(unit: Unit) -> Iterator[RenderableType]:
    if not unit.conditions:
        return
    table = _table("found by", "then tested", "queries")
    for each in unit.conditions[:_MOST_ROWS]:
        first = Text(" AND ".join(each.index)) if each.index else Text(" AND ".join(each.once), style="italic")
        table.add_row(first, Text(" AND ".join(each.then)), f"{each.queries:,}")
    yield table
    if len(unit.conditions) > _MOST_ROWS:
        yield Text(f"… and {_n(len(unit.conditions) - _MOST_ROWS, 'more form')}", style="dim")


def _shared(heading: str, found: Sequence[Shared]) -> Iterator[RenderableType]:
    if not found:
        return
    table = _table(heading, "queries")
    for each in found[:_MOST_ROWS]:
        table.add_row(Text(each.sql), f"{each.queries:,}")
    yield table
    if len(found) > _MOST_ROWS:
        yield Text(f"… and {len(found) - _MOST_ROWS} more", style="dim")


def _alone(queries: Sequence[Query]) -> Table:
    table = _table("queries", "evaluated", "why")
    alike: dict[tuple[str, str], list[str]] = {}
    for query in queries:
        alike.setdefault((query.evaluation, query.why_not or ""), []).append(query.name)
    for (evaluation, why), names in alike.items():
        table.add_row(_names(names), evaluation, Text(why))
    return table


def _names(names: Sequence[str]) -> Text:
    if len(names) <= _MOST_NAMES:
        return Text("\n".join(names))
    return Text(f"{names[0]}\n{names[1]}\n… {len(names):,} in all")


def _table(*headings: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in headings:
        table.add_column(heading, justify="left", overflow="fold", ratio=None)
    return table


def _n(n: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"
