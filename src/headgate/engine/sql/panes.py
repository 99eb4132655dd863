"""Window aggregates by panes: a query split into what is computed once per train and what closes a window."""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from headgate.engine.sql.aggregates import BY_POSITION, UndividedError, call, calls, is_call, split
from headgate.engine.sql.dialect import expression, identifier, write
from headgate.engine.sql.hidden import KEPT, carry
from headgate.engine.sql.names import reads
from headgate.engine.sql.plan import Catalog
from headgate.engine.sql.scope import Scope, grouping
from headgate.engine.sql.tuples import breach, sources

_BOUNDS = ("window_start", "window_end")
_MET = "__met"
"""Whether a tuple meets the condition of an aggregate without GROUP BY: Spark would evaluate it for each part."""
_OTHER_GROUPINGS = {exp.Rollup: "ROLLUP", exp.Cube: "CUBE", exp.GroupingSets: "GROUPING SETS"}


def by_panes(query: exp.Query, catalog: Catalog) -> tuple[str, str]:
    """The partial and the final SQL of a window aggregate; raises UndividedError, with the reason, if it has none."""
    if len({table.name for table in reads(query, catalog.streams)}) > 1:
        raise UndividedError("it reads several streams")
    if found := breach(query, catalog.streams, grouped=True):
        raise UndividedError(f"{found.what} needs all tuples of a window")
    if not isinstance(query, exp.Select):
        raise UndividedError(f"{query.key.upper()} is not computed by panes")
    group = query.args.get("group")
    other = group and ("GROUP BY ALL" if group.args.get("all") else _other(group))
    if other:
        raise UndividedError(f"{other} is not computed by panes")
    if not group and not calls(query):
        raise UndividedError("it has no aggregate")
    return _Panes(query, catalog).halves()


def _other(group: exp.Group) -> str | None:
    return next((word for kind, word in _OTHER_GROUPINGS.items() if group.find(kind)), None)


def _condition_of_all(select: exp.Select) -> exp.Expr | None:
    """The condition of an aggregate without GROUP BY, for its parts: it has a row though no tuple meets it."""
    where = select.args.get("where")
    kept = all(isinstance(source, exp.Table) and (not join or _keeps(join)) for source, join in sources(select))
    if not kept or select.args.get("laterals") or (where and where.find(exp.Query)):
        raise UndividedError("an aggregate without GROUP BY over rows that may be none needs all tuples of a window")
    return where.this if where else None


def _keeps(join: exp.Join) -> bool:
    return join.side == "LEFT" and join.kind not in ("SEMI", "ANTI")


class _Panes:
    def __init__(self, select: exp.Select, catalog: Catalog) -> None:
        self.select = select
        self.catalog = catalog
        self.scope = Scope(select, catalog)
        self.keys = grouping(select, self.scope)
        self.numbers = {self.scope.normal(key): i for i, key in enumerate(self.keys)}
        self.parts: list[str] = []
        self.always = None if self.keys else _condition_of_all(select)
        self.met = self.always is not None and len(sources(select)) == 1

    def halves(self) -> tuple[str, str]:
        if any(isinstance(key, exp.Tuple) or calls(key) or key.find(exp.Query) for key in self.keys):
            raise UndividedError("GROUP BY of more than plain expressions is not computed by panes")
        outputs = [self._output(item) for item in self.select.selects]
        having = self.select.args.get("having")
        condition = self._condition(having.this) if having else None
        return self._partial(), _final(outputs, len(self.keys), condition)

    def _condition(self, having: exp.Expr) -> exp.Expr:
        for column in having.find_all(exp.Column):
            other = self.scope.aliases.get(column.name.lower())
            if other and self.scope.is_column(column) and self.scope.normal(other) != self.scope.normal(column):
                raise UndividedError(f"'{column.name}' in HAVING is both a column and an alias")
        return self._whole(having)

    def _partial(self) -> str:
        select = self.select.copy()
        ordered = ("_time", "_position") if any(BY_POSITION in part for part in self.parts) else ()
        thinned = (KEPT,) if any(KEPT in part for part in self.parts) else ()
        if not carry(select, self.catalog, ("_pane", "_late", *ordered, *thinned)):
            raise UndividedError("its FROM clause is not computed by panes")
        select.set("having", None)
        if not self.keys:
            select.set("where", None)
        if self.met and self.always:
            _mark(select, self.always)
        named = [(f"__k{i}", write(key)) for i, key in enumerate(self.keys)]
        named += [(f"__p{i}", part) for i, part in enumerate(self.parts)]
        columns = [
            expression("_pane"),
            expression("_late"),
            *(expression(f"{text} AS {name}") for name, text in named),
        ]
        select.set("expressions", columns)
        positions = [exp.Literal.number(i + 1) for i in range(2 + len(self.keys))]
        select.set("group", exp.Group(expressions=positions))
        return write(select)

    def _output(self, item: exp.Expr) -> exp.Expr:
        if isinstance(item, exp.Aliases) or (item.find(exp.Star) and not calls(item)):
            raise UndividedError("SELECT * beside aggregates is not computed by panes")
        name = item.alias or (item.name if isinstance(item, exp.Column) else write(item))
        return exp.alias_(self._whole(item.unalias()), identifier(name))

    def _whole(self, tree: exp.Expr, within: tuple[str, ...] = ()) -> exp.Expr:
        """An expression over keys and aggregates, as one over panes; `within` are the aliases around it."""

        def visit(node: exp.Expr) -> exp.Expr:
            number = None if isinstance(node, exp.Literal) else self.numbers.get(self.scope.normal(node))
            if number is not None:
                return exp.column(f"__k{number}")
            if is_call(node):
                return self._aggregate(node)
            if isinstance(node, exp.Query | exp.Lambda):
                raise UndividedError(f"a {node.key} beside aggregates is not computed by panes")
            if isinstance(node, exp.Column):
                meant = self.scope.alias(node)
                if meant is None or node.name.lower() in within:
                    raise UndividedError(f"'{write(node)}' is neither in GROUP BY nor in an aggregate")
                return exp.Paren(this=self._whole(meant, (*within, node.name.lower())))
            return node

        return tree.transform(visit)

    def _aggregate(self, node: exp.Expr) -> exp.Expr:
        called = call(node)
        if self.always:
            condition = exp.column(_MET) if self.met else self.always.copy()
            called = replace(called, where=exp.and_(condition, called.where))
        found = split(called)
        columns = [f"__p{self._part(part)}" for part in found.parts]
        return expression(found.whole.format(**dict(zip("pqr", columns, strict=False))))

    def _part(self, part: str) -> int:
        if part not in self.parts:
            self.parts.append(part)
        return self.parts.index(part)


def _mark(select: exp.Select, condition: exp.Expr) -> None:
    """Let a SELECT of one source read whether a tuple meets a condition; its names mean what they meant before."""
    (source, _), *_ = sources(select)
    name = exp.TableAlias(this=identifier(source.alias_or_name))
    marked = exp.select("*", exp.alias_(condition, _MET)).from_(source.copy())
    source.replace(exp.Subquery(this=marked, alias=name))


def _final(outputs: Sequence[exp.Expr], keys: int, having: exp.Expr | None) -> str:
    select = exp.select(*_BOUNDS, *outputs).from_(identifier("__panes"))
    select = select.group_by(*_BOUNDS, *(f"__k{i}" for i in range(keys)))
    if having is not None:
        select.set("having", exp.Having(this=having))
    return write(select)
