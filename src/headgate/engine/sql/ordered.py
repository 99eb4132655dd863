"""first() and last() where a query is not evaluated by panes: by time, as nothing else orders the tuples of a job."""

from sqlglot import exp

from headgate.engine.sql.aggregates import call, calls, function, in_order
from headgate.engine.sql.dialect import identifier, place, write
from headgate.engine.sql.functions import ORDERED
from headgate.engine.sql.hidden import carry
from headgate.engine.sql.plan import Catalog
from headgate.errors import InputError


def in_time(query: exp.Query, catalog: Catalog) -> exp.Query:
    """The query with first(), last() and their like in terms of the tuples' time and position."""
    changed = query.copy()
    for select in list(changed.find_all(exp.Select)):
        if found := _ordered(select):
            name, where = function(found[0]).name, place(found[0])
            if not carry(select, catalog, ("_time", "_position")):
                rule = f"{name}() takes the tuples of one stream in the order of time"
                remedy = "Use min_by(value, time) or max_by(value, time)."
                raise InputError(rule, "other rows", remedy, where)
            for item in list(select.selects):
                if _ordered(item) and not isinstance(item, exp.Alias):
                    item.replace(exp.alias_(item.copy(), identifier(write(item))))
            for node in _ordered(select):
                node.replace(in_order(call(node)))
    return changed


def _ordered(tree: exp.Expr) -> list[exp.Expr]:
    return [node for node in calls(tree) if function(node).name.lower() in ORDERED and call(node).arguments]
