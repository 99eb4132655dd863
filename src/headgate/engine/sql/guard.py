"""What a query may not do: a closed list of syntax and functions, so that what is not known is refused."""

import re
from collections.abc import Collection

from sqlglot import exp

from headgate.engine.sql.dialect import PLAIN, place, read, write
from headgate.engine.sql.functions import BARE, KNOWN, REFUSED, TABLE_FUNCTIONS
from headgate.engine.sql.plan import HIDDEN, Catalog
from headgate.errors import InputError, choose, nearest

_CLAUSES = (
    *(
        exp.Select,
        exp.From,
        exp.Join,
        exp.Where,
        exp.Group,
        exp.Having,
        exp.Order,
        exp.Ordered,
        exp.Limit,
        exp.Offset,
    ),
    *(exp.Distinct, exp.Subquery, exp.Table, exp.TableAlias, exp.Union, exp.Except, exp.Intersect, exp.Values),
    *(exp.Tuple, exp.With, exp.CTE, exp.Hint, exp.Lateral, exp.Window, exp.WindowSpec, exp.Rollup, exp.Cube),
    *(exp.GroupingSets, exp.Star, exp.Alias, exp.Aliases),
)
_EXPRESSIONS = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.RawString, exp.HexString, exp.Paren),
    *(exp.And, exp.Or, exp.Not, exp.Neg, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ),
    *(
        exp.NullSafeNEQ,
        exp.Is,
        exp.In,
        exp.Between,
        exp.Like,
        exp.ILike,
        exp.RegexpLike,
        exp.Escape,
        exp.Any,
        exp.All,
    ),
    *(exp.Exists, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe, exp.BitwiseAnd, exp.BitwiseOr),
    *(exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift, exp.BitwiseRightShift, exp.Case, exp.If, exp.Cast),
    *(exp.TryCast, exp.DataType, exp.DataTypeParam, exp.ColumnDef, exp.Interval, exp.IntervalSpan, exp.Var),
    *(exp.Bracket, exp.Dot, exp.Anonymous, exp.Lambda, exp.Kwarg, exp.Filter, exp.WithinGroup, exp.IgnoreNulls),
    *(exp.RespectNulls, exp.Extract, exp.Trim, exp.StrPosition, exp.Overlay, exp.Substring, exp.Collate, exp.Concat),
)
_ALLOWED = frozenset(_CLAUSES + _EXPRESSIONS)

