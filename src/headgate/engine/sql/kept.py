"""Results of what was kept: how much that was, and counts and sums scaled up to all tuples, with an error bar.

Every tuple that was kept stands for `1 / k` tuples, where k is the share that is kept where it stands. So a count is
the sum of `1 / k` and a sum that of `x / k`; each was kept or dropped by itself, so the variance of such an estimate
is that of a sum of independent draws, `V = Σ (1 − k) / k² · x²`, and the error bar is `z·√V` with z = 1.96. The
variance is itself estimated from what was kept, and is too low just where the estimate is; for a count the interval
that allows for this reaches `z²/2 · (1 − k) / k` further up, which is `z²/2 · V / T` with T = Σ |x| / k. The bar is
that longer side.
"""

from sqlglot import exp

from headgate.engine.sql.aggregates import calls, function
from headgate.engine.sql.dialect import expression, identifier, write
from headgate.engine.sql.hidden import KEPT, carry
from headgate.engine.sql.plan import Catalog
from headgate.errors import InputError

_OF_ROWS = f"count(*) / sum(1 / {KEPT})"
"""The share of the tuples of a group that were kept."""

_DEVIATIONS = 1.96
_FURTHER = 1.92
"""Half of its square."""
_SCALED = ("sum", "count", "count_if")


def with_kept(query: exp.Query, catalog: Catalog) -> exp.Select | None:
    """A SELECT with one more result, the share of the tuples that it comes from; None if it cannot have it."""
    if not isinstance(query, exp.Select) or not carry(query.copy(), catalog, (KEPT,)):
        return None
    changed = query.copy()
    grouped = changed.args.get("group") or calls(changed)
    return changed.select(expression(f"{_OF_ROWS} AS {KEPT}" if grouped else KEPT))


def carried(query: exp.Select, catalog: Catalog) -> exp.Select:
    """The same, reading the hidden column."""
    changed = query.copy()
    carry(changed, catalog, (KEPT,))
    return changed


def scaled(query: exp.Query) -> exp.Select:
    """A window aggregate with its counts and sums scaled up, and an error bar behind each that is a result itself."""
    if not isinstance(query, exp.Select) or not any(map(_is_scaled, calls(query))):
        rule = "what is scaled is a count or a sum, in one SELECT over a window"
        raise InputError(rule, "a query without any", "Leave scale out.")
    changed = query.copy()
    items: list[exp.Expr] = []
    for item in changed.selects:
        shown, name = item.unalias(), item.alias or write(item)
        items.append(exp.alias_(shown.transform(_estimated), identifier(name)) if calls(item) else item)
        if _is_scaled(shown):
            items.append(exp.alias_(_error(shown), identifier(f"{name}_error")))
    changed.set("expressions", items)
    if having := changed.args.get("having"):
        having.set("this", having.this.transform(_estimated))
    return changed


def _is_scaled(node: exp.Expr) -> bool:
    called = function(node)
    if not isinstance(called, exp.Anonymous) or called.name.lower() not in _SCALED:
        return False
    return not any(isinstance(each, exp.Distinct) for each in called.expressions)


def _estimated(node: exp.Expr) -> exp.Expr:
    if not _is_scaled(node):
        return node
    total = _sum(node, f"({_counted(node)}) / {KEPT}")
    return expression(f"coalesce({total}, 0)" if function(node).name.lower() != "sum" else total)


def _error(node: exp.Expr) -> exp.Expr:
    x = _counted(node)
    variance = _sum(node, f"(1 - {KEPT}) / ({KEPT} * {KEPT}) * ({x}) * ({x})")
    total = _sum(node, f"abs({x}) / {KEPT}")
    return expression(f"coalesce({_DEVIATIONS} * sqrt({variance}) + {_FURTHER} * {variance} / {total}, 0)")


def _counted(node: exp.Expr) -> str:
    """What each tuple adds to a count or sum."""
    called = function(node)
    arguments = [write(each) for each in called.expressions]
    match called.name.lower():
        case "sum":
            return arguments[0]
        case "count_if":
            return f"CASE WHEN {arguments[0]} THEN 1 ELSE 0 END"
    if arguments == ["*"]:
        return "1"
    missing = " OR ".join(f"({each}) IS NULL" for each in arguments)
    return f"CASE WHEN {missing} THEN 0 ELSE 1 END"


def _sum(node: exp.Expr, text: str) -> str:
    """A sum over the tuples that the call is about."""
    where = node.expression.this if isinstance(node, exp.Filter) else None
    return f"sum({text})" + (f" FILTER (WHERE {write(where)})" if where else "")
