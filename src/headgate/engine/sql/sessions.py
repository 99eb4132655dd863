"""Aggregates over sessions: GROUP BY session_window(time, 'gap'), with the bounds of the session put first."""

import re

from sqlglot import exp

from headgate.engine.sql.dialect import expression, place, write
from headgate.engine.sql.ordered import in_time
from headgate.engine.sql.plan import BySession, Catalog
from headgate.engine.sql.scope import Scope, grouping
from headgate.engine.sql.tuples import breach, sources
from headgate.errors import InputError

_MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_LENGTH = re.compile(rf"(\d+)\s+({'|'.join(_MICROSECONDS)})s?", re.IGNORECASE)
_EXAMPLE = "Write it like GROUP BY session_window(time, '5 minutes')."


def session_calls(query: exp.Expr) -> list[exp.Anonymous]:
    """Where a query calls session_window()."""
    return [node for node in query.find_all(exp.Anonymous) if node.name.lower() == "session_window"]


def by_session(query: exp.Query, catalog: Catalog, stream: str, tables: tuple[str, ...]) -> BySession:
    """The plan of a query that groups by sessions of its one stream."""
    (first, *others) = session_calls(query)
    found = breach(query, catalog.streams, grouped=True)
    if found or not isinstance(query, exp.Select):
        got = found.what if found else "a query around it"
        raise InputError("a query of sessions is one SELECT", got, _EXAMPLE, place(found.node if found else query))
    scope = Scope(query, catalog)
    keys = grouping(query, scope)
    same = scope.normal(first)
    if same not in map(scope.normal, keys) or any(scope.normal(other) != same for other in others):
        raise InputError("a query has one session_window(), in GROUP BY", f"'{write(first)}'", _EXAMPLE, place(first))
    gap = _gap(first, query, catalog, stream)
    changed = query.copy()
    call = write(first)
    bounds = [expression(f"{call}.{end} AS session_{end}") for end in ("start", "end")]
    having = changed.args.get("having")
    kept = [_condition(having.this, scope)] if having else []
    changed.set("having", None)
    changed.set("expressions", [*bounds, *changed.selects, *kept])
    changed.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    return BySession(stream, tables, gap, write(in_time(changed, catalog)), bool(kept))


def _condition(having: exp.Expr, scope: Scope) -> exp.Expr:
    """HAVING as a column."""
    for column in having.find_all(exp.Column):
        other = scope.aliases.get(column.name.lower())
        if other and scope.is_column(column) and scope.normal(other) != scope.normal(column):
            rule = "a name in HAVING is that of a column or of a result"
            raise InputError(rule, f"'{column.name}', which is both", "Rename the result.", place(column))
    return expression(f"coalesce({write(having)}, false) AS __kept")


def _gap(call: exp.Anonymous, query: exp.Select, catalog: Catalog, stream: str) -> int:
    """The gap of a session, in microseconds, once it is clear that it is one of the stream's own time."""
    time, gap = [*call.expressions, None, None][:2]
    if not any(isinstance(source, exp.Table) and source.name == stream for source, _ in sources(query)):
        raise InputError("sessions are those of a stream, read directly", "a subquery", _EXAMPLE, place(call))
    event_time = catalog.streams[stream].event_time
    if event_time is None:
        rule = "sessions are over the event time of a stream"
        raise InputError(rule, f"'{stream}', which has none", "Register it with a column for the time.", place(call))
    if not isinstance(time, exp.Column) or time.name.lower() != event_time.lower():
        rule = f"sessions of '{stream}' are over its event time, '{event_time}'"
        raise InputError(rule, f"'{write(time)}'" if time else "nothing", _EXAMPLE, place(call))
    text = gap.name if isinstance(gap, exp.Literal) and gap.is_string else ""
    lengths = _LENGTH.findall(text)
    if not lengths or _LENGTH.sub("", text).strip():
        got = f"'{write(gap)}'" if gap else "nothing"
        raise InputError("the gap of a session is a fixed length of time", got, _EXAMPLE, place(call))
    microseconds = sum(int(number) * _MICROSECONDS[unit.lower()] for number, unit in lengths)
    if not microseconds:
        raise InputError("the gap of a session is longer than nothing", f"'{text}'", _EXAMPLE, place(call))
    return microseconds
