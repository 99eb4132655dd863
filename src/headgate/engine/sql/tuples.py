"""Whether a query looks at one tuple at a time, so that its result does not depend on how a stream is cut."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from headgate.engine.sql.functions import AGGREGATES, RANKING
from headgate.engine.sql.names import reads

_CUT = "the result would depend on how the stream is cut into trains"
_REPEATED = "rows of the table would come again with every train"

_GROUPING = {"group": "GROUP BY", "having": "HAVING"}
_WHOLE = {"distinct": "DISTINCT", "order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET", "windows": "WINDOW"}

Source = exp.Expr
"""What stands in FROM or in a join: a stream or table, a subquery, or a function of values."""


@dataclass(frozen=True, slots=True)
class Breach:
    """What looks at more than one tuple, where it stands, and why that cannot be done train by train."""

    what: str
    node: exp.Expr
    why: str = _CUT


def breach(query: exp.Expr, streams: Mapping[str, object], *, grouped: bool = False) -> Breach | None:
    """The first thing in a query that looks at more than one tuple of a stream; parts that read none may do so.

    With `grouped`, the outermost SELECT may group and aggregate.
    """
    return next(_breaches(query, streams, grouped=grouped), None)


def own(select: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of a SELECT itself; the queries within it are yielded, but not what is in them."""
    yield from select.walk(prune=lambda node: isinstance(node, exp.Query) and node is not select)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is the call of an aggregate, and not one with OVER."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in AGGREGATES and not _over(node)


def sources(select: exp.Select) -> list[tuple[Source, exp.Join | None]]:
    """What a SELECT reads from: the first by itself, the others with their joins."""
    first = select.args.get("from_")
    joins = select.args.get("joins") or []
    return [*([(first.this, None)] if first else []), *((join.this, join) for join in joins)]


def _over(node: exp.Expr) -> bool:
    around = node.parent
    while isinstance(around, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        around = around.parent
    return isinstance(around, exp.Window)


def _breaches(query: exp.Expr, streams: Mapping[str, object], *, grouped: bool = False) -> Iterator[Breach]:
    if not reads(query, streams):
        return
    clauses = _WHOLE if grouped else {**_GROUPING, **_WHOLE}
    for key, word in clauses.items():
        clause = query.args.get(key)
        if clause and not isinstance(clause, bool):
            yield Breach(word, clause[0] if isinstance(clause, list) else clause)
    match query:
        case exp.SetOperation():
            yield Breach(query.key.upper(), query)
        case exp.Subquery(this=exp.Query()) if not query.args.get("joins"):
            yield from _breaches(query.this, streams)
        case exp.Select():
            yield from _expressions(query, streams, grouped=grouped)
            yield from _sources(query, streams)
        case _:
            yield Breach("a join in parentheses", query)


def _expressions(select: exp.Select, streams: Mapping[str, object], *, grouped: bool) -> Iterator[Breach]:
    read = {id(source) for source, _ in sources(select)}
    for node in own(select):
        if isinstance(node, exp.Window) or (isinstance(node, exp.Anonymous) and node.name.lower() in RANKING):
            yield Breach("a window function", node)
        elif is_aggregate(node) and not grouped:
            yield Breach(f"{node.name.lower()}()", node)
        elif isinstance(node, exp.Query) and node is not select and id(node) not in read and reads(node, streams):
            yield Breach("a stream in a subquery", node)


def _sources(select: exp.Select, streams: Mapping[str, object]) -> Iterator[Breach]:
    held = False
    for source, join in sources(select):
        found = reads(source, streams)
        if len(found) + held > 1:
            yield Breach("a second read of a stream", found[-1] if found else source)
        side, kind = (join.side, join.kind) if join else ("", "")
        if found and join and (side in ("LEFT", "FULL") or kind in ("SEMI", "ANTI")):
            yield Breach(f"a {side or kind} JOIN that keeps rows without a tuple", join, _REPEATED)
        if held and side in ("RIGHT", "FULL"):
            yield Breach(f"a {side} JOIN that keeps rows without a tuple", source, _REPEATED)
        if found and not isinstance(source, exp.Table):
            yield from _breaches(source, streams)
        held = held or bool(found)
