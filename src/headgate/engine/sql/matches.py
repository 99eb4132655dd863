"""How a query finds rows of tables: which columns of a table have to equal which columns of a stream.

Only what can be told from the text: equalities of columns that have to hold for every result, in ON, WHERE and USING,
or `column IN (SELECT column FROM table)`; also where subqueries hand columns on under other names. Casts are ignored.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.scope import Scope, traverse_scope

from headgate.engine.sql.dialect import read
from headgate.engine.sql.names import resolve
from headgate.engine.sql.plan import Catalog, Relation


@dataclass(frozen=True, slots=True)
class Match:
    """Rows of a table are found by tuples of a stream: pairs of a column of the table and one of the stream."""

    table: str
    stream: str
    keys: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Base:
    """A column of a stream or table, at one of the places where the query reads that."""

    place: int
    relation: str
    column: str


def matches(text: str, catalog: Catalog) -> tuple[Match, ...]:
    """What a query, which can be planned over these streams and tables, looks up by plain columns."""
    found: dict[tuple[int, str, str], list[tuple[str, str]]] = {}
    try:
        scopes = traverse_scope(resolve(read(text), catalog))
    except OptimizeError:
        return ()
    finder = _Finder(catalog)
    for scope in scopes:
        for pair in finder.equal(scope):
            for a, b in (pair, pair[::-1]):
                if a.relation in catalog.tables and b.relation in catalog.streams:
                    found.setdefault((a.place, a.relation, b.relation), []).append((a.column, b.column))
    return tuple(Match(table, stream, tuple(dict.fromkeys(keys))) for (_, table, stream), keys in found.items())


@dataclass(frozen=True, slots=True)
class _Finder:
    catalog: Catalog

    def equal(self, scope: Scope) -> Iterator[tuple[_Base, _Base]]:
        """Pairs of columns that are equal in every row."""
        for a, b in _sides(scope):
            one, other = self._base(a, scope), self._base(b, _inner(scope, b) or scope)
            if one and other:
                yield one, other

    def _base(self, node: exp.Expr, scope: Scope) -> _Base | None:
        """The column that an expression is, seen from a scope; None if it is none, or could be several."""
        while isinstance(node, exp.Paren | exp.Cast):
            node = node.this
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star) or len(node.parts) > 2:
            return None
        name, called = node.name.lower(), node.table.lower()
        here: Scope | None = scope
        while here is not None:
            sources = [source for key, source in here.sources.items() if called in ("", key.lower())]
            found = [base for source in sources if (base := self._of(source, name))]
            if found:
                return found[0] if len(found) == 1 else None
            here = here.parent
        return None

    def _of(self, source: exp.Expr | Scope, name: str) -> _Base | None:
        """The column of a source that has a name."""
        if isinstance(source, exp.Table):
            relation = self._relation(source.name)
            column = next((each for each in relation.columns if each.lower() == name), None) if relation else None
            return _Base(id(source), source.name, column) if column else None
        if not isinstance(source, Scope) or not isinstance(source.expression, exp.Select):
            return None
        alias = source.expression.parent.args.get("alias") if source.expression.parent else None
        if alias and alias.columns:
            return None
        for item in source.expression.selects:
            if isinstance(item, exp.Star):
                return self._base(exp.column(name), source)
            if item.alias_or_name.lower() == name:
                return self._base(item.unalias(), source)
        return None

    def _relation(self, name: str) -> Relation | None:
        return self.catalog.streams.get(name) or self.catalog.tables.get(name)


def _sides(scope: Scope) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Both sides of each equality in a SELECT; of `x IN (SELECT y ...)` they are x and y."""
    select = scope.expression
    if not isinstance(select, exp.Select):
        return
    joins = select.args.get("joins") or []
    names = [source.alias_or_name for source in (select.args["from_"].this, *(join.this for join in joins))]
    conditions = [join.args["on"] for join in joins if join.args.get("on")]
    conditions += [where.this] if (where := select.args.get("where")) else []
    for condition in conditions:
        for each in _together(condition):
            if isinstance(each, exp.EQ):
                yield each.this, each.expression
            elif isinstance(each, exp.In) and (query := each.args.get("query")):
                inner = query.this if isinstance(query, exp.Subquery) else query
                if isinstance(inner, exp.Select) and len(inner.selects) == 1:
                    yield each.this, inner.selects[0].unalias()
    for number, join in enumerate(joins, 1):
        for using in join.args.get("using") or ():
            for before in names[:number]:
                yield exp.column(using.name, before), exp.column(using.name, names[number])


def _inner(scope: Scope, node: exp.Expr) -> Scope | None:
    """The scope of a subquery in a condition, if the node is what it selects."""
    select = node.find_ancestor(exp.Select)
    return next((each for each in scope.subquery_scopes if each.expression is select), None)


def _together(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that have to hold together."""
    if isinstance(node, exp.Paren):
        yield from _together(node.this)
    elif isinstance(node, exp.And):
        yield from _together(node.this)
        yield from _together(node.expression)
    else:
        yield node
