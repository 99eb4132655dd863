"""Carrying hidden columns of a stream, such as the time of arrival, to where a SELECT can use them."""

from collections.abc import Sequence

from sqlglot import exp

from headgate.engine.sql.dialect import identifier
from headgate.engine.sql.names import reads
from headgate.engine.sql.plan import Catalog
from headgate.engine.sql.tuples import breach, own, sources


def carry(select: exp.Select, catalog: Catalog, columns: Sequence[str]) -> bool:
    """Let a SELECT read hidden columns of its stream; False, and no change, if it does not read it tuple by tuple.

    The names in the SELECT mean what they meant before, and `*` does not show the hidden columns.
    """
    found = [source for source, _ in sources(select) if reads(source, catalog.streams)]
    if len(found) != 1 or not isinstance(found[0], exp.Table | exp.Subquery):
        return False
    source = found[0]
    if isinstance(source, exp.Subquery):
        inner = source.this
        if breach(source, catalog.streams) or not isinstance(inner, exp.Select) or not carry(inner, catalog, columns):
            return False
        inner.set("expressions", [*inner.expressions, *map(exp.column, columns)])
        _rename(source, columns)
    else:
        alias = source.args.get("alias") or exp.TableAlias(this=source.this.copy())
        shown = [exp.column(identifier(name)) for name in catalog.streams[source.name].columns]
        read = exp.select(*shown, *columns).from_(exp.Table(this=identifier(f"__{source.name}")))
        whole = exp.Subquery(this=read, alias=alias)
        _rename(whole, columns)
        source.replace(whole)
        source = whole
    _hide(select, source.alias, columns)
    return True


def stamped(query: exp.Query, catalog: Catalog) -> exp.Query | None:
    """A query that runs tuple by tuple, with the arrival of each result's tuple as a last column."""
    select = query.copy()
    if not isinstance(select, exp.Select) or not carry(select, catalog, ("_arrival",)):
        return None
    return select.select("_arrival")


def _rename(source: exp.Subquery, columns: Sequence[str]) -> None:
    alias = source.args.get("alias")
    if alias and alias.columns:
        alias.set("columns", [*alias.columns, *map(exp.to_identifier, columns)])


def _hide(select: exp.Select, source: str, columns: Sequence[str]) -> None:
    for star in [node for node in own(select) if isinstance(node, exp.Star)]:
        around = star.parent
        counts = isinstance(around, exp.Anonymous) and around.name.lower() == "count"
        elsewhere = isinstance(around, exp.Column) and around.table.lower() != source.lower()
        if not counts and not elsewhere:
            star.set("except_", [*(star.args.get("except_") or []), *map(exp.column, columns)])
