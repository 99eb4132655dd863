"""Carrying hidden columns of a stream, such as the time of arrival, to where a SELECT can use them."""

from collections.abc import Sequence

from sqlglot import exp

from headgate.engine.sql.dialect import identifier
from headgate.engine.sql.names import reads
from headgate.engine.sql.plan import Catalog
from headgate.engine.sql.tuples import breach, own, sources

KEPT = "_kept"


def carry(select: exp.Select, catalog: Catalog, columns: Sequence[str]) -> bool:
    """Let a SELECT read hidden columns of its stream; False, and no change, if it does not read it tuple by tuple.

    The names in the SELECT mean what they meant before, and `*` does not show the hidden columns.
    """
    found = [source for source, _ in sources(select) if reads(source, catalog.streams)]
    if len(found) != 1 or not isinstance(found[0], exp.Table | exp.Subquery):
        return False
    source = found[0]
    if isinstance(source, exp.Table):
        _replace(source, catalog, columns, starred=bool(_stars(select)))
    else:
        inner = source.this
        if breach(source, catalog.streams) or not isinstance(inner, exp.Select) or not carry(inner, catalog, columns):
            return False
        inner.set("expressions", [*inner.expressions, *map(exp.column, columns)])
        _rename(source, columns)
    for star in _stars(select):
        if not isinstance(star.parent, exp.Column) or star.parent.table.lower() == source.alias_or_name.lower():
            star.set("except_", [*(star.args.get("except_") or []), *map(exp.column, columns)])
    return True


def stamped(query: exp.Query, catalog: Catalog, shown: Sequence[str] = ()) -> exp.Query | None:
    """A query that runs tuple by tuple, with some hidden columns, and as the last the arrival of a result's tuple."""
    select = query.copy()
    if not isinstance(select, exp.Select) or not carry(select, catalog, (*shown, "_arrival")):
        return None
    return select.select(*shown, "_arrival")


def _rename(source: exp.Subquery, columns: Sequence[str]) -> None:
    alias = source.args.get("alias")
    if alias and alias.columns:
        alias.set("columns", [*alias.columns, *map(exp.to_identifier, columns)])


def _stars(select: exp.Select) -> list[exp.Star]:
    """Where a SELECT says * for all columns; count(*) is about rows."""
    stars = [node for node in own(select) if isinstance(node, exp.Star)]
    return [
        star for star in stars if not (isinstance(star.parent, exp.Anonymous) and star.parent.name.lower() == "count")
    ]


def _replace(stream: exp.Table, catalog: Catalog, columns: Sequence[str], *, starred: bool) -> None:
    """Put the view with hidden columns in a stream's place; those asked for alone where `*` would tell."""
    alias = stream.args.get("alias") or exp.TableAlias(this=stream.this.copy())
    view = exp.Table(this=identifier(f"__{stream.name}"))
    if not starred and not alias.columns:
        view.set("alias", alias)
        stream.replace(view)
        return
    shown = [exp.column(identifier(name)) for name in catalog.streams[stream.name].columns]
    whole = exp.Subquery(this=exp.select(*shown, *columns).from_(view), alias=alias)
    _rename(whole, columns)
    stream.replace(whole)
