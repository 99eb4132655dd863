"""A running engine, as the pages see it. Nothing else here knows engines."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.engine.explain.explanation import EVALUATION, spelled
from headgate.engine.explain.written import shape
from headgate.engine.gentle import gently
from headgate.engine.query import LiveQuery
from headgate.engine.sink.memory_tables import MemoryTables
from headgate.engine.sql.plan import ByPanes
from headgate.errors import InputError
from headgate.web.served import Description, Results, Wiring

if TYPE_CHECKING:
    from headgate.engine.engine import Engine

_ROWS = 50
"""Results of a query that are shown."""
_MOST_TEXT = 200


class OnEngine:
    """An engine by values."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self.recent, self.listen = engine.recent, engine.listen
        self.pause, self.resume, self.prioritise = engine.pause, engine.resume, engine.prioritise

    @property
    def running(self) -> bool:
        """Whether it has started and is not stopping."""
        return self._engine.running

    @property
    def state(self) -> Path:
        """The folder that has its record."""
        return self._engine.state

    def wirings(self, names: Iterable[str]) -> Mapping[str, Wiring]:
        """Between what each of these queries stands."""
        known = self._engine.queries
        return {name: _wiring(known[name]) for name in gently(names) if name in known}

    def described(self, name: str) -> Description:
        """A query at length."""
        query = self._engine.queries.get(name)
        if query is None:
            raise InputError("a registered query", f"'{name}'", "Look for it among the queries.")
        return Description(
            query.draft.sql,
            _window(query),
            EVALUATION[type(query.draft.plan)],
            "kernel" if query.compiled else "Spark",
            query.why_not,
            _steps(query),
            _wiring(query),
            _results(query.sink) if isinstance(query.sink, MemoryTables) else None,
        )


def _wiring(query: LiveQuery) -> Wiring:
    kernel = query.compiled is not None
    return Wiring(tuple(query.draft.streams), tuple(query.draft.plan.tables), repr(query.sink), kernel)


def _window(query: LiveQuery) -> str | None:
    window = query.draft.window
    if window is None:
        return None
    return spelled(window) if window.over_rows else f"{spelled(window)}, {window.time} time"


def _steps(query: LiveQuery) -> list[str]:
    """What is run for a query; of a window by panes, over each train and then when the window closes."""
    if query.compiled:
        final = query.compiled.final
        return [shape(query.compiled.shape), *([shape(final)] if final else [])]
    plan = query.draft.plan
    return [plan.partial, plan.final] if isinstance(plan, ByPanes) else [plan.sql]


def _results(sink: MemoryTables) -> Results:
    """The latest rows: of the last runs, as many as it takes."""
    columns: list[str] = []
    rows: list[list[object]] = []
    for _, table in reversed(sink.runs):
        columns = table.column_names
        last = table.slice(max(0, table.num_rows - (_ROWS - len(rows))))
        rows += [[_plain(value) for value in row.values()] for row in reversed(last.to_pylist())]
        if len(rows) >= _ROWS:
            break
    return Results(columns, rows)


def _plain(value: object) -> object:
    """A value that JSON has, or its text."""
    return value if value is None or isinstance(value, bool | int | float) else str(value)[:_MOST_TEXT]
