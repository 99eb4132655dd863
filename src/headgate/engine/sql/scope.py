"""What the names in a SELECT mean: columns of what it reads, its own aliases, positions in GROUP BY."""

from collections import Counter
from collections.abc import Iterator

from sqlglot import exp

from headgate.engine.sql.dialect import write
from headgate.engine.sql.plan import Catalog
from headgate.engine.sql.tuples import sources

_GENERATED = ("col", "pos", "key", "value")
"""The columns of explode() and posexplode() where the query names none."""


class Scope:
    """The names of one SELECT. As in Spark, a column goes before an alias of its name, and case does not matter."""

    def __init__(self, select: exp.Select, catalog: Catalog) -> None:
        self._catalog = catalog
        self._read = [(_called(source), list(self._columns(source))) for source, _ in sources(select)]
        laterals = select.args.get("laterals") or []
        self._read += [(_called(lateral), list(self._columns(lateral))) for lateral in laterals]
        self._count = Counter(name for _, names in self._read for name in names)
        self.aliases = {item.alias.lower(): item.this for item in select.selects if isinstance(item, exp.Alias)}

    def is_column(self, node: exp.Column) -> bool:
        """Whether a name, or the first part of it, is a column of what the SELECT reads."""
        sources = {name for name, _ in self._read}
        return node.parts[0].name.lower() in self._count or (
            len(node.parts) > 1 and node.parts[0].name.lower() in sources
        )

    def alias(self, node: exp.Expr) -> exp.Expr | None:
        """The expression that a name stands for, if it is an alias and no column."""
        if isinstance(node, exp.Column) and not node.table and not self.is_column(node):
            return self.aliases.get(node.name.lower())
        return None

    def normal(self, node: exp.Expr) -> str:
        """An expression in a form that equal ones share, whatever the case and qualification of their names."""
        return write(node.transform(self._normal))

    def _normal(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            names = [part.name.lower() for part in node.parts]
            if len(names) > 1 and names[0] in {name for name, _ in self._read} and self._count[names[1]] == 1:
                names = names[1:]
            return exp.Column(this=exp.to_identifier(".".join(names), quoted=True))
        if isinstance(node, exp.Anonymous):
            node.set("this", node.name.lower())
        return node

    def _columns(self, source: exp.Expr) -> Iterator[str]:
        alias = source.args.get("alias")
        if alias and alias.columns:
            yield from (column.name.lower() for column in alias.columns)
        elif isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            relation = self._catalog.streams.get(source.name) or self._catalog.tables[source.name]
            yield from (name.lower() for name in relation.columns)
        elif isinstance(source, exp.Subquery) and isinstance(source.this, exp.Query):
            yield from self._outputs(source.this)
        elif isinstance(source, exp.Lateral) and isinstance(source.this, exp.Subquery):
            yield from self._columns(source.this)
        else:
            yield from _GENERATED

    def _outputs(self, query: exp.Query) -> Iterator[str]:
        select = query
        while not isinstance(select, exp.Select) and isinstance(select.this, exp.Query):
            select = select.this
        if not isinstance(select, exp.Select):
            return
        for item in select.selects:
            if isinstance(item, exp.Star) or isinstance(item.this, exp.Star):
                wanted = item.table.lower() if isinstance(item, exp.Column) else None
                inner = Scope(select, self._catalog)
                yield from (name for source, names in inner._read if wanted in (None, source) for name in names)
            elif isinstance(item, exp.Aliases):
                yield from (name.name.lower() for name in item.expressions)
            else:
                yield item.alias_or_name.lower()


def grouping(select: exp.Select, scope: Scope) -> list[exp.Expr]:
    """The expressions of GROUP BY, with positions and aliases replaced by what they stand for."""
    group = select.args.get("group")
    keys: list[exp.Expr] = []
    for given in group.expressions if group else []:
        key = given.unnest()
        if (
            isinstance(key, exp.Literal)
            and not key.is_string
            and key.name.isdigit()
            and 0 < int(key.name) <= len(select.selects)
        ):
            key = select.selects[int(key.name) - 1]
        else:
            key = scope.alias(key) or key
        keys.append(key.unalias())
    return keys


def _called(source: exp.Expr) -> str:
    return source.alias_or_name.lower()
