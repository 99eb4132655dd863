"""From the text of a query to its plan: checked, looked up, and split as far as it can be."""

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from headgate.engine.sql.aggregates import UndividedError
from headgate.engine.sql.dialect import place, read, write
from headgate.engine.sql.guard import guard
from headgate.engine.sql.hidden import KEPT, stamped
from headgate.engine.sql.kept import carried, scaled, with_kept
from headgate.engine.sql.names import reads, resolve
from headgate.engine.sql.ordered import in_time
from headgate.engine.sql.panes import by_panes
from headgate.engine.sql.plan import ByPanes, Catalog, PerTrain, PerWindow, Plan, Relation
from headgate.engine.sql.sessions import by_session, session_calls
from headgate.engine.sql.tuples import breach
from headgate.engine.windows import Window
from headgate.errors import InputError


def plan(
    text: str, catalog: Catalog, window: Window | None = None, *, kept: bool = False, scale: bool = False
) -> Plan:
    """How a query is evaluated; raises an InputError, with its place in the text, if it is not to be.

    With `kept`, results say from which share of the tuples they come; with `scale`, counts and sums are scaled up.
    """
    try:
        return _plan(text, catalog, window, kept=kept, scale=scale)
    except RecursionError:
        raise InputError("a query is nested a few levels deep", "hundreds", "Simplify it.") from None


def _plan(text: str, catalog: Catalog, window: Window | None, *, kept: bool, scale: bool) -> Plan:
    tree = read(text)
    guard(tree, catalog)
    query = _bare(resolve(tree, catalog))
    streams = _names(query, catalog.streams)
    tables = _names(query, catalog.tables)
    if not streams:
        rule = "a continuous query reads a stream"
        got = f"{', '.join(tables) or 'no table'} only"
        raise InputError(rule, got, f"Read one of {', '.join(catalog.streams) or 'those to be registered'}.")
    _check_windowing(query, window)
    if scale:
        query = scaled(query)
    if window:
        return _windowed(query, catalog, window, streams, tables, kept=kept)
    if session_calls(query):
        _check_outputs(query, ("session_start", "session_end"))
        return replace(by_session(query, catalog, streams[0], tables), kept=kept)
    if found := breach(query, catalog.streams):
        rule = "a query without a window looks at one tuple at a time"
        raise InputError(rule, found.what, f"Give the query a window: {found.why}.", place(found.node))
    query = in_time(query, catalog)
    shown = with_kept(query, catalog) if kept else None
    stamps = stamped(query, catalog, (KEPT,) if shown else ())
    sql = write(carried(shown, catalog) if shown else query)
    return PerTrain(streams[0], tables, sql, write(stamps) if stamps else None)


def _windowed(
    query: exp.Query,
    catalog: Catalog,
    window: Window,
    streams: tuple[str, ...],
    tables: tuple[str, ...],
    *,
    kept: bool,
) -> Plan:
    _check_outputs(query, ("window_start", "window_end"))
    if window.over_rows and len(streams) > 1:
        rule, remedy = "a window over rows is one of a single stream", "Take windows of time, as in window='10s'."
        raise InputError(rule, f"a query over {' and '.join(streams)}", remedy)
    timeless = [name for name in streams if catalog.streams[name].event_time is None]
    if window.time == "event" and timeless:
        remedy = "Register it with a column for the time, or take windows over arrival time."
        raise InputError("a window over event time needs streams that have one", f"'{timeless[0]}'", remedy)
    shown = with_kept(query, catalog) if kept else None
    try:
        partial, final = by_panes(shown or query, catalog)
    except UndividedError as undivided:
        # What looks at one tuple of a stream at a time can take the others as if they were tables.
        divided = next((name for name in streams if not breach(query, {name: catalog.streams[name]})), None)
        return PerWindow(streams, tables, window, write(in_time(query, catalog)), str(undivided), kept, divided)
    whole = carried(shown, catalog) if shown else query
    return ByPanes(streams[0], tables, window, write(whole), partial, final)


def _bare(query: exp.Query) -> exp.Query:
    """The query within brackets that do nothing."""
    while isinstance(query, exp.Subquery) and query.is_wrapper and isinstance(query.this, exp.Query):
        query = query.this
    return query


def _names(query: exp.Query, known: Mapping[str, Relation]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(table.name for table in reads(query, known)))


def _check_windowing(query: exp.Query, window: Window | None) -> None:
    for call in query.find_all(exp.Anonymous):
        name = call.name.lower()
        if name in ("window", "window_time") or (window and name == "session_window"):
            rule = "windows of time are an option of the query, beside its text"
            remedy = "Leave it out, and give the query window='10s' and, if they overlap, slide='2s'."
            raise InputError(rule, f"'{write(call)}'", remedy, place(call))


def _check_outputs(query: exp.Query, taken: tuple[str, ...]) -> None:
    for item in query.selects:
        if item.alias_or_name.lower() in taken:
            rule = f"every row of the result begins with {' and '.join(taken)} already"
            raise InputError(rule, f"'{item.alias_or_name}'", "Leave it out, or use another name.", place(item))
