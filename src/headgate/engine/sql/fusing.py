"""What makes a query a candidate for a fused unit: a filter and named expressions over one stream, no more."""

from collections.abc import Mapping

from sqlglot import exp

from headgate.engine.sql.dialect import identifier, write
from headgate.engine.sql.functions import GENERATORS
from headgate.engine.sql.plan import Catalog, Fusable

_PARTS = {"expressions", "from_", "where"}


def fusable(query: exp.Query, catalog: Catalog) -> Fusable | None:
    """The filter and the output of a plain SELECT, in the stream's own column names; None if it is more than that."""
    given = {key for key, value in query.args.items() if value}
    if not isinstance(query, exp.Select) or not given <= _PARTS:
        return None
    source = query.args["from_"].this
    alias = source.args.get("alias")
    if not isinstance(source, exp.Table) or source.args.get("joins") or (alias and alias.columns):
        return None
    columns = catalog.streams[source.name].columns
    plain = _Plain(source.alias_or_name, {name.lower(): name for name in columns})
    try:
        named = [pair for item in query.expressions for pair in plain.output(item)]
        where = plain.text(query.args["where"].this) if query.args.get("where") else None
    except _TooMuchError:
        return None
    return Fusable(where, tuple(named))


class _TooMuchError(Exception):
    """Something that only Spark itself can tell."""


class _Plain:
    def __init__(self, source: str, columns: Mapping[str, str]) -> None:
        self.source = source.lower()
        self.columns = columns

    def output(self, item: exp.Expr) -> list[tuple[str, str]]:
        match item:
            case exp.Star() | exp.Column(this=exp.Star()):
                return [(name, write(identifier(name))) for name in self._shown(item)]
            case exp.Alias():
                return [(item.alias, self.text(item.this))]
            case exp.Column():
                return [(item.name, self.text(item))]
        raise _TooMuchError

    def text(self, expression: exp.Expr) -> str:
        """An expression with every column under the stream's own name for it."""
        return write(expression.transform(self._column))

    def _shown(self, item: exp.Expr) -> list[str]:
        if isinstance(item, exp.Column) and item.table.lower() != self.source:
            raise _TooMuchError
        star = item.this if isinstance(item, exp.Column) else item
        hidden = {each.name.lower() for each in star.args.get("except_") or []}
        return [name for key, name in self.columns.items() if key not in hidden]

    def _column(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Query | exp.Star | exp.Lambda):
            raise _TooMuchError
        if isinstance(node, exp.Anonymous) and node.name.lower() in GENERATORS:
            raise _TooMuchError
        if not isinstance(node, exp.Column):
            return node
        first, *fields = node.parts
        if fields and first.name.lower() == self.source and fields[0].name.lower() in self.columns:
            first, *fields = fields
        if first.name.lower() not in self.columns:
            raise _TooMuchError
        own = identifier(self.columns[first.name.lower()])
        return exp.Dot.build([exp.column(own), *(each.copy() for each in fields)]) if fields else exp.column(own)
