"""Which streams and tables a query reads: names looked up as Spark does, common table expressions put in place."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from headgate.engine.sql.dialect import place, read, write
from headgate.engine.sql.plan import Catalog
from headgate.errors import InputError, choose

_MOST_READS = 64
"""Far more than anybody writes; a chain of WITH clauses that each read the one before twice gets there soon."""


def resolve(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """The query without WITH, and with every stream and table under the name it was registered by."""
    resolved = tree.copy()
    _Resolver(catalog).visit(resolved, {})
    return resolved


def reads(tree: exp.Expr, names: Mapping[str, object]) -> list[exp.Table]:
    """The places where a resolved query reads one of the named streams or tables, in the order of the text."""
    tables = [table for table in tree.find_all(exp.Table, bfs=False) if isinstance(table.this, exp.Identifier)]
    return [table for table in tables if table.name in names]


def mentioned(text: str) -> list[str]:
    """What a text reads, streams, tables or neither, in lower case; nothing if it is no query."""
    try:
        tree = read(text)
    except InputError:
        return []
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    found = [table.name.lower() for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    return [name for name in dict.fromkeys(found) if name not in own]


@dataclass
class _Resolver:
    catalog: Catalog
    found: int = field(default=0, init=False)
    registered: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        known = (*self.catalog.streams, *self.catalog.tables)
        self.registered = {name.lower(): name for name in known}

    def visit(self, node: exp.Expr, outer: Mapping[str, exp.Query]) -> None:
        visible = dict(outer)
        if clause := node.args.get("with_"):
            clause.pop()
            for cte in clause.expressions:
                self._check(cte)
                visible[cte.alias.lower()] = self._body(cte, visible)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            self._table(node, visible)
        for child in list(node.iter_expressions()):
            self.visit(child, visible)

    def _body(self, cte: exp.CTE, visible: Mapping[str, exp.Query]) -> exp.Query:
        body: exp.Query = cte.this
        self.visit(body, visible)
        columns = cte.args["alias"].columns
        if not columns:
            return body
        alias = exp.TableAlias(this=cte.args["alias"].this.copy(), columns=[each.copy() for each in columns])
        return exp.select("*").from_(exp.Subquery(this=body, alias=alias))

    def _check(self, cte: exp.CTE) -> None:
        if cte.alias.lower() in self.registered:
            rule = "a name in WITH is not that of a stream or table"
            raise InputError(rule, f"'{cte.alias}'", "Use another name.", place(cte.args["alias"]))

    def _table(self, node: exp.Table, visible: Mapping[str, exp.Query]) -> None:
        if node.args.get("db"):
            rule = "a query reads registered streams and tables, by their plain names"
            bare = exp.Table(this=node.this.copy(), db=node.args["db"].copy(), catalog=node.args.get("catalog"))
            remedy = "Register what it shall read, and name that."
            raise InputError(rule, f"'{write(bare)}'", remedy, place(node))
        name = node.name.lower()
        if name in visible:
            self._put(node, visible[name])
        elif name in self.registered:
            node.this.set("this", self.registered[name])
            self._count(1, node)
        else:
            rule = "a query reads registered streams and tables only"
            known = sorted(self.registered.values())
            remedy = choose(node.name, known) if known else "Register one first."
            raise InputError(rule, f"'{node.name}'", remedy, place(node))

    def _put(self, node: exp.Table, body: exp.Query) -> None:
        self._count(len(list(body.find_all(exp.Table))), node)
        alias = node.args.get("alias") or exp.TableAlias(this=node.this.copy())
        joins = node.args.get("joins")
        node.replace(exp.Subquery(this=body.copy(), alias=alias, joins=joins))

    def _count(self, more: int, node: exp.Table) -> None:
        self.found += more
        if self.found > _MOST_READS:
            rule = f"a query reads at most {_MOST_READS} streams and tables, WITH clauses counted where they are used"
            raise InputError(rule, "more", "Split it.", place(node))