_REMEDIES: dict[type[exp.Expr], str] = {
    exp.TableSample: "Leave it out: a run that is repeated after a crash must give the same rows.",
    exp.Version: "Leave it out: a stream or table is read as it is.",
    exp.Pivot: "Write each column as an aggregate with FILTER (WHERE ...).",
    exp.Qualify: "Filter in a query around it.",
    exp.Placeholder: "Write the value.",
    exp.Parameter: "Write the value.",
    exp.QueryTransform: "Leave it out: it would start a program.",
    **dict.fromkeys((exp.Sort, exp.Cluster, exp.Distribute), "Use ORDER BY: how rows are spread is not the query's."),
}
_NUMBER = re.compile(r"[0-9]*\.?[0-9]*([eE][-+]?[0-9]+)?")
_HINTS = {"broadcast", "broadcastjoin", "mapjoin"}
_NEEDS_TIME = {"unix_timestamp", "to_unix_timestamp"}
_WORDS_OF_TIME = re.compile(r"\s*(now|today|tomorrow|yesterday)\b.*", re.IGNORECASE | re.DOTALL)
_OF_TIME = {"date", "timestamp", "to_date", "to_timestamp", "try_to_date", "try_to_timestamp", "date_trunc"}
_READS_TIME = (exp.Cast, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


def guard(tree: exp.Query, catalog: Catalog) -> None:
    """Raise an InputError, with its place, for the first thing that a query may not do."""
    _check(tree, catalog)
    written = write(tree)
    again = read(written)
    # What Spark gets is the written text, so that is what must stand the check, whatever the writer makes of a tree.
    _check(again, catalog)
    if write(again) != written:
        raise InputError("a query means the same when it is written out", f"'{written}'", "Write it more plainly.")


def _check(tree: exp.Query, catalog: Catalog) -> None:
    names = _columns(tree, catalog)
    for node in tree.walk():
        if type(node) not in _ALLOWED:
            remedy = next((text for kind, text in _REMEDIES.items() if isinstance(node, kind)), "Write it without.")
            got = type(node).__name__
            raise InputError("a query keeps to the Spark SQL that Headgate reads", got, remedy, place(node))
        match node:
            case exp.Identifier():
                _name(node)
            case exp.Anonymous():
                _function(node)
            case exp.Hint():
                _hint(node)
            case exp.Var():
                _plain(node, node.name)
            case exp.Extract():
                _plain(node, node.name)
            case exp.Literal(is_string=False):
                _number(node)
            case exp.Column():
                _bare(node, names)
            case exp.Literal(is_string=True):
                _words(node)
            case exp.With(recursive=True):
                raise InputError("a query ends", "WITH RECURSIVE", "Write it without recursion.", place(node))
            case exp.Join():
                _join(node)


def _columns(tree: exp.Query, catalog: Catalog) -> set[str]:
    """All names that a column of the query may have, in lower case."""
    relations = [*catalog.streams.values(), *catalog.tables.values()]
    given = {name for relation in relations for name in relation.columns}
    aliases = {alias.alias for alias in tree.find_all(exp.Alias)}
    return {name.lower() for name in given | aliases}


def _name(node: exp.Identifier) -> None:
    if node.name.startswith("__") or node.name.lower() in HIDDEN:
        rule = f"names that begin with __, and {', '.join(HIDDEN)}, are Headgate's own"
        raise InputError(rule, f"'{node.name}'", "Use another name.", place(node))


def _function(node: exp.Anonymous) -> None:
    name = node.name.lower()
    if isinstance(node.parent, exp.Dot) and node.arg_key == "expression":
        got = f"'{write(node.parent)}'"
        raise InputError("a function is called by its plain name", got, "Leave out the catalog.", place(node.parent))
    if reason := REFUSED.get(name):
        raise InputError(f"no query calls {name}()", f"'{write(node)}'", _sentence(reason), place(node))
    if name in _NEEDS_TIME and not node.expressions:
        got = f"'{name}()'"
        raise InputError("no query looks at the clock", got, "Give it a column of the stream.", place(node))
    if isinstance(node.parent, exp.Table) and name not in TABLE_FUNCTIONS:
        rule = "FROM reads streams, tables, and functions of values"
        raise InputError(rule, f"'{name}()'", choose(name, sorted(TABLE_FUNCTIONS)), place(node))
    if name not in KNOWN | TABLE_FUNCTIONS and not isinstance(node.parent, exp.Hint):
        remedy = nearest(name, sorted(KNOWN)) or "Use one of Spark's own."
        raise InputError("a query calls functions of Spark SQL", f"'{name}()'", remedy, place(node))


def _hint(node: exp.Hint) -> None:
    for hint in node.expressions:
        plain = isinstance(hint, exp.Anonymous) and all(isinstance(each, exp.Column) for each in hint.expressions)
        if not plain or hint.name.lower() not in _HINTS:
            rule = "the hint of a query is BROADCAST(table)"
            remedy = "Leave it out: how rows are spread over partitions is not the query's."
            got = f"'{write(node).strip()}'"
            raise InputError(rule, got, remedy, place(node.find_ancestor(exp.Select) or node))


def _plain(node: exp.Expr, word: str) -> None:
    if not PLAIN.fullmatch(word):
        raise InputError("a word of SQL has letters and digits", f"'{word}'", "Check the syntax there.", place(node))


def _number(node: exp.Literal) -> None:
    if not _NUMBER.fullmatch(node.name):
        raise InputError("a number is written in digits", f"'{node.name}'", "Write it like 1000 or 1e3.", place(node))


def _bare(node: exp.Column, names: Collection[str]) -> None:
    name = node.name.lower()
    if name in BARE and not node.table and name not in names:
        raise InputError(f"no query calls {name}", f"'{node.name}'", _sentence(REFUSED[name]), place(node))


def _words(node: exp.Literal) -> None:
    """Spark reads some words as the time at which the query runs, where it expects a time."""
    around = node.parent
    reads = isinstance(around, _READS_TIME) or (isinstance(around, exp.Anonymous) and around.name.lower() in _OF_TIME)
    if reads and _WORDS_OF_TIME.fullmatch(node.name):
        raise InputError("no query looks at the clock", f"'{node.name}'", "Write the time itself.", place(node))


def _join(node: exp.Join) -> None:
    if node.method not in ("", "NATURAL"):
        got = f"{node.method} JOIN"
        raise InputError("a join is one of Spark's", got, "Write it as JOIN ... ON.", place(node))


def _sentence(reason: str) -> str:
    return f"Leave it out: {reason}."
